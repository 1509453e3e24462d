"""The end of an authorization: a server on 127.0.0.1 that waits for the browser to be sent back to it, once."""

import asyncio
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import parse_qs, urlsplit

from mcp_conductor.errors import UsageError

PATH = "/callback"
MOST_VISITS = 100  # at a time; a browser opens more connections than it uses
_HEAD_SECONDS = 10.0
_PAGE = """<!doctype html><meta charset="utf-8"><title>MCP Conductor</title>
<p style="font: 1.2em sans-serif; margin: 4em">{text}</p>
"""
_DONE = "Authorization has ended. You can close this window and go back to the terminal."
_ELSEWHERE = "There is nothing here."


def redirect_uri(port: int) -> str:
    return f"http://127.0.0.1:{port}{PATH}"


class Loopback:
    """A listening socket and the redirect that it waits for."""

    def __init__(self, *, show: Callable[[str], None], open_browser: bool) -> None:
        self.redirect_uri = ""
        self._show = show
        self._open_browser = open_browser
        self._redirect: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._visits: set[asyncio.Task[None]] = set()

    async def authorize(self, url: str) -> str:
        """Show the user where to go, and wait until the browser comes back: the URL that it was sent to."""
        self._show(f"to authorize, open this URL in a browser:\n  {url}")
        if self._open_browser:
            # A browser of the terminal returns when it is closed; nobody should have to wait for that.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        return await self._redirect

    async def visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._visits) >= MOST_VISITS:
            writer.close()
            return
        self._visits.add(task)
        try:
            with suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                async with asyncio.timeout(_HEAD_SECONDS):
                    await self._serve(reader, writer)
        finally:
            self._visits.discard(task)
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, target, _ = head.split("\r\n", 1)[0].split(" ", 2)
        query = parse_qs(urlsplit(target).query)
        wanted = method == "GET" and urlsplit(target).path == PATH and ("code" in query or "error" in query)
        writer.write(_response(200, "OK", _DONE) if wanted else _response(404, "Not Found", _ELSEWHERE))
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        # Only now: whoever waits may end the program at once, and the user should see the page.
        if wanted and not self._redirect.done():
            self._redirect.set_result(self.redirect_uri.removesuffix(PATH) + target)

    async def close(self) -> None:
        visits = list(self._visits)
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


def _response(status: int, reason: str, text: str) -> bytes:
    body = _PAGE.format(text=text).encode()
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body


@asynccontextmanager
async def open_loopback(
    *, port: int | None, prefer: int | None = None, show: Callable[[str], None], open_browser: bool = False
) -> AsyncIterator[Loopback]:
    """Listen on 127.0.0.1 until the context is left: on PORT, if given; else on the one we PREFER, or on any other."""
    loopback = Loopback(show=show, open_browser=open_browser)
    server = await _listen(loopback, [port] if port else [prefer or 0, 0])
    try:
        loopback.redirect_uri = redirect_uri(server.sockets[0].getsockname()[1])
        yield loopback
    finally:
        server.close()
        await loopback.close()


async def _listen(loopback: Loopback, ports: list[int]) -> asyncio.Server:
    for port in ports[:-1]:
        with suppress(OSError):
            return await asyncio.start_server(loopback.visit, "127.0.0.1", port)
    try:
        return await asyncio.start_server(loopback.visit, "127.0.0.1", ports[-1])
    except OSError as error:
        raise UsageError(
            f"cannot wait for the redirect on 127.0.0.1:{ports[-1]}: {error.strerror}", hint="choose another port"
        ) from error
