"""One HTTP request and its response, over ASGI."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[str, str]]

JSON_TYPE = "application/json"
EVENT_TYPE = "text/event-stream"
_LARGEST_BODY = 256 << 20


class Exchange:
    """What a client asked over HTTP, and the means to answer it."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: bytes = scope["query_string"]
        self.headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            self.headers.setdefault(name.decode("latin-1"), []).append(value.decode("latin-1"))
        self._receive = receive
        self._send = send

    def header(self, name: str) -> str | None:
        values = self.headers.get(name)
        return values[0] if values else None

    def accepts(self, *types: str) -> bool:
        """Whether the client takes answers of all these types."""
        accepted = [part.split(";")[0].strip().lower() for part in ",".join(self.headers.get("accept", [])).split(",")]
        return "*/*" in accepted or all(
            wanted in accepted or f"{wanted.split('/')[0]}/*" in accepted for wanted in types
        )

    async def body(self) -> bytes | None:
        """The body; None when it is too large, or when the client went away in the middle of it."""
        parts: list[bytes] = []
        size = 0
        while True:
            event = await self._receive()
            if event["type"] != "http.request":
                return None
            part = event.get("body", b"")
            size += len(part)
            if size > _LARGEST_BODY:
                return None
            parts.append(part)
            if not event.get("more_body", False):
                return b"".join(parts)

    async def gone(self) -> None:
        """Wait until the client has gone."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def reply(self, status: int, body: bytes = b"", headers: Headers = (), content_type: str = JSON_TYPE) -> None:
        """Answer with all of BODY."""
        typed = [(b"content-type", content_type.encode("latin-1"))] if body else []
        await self._start(status, [*typed, (b"content-length", str(len(body)).encode())], headers)
        await self._send({"type": "http.response.body", "body": body})

    async def refuse(self, status: int, code: int, message: str, headers: Headers = ()) -> None:
        """Answer with a status, and with an error that belongs to no request."""
        await self.reply(status, _bytes({"jsonrpc": "2.0", "error": {"code": code, "message": message}}), headers)

    async def begin(self, headers: Headers = (), content_type: str = EVENT_TYPE) -> None:
        """Begin an event stream."""
        fixed = [
            (b"content-type", content_type.encode("latin-1")),
            (b"cache-control", b"no-cache, no-transform"),
            (b"x-accel-buffering", b"no"),
        ]
        await self._start(200, fixed, headers)

    async def write(self, part: bytes, *, more: bool) -> None:
        await self._send({"type": "http.response.body", "body": part, "more_body": more})

    def cut(self) -> None:
        """Close the connection in the middle of everything. ASGI has no word for that: it is done behind its back."""
        cycle = getattr(self._send, "__self__", None)
        transport: asyncio.Transport | None = getattr(cycle, "transport", None)
        if transport is not None:
            transport.close()

    async def _start(self, status: int, fixed: list[tuple[bytes, bytes]], headers: Headers) -> None:
        more = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": [*fixed, *more]})


def _bytes(message: Json) -> bytes:
    return compact(message).encode()
