"""The end of an authorization: a server on 127.0.0.1 that waits for the redirect of the browser, once.

Every program of this machine, and every page in its browser, can connect to it: a request that is not the redirect of
this authorization is refused, and the wait goes on.
"""

import asyncio
import threading
import webbrowser
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.oauth import redirect_params
from mcp_conductor.values import dataclass

PATH = "/callback"
MOST_VISITS = 100  # at the same time; a browser opens more connections than it uses
_HEAD_BYTES = 64 << 10
_HEAD_SECONDS = 10.0
_TEMPLATE = """<!doctype html><meta charset="utf-8"><title>MCP Conductor</title>
<p style="font: 1.2em sans-serif; margin: 4em">{text}</p>
"""


@dataclass(frozen=True, slots=True)
class _Page:
    """What a visitor is told."""

    status: str
    text: str


_DONE = _Page("200 OK", "Authorization has ended. You can close this window and go back to the terminal.")
_BAD = _Page("400 Bad Request", "This request cannot be understood.")
_OTHER_STATE = _Page("400 Bad Request", "This is not the answer to the authorization that the terminal waits for.")
_ELSEWHERE = _Page("404 Not Found", "There is nothing here.")
_OTHER_METHOD = _Page("405 Method Not Allowed", "Only GET is used here.")
_OTHER_HOST = _Page("421 Misdirected Request", "This host is not served here.")


def redirect_uri(port: int) -> str:
    return f"http://127.0.0.1:{port}{PATH}"


class Loopback:
    """A listening socket and the redirect that it waits for."""

    def __init__(self, *, show: Callable[[str], None], open_browser: bool) -> None:
        self.redirect_uri = ""
        self._show = show
        self._open_browser = open_browser
        self._state: str | None = None  # of the authorization that was asked for
        self._has_remarked = False
        self._redirect: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._visits: dict[asyncio.Task[None], None] = {}  # the oldest first

    async def authorize(self, url: str) -> str:
        """Show the user the URL to open, and wait for the redirect of the browser; returns its URL.

        A redirect with another state than that of URL is not the answer: any page could have sent the browser here.
        """
        self._state = redirect_params(url).get("state")
        self._show(f"to authorize, open this URL in a browser:\n  {url}")
        if self._open_browser:
            # A browser in the terminal returns when it is closed; we do not wait for that.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
        return await self._redirect

    def visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection.

        The task is ours: Python 3.11 reports a task of its own that is cancelled as an internal error.
        """
        if len(self._visits) >= MOST_VISITS:
            # If the newest were turned away instead, connections that say nothing would keep the browser out.
            oldest = next(iter(self._visits))
            del self._visits[oldest]
            oldest.cancel()
        task = asyncio.get_running_loop().create_task(self._answer_visit(reader, writer))
        self._visits[task] = None

        def left(_: asyncio.Task[None]) -> None:
            self._visits.pop(task, None)
            writer.transport.abort()  # what the client has not read until now is not kept for it

        task.add_done_callback(left)

    async def _answer_visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with asyncio.timeout(_HEAD_SECONDS):
                await self._serve(reader, writer)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        method, target, version = start.split(" ") if start.count(" ") == 2 else ("", "", "")
        page = self._page(method, target, _hosts(lines)) if version in ("HTTP/1.1", "HTTP/1.0") else _BAD
        writer.write(_response(page, with_body=method != "HEAD"))
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        if page is _OTHER_STATE and not self._has_remarked:
            self._has_remarked = True
            self._show("a redirect with another state was refused; still waiting for the one with the right state")
        # Only now: the program may end at once when it has the redirect, and the user should see the page.
        if page is _DONE and not self._redirect.done():
            self._redirect.set_result(self.redirect_uri.removesuffix(PATH) + target)

    def _page(self, method: str, target: str, hosts: list[str]) -> _Page:
        path, _, _ = target.partition("?")
        if hosts != [urlsplit(self.redirect_uri).netloc]:  # a page of another site may have a name that leads here
            return _OTHER_HOST
        if path != PATH:
            return _ELSEWHERE
        if method != "GET":
            return _OTHER_METHOD
        answers = self._state is not None and redirect_params(target).get("state") == self._state
        return _DONE if answers else _OTHER_STATE

    async def close(self) -> None:
        visits = list(self._visits)
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)


def _hosts(lines: list[str]) -> list[str]:
    headers = [line.partition(":") for line in lines]
    return [value.strip(" \t") for name, _, value in headers if name.lower() == "host"]


def _response(page: _Page, *, with_body: bool) -> bytes:
    body = _TEMPLATE.format(text=page.text).encode()
    head = (
        f"HTTP/1.1 {page.status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n"
    )
    allow = "Allow: GET\r\n" if page is _OTHER_METHOD else ""
    return f"{head}{allow}\r\n".encode() + (body if with_body else b"")


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
    def listening(port: int) -> Awaitable[asyncio.Server]:
        return asyncio.start_server(loopback.visit, "127.0.0.1", port, limit=_HEAD_BYTES)

    for port in ports[:-1]:
        with suppress(OSError):
            return await listening(port)
    try:
        return await listening(ports[-1])
    except OSError as error:
        raise UsageError(
            f"cannot wait for the redirect on 127.0.0.1:{ports[-1]}: {error.strerror}", hint="choose another port"
        ) from error
