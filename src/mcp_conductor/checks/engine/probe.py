"""What a probe can do: ask, say anything at all, and begin again with a session or a server of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import field
from time import monotonic, perf_counter
from typing import Any, TypeVar

from mcp_conductor.checks.engine.evidence import Trail
from mcp_conductor.checks.engine.findings import NoAnswer, NotSeen
from mcp_conductor.checks.engine.record import MOST_BYTES, SMALL, Record, judged_part, transport_of
from mcp_conductor.checks.engine.sessions import GRACE_SECONDS, SLOWER, Sessions, Use
from mcp_conductor.checks.engine.unanswered import PATIENCE, Unanswered
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, HttpStatusError, RequestTimeout, TransportError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.compose import compose_error
from mcp_conductor.protocol.dialect import DIALECTS, Dialect
from mcp_conductor.protocol.message import Message, build, parse
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.transport import meanwhile
from mcp_conductor.values import dataclass

Made = TypeVar("Made")


@dataclass(slots=True)
class Found:
    """What the exploration has found on a server: the things that probes try."""

    tools: list[Json] = field(default_factory=list)
    resources: list[Json] = field(default_factory=list)
    templates: list[Json] = field(default_factory=list)
    prompts: list[Json] = field(default_factory=list)
    called: list[Json] = field(default_factory=list)  # the params of the tools that were called, and may be again
    triggers: list[Json] = field(default_factory=list)  # the params of the tools that were named to change something
    remarks: list[str] = field(default_factory=list)  # on what is odd, but breaks no requirement
    silence: str | None = None  # what the server did not answer before it answered nothing any more
    unanswered: list[str] = field(default_factory=list)  # tools that were called, and did not answer in time
    unlisted: str | None = None  # which list of what is declared could not be had
    unanswered_requests: Unanswered = field(default_factory=Unanswered)
    unread_tools: str | None = None  # why there may be more tools than were seen
    lost: str | None = None  # how the server went away while it was used as any client uses it
    spread: str | None = None  # a message on several lines, which came in place of an answer
    unasked_answer: Message | None = None  # an answer with an id that no request had, which came in place of one

    @property
    def uncalled(self) -> str | None:
        """Why nothing of what tools do was seen, although some were called."""
        if self.called and len(self.unanswered) == len(self.called):
            return "no tool that was called answered in time: --timeout"
        return None


class Probe:
    """One session on the server under test, and the means to begin others."""

    def __init__(
        self,
        session: Session,
        sessions: Sessions,
        found: Found,
        since: int = 0,
        *,
        earlier: tuple[Session, ...] = (),
        private: bool = False,
        odd: bool = False,
    ) -> None:
        self.session = session
        self.earlier = earlier  # those of the exploration whose processes have ended: what they said counts
        self.found = found
        self.trail = Trail(used=[(each, each.transcript.mark) for each in (*earlier, session)])
        self.sessions = sessions
        self._since = since  # the frame with which the part of this probe begins
        self._odd = odd  # odd things are said in the session, after which it need not answer anything
        self._private = private  # it takes no session in which others did what not every client does

    @property
    def spec(self) -> ServerSpec:
        return self.sessions.spec

    @property
    def timeout(self) -> float:
        return self.sessions.timeout

    @property
    def patience(self) -> float:
        """How long the first answer on a new connection may take: a process must start before it can speak."""
        return self.sessions.patience

    @property
    def dialect(self) -> Dialect:
        return self.session.dialect

    @property
    def transport(self) -> str:
        return transport_of(self.spec)

    @property
    def harmless(self) -> str:
        """A method that does nothing, and that the server answers soon: ping, or server/discover, where it does."""
        usual = "ping" if self.dialect.handshake else "server/discover"
        lists = (method for method, capability in LIST_MEMBERS.items() if self.declares(capability))
        known = [each for each in (usual, *lists) if not self.unanswered.is_known(each)] or [usual]
        return next((each for each in known if not self.unanswered.is_late(each, self.timeout)), known[0])

    @property
    def ended_sessions(self) -> list[Session]:
        """Those in which the server went away."""
        return [*self.trail.ended_sessions, *([self.session] if self.session.ended else [])]

    @property
    def unanswered(self) -> Unanswered:
        return self.found.unanswered_requests

    def declares(self, capability: str) -> bool:
        return Record(self.session.transcript, self.dialect, self.transport, self.session.opened).declares(capability)

    def record(self) -> Record:
        """What has been said so far; in a session that others have used, since then. Large messages are cut."""
        before = [frame for each in self.earlier for frame in each.transcript.since(0)]
        frames = [*before, *self.session.transcript.since(self._since)]
        if self._since or self.earlier or self.session.transcript.size > SMALL:
            frames = judged_part(frames)
        frames = [each.within(MOST_BYTES) for each in frames]
        return Record(Transcript.read(frames), self.dialect, self.transport, self.session.opened)

    # Saying things.

    async def ask(
        self, method: str, params: Json | None = None, *, seconds: float | None = None, **members: Any
    ) -> Message:
        """The reply to a request, error or not; MEMBERS go into the request itself. Silence is RequestTimeout."""
        raw = {**self.session.compose(method, params), **members}
        try:
            return await self.reply_to(raw, self.timeout if seconds is None else seconds)
        except HttpStatusError as error:
            return self._said_with(error, raw)

    async def reply_to(self, raw: Json, seconds: float) -> Message:
        """The reply to exactly this request. Silence is RequestTimeout, at once where it is known."""
        asked = str(raw.get("method")), raw.get("params")
        if self.unanswered.is_known(*asked) and not self.trail.patient:
            self.trail.missed.append(RequestTimeout(asked[0], self.timeout))
            raise self.trail.missed[-1]
        began = perf_counter()
        limit = seconds * PATIENCE if self.trail.patient else self.unanswered.seconds_for(*asked, seconds)
        try:
            exchange = await self.session.exchange(raw, timeout=limit)
        except RequestTimeout:
            self.trail.cut_short |= limit < seconds
            if self.session.opened and not self._odd:
                self.unanswered.missed(self.session, *asked, patiently=limit > seconds)
            raise self._missed(asked[0], min(limit, seconds)) from None
        except HttpStatusError:
            raise
        except TransportError as error:
            if self.transport == "stdio" or self.session.ended:
                raise
            self.trail.missed.append(none := NoAnswer(asked[0], error))
            raise none from error
        assert exchange.reply is not None
        self.trail.answered.append((raw, exchange.reply.raw))
        self.unanswered.answered(*asked, perf_counter() - began)
        if exchange.reply.kind == "result":
            self.unanswered.served(asked[0])
        if perf_counter() - began > seconds:
            self.trail.came_late = True
            raise self._missed(asked[0], seconds)
        return exchange.reply

    def _missed(self, method: str, seconds: float) -> RequestTimeout:
        """Note that no reply came within SECONDS."""
        error = RequestTimeout(method, seconds)
        self.trail.late.append(error.message)
        self.trail.missed.append(error)
        return error

    def _said_with(self, error: HttpStatusError, raw: Json) -> Message:
        """The reply to RAW in the body of a 404: the end of the session to clients, but an end answers no id."""
        if error.status != 404 or not error.session or error.answers != raw["id"]:
            raise error
        told = "a request is answered with the status 404 in a session that goes on: clients take it for over"
        if told not in self.found.remarks:
            self.found.remarks.append(told)
        return build(compose_error(raw["id"], error.error))

    async def result(self, method: str, params: Json | None = None) -> Json | None:
        """The result of a request, if it is one and an object."""
        reply = await self.ask(method, params)
        return reply.result if reply.kind == "result" and isinstance(reply.result, dict) else None

    async def served(self, method: str, params: Json | None = None) -> Json | None:
        """The result of a request that need not be served; None where it is refused, with or without a message.

        For what is served although it is not declared. That a server declares nothing at all is another fault.
        """
        if not isinstance(self.session.opened.get("capabilities"), dict):
            raise NotSeen("the opening of the server has no capabilities")
        missed = len(self.trail.missed)
        try:
            return await self.result(method, params)
        except (RequestTimeout, HttpStatusError, NoAnswer):
            del self.trail.missed[missed:]  # not to answer is a way to refuse
            return None

    def write(self, text: str) -> None:
        """Send TEXT, which need not be a message, and wait for nothing."""
        self.session.transcript.add(monotonic() - self.session.began, "client", text)
        self.session.transport.send(parse(text))

    async def say(self, text: str) -> Message | None:
        """What answers TEXT, which need not be a message; None when nothing does in time."""
        try:
            return await self.session.say(text, timeout=self.timeout)
        except RequestTimeout:
            self.trail.late.append("a text that is not a request")
            return None

    async def alive(self, busy: float = 0.0) -> bool:
        """Whether the server still answers. It may be BUSY for some seconds with what it was asked before."""
        seconds = self.timeout if self.session.opened else self.patience
        try:
            await self.ask(self.harmless, seconds=seconds + busy)
        except ConductorError:
            return False
        return True

    async def odd(self, text: str) -> Message | None:
        """What answers TEXT, which is not a request; None when two later requests are answered before it."""
        async with meanwhile(self.say(text)) as answer:
            with suppress(ConductorError):
                await self.ask(self.harmless)
                await asyncio.wait({answer}, timeout=min(GRACE_SECONDS, self.timeout))
                await self.ask(self.harmless)
            self.never_cancel(parse(text).id)
            return answer.result() if answer.done() else None

    def never_cancel(self, identity: Id | None) -> None:
        """Stop waiting for the answer to this id, and send no cancellation, which other probes are for."""
        if identity is not None:
            self.session.forget(identity)

    async def settled(self) -> None:
        """Wait until the server has said what it says unasked, if anything."""
        began = perf_counter()
        await self.alive()
        # On a busy machine everything takes longer.
        await asyncio.sleep(min(max(GRACE_SECONDS, SLOWER * (perf_counter() - began)), self.timeout))
        await self.alive()

    # Other sessions.

    @asynccontextmanager
    async def new_session(self, *, answers: Answers | None = None) -> AsyncIterator["Probe"]:
        """A session of its own, in the same revision; on stdio, a new process."""
        async with self._within(self.sessions.new_session(self.dialect.version, answers)) as other:
            yield other

    @asynccontextmanager
    async def polite_session(self, *, answers: Answers | None = None, second: bool = False) -> AsyncIterator["Probe"]:
        """A session for those who leave it as it was; on stdio others may have used it before. SECOND: one more."""
        use: Use = "polite too" if second else "polite"
        async with self._shared(use, answers) as other:
            yield other

    @asynccontextmanager
    async def odd_session(self) -> AsyncIterator["Probe"]:
        """A session to say odd things in; on stdio, others may have done so before, and the server has lived on."""
        async with self._shared("odd") as other:
            yield other

    @asynccontextmanager
    async def listening_session(self) -> AsyncIterator["Probe"]:
        """A session with all our answers to subscribe in; on stdio, others may have used it before."""
        if self._private:
            async with self.new_session(answers=self.session.answers) as other:
                yield other
        else:
            async with self._shared("polite too", self.session.answers) as other:
                yield other

    @asynccontextmanager
    async def leaving_session(self) -> AsyncIterator["Probe"]:
        """A session to be ended; others may have begun it."""
        version = self.dialect.version
        opening = self.sessions.new_session(version) if self._private else self.sessions.leaving(version)
        async with self._within(opening) as other:
            yield other

    @asynccontextmanager
    async def unopened(self, dialect: Dialect | None = None, *, then: Use | None = None) -> AsyncIterator["Probe"]:
        """A connection on which nothing has been said yet; THEN others may use it, if all went well."""
        opening = self.sessions.unopened(dialect or self.dialect, None if self._private else then)
        async with self._within(opening) as other:
            yield other

    def _shared(self, use: Use, answers: Answers | None = None) -> AbstractAsyncContextManager["Probe"]:
        if self.transport != "stdio":
            return self._within(self.sessions.new_session(self.dialect.version, answers), odd=use == "odd")
        opening = self.sessions.shared(use, self.dialect, answers, private=self._private)
        return self._within(opening, used_before=True, odd=use == "odd")

    @asynccontextmanager
    async def _within(
        self, opening: AbstractAsyncContextManager[Session], *, used_before: bool = False, odd: bool = False
    ) -> AsyncIterator["Probe"]:
        began = perf_counter()
        async with opening as session:
            self.trail.opening += perf_counter() - began
            self.trail.second_hand |= self.sessions.is_second_hand(session)
            since = session.transcript.mark if used_before else 0
            other = Probe(session, self.sessions, self.found, since, private=self._private, odd=odd)
            other.trail = self.trail
            self.trail.used.append((session, other._since))
            try:
                yield other
            finally:
                if session.ended and not self.sessions.may_end(session):
                    self.trail.ended_sessions.append(session)

    def again(self, *, private: bool = False) -> "Probe":
        """The same for another probe; one that is PRIVATE takes no session that others handed on."""
        return Probe(self.session, self.sessions, self.found, self._since, earlier=self.earlier, private=private)

    def taken_on(self, session: Session) -> "Probe":
        """The same in SESSION, since the process of this one has ended."""
        session.avoid_ids(range(self.session.next_id()))
        return Probe(session, self.sessions, self.found, earlier=(*self.earlier, self.session))

    async def reachable(self) -> bool:
        """Whether the server can be talked to at all, in a session of its own."""
        try:
            async with self.sessions.new_session(self.dialect.version) as session:
                return not session.ended
        except NotSeen:
            return False

    async def once(self, name: str, make: Callable[[], Coroutine[Any, Any, Made]]) -> Made:
        """What MAKE gives, made once for all probes that ask for it by this NAME."""

        async def make_on_trail() -> tuple[Made, Trail, float]:
            opening = self.trail.opening
            return await make(), self.trail, self.trail.opening - opening

        made, trail, opening = await self.sessions.once(f"{name} {self._private}", make_on_trail)
        if trail is not self.trail:
            self.trail.opening += opening
            self.trail.second_hand |= trail.second_hand
            self.trail.shared.append(trail)
        found: Made = made
        return found


HANDSHAKE_DIALECTS = [dialect for dialect in DIALECTS.values() if dialect.handshake]
