"""The scripted server over HTTP: sessions, JSON or event streams, and everything that a client asks for elsewhere."""

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp_conductor.checks.harness.client_record import ClientConnection, HttpRequest
from mcp_conductor.checks.harness.run_state import RunState
from mcp_conductor.checks.harness.scripted_server import Disconnected, ScriptCall
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose, compose_error
from mcp_conductor.protocol.dialect import INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from mcp_conductor.protocol.message import Message, build, compact, decode, members
from mcp_conductor.server.http.accepting import accepting
from mcp_conductor.server.http.admission import Admission
from mcp_conductor.server.http.exchange import Headers, HttpExchange, HttpRefused

ADDRESS = "127.0.0.1"
PATH = "/mcp"  # as `ClientRecord.endpoint`
# Where messages of HTTP+SSE go; it is announced without the slash, relative to the URL of the stream.
MESSAGES = "/old/messages"
QUERY = "sessionId=old%2F1&x=1"


class WebHost:
    """One endpoint, and everything else that a client may look for on the same host."""

    def __init__(self, state: RunState) -> None:
        self.state = state
        self.record = state.record
        self.script = state.script
        self.origin = ""
        self._admission = Admission(ADDRESS, ADDRESS)
        self._connections: dict[str, ClientConnection] = {}  # by their sessions
        self._old: _OldStream | None = None

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[str]:
        """Listen: the URL of the endpoint."""
        # The protocol must be named: asyncio sets TCP_NODELAY only where it is.
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.bind((ADDRESS, 0))
        async with accepting(listener, self.serve, grace=0):
            self.origin = f"http://{ADDRESS}:{listener.getsockname()[1]}"
            self.record.origin = self.origin
            yield self.origin + PATH

    async def serve(self, exchange: HttpExchange) -> None:
        """Answer one request, and remember it."""
        try:
            self._admission.check(exchange.headers)
            body = await exchange.body()
        except HttpRefused as refused:
            await exchange.refuse(refused.status, INVALID_REQUEST, refused.problem)
            return
        request = HttpRequest(
            self.state.now(),
            exchange.method,
            exchange.path,
            exchange.query.decode("latin-1"),
            exchange.headers,
            body,
        )
        if self.state.over:
            exchange.cut()
            return
        self.record.http.append(request)
        self.state.count(len(body))
        if await self.script.web(self, exchange, request):
            return
        if exchange.path == MESSAGES and exchange.method == "POST" and self._old is not None:
            await self._old.take(exchange, request, self)
        elif exchange.path != PATH:
            await self.reply(exchange, request, 404)
        elif exchange.method == "GET" and self._opens_old_stream(request):
            self._old = _OldStream(self.state, exchange)
            request.status = 200
            await self._old.open()
        elif self.script.old_only:
            await self.reply(exchange, request, 405, headers=[("Allow", "GET")])
        elif exchange.method == "POST":
            await self.post(exchange, request)
        elif exchange.method == "GET" and self.script.finds_client_idle:
            await self._ask_on_stream(exchange, request)
        elif exchange.method == "DELETE" and request.header("mcp-session-id") in self._connections:
            await self.reply(exchange, request, 200)
        else:
            await self.reply(exchange, request, 405, headers=[("Allow", "POST")])

    async def reply(
        self, exchange: HttpExchange, request: HttpRequest, status: int, body: str = "", headers: Headers = ()
    ) -> None:
        request.status = status
        await exchange.reply(status, body.encode(), headers)

    def _opens_old_stream(self, request: HttpRequest) -> bool:
        """Whether a GET is that of HTTP+SSE: it comes before any POST."""
        return request.takes_events and (self.script.old_only or not any(True for _ in self.record.posts()))

    async def _ask_on_stream(self, exchange: HttpExchange, request: HttpRequest) -> None:
        """Use the stream that a client opens to hear what we have to say."""
        connection = request.connection = self._connections.get(
            request.header("mcp-session-id") or "", self.record.connections[-1]
        )
        channel = _Channel(self.state, connection, exchange, request)
        channel.keep()
        ready = build(compose("notifications/initialized"))
        self.state.begin(self.script.ask_idle(ScriptCall(self.record, ready, connection, channel, request)))
        await exchange.gone

    def connection_of(self, request: HttpRequest, message: Message) -> ClientConnection:
        """The session that a request belongs to; initialize begins one."""
        session = request.header("mcp-session-id")
        if session in self._connections:
            return self._connections[session]
        known = [connection for connection in self.record.connections if connection.transport == "http"]
        begins = message.kind == "request" and message.method == "initialize"
        if known and not (begins and known[-1].dialect is not None):
            return known[-1]
        connection = ClientConnection("http")
        self.record.connections.append(connection)
        self.state.count(0, connections=1)
        return connection

    async def post(self, exchange: HttpExchange, request: HttpRequest) -> None:
        """Take one message, or several in a batch."""
        message = request.message = decode(request.body)
        connection = request.connection = self.connection_of(request, message)
        self.state.note(connection, "client", message.text)
        if message.kind == "invalid":
            error = compose_error(None, {"code": PARSE_ERROR, "message": message.problem}, named=False)
            await self.reply(exchange, request, 400, compact(error))
            return
        several = list(members(message)) if message.kind == "batch" else [message]
        for each in several:
            if each.kind != "request":
                self.state.take(connection, each)
        calls = [each for each in several if each.kind == "request"]
        if not calls:
            await self.reply(exchange, request, 202)
            return
        channel = _Channel(self.state, connection, exchange, request)
        for each in calls:
            if not await self._answer(each, connection, channel, request):
                return
        await channel.end()

    async def _answer(
        self, call: Message, connection: ClientConnection, channel: "_Channel", request: HttpRequest
    ) -> bool:
        """Answer one request, if the server does that at all."""
        asked = ScriptCall(self.record, call, connection, channel, request)
        working: asyncio.Future[Any] = asyncio.ensure_future(self.script.reply(asked))
        gone: asyncio.Future[Any] = channel.exchange.gone
        try:
            await asyncio.wait([working, gone], return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                self._note_departure(request)
                return False
            answer = working.result()
        except Disconnected:
            channel.exchange.cut()
            return False
        finally:
            working.cancel()
        if answer is None:
            channel.keep()
            await gone
            self._note_departure(request)
            return False
        if call.method == "initialize" and "result" in answer:
            self._begin_session(connection, channel)
        channel.answers.append(answer)
        return True

    def _note_departure(self, request: HttpRequest) -> None:
        """The client closed the connection before there was an answer."""
        if not self.state.over:
            request.left = self.state.now()

    def _begin_session(self, connection: ClientConnection, channel: "_Channel") -> None:
        if connection.dialect is None or not connection.dialect.http_session or not self.script.sessions:
            return
        connection.session = secrets.token_hex(16)
        self._connections[connection.session] = connection
        channel.headers.append(("Mcp-Session-Id", connection.session))


class _Channel:
    """The answer to one POST: JSON, or an event stream as soon as anything is said before the answer."""

    def __init__(
        self, state: RunState, connection: ClientConnection, exchange: HttpExchange, request: HttpRequest
    ) -> None:
        self.exchange = exchange
        self.headers: list[tuple[str, str]] = list(state.script.extra_headers)
        self.answers: list[Json] = []
        self._state = state
        self._connection = connection
        self._request = request
        self._streams = False

    def keep(self) -> None:
        """Begin a stream on which nothing may ever come."""
        if not self._streams:
            self._streams = True
            self._request.status = 200
            self.exchange.begin(self.headers)

    async def say(self, text: str) -> None:
        self.keep()
        self._state.note(self._connection, "server", text)
        await self.exchange.write(self._state.script.event(text), more=True)

    async def write_stderr(self, text: str) -> None:
        """There is no stderr here."""

    async def ask(self, raw: Json, seconds: float) -> Message | None:
        return await self._state.ask(self.say, raw, seconds)

    async def end(self) -> None:
        """Say the answers, in the way in which the script wants it."""
        for answer in self.answers:
            self._state.note(self._connection, "server", compact(answer))
        if self._streams or self._state.script.events:
            self.keep()
            said = b"".join(self._state.script.event(compact(answer)) for answer in self.answers)
            await self.exchange.write(said, more=False)
            return
        whole = self.answers[0] if len(self.answers) == 1 else self.answers
        self._request.status = self._status()
        await self.exchange.reply(self._request.status, compact(whole).encode(), self.headers)

    def _status(self) -> int:
        """In the modern era errors of the protocol have a status; before, they are answers like any other."""
        error = self.answers[0].get("error")
        dialect = self._connection.dialect
        if error is None or (dialect is not None and dialect.handshake):
            return 200
        return 404 if error["code"] == METHOD_NOT_FOUND and dialect is not None else 400


class _OldStream:
    """HTTP+SSE: one stream for all that we say, and POSTs for all that the client says."""

    def __init__(self, state: RunState, exchange: HttpExchange) -> None:
        self._state = state
        self._exchange = exchange
        self._connection = ClientConnection("sse")

    async def open(self) -> None:
        self._state.record.connections.append(self._connection)
        self._state.count(0, connections=1)
        self._exchange.begin()
        await self._exchange.write(f"event: endpoint\ndata: {MESSAGES[1:]}?{QUERY}\n\n".encode(), more=True)
        await self._exchange.gone

    async def take(self, exchange: HttpExchange, request: HttpRequest, host: WebHost) -> None:
        message = request.message = decode(request.body)
        request.connection = self._connection
        self._state.note(self._connection, "client", message.text)
        await host.reply(exchange, request, 202)
        self._state.hear(self._connection, message, self, partial(self._answer, request))

    async def _answer(self, request: HttpRequest, message: Message) -> None:
        try:
            answer = await self._state.script.reply(
                ScriptCall(self._state.record, message, self._connection, self, request)
            )
        except Disconnected:
            self._exchange.cut()
            return
        if answer is not None:
            await self.say(compact(answer))

    async def say(self, text: str) -> None:
        self._state.note(self._connection, "server", text)
        await self._exchange.write(self._state.script.event(text), more=True)

    async def write_stderr(self, text: str) -> None:
        """There is no stderr here."""

    async def ask(self, raw: Json, seconds: float) -> Message | None:
        return await self._state.ask(self.say, raw, seconds)
