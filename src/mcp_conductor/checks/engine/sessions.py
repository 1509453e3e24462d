"""Other sessions on the server under test: new ones, and some that polite probes use one after the other.

On stdio every session is a process, and starting it costs more than all that is said in it. So a probe that only uses
what any client may use shares a session, with those whose clients declare the same; those that say odd things share
another, as long as the server lives through it; one that looks at the beginning has its own, and hands it on where all
is well with it. Sessions are closed behind the back of the probes, which need not wait for it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import field, replace
from typing import Any, Literal, Self

from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.record import MOST_BYTES, Record, judged_part, transport_of
from mcp_conductor.checks.engine.unanswered import Unanswered
from mcp_conductor.client.connect import connect
from mcp_conductor.client.negotiation import NONE
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, Flooded, RequestTimeout
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.compose import compose_in
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.transport import finish
from mcp_conductor.transport.stdio import StdioTransport
from mcp_conductor.values import dataclass

STARTS_PER_ANSWER = 15  # how much longer than an answer the first start may take: packages are fetched, code compiled
SLOWER = 8.0  # how much longer than the first a later start may take, while others start too
LATEST = 3  # times the time for an answer: how long we wait for one that is late
STARTS_AT_ONCE = 4
MOST_CLOSING = 12  # sessions that are being closed, before the next one has to wait
MOST_REFUSALS = 2  # sessions that cannot be opened, before we stop trying

WHOLE_BYTES = 64_000_000  # of large messages that are remembered of the exploration; of the other sessions:
_WHOLE_ELSEWHERE = 8_000_000
UNASKED_MESSAGES, UNASKED_BYTES = 50_000, 32_000_000  # that answer no request; who says more never stops

GRACE_SECONDS = 0.15  # for what a server says unasked, once it has answered what came later
NO_OTHER = "another session could not be opened"

# "polite too" is for those who hold a polite one already, and for those who subscribe; "leaving" is for one who looks
# at the end.
Use = Literal["polite", "polite too", "odd", "leaving"]


@dataclass(slots=True)
class _Open:
    """A session, and what has to be closed after it."""

    session: Session
    stack: AsyncExitStack


@dataclass(slots=True)
class _Shared:
    """The place of a session that several use, one at a time."""

    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    open: _Open | None = None
    worn: bool = False  # to be opened again for the next one


class Sessions:
    """Sessions besides the one of the exploration; all are closed on leaving."""

    def __init__(self, spec: ServerSpec, timeout: float) -> None:
        self.spec = spec
        self.flood: Flooded | None = None  # in any of these sessions
        self.timeout = timeout
        self.patience = timeout  # for the first answer on a new connection
        self.unanswered = Unanswered()
        self._startup = STARTS_PER_ANSWER * timeout
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)
        self._shared: dict[tuple[Use, str, bool], _Shared] = {}
        self._coming: dict[Use, asyncio.Event] = {}  # what probes are to hand on; set when they have, or will not
        self._handed_on: dict[Use, _Open] = {}
        self._second_hand: set[Session] = set()  # those in which another probe did what not every client does
        self._forgiven: set[Session] = set()  # those that may end: they were asked to, or for more than they owe
        self.died: list[Session] = []  # those whose process ended, and may not
        self._closing: set[asyncio.Task[None]] = set()
        self.conversations: list[Record] = []  # of the sessions that have been closed, or are being closed
        self._room = MOST_BYTES  # for them
        self._large = 0  # bytes of large messages in them
        self._refusals: list[str] = []
        self._once: dict[str, asyncio.Future[Any]] = {}
        self._made_before: list[asyncio.Future[Any]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await finish(self._close_all())

    @property
    def patient_spec(self) -> ServerSpec:
        """The server with more time to start than to answer."""
        return self.spec.starting_within(self._startup)

    def started_in(self, seconds: float) -> None:
        """The server has started once, in SECONDS: it will not take very much longer the next time."""
        self.patience = self.timeout + SLOWER * seconds
        self._startup = min(self._startup, self.patience)

    @asynccontextmanager
    async def new_session(self, version: str, answers: Answers | None = None) -> AsyncIterator[Session]:
        """A session of its own."""
        async with self._leaving_afterwards(await self._open(version, answers)) as session:
            yield session

    @asynccontextmanager
    async def leaving(self, version: str) -> AsyncIterator[Session]:
        """A session to be ended: one that was handed on, or a new one."""
        async with self._leaving_afterwards(await self._take("leaving") or await self._open(version, None)) as session:
            yield session

    @asynccontextmanager
    async def unopened(self, dialect: Dialect, then: Use | None = None) -> AsyncIterator[Session]:
        """A connection on which nothing has been said yet; THEN, if all went well, it is handed on."""
        opened = await self._open(NONE, None)
        opened.session.assume(dialect)
        async with self._leaving_afterwards(opened) as session:
            yield session
            if then is not None and _is_fit_for(then, session):
                self._hand_on(then, opened)

    @asynccontextmanager
    async def _leaving_afterwards(self, opened: _Open) -> AsyncIterator[Session]:
        try:
            yield opened.session
        finally:
            if opened not in self._handed_on.values():
                await self._leave(opened)

    @asynccontextmanager
    async def shared(
        self, use: Use, dialect: Dialect, answers: Answers | None = None, *, private: bool = False
    ) -> AsyncIterator[Session]:
        """A session that others have used before, in the same way and with a client that declares the same.

        A PRIVATE one was opened for this use.
        """
        given = answers or Answers()
        place = self._place(use, dialect, given, private=private)
        async with place.turn:
            if place.open is not None and (place.worn or place.open.session.ended):
                await self._leave(place.open)
                place.open = None
            if place.open is None and not private and (_is_for_all(use, dialect) or not given.capabilities(dialect)):
                place.open = await self._take(use)
            if place.open is None:
                place.open = await self._open(dialect.version, given)
            place.worn = False
            opened = place.open
            opened.session.answer_with(given)
            mark = opened.session.transcript.mark
            nothing: NotSeen | None = None
            try:
                yield opened.session
            except NotSeen as reason:  # the session is as good as before
                nothing = reason
            except BaseException:
                place.open = None
                await self._leave(opened)
                raise
            if use == "polite too":
                self._second_hand.add(opened.session)
            # What was cancelled may still be answered, which the next one would wonder about.
            if _left_something(opened.session, mark, use) or (
                use == "odd" and await silent(opened.session, self.timeout, self.unanswered)
            ):
                place.open = None
                await self._leave(opened)
            if nothing is not None:
                raise nothing

    async def prepare(self, uses: Iterable[Use], dialect: Dialect) -> None:
        """Open sessions that will be shared, one after the other; where that fails, it is tried again when needed."""
        for use in uses:
            place = self._place(use, dialect, Answers())
            async with place.turn:
                if place.open is None:
                    with suppress(NotSeen):
                        place.open = await self._open(dialect.version, Answers())

    def _place(self, use: Use, dialect: Dialect, answers: Answers, *, private: bool = False) -> _Shared:
        declared = "" if _is_for_all(use, dialect) and not private else compact(answers.capabilities(dialect))
        return self._shared.setdefault((use, declared, private), _Shared())

    def is_second_hand(self, session: Session) -> bool:
        """Whether another probe did something in SESSION that not every client does: what is found may be its doing."""
        return session in self._second_hand

    def forgive(self, session: Session) -> None:
        """Allow the process of SESSION to end."""
        self._forgiven.add(session)

    def may_end(self, session: Session) -> bool:
        return session in self._forgiven

    def has_died(self, session: Session) -> bool:
        """Whether the process of SESSION has ended, and may not.

        One that never said anything could not be started, and one that said far too much was stopped by us.
        """
        transport = session.transport
        exited = isinstance(transport, StdioTransport) and transport.exit_code is not None
        spoke = any(frame.source == "server" for frame in session.transcript.since(0))
        return session.ended and exited and spoke and session.flood is None and not self.may_end(session)

    def note_death(self, session: Session) -> None:
        """Remember SESSION, which is not used any more, if its process has ended."""
        if self.has_died(session):
            self.died.append(session)

    def expect(self, use: Use) -> None:
        """A probe is going to hand on a session for this USE, or will tell that it does not."""
        self._coming.setdefault(use, asyncio.Event())

    def expect_no_more(self, use: Use) -> None:
        if use in self._coming:
            self._coming[use].set()

    def _hand_on(self, use: Use, opened: _Open) -> None:
        if use in self._coming and not self._coming[use].is_set():
            self._handed_on[use] = opened
            self._second_hand.add(opened.session)
            self._coming[use].set()

    async def _take(self, use: Use) -> _Open | None:
        """The session that was handed on for this USE, if one was, and if it lives."""
        if use in self._coming:
            await self._coming[use].wait()
        opened = self._handed_on.pop(use, None)
        if opened is not None and opened.session.ended:
            await self._leave(opened)
            return None
        return opened

    async def once(self, name: str, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """What MAKE gives: it is made by the first who asks for it by this NAME."""
        if name not in self._once:
            self._once[name] = asyncio.ensure_future(make())
        return await asyncio.shield(self._once[name])

    def forget_what_was_made(self) -> None:
        """Make it again for the next who asks for it: it may have come out so because the machine was busy."""
        self._made_before += self._once.values()
        self._once = {}
        for (use, _, _), place in self._shared.items():
            place.worn = use == "odd"  # what is said there may have been said before, with the same ids

    async def _open(self, version: str, answers: Answers | None) -> _Open:
        if len(self._refusals) >= MOST_REFUSALS:
            raise NotSeen(self._refusals[-1])
        stack, spec = AsyncExitStack(), self.patient_spec
        spec = replace(spec, budgets=replace(spec.budgets, whole_bytes=_WHOLE_ELSEWHERE))
        async with self._starts:
            try:
                session = await stack.enter_async_context(
                    connect(spec, protocol=version, answers=answers, timeout=self.timeout, needs_version=False)
                )
            except ConductorError as error:
                if isinstance(error, Flooded):
                    self.flood = self.flood or error
                self._refusals.append(f"{NO_OTHER}: {error.message}")
                raise NotSeen(self._refusals[-1]) from error
        if version != NONE:  # where nothing was said, nothing is known
            self._refusals.clear()
        return _Open(session, stack)

    def begin_to_close(self) -> None:
        """Close what is open behind the back of the caller, who needs no session any more."""
        left = [*self._handed_on.values(), *(place.open for place in self._shared.values() if place.open is not None)]
        self._handed_on.clear()
        self._shared.clear()
        for opened in left:
            self._close_soon(opened)

    async def _leave(self, opened: _Open) -> None:
        if len(self._closing) >= MOST_CLOSING:
            await asyncio.wait(self._closing, return_when=asyncio.FIRST_COMPLETED)
        self._close_soon(opened)

    @property
    def large(self) -> int:
        """How many bytes of large messages have come in these sessions."""
        shared = (place.open.session for place in self._shared.values() if place.open is not None)
        return self._large + sum(session.transcript.large for session in shared)

    def _keep(self, session: Session) -> None:
        """Keep what was said, to be judged at the end of the run; the rest has no room."""
        self.flood = self.flood or session.flood
        self._large += session.transcript.large
        transcript = session.transcript
        if transcript.size > self._room or transcript.forgotten.frames:
            return
        self._room -= transcript.size
        frames = Transcript.of(transcript.frames)
        self.conversations.append(Record(frames, session.dialect, transport_of(self.spec), session.opened))

    def _close_soon(self, opened: _Open) -> None:
        self._keep(opened.session)
        self.note_death(opened.session)
        task = asyncio.ensure_future(_close(opened))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close_all(self) -> None:
        made = [*self._made_before, *self._once.values()]
        for task in made:
            task.cancel()
        await asyncio.gather(*made, return_exceptions=True)
        self.begin_to_close()
        await asyncio.gather(*self._closing)


def heard_up_to_a_flood(spec: ServerSpec) -> ServerSpec:
    """SPEC, whose sessions end where the server says far more than it is asked."""
    limits = {"unasked_messages": UNASKED_MESSAGES, "unasked_bytes": UNASKED_BYTES, "whole_bytes": WHOLE_BYTES}
    return replace(spec, budgets=replace(spec.budgets, **limits))


def _is_for_all(use: Use, dialect: Dialect) -> bool:
    """Whether clients that declare different things share a session: where every request says what its client can do.

    What is found there is looked at once more without the others.
    """
    return use == "polite too" and not dialect.handshake


async def _close(opened: _Open) -> None:
    with suppress(ConductorError):  # how a server takes its end is looked at where it matters
        await opened.stack.aclose()


async def silent(session: Session, seconds: float, unanswered: Unanswered) -> bool:
    """Whether the server answers nothing at all; what it does not know, it may answer with an error."""
    asked, mark = [], session.transcript.mark
    methods = ["ping" if session.dialect.handshake else "server/discover", "tools/list"]
    for method in [each for each in methods if not unanswered.is_late(each, seconds)] or methods:
        raw = compose_in(
            session.dialect, method, None, identity=session.next_id(), client=session.client, capabilities={}
        )
        asked.append(session.exchange(raw, timeout=seconds))
    tasks = [asyncio.ensure_future(each) for each in asked]
    left = set(tasks)
    heard = False
    try:
        while left and not heard:
            done, left = await asyncio.wait(left, return_when=asyncio.FIRST_COMPLETED)
            heard = any(not isinstance(each.exception(), RequestTimeout) for each in done)
        if left:  # so that nothing is cancelled that is just being answered
            _, left = await asyncio.wait(left, timeout=GRACE_SECONDS)
    finally:
        for each in left:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    # Late answers to what was asked before are answers too.
    return not heard and not answered_since(session, mark)


async def answers_anything(session: Session) -> bool:
    """Whether a reply comes to one of two requests that any server answers, if only with an error."""
    for method in ("ping" if session.dialect.handshake else "server/discover", "tools/list"):
        with suppress(ConductorError):
            await session.exchange(session.compose(method, None))
            return True
    return False


def answered_since(session: Session, mark: int) -> bool:
    """Whether any answer has come since frame number MARK."""
    frames = (frame for frame in session.transcript.since(mark) if frame.source == "server")
    return any(message.kind in ("result", "error") for frame in frames for message in frame.messages())


def _left_something(session: Session, mark: int, use: Use) -> bool:
    """Whether a request since frame number MARK may still be answered.

    Where odd things are said, only a proper request may: one that is wrong is answered before the next one, or never.
    """
    frames = judged_part(session.transcript.since(mark))
    sent = [frame for frame in frames if frame.source == "client"]
    if use == "odd":
        said = [frame.message for frame in sent if frame.message is not None and frame.message.problem is None]
    else:
        said = [message for frame in sent for message in frame.messages()]
    heard = {message.id for frame in frames if frame.source == "server" for message in frame.messages()}
    # A subscription that was ended is not answered.
    over = ("subscriptions/listen",) if use == "polite too" else ()
    asked = [message for message in said if message.kind == "request" and message.method not in over]
    return any(message.id not in heard for message in asked)


def _is_fit_for(use: Use, session: Session) -> bool:
    """Whether others can go on with a session that a probe has begun: it is open, and everything was answered."""
    is_open = bool(session.opened) or use == "leaving"
    return is_open and not session.ended and not _left_something(session, 0, use)
