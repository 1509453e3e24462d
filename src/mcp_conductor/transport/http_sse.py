"""HTTP+SSE, the transport of 2024-11-05: one GET stream brings all messages, and first of all where to POST ours."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin

from mcp_conductor.errors import ConductorError, HttpStatusError, TransportError
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.event_stream import EventStream
from mcp_conductor.protocol.message import Message, decode
from mcp_conductor.protocol.server_spec import HttpSpec
from mcp_conductor.transport import Authorization, Authorize, Listener, finish
from mcp_conductor.transport.http_client import LARGEST_BODY, HttpClient, Response, head, origin

GOODBYE_SECONDS = 2.0


@asynccontextmanager
async def open_http_sse(
    spec: HttpSpec, listener: Listener, authorize: Authorize | None = None
) -> AsyncIterator["HttpSse"]:
    """Open the stream and learn where to post; on leaving, close the stream."""
    http = HttpClient(cafile=spec.cafile, verify=not spec.insecure)
    transport = HttpSse(spec, listener, http, authorize(http) if authorize else None)
    try:
        await transport.begin()
        yield transport
    finally:
        await finish(transport.end())


class HttpSse:
    """Messages to and from one server of the old transport."""

    cancels_by_closing = False

    def __init__(
        self, spec: HttpSpec, listener: Listener, http: HttpClient, authorization: Authorization | None
    ) -> None:
        self._url = spec.url
        self._endpoint_timeout = spec.endpoint_timeout
        self._fixed_headers = list(spec.headers.items())
        self._listener = listener
        self._http = http
        self._authorization = authorization
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._stream: asyncio.Task[None] | None = None
        self._last: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def speak(self, dialect: Dialect) -> None:
        """Nothing in the headers of this transport depends on the revision."""

    async def begin(self) -> None:
        """Open the stream, and wait for its first event."""
        self._stream = asyncio.create_task(self._listen())
        self._stream.add_done_callback(self._confess)
        try:
            async with asyncio.timeout(self._endpoint_timeout):
                await asyncio.shield(self._endpoint)
        except TimeoutError:
            raise TransportError(f"{self._url}: no endpoint event within {self._endpoint_timeout:g} s") from None

    def send(self, message: Message) -> None:
        task = self._last = asyncio.create_task(self._deliver(message, self._last))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(self._confess)

    def abandon(self, request_id: Id) -> None:
        """All replies share one stream; there is nothing to close."""

    def unsent(self) -> int:
        return 0

    async def end(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=GOODBYE_SECONDS)
        open_tasks = [*self._tasks, *([self._stream] if self._stream else [])]
        for task in open_tasks:
            task.cancel()
        await asyncio.gather(*open_tasks, return_exceptions=True)
        if self._endpoint.done() and not self._endpoint.cancelled():
            self._endpoint.exception()
        await self._http.aclose()

    async def _headers(self) -> list[tuple[str, str]]:
        return self._fixed_headers + (await self._authorization.headers() if self._authorization else [])

    async def _deliver(self, message: Message, before: "asyncio.Task[None] | None") -> None:
        """POST, one message after the other: on this transport too, order means something."""
        if before is not None and not before.done():
            await asyncio.wait({before})
        try:
            await self._post(message)
        except ConductorError as error:
            if message.kind == "request" and message.id is not None:
                self._listener.failed(message.id, error)
            else:
                self._listener.note(f"a message was not delivered: {error.message}")

    async def _post(self, message: Message) -> None:
        body = message.text.encode(errors="surrogateescape")
        while True:
            headers = [("Content-Type", "application/json"), *await self._headers()]
            self._listener.trace(head(f"POST {self._endpoint.result()}", headers))
            response, said = await self._http.fetch("POST", self._endpoint.result(), headers, body)
            self._listener.trace(head(f"HTTP {response.status}", response.headers))
            if 200 <= response.status < 300:
                return
            if not await self._authorized(response):
                what = message.method if message.kind in ("request", "notification") else "our answer"
                text = self._listener.redact(said.decode(errors="replace"))
                raise HttpStatusError(what, response.status, response.headers, text)

    async def _authorized(self, response: Response) -> bool:
        """Whether a refusal was for want of a token, and there is one now."""
        if self._authorization is None or response.status not in (401, 403):
            return False
        retry = await self._authorization.challenged(response.status, response.header("www-authenticate"))
        self._listener.hide(self._authorization.secrets)
        return retry

    async def _listen(self) -> None:
        try:
            while True:
                headers = [("Accept", "text/event-stream"), *await self._headers()]
                self._listener.trace(head(f"GET {self._url}", headers))
                async with self._http.open("GET", self._url, headers) as response:
                    self._listener.trace(head(f"HTTP {response.status}", response.headers))
                    if await self._authorized(response):
                        continue
                    await self._hear(response)
                break
            self._ended(TransportError("the server closed the event stream"))
        except ConductorError as error:
            self._ended(error)

    async def _hear(self, response: Response) -> None:
        if response.status != 200:
            body = self._listener.redact((await response.read()).decode(errors="replace"))
            raise HttpStatusError("GET", response.status, response.headers, body)
        if response.media_type != "text/event-stream":
            raise TransportError(
                f"{self._url} answers with {response.media_type or 'no content type'}, not with events"
            )
        decoder = EventStream()
        async for chunk in response.chunks():
            for event in decoder.feed(chunk):
                if event.kind == "endpoint":
                    self._take_endpoint(event.data)
                elif event.kind == "message" and event.data:
                    self._listener.heard(decode(event.data.encode(errors="surrogateescape")))
            if decoder.waiting() > LARGEST_BODY:
                raise TransportError(f"{self._url}: an event is longer than {LARGEST_BODY >> 20} MiB")

    def _take_endpoint(self, data: str) -> None:
        """The place to post to; on another origin it would carry our credentials astray."""
        try:
            endpoint = urljoin(self._url, data.strip())
            elsewhere = origin(endpoint) != origin(self._url)
        except ValueError:
            raise TransportError(f"the server wants messages posted to {data!r}, which is not a URL") from None
        if elsewhere:
            raise TransportError(f"the server wants messages posted to another origin, {endpoint}, which is refused")
        if not self._endpoint.done():
            self._endpoint.set_result(endpoint)

    def _confess(self, task: "asyncio.Task[None]") -> None:
        """A bug of ours must not leave anybody waiting."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._ended(TransportError(f"internal error: {error!r}"))

    def _ended(self, error: ConductorError) -> None:
        if not self._endpoint.done():
            self._endpoint.set_exception(error)
        else:
            self._listener.gone(error.message)
