"""Other sessions on the server under test: new ones, and some that polite probes use one after the other.

On stdio every session is a process, and starting it costs more than all that is said in it. So a probe that only uses
what any client may use shares a session, with those whose clients declare the same; those that say odd things share
another, as long as the server lives through it; one that looks at the beginning or the end has its own. Sessions are
closed behind the back of the probes, which need not wait for it.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import field
from typing import Any, Literal, Self

from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.record import judged_part
from mcp_conductor.client.connect import connect
from mcp_conductor.client.negotiation import NONE
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, RequestTimeout
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.compose import compose_in
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.transport import finish
from mcp_conductor.values import dataclass

STARTS_PER_ANSWER = 15  # how much longer than an answer the first start may take: packages are fetched, code compiled
SLOWER = 8.0  # how much longer than the first a later start may take, while others start too
STARTS_AT_ONCE = 4
MOST_CLOSING = 12  # sessions that are being closed, before the next one has to wait
MOST_REFUSALS = 2  # sessions that cannot be opened, before we stop trying

NO_OTHER = "another session could not be opened"

# "polite too" is for those who hold a polite one already.
Use = Literal["polite", "polite too", "odd"]


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


class Sessions:
    """Sessions besides the one of the exploration; all are closed on leaving."""

    def __init__(self, spec: ServerSpec, timeout: float) -> None:
        self.spec = spec
        self.timeout = timeout
        self.patience = timeout  # for the first answer on a new connection
        self._startup = STARTS_PER_ANSWER * timeout
        self._starts = asyncio.Semaphore(STARTS_AT_ONCE)
        self._shared: dict[str, _Shared] = {}
        self._closing: set[asyncio.Task[None]] = set()
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
        opened = await self._open(version, answers)
        try:
            yield opened.session
        finally:
            await self._leave(opened)

    @asynccontextmanager
    async def unopened(self, dialect: Dialect) -> AsyncIterator[Session]:
        """A connection on which nothing has been said yet."""
        opened = await self._open(NONE, None)
        opened.session.assume(dialect)
        try:
            yield opened.session
        finally:
            await self._leave(opened)

    @asynccontextmanager
    async def shared(self, use: Use, dialect: Dialect, answers: Answers | None = None) -> AsyncIterator[Session]:
        """A session that others have used before, in the same way and with a client that declares the same."""
        given = answers or Answers()
        place = self._shared.setdefault(f"{use} {compact(given.capabilities(dialect))}", _Shared())
        async with place.turn:
            if place.open is not None and place.open.session.ended:
                await self._leave(place.open)
                place.open = None
            if place.open is None:
                place.open = await self._open(dialect.version, given)
            opened = place.open
            opened.session.answer_with(given)
            mark = opened.session.transcript.mark
            try:
                yield opened.session
            except BaseException:
                place.open = None
                await self._leave(opened)
                raise
            # What was cancelled may still be answered, which the next one would wonder about.
            if _left_something(opened.session, mark) or (use == "odd" and await silent(opened.session, self.timeout)):
                place.open = None
                await self._leave(opened)

    async def once(self, name: str, make: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """What MAKE gives: it is made by the first who asks for it by this NAME."""
        if name not in self._once:
            self._once[name] = asyncio.ensure_future(make())
        return await asyncio.shield(self._once[name])

    def forget_what_was_made(self) -> None:
        """Make it again for the next who asks for it: it may have come out so because the machine was busy."""
        self._made_before += self._once.values()
        self._once = {}

    async def _open(self, version: str, answers: Answers | None) -> _Open:
        if len(self._refusals) >= MOST_REFUSALS:
            raise NotSeen(self._refusals[-1])
        stack = AsyncExitStack()
        async with self._starts:
            try:
                session = await stack.enter_async_context(
                    connect(
                        self.patient_spec, protocol=version, answers=answers, timeout=self.timeout, needs_version=False
                    )
                )
            except ConductorError as error:
                self._refusals.append(f"{NO_OTHER}: {error.message}")
                raise NotSeen(self._refusals[-1]) from error
        self._refusals.clear()
        return _Open(session, stack)

    async def _leave(self, opened: _Open) -> None:
        if len(self._closing) >= MOST_CLOSING:
            await asyncio.wait(self._closing, return_when=asyncio.FIRST_COMPLETED)
        task = asyncio.ensure_future(_close(opened))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def _close_all(self) -> None:
        made = [*self._made_before, *self._once.values()]
        for task in made:
            task.cancel()
        await asyncio.gather(*made, return_exceptions=True)
        left: list[Awaitable[None]] = [_close(place.open) for place in self._shared.values() if place.open]
        await asyncio.gather(*left, *self._closing)


async def _close(opened: _Open) -> None:
    with suppress(ConductorError):  # how a server takes its end is looked at where it matters
        await opened.stack.aclose()


async def silent(session: Session, seconds: float) -> bool:
    """Whether the server answers nothing at all; what it does not know, it may answer with an error."""
    asked, mark = [], session.transcript.mark
    for method in ("ping" if session.dialect.handshake else "server/discover", "tools/list"):
        raw = compose_in(
            session.dialect, method, None, identity=session.next_id(), client=session.client, capabilities={}
        )
        asked.append(session.exchange(raw, timeout=seconds))
    answers = await asyncio.gather(*asked, return_exceptions=True)
    # Late answers to what was asked before are answers too.
    return all(isinstance(each, RequestTimeout) for each in answers) and not answered_since(session, mark)


def answered_since(session: Session, mark: int) -> bool:
    """Whether any answer has come since frame number MARK."""
    frames = (frame for frame in session.transcript.since(mark) if frame.source == "server")
    return any(message.kind in ("result", "error") for frame in frames for message in frame.messages())


def _left_something(session: Session, mark: int) -> bool:
    frames = judged_part(session.transcript.since(mark))
    said = [message for frame in frames if frame.source == "client" for message in frame.messages()]
    heard = {message.id for frame in frames if frame.source == "server" for message in frame.messages()}
    return any(message.kind == "request" and message.id not in heard for message in said)
