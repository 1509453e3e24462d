"""Streamable HTTP in the handshake era: sessions, the responses to their POSTs, their GET streams, and their end."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, INVALID_REQUEST, WITHOUT_VERSION_HEADER, Dialect
from mcp_conductor.protocol.message import Message, members
from mcp_conductor.server.client import Client
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.http.exchange import EVENT_TYPE, HttpExchange
from mcp_conductor.server.http.limits import Limits
from mcp_conductor.server.http.streams import Budget, PostSender, Stream, Streams, answer, first_word, pump, speak
from mcp_conductor.server.identity import new_token
from mcp_conductor.server.reply_means import means_of
from mcp_conductor.server.server import Deliver, Server
from mcp_conductor.server.spoiled_reply import SpoiledReply

_MOST_SESSIONS = 10_000


class HttpSession:
    """One client, and the streams that lead to it."""

    def __init__(self, transport: TransportConfig, budget: Budget | None = None) -> None:
        self.id = new_token()
        self._exchanges = 0  # that are under way
        self._used = 0.0  # when it was not idle
        # Without sessions no stream can be resumed: ids would only repeat from one request to the next.
        resumable = transport.resumable and not transport.stateless
        self.streams = Streams(resumable=resumable, retry=transport.retry, budget=budget)
        self.common = common = self.streams.open(lossy=True)  # for what belongs to no request
        self.client = Client(common.send)
        # No way leads back to the session: in a circle, it would keep its memory until all garbage is looked for.
        self.client.listens = lambda: common.is_read

    @property
    def is_idle(self) -> bool:
        return not self._exchanges and not self.client.running

    def idle_seconds(self, now: float) -> float:
        """Return the time since the session was last found not idle."""
        if not self.is_idle:
            self._used = now
        return now - self._used

    def touch(self, now: float) -> None:
        """Note that the session was used."""
        self._used = now

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """Count an exchange, which keeps the session from being idle."""
        self._exchanges += 1
        try:
            yield
        finally:
            self._exchanges -= 1


class HttpSessions:
    """All sessions of a server."""

    def __init__(self, server: Server, transport: TransportConfig, limits: Limits) -> None:
        self._loop = asyncio.get_running_loop()
        self._limits = limits
        self._budget = Budget(limits.all_sessions_bytes)
        self._looking: asyncio.TimerHandle | None = None
        self._server = server
        self._transport = transport
        self._means = means_of(transport, handshake=True)
        self._sessions: OrderedDict[str, HttpSession] = OrderedDict()
        self._passing: set[HttpSession] = set()  # the requests of the stateless mode

    def stop(self) -> None:
        if self._looking is not None:
            self._looking.cancel()
        for session in (*self._sessions.values(), *self._passing):
            self._end(session)

    async def serve(self, exchange: HttpExchange) -> None:
        """GET or DELETE."""
        if not await self._is_understood(exchange):
            return
        if self._transport.stateless:
            await exchange.refuse(405, INVALID_REQUEST, "there are no sessions here", [("Allow", "POST")])
            return
        session = await self._find(exchange)
        if session is None:
            return
        if exchange.method == "DELETE":
            self._end(session)
            await exchange.reply(200)
            return
        with session.exchanging():
            await self._get(exchange, session)

    async def _find(self, exchange: HttpExchange) -> HttpSession | None:
        """The session that a request belongs to; None if there is no such session; then the client is told."""
        identity = exchange.header("mcp-session-id")
        if identity is None:
            await exchange.refuse(400, INVALID_REQUEST, "Mcp-Session-Id is missing: begin with initialize")
            return None
        session = self._sessions.get(identity)
        if session is None:
            await exchange.refuse(404, INVALID_REQUEST, "Session not found")
            return None
        self._sessions.move_to_end(identity)
        session.touch(self._loop.time())
        return session

    def _stated_dialect(self, version: str) -> Dialect:
        known = self._server.handshake_versions
        return DIALECTS[version if version in known else known[-1]]

    async def _is_understood(self, exchange: HttpExchange) -> bool:
        """Whether the request's header names a version that is spoken here; if not, the client has been told so."""
        version = exchange.header("mcp-protocol-version")
        if version is None or version.strip() in self._server.handshake_versions:
            return True
        await exchange.refuse(400, INVALID_REQUEST, f"MCP-Protocol-Version {version!r} is not supported here")
        return False

    def _end(self, session: HttpSession) -> None:
        self._sessions.pop(session.id, None)
        self._server.forget(session.client)
        session.streams.end()
        session.common.end()
        session.common.leave_budget()

    # GET: a stream to listen on, or the rest of one that was interrupted.

    async def _get(self, exchange: HttpExchange, session: HttpSession) -> None:
        if not exchange.accepts(EVENT_TYPE):
            await exchange.refuse(406, INVALID_REQUEST, f"the Accept header must list {EVENT_TYPE}")
            return
        last = exchange.header("last-event-id")
        if last is not None and self._transport.resumable:
            found = session.streams.find(last)
            if found is None:
                await exchange.refuse(
                    400, INVALID_REQUEST, f"there is no event {last!r} from which the stream could be resumed"
                )
                return
            stream, position = found
            await pump(exchange, stream, position=position, headers=self._names(session))
            return
        if session.common.is_read:
            await exchange.refuse(409, INVALID_REQUEST, "this session has a GET stream already")
            return
        position = session.common.sent
        if session.client.revision.priming_event and self._transport.resumable:
            session.common.add(b"", priming=True)
        await pump(exchange, session.common, position=position, headers=self._names(session))

    # POST.

    async def post(self, exchange: HttpExchange, message: Message) -> None:
        parts = list(members(message)) if message.kind == "batch" else [message]
        wrong = next((part for part in parts if part.kind == "invalid"), None)
        if wrong is not None or not parts:
            problem = message.problem if wrong is None else wrong.problem
            await exchange.refuse(400, INVALID_REQUEST, problem or "this is not a message")
            return
        if not await self._is_understood(exchange):
            return
        opens = message.kind == "request" and message.method == "initialize"
        if not opens and any(part.kind == "request" and part.method == "initialize" for part in parts):
            await exchange.refuse(400, INVALID_REQUEST, "initialize must not be part of a batch")
            return
        session = await self._session_for(exchange, opens=opens)
        if session is None:
            return
        dialect = session.client.dialect
        if message.kind == "batch" and not (dialect is not None and dialect.batches):
            await exchange.refuse(400, INVALID_REQUEST, "this revision has no batches")
            return
        requests = [part for part in parts if part.kind == "request"]
        for part in parts:
            if part.kind != "request":
                self._server.hear(part, session.client)
        if not requests:
            await exchange.reply(202)
        else:
            self._passing.add(session)
            try:
                with session.exchanging():
                    await self._respond(exchange, session, requests, batch=message.kind == "batch")
            finally:
                self._passing.discard(session)
                if opens and session.id not in self._sessions:
                    self._end(session)

    async def _session_for(self, exchange: HttpExchange, *, opens: bool) -> HttpSession | None:
        if self._transport.stateless:
            version = (exchange.header("mcp-protocol-version") or WITHOUT_VERSION_HEADER).strip()
            session = HttpSession(self._transport)
            session.client.lasting = False
            session.client.dialect = None if opens else self._stated_dialect(version)
            return session
        if opens and exchange.header("mcp-session-id") in self._sessions:
            await exchange.refuse(400, INVALID_REQUEST, "this session is initialized already")
            return None
        if opens and exchange.header("mcp-session-id") is None:
            return HttpSession(self._transport, Budget(self._limits.session_bytes, self._budget))
        return await self._find(exchange)

    async def _respond(
        self, exchange: HttpExchange, session: HttpSession, requests: list[Message], *, batch: bool
    ) -> None:
        spoiled_replies = [self._server.spoiled_reply(request, self._means) for request in requests]
        if await self._is_answered_by_fault(exchange, session, spoiled_replies):
            return
        opens = requests[0].method == "initialize"
        json = self._transport.json or opens  # to open a session is to give it an id, which goes into a header
        stream = Stream(None) if json else session.streams.open(primed=session.client.revision.priming_event)
        replies: list[Json] = []
        waiting = len(requests)

        def deliverer(spoiled: SpoiledReply | None) -> Deliver:
            def deliver(reply: Json | None) -> None:
                nonlocal waiting
                if spoiled is not None and spoiled.silent:
                    return
                if reply is not None and json:
                    replies.append(reply)
                elif reply is not None:
                    speak(stream, reply, spoiled)
                waiting -= 1
                if not waiting:
                    stream.end()

            return deliver

        send = PostSender(stream, session.common.send if json else None)
        for request, spoiled in zip(requests, spoiled_replies, strict=True):
            self._server.take(request, session.client, send, deliverer(spoiled), spoiled)
        if json and not stream.ended:
            session.streams.hold(stream)
            if not await first_word(exchange, stream):
                return
        if opens and replies:
            await self._open(exchange, session, replies[0], spoiled_replies[0])
        elif json and replies:
            await answer(
                exchange,
                replies if batch else replies[0],
                status=200,
                headers=self._names(session),
                spoiled=spoiled_replies[0],
            )
        elif json:
            await exchange.reply(202)  # cancelled: there is no answer
        else:
            await pump(exchange, stream, headers=self._names(session), spoiled=spoiled_replies[0])
            if spoiled_replies[0] is not None and spoiled_replies[0].forget_events:
                session.streams.forget(stream)

    async def _is_answered_by_fault(
        self, exchange: HttpExchange, session: HttpSession, spoiled_replies: list[SpoiledReply | None]
    ) -> bool:
        """Whether a fault has answered the request already."""
        for spoiled in spoiled_replies:
            if spoiled is not None and spoiled.expire_session:
                self._end(session)
                await exchange.refuse(404, INVALID_REQUEST, "Session not found")
                return True
            if spoiled is not None and spoiled.status is not None:
                await asyncio.sleep(spoiled.delay)
                await exchange.reply(spoiled.status, headers=spoiled.headers)
                return True
        return False

    async def _open(
        self, exchange: HttpExchange, session: HttpSession, reply: Json, spoiled: SpoiledReply | None
    ) -> None:
        """Answer initialize; where it succeeded, the session begins."""
        if "error" in reply:
            await answer(exchange, reply, status=400, spoiled=spoiled)
            return
        if not self._transport.stateless:
            self._make_room()
            self._sessions[session.id] = session
            session.touch(self._loop.time())
            if self._looking is None:
                self._look()
        if self._transport.json:
            await answer(exchange, reply, status=200, headers=self._names(session), spoiled=spoiled)
            return
        stream = session.streams.open()
        speak(stream, reply, spoiled)
        stream.end()
        await pump(exchange, stream, headers=self._names(session), spoiled=spoiled)

    def _make_room(self) -> None:
        """Clients that never return must not keep memory: the session that has been silent longest ends."""
        if len(self._sessions) >= _MOST_SESSIONS:
            quiet = next((each for each in self._sessions.values() if each.is_idle), None)
            if quiet is not None:
                self._end(quiet)

    def _look(self) -> None:
        """End sessions that have been idle for too long; look again while there are others."""
        longest = self._limits.session_seconds
        now = self._loop.time()
        for session in list(self._sessions.values()):
            if session.idle_seconds(now) > longest:
                self._end(session)
        self._looking = self._loop.call_later(longest / 10, self._look) if self._sessions else None

    def _names(self, session: HttpSession) -> list[tuple[str, str]]:
        return [] if self._transport.stateless else [("Mcp-Session-Id", session.id)]
