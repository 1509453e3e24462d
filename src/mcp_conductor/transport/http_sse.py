"""HTTP+SSE, the transport of 2024-11-05: one GET stream for all messages of the server, and POSTs for ours.

The first event of the stream says where to POST.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.errors import ConductorError, MisnamedEvent, TransportError
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.event_stream import Event, EventStream
from mcp_conductor.protocol.message import Message, decode
from mcp_conductor.protocol.server_spec import HttpSpec, origin
from mcp_conductor.text.visible import cut
from mcp_conductor.transport import Authorize, Listener, finish, opens
from mcp_conductor.transport.http_access import HttpAccess, is_rpc_error, not_mcp
from mcp_conductor.transport.http_client import Response

GOODBYE_SECONDS = 2.0
ANSWER_SECONDS = 1.0  # for an answer on the stream, where the POST has brought one already
_MOST_DOUBTS = 1_000


@opens("sse")
@asynccontextmanager
async def open_http_sse(
    spec: HttpSpec, listener: Listener, authorize: Authorize | None = None
) -> AsyncIterator["HttpSse"]:
    """Open the stream and learn where to post; on leaving, close the stream."""
    transport = HttpSse(HttpAccess(spec, listener, authorize), listener, spec.endpoint_timeout)
    try:
        await transport.begin()
        yield transport
    finally:
        await finish(transport.end())


class HttpSse:
    """Messages to and from one server of the old transport."""

    cancels_by_closing = False

    def __init__(self, access: HttpAccess, listener: Listener, endpoint_timeout: float) -> None:
        self._access = access
        self._listener = listener
        self._endpoint_timeout = endpoint_timeout
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._stream: asyncio.Task[None] | None = None
        self._last: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._doubts: deque[asyncio.TimerHandle] = deque(maxlen=_MOST_DOUBTS)  # requests refused with an answer

    def speak(self, dialect: Dialect) -> None:
        self._access.speak(dialect)

    async def begin(self) -> None:
        """Open the stream, and wait for its first event."""
        self._stream = asyncio.create_task(self._listen())
        self._stream.add_done_callback(self._on_task_ended)
        try:
            async with asyncio.timeout(self._endpoint_timeout):
                await asyncio.shield(self._endpoint)
        except TimeoutError:
            raise TransportError(f"{self._access.url}: no endpoint event within {self._endpoint_timeout:g} s") from None

    def send(self, message: Message) -> int:
        exchange = self._listener.begin_exchange()
        task = self._last = asyncio.create_task(self._deliver(message, self._last, exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._on_task_ended)
        return exchange

    def abandon(self, request_id: Id) -> None:
        """All replies share one stream; there is nothing to close."""

    def unsent(self) -> int:
        return 0

    def hear_no_more(self) -> None:
        """Close the stream."""
        if self._stream is not None:
            self._stream.cancel()

    async def end(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GOODBYE_SECONDS)
        open_tasks = [*self._tasks, *([self._stream] if self._stream else [])]
        for task in open_tasks:
            task.cancel()
        for doubt in self._doubts:
            doubt.cancel()
        await asyncio.gather(*open_tasks, return_exceptions=True)
        if self._endpoint.done() and not self._endpoint.cancelled():
            self._endpoint.exception()
        await self._access.aclose()

    async def _deliver(self, message: Message, before: "asyncio.Task[None] | None", exchange: int) -> None:
        """POST, one message after the other: the order of messages matters."""
        if before is not None and not before.done():
            await asyncio.wait({before})
        try:
            await self._post(message, exchange)
        except ConductorError as error:
            if message.kind == "request" and message.id is not None:
                self._listener.failed(message.id, error)
            else:
                self._listener.note(f"a message was not delivered: {error.message}")

    async def _post(self, message: Message, exchange: int) -> None:
        body = message.text.encode(errors="surrogateescape")
        while True:
            headers = [("Content-Type", "application/json")]
            url = self._endpoint.result()
            async with self._access.open("POST", url, headers, body, exchange=exchange) as response:
                if await self._access.authorize_after(response):
                    continue
                if not 200 <= response.status < 300:
                    await self._take_refusal(message, response)
                return

    async def _take_refusal(self, message: Message, response: Response) -> None:
        said = decode(await response.read())
        what = message.method if message.kind in ("request", "notification") else "our answer"
        refusal = self._access.refusal(what, response, said)
        if message.kind != "request" or message.id is None or not is_rpc_error(said):
            raise refusal
        # Some servers answer with a status what they answer on the stream as well, where all answers belong.
        wait = asyncio.get_running_loop().call_later
        self._doubts.append(wait(ANSWER_SECONDS, self._listener.failed, message.id, refusal))

    async def _listen(self) -> None:
        exchange, headers = self._listener.begin_exchange(), [("Accept", "text/event-stream")]
        try:
            while True:
                async with self._access.open("GET", self._access.url, headers, exchange=exchange) as response:
                    if await self._access.authorize_after(response):
                        continue
                    await self._hear(response, exchange)
                break
            self._end_with(TransportError("the server closed the event stream"))
        except ConductorError as error:
            self._end_with(error)

    async def _hear(self, response: Response, exchange: int) -> None:
        if response.status != 200:
            raise self._access.refusal("GET", response, decode(await response.read()))
        if response.media_type != "text/event-stream":
            raise TransportError(
                f"{self._access.url} answers with {response.media_type or 'no content type'}, not with events",
                hint=not_mcp("GET", response.media_type, ""),
            )
        decoder = EventStream()
        pace = Pace(self._listener)
        async for chunk in response.chunks():
            for event in decoder.feed(chunk):
                if event.kind == "endpoint":
                    self._take_endpoint(event.data)
                elif event.kind == "message" and event.data:
                    heard = decode(event.data.encode(errors="surrogateescape"), self._access.budgets)
                    self._listener.heard(heard, exchange=exchange)
                elif event.data:
                    self._take_misnamed(event, exchange)
                await pace.keep()
            response.insist_on_size("an event", decoder.waiting())

    def _take_misnamed(self, event: Event, exchange: int) -> None:
        """Show an event that is none of MCP; if it would be an answer, nothing else answers its request."""
        self._listener.trace(f"event: {event.kind}\ndata: {event.data}", exchange)
        message = decode(event.data.encode(errors="surrogateescape"), self._access.budgets)
        if not isinstance(message.raw, dict) or "jsonrpc" not in message.raw:
            return
        told = f"came as an event of the type {cut(event.kind, 40)!r}, which carries no messages: it must be 'message'"
        if message.kind in ("result", "error") and message.id is not None:
            self._listener.failed(message.id, MisnamedEvent(f"the answer {told}", heard=message.raw))
        else:
            self._listener.note(f"a message {told}")

    def _take_endpoint(self, data: str) -> None:
        """The URL to post to; one on another origin is refused, because it would get our credentials."""
        try:
            endpoint = urljoin(self._access.url, data.strip())
            elsewhere = origin(endpoint) != origin(self._access.url)
        except ValueError:
            raise TransportError(f"the server wants messages posted to {data!r}, which is not a URL") from None
        if elsewhere:
            raise TransportError(f"the server wants messages posted to another origin, {endpoint}, which is refused")
        if not self._endpoint.done():
            self._endpoint.set_result(endpoint)

    def _on_task_ended(self, task: "asyncio.Task[None]") -> None:
        """A task of ours has ended; if that was a bug, no request may wait for its answer."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._end_with(TransportError(f"internal error: {error!r}"))

    def _end_with(self, error: ConductorError) -> None:
        if not self._endpoint.done():
            self._endpoint.set_exception(error)
        else:
            self._listener.gone(error.message)
