"""Streamable HTTP: each message is a POST; the answer is JSON, or a stream of events that ends with the answer.

In the handshake era the server may give us a session, push messages on a GET stream, and let us resume a stream that
broke off; we end the session with DELETE. The modern era has none of these, and closing a stream cancels its
request.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.errors import ConductorError, ConnectionLost, TransportError
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import NEWEST_HANDSHAKE, Dialect
from mcp_conductor.protocol.event_stream import EventStream
from mcp_conductor.protocol.http_headers import Annotations, annotations_of, routing_headers
from mcp_conductor.protocol.message import Message, classify, decode
from mcp_conductor.protocol.server_spec import HttpSpec
from mcp_conductor.transport import Authorize, Listener, finish, opens
from mcp_conductor.transport.http_access import HttpAccess, is_rpc_error, not_mcp
from mcp_conductor.transport.http_client import Response, failure
from mcp_conductor.transport.http_connection import Reply

GOODBYE_SECONDS = 2.0  # for what must still be said when we leave
DEFAULT_RETRY_SECONDS = 1.0
MOST_RESUMPTIONS = 5  # without anything new in between
_AFTERWARDS_SECONDS = 0.15  # in which a stream is read on that the server does not end with its answer
_MOST_UNDELIVERED = 10_000  # answers and notifications of ours
_MANY_UNASKED = 10_000  # messages on one stream that answers no request, before it is read slowly
_UNASKED_AT_ONCE = 100
_REST_SECONDS = 0.05  # after so many: no server has so much to tell, and others want their turn
_MOST_ON_THE_WAY = 32  # of these, before we read on what makes us send more
_ACCEPT = ("Accept", "application/json, text/event-stream")


@opens("http")
@asynccontextmanager
async def open_streamable_http(
    spec: HttpSpec, listener: Listener, authorize: Authorize | None = None
) -> AsyncIterator["StreamableHttp"]:
    """Talk to the server at a URL; on leaving, end its session and close all streams."""
    transport = StreamableHttp(HttpAccess(spec, listener, authorize), listener)
    try:
        yield transport
    finally:
        await finish(transport.end())


class StreamableHttp:
    """Messages to and from one URL."""

    cancels_by_closing = True

    def __init__(self, access: HttpAccess, listener: Listener) -> None:
        self._access = access
        self._listener = listener
        self._dialect: Dialect = NEWEST_HANDSHAKE
        self._settled = False
        self._session: str | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._by_id: dict[Id, asyncio.Task[None] | Reply] = {}  # what waits for the answer to a request
        self._gate: asyncio.Task[None] | None = None  # the last message that others must not overtake
        self._tools: dict[str, Annotations] = {}
        self._overdue = False
        self.silent: asyncio.Future[str] = asyncio.get_running_loop().create_future()  # see Session.wait_until_unheard

    def speak(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._settled = True
        self._access.speak(dialect)

    def send(self, message: Message) -> int | None:
        if message.kind != "request" and len(self._tasks) > _MOST_UNDELIVERED:
            if not self._overdue:
                self._overdue = True
                self._listener.note(f"{len(self._tasks)} messages of ours are not delivered yet; no more are sent")
            return None
        gate, exchange = self._gate, self._listener.begin_exchange()
        if message.kind != "request":
            self._gate = self._start(message, exchange, gate)
        elif (gate is not None and not gate.done()) or not self._begin(message, exchange):
            self._start(message, exchange, gate)
        return exchange

    def _begin(self, message: Message, exchange: int) -> bool:
        """Send a request without a task, if that can be done at once: a task would cost as much as all the rest."""
        if message.method == "initialize":  # its answer may begin a session
            return False
        headers, body = self._request(message)
        reply = self._access.begin(headers, body, partial(self._on_head, message, exchange), exchange)
        if reply is not None and message.id is not None:
            self._by_id[message.id] = reply
        return reply is not None

    def _on_head(self, message: Message, exchange: int, reply: Reply) -> None:
        """The head of an answer is there, or none will come."""
        try:
            self._take_at_once(message, exchange, reply)
        except ConductorError as error:
            self._fail(message, error)
        except Exception as error:  # noqa: BLE001  # as in a task: no request may wait for its answer
            self._fail(message, TransportError(f"internal error: {error!r}"))

    def _take_at_once(self, message: Message, exchange: int, reply: Reply) -> None:
        """Take an answer that has come whole; what is left to be waited for needs a task."""
        if message.id is not None:
            self._by_id.pop(message.id, None)
        if not reply.status:
            reply.close()
            if not reply.never_read:
                raise failure(self._access.url, reply)
            self._start(message, exchange, None)
            return
        response = self._access.begun(reply, exchange)
        if 200 <= response.status < 300 and response.media_type == "application/json":
            body = response.whole()
            if body is not None:
                response.insist_on_size("the body of the answer", len(body))
                self._take_json(message, exchange, body)
                return
        # A task that is cancelled before it began closes nothing.
        self._start(message, exchange, None, response).add_done_callback(lambda _: reply.close())

    def _start(
        self, message: Message, exchange: int, gate: "asyncio.Task[None] | None", begun: Response | None = None
    ) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(self._deliver(message, exchange, gate, begun))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(partial(self._on_task_ended, message))
        if message.kind == "request" and message.id is not None:
            self._by_id[message.id] = task
        return task

    def _on_task_ended(self, message: Message, task: "asyncio.Task[None]") -> None:
        """A task of ours has ended; if that was a bug, no request may wait for its answer."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(message, TransportError(f"internal error: {error!r}"))

    def abandon(self, request_id: Id) -> None:
        """Close the stream of this request."""
        waiting = self._by_id.pop(request_id, None)
        if waiting is not None:
            waiting.cancel()

    def unsent(self) -> int:
        return 0

    def hear_no_more(self) -> None:
        """Close all streams."""
        for waiting in (*self._tasks, *self._by_id.values()):
            waiting.cancel()

    async def end(self) -> None:
        """Let what we said last go out, close all streams, end the session."""
        last = [task for task in self._tasks if task not in self._by_id.values() and task.get_name() != "GET"]
        if last:
            await asyncio.wait(last, timeout=GOODBYE_SECONDS)
        for waiting in (*self._tasks, *self._by_id.values()):
            waiting.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            with suppress(ConductorError, TimeoutError):
                async with asyncio.timeout(GOODBYE_SECONDS), self._open("DELETE", self._headers()):
                    pass
        await self._access.aclose()

    async def _deliver(
        self, message: Message, exchange: int, gate: "asyncio.Task[None] | None", begun: Response | None
    ) -> None:
        if gate is not None and not gate.done():
            await asyncio.wait({gate})
        try:
            await self._post(message, exchange, begun)
        except ConductorError as error:
            self._fail(message, error)
        finally:
            if message.id is not None and self._by_id.get(message.id) is asyncio.current_task():
                del self._by_id[message.id]

    def _fail(self, message: Message, error: ConductorError) -> None:
        if message.kind == "request" and message.id is not None:
            if isinstance(error, ConnectionLost) and not error.final:
                self._tasks.add(task := asyncio.ensure_future(self._fail_after_loss(message.id, error)))
                task.add_done_callback(self._tasks.discard)
            else:
                self._listener.failed(message.id, error)
        else:
            what = message.method if message.kind == "notification" else "our answer"
            self._listener.note(f"{what} was not delivered: {error.message}")

    async def _fail_after_loss(self, request_id: Id, error: ConnectionLost) -> None:
        """A connection was lost: the conversation is over if the server is gone, as on every other transport."""
        error.final = await self._access.is_gone()
        self._listener.failed(request_id, error)

    async def _post(self, message: Message, exchange: int, begun: Response | None) -> None:
        """POST MESSAGE, and take the answer, which may have BEGUN already."""
        while True:
            headers, body = self._request(message)
            async with self._access.open("POST", self._access.url, headers, body, begun, exchange=exchange) as response:
                begun = None
                if await self._access.authorize_after(response):
                    continue
                if self._dialect.handshake and message.kind == "request" and message.method == "initialize":
                    self._session = response.header("mcp-session-id")
                await self._take(message, exchange, response)
                return

    def _request(self, message: Message) -> tuple[list[tuple[str, str]], bytes]:
        headers = [_ACCEPT, ("Content-Type", "application/json"), *self._headers(message)]
        return headers, message.text.encode(errors="surrogateescape")

    def _headers(self, message: Message | None = None) -> list[tuple[str, str]]:
        routing = [] if message is None else routing_headers(message.raw, self._annotations(message))
        if routing:
            return routing
        headers: list[tuple[str, str]] = []
        if message is not None and message.kind == "request" and message.method == "initialize":
            return headers  # it begins a new session
        if self._session is not None:
            headers.append(("Mcp-Session-Id", self._session))
        if self._settled and self._dialect.version_header:
            headers.append(("MCP-Protocol-Version", self._dialect.version))
        return headers

    def _annotations(self, message: Message) -> Annotations:
        if message.kind != "request" or message.method != "tools/call":
            return {}
        return self._tools.get(str(message.params.get("name")), {})

    async def _take(self, message: Message, exchange: int, response: Response) -> None:
        request_id = message.id if message.kind == "request" else None
        if not 200 <= response.status < 300:
            await self._take_refusal(message, exchange, response)
        elif response.media_type == "text/event-stream":
            await self._follow(response, message, exchange)
        elif response.media_type == "application/json":
            self._take_json(message, exchange, await response.read())
        elif request_id is not None:
            kind = response.media_type or "no content type"
            said = self._access.excerpt(await response.read())
            hint = not_mcp(message.method, kind, said)
            raise TransportError(
                f"{message.method} was answered with {kind} (status {response.status}): {said!r}", hint=hint
            )
        else:
            self._on_delivered(message)

    def _take_json(self, message: Message, exchange: int, body: bytes) -> None:
        request_id = message.id if message.kind == "request" else None
        if not self._hear(body, request_id, message, exchange) and request_id is not None:
            said = self._access.excerpt(body)
            hint = not_mcp(message.method, "JSON", said)
            raise TransportError(
                f"{message.method} was answered with a message that is not its answer: {said!r}", hint=hint
            )

    async def _take_refusal(self, message: Message, exchange: int, response: Response) -> None:
        """Report a status that means failure; a JSON-RPC error in the body is the answer."""
        said = decode(await response.read())
        in_session = self._session is not None and message.kind == "request" and message.method != "initialize"
        # 401 means that a token is missing, and 404 in a session that the session is over; the body does not matter.
        decided = response.status == 401 or (in_session and response.status == 404)
        if is_rpc_error(said) and message.kind == "request" and not decided:
            self._listener.heard(said, message.id, exchange)
        elif is_rpc_error(said) and message.kind in ("invalid", "batch"):
            self._listener.heard(said, None, exchange)
        else:
            what = message.method if message.kind in ("request", "notification") else "our answer"
            raise self._access.refusal(what, response, said, session=in_session)

    def _on_delivered(self, message: Message) -> None:
        """The server has taken a message that has no answer."""
        opens = message.kind == "notification" and message.method == "notifications/initialized"
        if opens and self._dialect.handshake:
            task = asyncio.create_task(self._listen(), name="GET")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _hear(self, data: bytes, request_id: Id | None, message: Message, exchange: int) -> bool:
        """Tell what came; whether it was the answer to our request."""
        if not data.strip():
            if request_id is not None:
                raise TransportError(f"{message.method} was answered with an empty body")
            self._on_delivered(message)
            return False
        heard = decode(data, self._access.budgets)
        self._learn(heard, message)
        self._listener.heard(heard, None, exchange)
        replies = map(classify, heard.raw) if heard.kind == "batch" else [(heard.kind, heard.id, None)]
        return any(kind in ("result", "error", "invalid") and identity == request_id for kind, identity, _ in replies)

    def _learn(self, heard: Message, message: Message) -> None:
        """Remember which arguments the server's tools want in headers."""
        if heard.kind != "result" or message.kind != "request" or message.method != "tools/list":
            return
        tools = heard.result.get("tools") if isinstance(heard.result, dict) else None
        self.learn_tools(tools if isinstance(tools, list) else ())

    def learn_tools(self, tools: Iterable[Any]) -> None:
        """Remember what TOOLS, which the server listed here or elsewhere, want in headers."""
        for tool in tools:
            if isinstance(tool, dict):
                annotations = annotations_of(tool.get("inputSchema"))
                if annotations is None and not self._dialect.handshake:
                    self._listener.note(f"the tool {tool.get('name')!r} has an x-mcp-header that is not allowed")
                self._tools[str(tool.get("name"))] = annotations or {}

    async def _follow(self, response: Response, message: Message, exchange: int) -> None:
        """Hear a stream of events until it brings the answer; take it up again where it broke off, if it can be."""
        stream = _Resumable()
        request_id = message.id if message.kind == "request" else None
        failure: TransportError | None = None
        try:
            if await self._events(response, exchange, stream, request_id, message):
                return
        except TransportError as error:
            failure = error
        while request_id is not None:
            if stream.last_id is None or not self._dialect.handshake or stream.fruitless >= MOST_RESUMPTIONS:
                raise failure or TransportError(f"the stream ended before {message.method} was answered")
            failure = None
            await asyncio.sleep(stream.retry)
            try:
                async with self._get(stream.last_id) as (resumed, again):
                    _insist_on_stream(resumed, message)
                    if await self._events(resumed, again, stream, request_id, message):
                        return
            except TransportError as error:
                failure = error
                stream.fruitless += 1

    async def _events(
        self, response: Response, exchange: int, stream: "_Resumable", request_id: Id | None, message: Message | None
    ) -> bool:
        """Hear the events of one connection; whether the answer was among them.

        After it the stream is read on for a moment: the server may end it, or answer once more.
        """
        decoder = EventStream()
        pace = Pace(self._listener)
        stream.fruitless += 1
        answered, unasked = False, 0
        try:
            async with asyncio.timeout(None) as limit:
                async for chunk in response.chunks():
                    for event in decoder.feed(chunk):
                        stream.note(event.id, event.retry)
                        if event.data and event.kind == "message":
                            heard = decode(event.data.encode(errors="surrogateescape"), self._access.budgets)
                            if message is not None:
                                self._learn(heard, message)
                            answers = heard.kind in ("result", "error", "invalid") and heard.id == request_id
                            answered = answered or (answers and request_id is not None)
                            self._listener.heard(heard, None, exchange)
                            if heard.kind == "request":
                                await self._until_few_are_on_the_way()
                            unasked += request_id is None
                            if unasked > _MANY_UNASKED and unasked % _UNASKED_AT_ONCE == 0:
                                await asyncio.sleep(_REST_SECONDS)
                        await pace.keep()
                    if answered and limit.when() is None:
                        limit.reschedule(asyncio.get_running_loop().time() + _AFTERWARDS_SECONDS)
                    response.insist_on_size("an event", decoder.waiting())
        except (TimeoutError, TransportError):
            if not answered:
                raise
        return answered

    async def _until_few_are_on_the_way(self) -> None:
        """Wait until most of what we said is delivered: a request of ours goes out after that."""
        while len(self._tasks) - len(self._by_id) > _MOST_ON_THE_WAY:
            others = self._tasks - {asyncio.current_task()}
            await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)

    def _get(self, last_id: str | None) -> AbstractAsyncContextManager[tuple[Response, int]]:
        resume = [] if last_id is None else [("Last-Event-ID", last_id)]
        return self._open("GET", [("Accept", "text/event-stream"), *resume, *self._headers()])

    @asynccontextmanager
    async def _open(self, verb: str, headers: list[tuple[str, str]]) -> AsyncIterator[tuple[Response, int]]:
        """Send what is no message: the answer, and the number of the exchange."""
        exchange = self._listener.begin_exchange()
        async with self._access.open(verb, self._access.url, headers, exchange=exchange) as response:
            yield response, exchange

    async def _listen(self) -> None:
        """Read the GET stream of the server; many servers have none, which is allowed.

        A server that had a stream, and cannot be reached again after several tries, is gone.
        """
        stream = _Resumable()
        was_open = False
        while stream.fruitless < MOST_RESUMPTIONS:
            lost = None
            try:
                async with self._get(stream.last_id) as (response, exchange):
                    if response.status != 200 or response.media_type != "text/event-stream":
                        if not self.silent.done():  # a new session has asked before
                            self.silent.set_result(f"the server has no stream of its own (GET: {response.status})")
                        return
                    was_open = True
                    await self._events(response, exchange, stream, None, None)
            except ConductorError as error:
                lost = error
                stream.fruitless += 1
            if not was_open:
                return
            await asyncio.sleep(stream.retry)
        if lost is not None:
            self._listener.gone(lost.message)


class _Resumable:
    """Where a stream of events can be taken up again, and when."""

    def __init__(self) -> None:
        self.last_id: str | None = None
        self.retry = DEFAULT_RETRY_SECONDS
        self.fruitless = 0

    def note(self, event_id: str | None, retry: int | None) -> None:
        self.fruitless = 0
        if event_id is not None:
            self.last_id = event_id or None
        if retry is not None:
            self.retry = retry / 1000


def _insist_on_stream(response: Response, message: Message) -> None:
    if response.status != 200 or response.media_type != "text/event-stream":
        raise TransportError(f"the stream of {message.method} cannot be resumed: status {response.status}")
