"""Pages for the user's browser: a server on 127.0.0.1 that answers one request on each connection.

Every program of this machine, and every page in its browser, can connect to it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import NamedTuple

MOST_VISITS = 100  # at the same time; a browser opens more connections than it uses
_VISIT_SECONDS = 10.0
_HEAD_BYTES = 64 << 10
_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>MCP Conductor</title>
<body style="font: 1.2em sans-serif; margin: 4em">{body}</body></html>
"""


class Request(NamedTuple):
    """What a browser asks for."""

    method: str
    target: str
    headers: list[tuple[str, str]]  # with their names in lower case
    reader: asyncio.StreamReader  # of the body


class Page(NamedTuple):
    """What it is answered. ON_SENT is called once the browser has it: the program may end at once then."""

    status: str
    body: str
    headers: str = ""
    on_sent: Callable[[], None] | None = None


class BrowserPages:
    """A listening socket, and what answers there."""

    def __init__(self, answer: Callable[[Request], Awaitable[Page]]) -> None:
        self._answer = answer
        self._visits: dict[asyncio.Task[None], None] = {}  # the oldest first

    async def listen(self, port: int) -> str:
        """Listen at PORT, or at any if it is 0: the URL without a path. Raises OSError."""
        self._server = await asyncio.start_server(self._visit, "127.0.0.1", port, limit=_HEAD_BYTES)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def close(self) -> None:
        self._server.close()
        for visit in self._visits:
            visit.cancel()

    def _visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection.

        The task is ours: Python 3.11 reports a task of its own that is cancelled as an internal error.
        """
        if len(self._visits) >= MOST_VISITS:
            # If the newest were turned away instead, connections that say nothing would keep the browser out.
            oldest = next(iter(self._visits))
            del self._visits[oldest]
            oldest.cancel()
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._visits[task] = None

        def left(_: asyncio.Task[None]) -> None:
            self._visits.pop(task, None)
            writer.transport.abort()  # what the client has not read until now is not kept for it

        task.add_done_callback(left)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_VISIT_SECONDS):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                start, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
                method, target, version = start.split(" ") if start.count(" ") == 2 else ("", "", "")
                named = [line.partition(":") for line in lines]
                headers = [(name.lower(), value.strip(" \t")) for name, _, value in named]
                page = Page("400 Bad Request", "<p>This request cannot be understood.</p>")
                if version in ("HTTP/1.1", "HTTP/1.0"):
                    page = await self._answer(Request(method, target, headers, reader))
                writer.write(_response(page, with_body=method != "HEAD"))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
                if page.on_sent is not None:
                    page.on_sent()


def _response(page: Page, *, with_body: bool) -> bytes:
    body = _PAGE.format(body=page.body).encode()
    head = (
        f"HTTP/1.1 {page.status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\nConnection: close\r\n"
    )
    return f"{head}{page.headers}\r\n".encode() + (body if with_body else b"")
