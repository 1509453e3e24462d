"""The end of an authorization: a page on 127.0.0.1 that waits for the redirect of the browser, once.

A request that is not the redirect of this authorization is refused, and the wait goes on.
"""

import asyncio
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.oauth import redirect_params
from mcp_conductor.transport.browser_pages import BrowserPages, Page, Request

PATH = "/callback"
_DONE = "<p>Authorization has ended. You can close this window and go back to the terminal.</p>"
_OTHER_STATE = "<p>This is not the answer to the authorization that the terminal waits for.</p>"


def redirect_uri(port: int) -> str:
    return f"http://127.0.0.1:{port}{PATH}"


class Loopback:
    """The redirect that is waited for."""

    def __init__(self, *, show: Callable[[str], None], open_browser: bool) -> None:
        self.redirect_uri = ""
        self._show = show
        self._open_browser = open_browser
        self._state: str | None = None  # of the authorization that was asked for
        self._has_remarked = False
        self._redirect: asyncio.Future[str] = asyncio.get_running_loop().create_future()

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

    async def answer(self, request: Request) -> Page:
        """The page for a visitor."""
        hosts = [value for name, value in request.headers if name == "host"]
        if hosts != [urlsplit(self.redirect_uri).netloc]:  # a page of another site may have a name that leads here
            return Page("421 Misdirected Request", "<p>This host is not served here.</p>")
        if request.target.partition("?")[0] != PATH:
            return Page("404 Not Found", "<p>There is nothing here.</p>")
        if request.method != "GET":
            return Page("405 Method Not Allowed", "<p>Only GET is used here.</p>", "Allow: GET\r\n")
        if self._state is None or redirect_params(request.target).get("state") != self._state:
            return Page("400 Bad Request", _OTHER_STATE, on_sent=self._remark)
        return Page("200 OK", _DONE, on_sent=lambda: self._end(request.target))

    def _remark(self) -> None:
        if not self._has_remarked:
            self._has_remarked = True
            self._show("a redirect with another state was refused; still waiting for the one with the right state")

    def _end(self, target: str) -> None:
        if not self._redirect.done():
            self._redirect.set_result(self.redirect_uri.removesuffix(PATH) + target)


@asynccontextmanager
async def open_loopback(
    *, port: int | None, prefer: int | None = None, show: Callable[[str], None], open_browser: bool = False
) -> AsyncIterator[Loopback]:
    """Listen on 127.0.0.1 until the context is left: on PORT, if given; else on the one we PREFER, or on any other."""
    loopback = Loopback(show=show, open_browser=open_browser)
    pages = BrowserPages(loopback.answer)
    loopback.redirect_uri = await _listen(pages, [port] if port else [prefer or 0, 0]) + PATH
    try:
        yield loopback
    finally:
        pages.close()


async def _listen(pages: BrowserPages, ports: list[int]) -> str:
    for port in ports[:-1]:
        with suppress(OSError):
            return await pages.listen(port)
    try:
        return await pages.listen(ports[-1])
    except OSError as error:
        raise UsageError(
            f"cannot wait for the redirect on 127.0.0.1:{ports[-1]}: {error.strerror}", hint="choose another port"
        ) from error
