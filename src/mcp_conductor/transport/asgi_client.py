"""An ASGI application called as if over HTTP, without a socket: requests, streamed answers, and its lifespan.

Each request is a task of ours that runs the application; closing its answer tells the application that the client has
disconnected, and ends the task if that is not enough.
"""

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import suppress
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from mcp_conductor.errors import TransportError
from mcp_conductor.protocol.in_process_spec import APPLICATION_MAKERS, AsgiApp, AsgiSpec
from mcp_conductor.protocol.server_spec import origin
from mcp_conductor.transport.http_client import HttpClient, RawReply, wire_headers
from mcp_conductor.transport.http_connecting import Admits

LIFESPAN_SECONDS = 10.0  # for an application to start, and to end
HANG_UP_SECONDS = 1.0  # for an application to notice that the client has disconnected
_MOST_CHUNKS = 16  # of an answer that wait to be read, before the application has to wait
_ASGI = {"version": "3.0", "spec_version": "2.3"}

Event = MutableMapping[str, Any]


class AsgiClient(HttpClient):
    """Requests to one application."""

    def __init__(self, spec: AsgiSpec) -> None:
        super().__init__(largest=spec.budgets.message_bytes)
        self._app = application_of(spec.app)
        self._lifespan = _Lifespan.of(self._app, str(spec)) if spec.lifespan else None
        self._open: set[_Request] = set()

    def begin(self, *_: object) -> None:
        """An application is called in a task."""

    async def reach(self, url: str) -> None:
        """An application is there as long as the program is."""

    async def _send(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        body: bytes | None,
        admits: Admits | None,  # noqa: ARG002  # nothing is connected to
    ) -> RawReply:
        state: Event = {}
        if self._lifespan is not None:
            state = await self._lifespan.start()
        raw = [(name.lower(), value) for name, value in wire_headers(url, headers, None if body is None else len(body))]
        request = _Request(self._app, _scope(method, url, raw, state), body or b"", self._open)
        self._open.add(request)
        await request.wait_for_head()
        return request

    async def aclose(self) -> None:
        await asyncio.gather(*(request.aclose() for request in tuple(self._open)))
        if self._lifespan is not None:
            await self._lifespan.leave()
        await super().aclose()


def _scope(method: str, url: str, headers: list[tuple[bytes, bytes]], state: Event) -> Event:
    parts, (scheme, host, port) = urlsplit(url), origin(url)
    return {
        "type": "http",
        "asgi": _ASGI,
        "http_version": "1.1",
        "method": method,
        "scheme": scheme,
        "path": unquote(parts.path) or "/",
        "raw_path": (parts.path or "/").encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 0),
        "server": (host, port),
        "state": dict(state),
    }


class _Request:
    """One request under way, which is also its answer (`http_client.RawReply`)."""

    def __init__(self, app: Any, scope: Event, body: bytes, among: "set[_Request]") -> None:
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self._body = body
        self._among = among
        self._url = f"{scope['scheme']}://{scope['server'][0]}{scope['path']}"
        self._asked = False
        self._gone = asyncio.Event()
        self._began = asyncio.Event()
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._taken = asyncio.Event()  # one of them was taken since the last wait
        self._task = asyncio.create_task(app(scope, self._receive, self._take))
        self._task.add_done_callback(self._on_task_ended)

    async def wait_for_head(self) -> None:
        """Wait for the head of the answer."""
        try:
            await self._began.wait()
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if not self.status:
            raise self._failure("before it answered")

    def take_whole(self) -> None:
        """A body is read as it comes."""

    async def aiter_stream(self) -> AsyncIterator[bytes]:
        while (chunk := await self._chunks.get()) is not None:
            self._taken.set()
            yield chunk
        if self._task.done() and not self._task.cancelled() and self._task.exception() is not None:
            raise self._failure("within the body of its answer")

    async def aclose(self) -> None:
        self._among.discard(self)
        self._gone.set()
        self._taken.set()
        if not self._task.done():
            await asyncio.wait({self._task}, timeout=HANG_UP_SECONDS)
        if not self._task.done():
            self._task.cancel()
            await asyncio.wait({self._task}, timeout=HANG_UP_SECONDS)

    async def _receive(self) -> Event:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _take(self, event: Event) -> None:
        if self._gone.is_set():
            return  # as real servers do: an application need not know that the client has disconnected
        if event["type"] == "http.response.start":
            self.status = event["status"]
            self.headers = [(bytes(name), bytes(value)) for name, value in event.get("headers", ())]
            self._began.set()
        elif event["type"] == "http.response.body":
            if event.get("body"):
                self._chunks.put_nowait(bytes(event["body"]))
            if not event.get("more_body", False):
                self._chunks.put_nowait(None)
            while self._chunks.qsize() > _MOST_CHUNKS and not self._gone.is_set():
                self._taken.clear()
                await self._taken.wait()

    def _on_task_ended(self, task: "asyncio.Task[None]") -> None:
        self._began.set()
        self._chunks.put_nowait(None)
        if not task.cancelled():
            task.exception()  # looked at, so that asyncio does not complain; see _failure

    def _failure(self, when: str) -> TransportError:
        error = None if self._task.cancelled() else self._task.exception()
        how = f"failed with {error!r}" if error is not None else "ended"
        return TransportError(f"{self._url}: the application {how} {when}")


def application_of(server: Any) -> AsgiApp:
    """SERVER, if it is an application; a new application of it, if it is a server of FastMCP or the official SDK."""
    for maker in APPLICATION_MAKERS:
        if callable(make := getattr(server, maker, None)):
            made: AsgiApp = make()
            return made
    application: AsgiApp = server
    return application


class _Lifespan:
    """The application's own beginning and end; one that knows nothing of them is called without.

    All connections to one application share it, as they would share a process: it ends with the last of them.
    """

    _shared: ClassVar["dict[tuple[asyncio.AbstractEventLoop, int], _Lifespan]"] = {}

    @classmethod
    def of(cls, app: AsgiApp, name: str) -> "_Lifespan":
        key = asyncio.get_running_loop(), id(app)
        lifespan = cls._shared.get(key)
        if lifespan is None:
            lifespan = cls._shared[key] = cls(app, name, key)
        lifespan._connections += 1
        return lifespan

    def __init__(self, app: AsgiApp, name: str, key: tuple[asyncio.AbstractEventLoop, int]) -> None:
        self._app = app
        self._name = name
        self._key = key
        self._connections = 0
        self._state: Event = {}
        self._events: asyncio.Queue[Event] = asyncio.Queue()
        self._up: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> Event:
        """Start the application, once: what it keeps for its requests."""
        if self._task is None:
            self._events.put_nowait({"type": "lifespan.startup"})
            self._task = asyncio.create_task(self._run())
        try:
            async with asyncio.timeout(LIFESPAN_SECONDS):
                problem = await asyncio.shield(self._up)
        except TimeoutError:
            problem = f"it was not ready within {LIFESPAN_SECONDS:g} s"
        if problem is not None:
            hint = "where it can start only once, give connect() its server object, which makes a new one each time"
            raise TransportError(f"{self._name} does not start: {problem}", hint=hint)
        return self._state

    async def leave(self) -> None:
        """A connection has ended; the application ends with the last one."""
        self._connections -= 1
        if self._connections == 0:
            del self._shared[self._key]
            await self._end()

    async def _end(self) -> None:
        if self._task is None or self._task.done():
            return
        self._events.put_nowait({"type": "lifespan.shutdown"})
        await asyncio.wait({self._task}, timeout=LIFESPAN_SECONDS)
        self._task.cancel()
        await asyncio.wait({self._task}, timeout=HANG_UP_SECONDS)

    async def _run(self) -> None:
        scope = {"type": "lifespan", "asgi": _ASGI, "state": self._state}
        # An application that knows no lifespan may raise anything here, and is called anyway.
        with suppress(Exception):
            await self._app(scope, self._events.get, self._take)
        self._settle(None)

    async def _take(self, event: Event) -> None:
        if event["type"] == "lifespan.startup.complete":
            self._settle(None)
        elif event["type"] == "lifespan.startup.failed":
            lines = str(event.get("message", "")).strip().splitlines()
            self._settle(lines[-1] if lines else "it does not say why")

    def _settle(self, problem: str | None) -> None:
        if not self._up.done():
            self._up.set_result(problem)
