"""HTTP for OAuth: `Trust` checks every URL, and every address behind it, before anything is sent."""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any

from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.oauth_shown import shown_body, tokens_in, without_tokens
from mcp_conductor.protocol.oauth_trust import Trust
from mcp_conductor.text.visible import cut
from mcp_conductor.transport.http_client import HttpClient, Response, head

_MOST_SHOWN = 10_000  # characters of a body


class OAuthSteps:
    """What OAuth does: every request and answer is told to TRACE, every secret to HIDE first."""

    def __init__(
        self, trace: Callable[[str], None] = lambda _: None, hide: Callable[[Iterable[str]], None] = lambda _: None
    ) -> None:
        self.trace = trace
        self.hide = hide
        self.waiting = ""  # what has not happened yet, as a sentence; it stays if we are cancelled

    def asked(self, method: str, url: str, headers: list[tuple[str, str]], body: bytes | None) -> None:
        self.waiting = f"{method} {url} was not answered"
        media_type = next((value for name, value in headers if name.lower() == "content-type"), "")
        self._tell(f"{method} {url}", headers, shown_body(body, media_type))

    def answered(self, response: Response, value: Any, body: bytes) -> None:
        """The answer came: VALUE is the JSON in it, None if there is none."""
        self.waiting = ""
        try:
            self.hide(tokens_in(value))
            shown = "" if value is None else render(without_tokens(value))
        except RecursionError:
            shown = ""
        other = f"({len(body)} bytes, not shown)" if body else ""
        self._tell(f"HTTP {response.status}", response.headers, shown or other)

    def _tell(self, first: str, headers: Iterable[tuple[str, str]], body: str) -> None:
        # The first word keeps them apart from requests to the MCP server, for those who read a recording.
        text = head(f"OAuth {first}", headers)
        self.trace(f"{text}\n\n{cut(body, _MOST_SHOWN)}" if body else text)


class OAuthHttp:
    """Requests to authorization servers, on the connections of the server's own client."""

    def __init__(self, http: HttpClient, trust: Trust, steps: OAuthSteps | None = None) -> None:
        self.trust = trust
        self.steps = steps or OAuthSteps()
        self._http = http

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: Iterable[tuple[str, str]] = (), body: bytes | None = None
    ) -> AsyncIterator[Response]:
        """As HttpClient does; raises Untrusted before anything is sent."""
        self.check_url(url)
        headers = list(headers)
        self.steps.asked(method, url, headers, body)
        async with self._http.open(method, url, headers, body, admits=self._admits) as response:
            yield response

    def check_url(self, url: str) -> None:
        """Refuse URL if nothing may be sent there, and the user's browser may not open it."""
        self.trust.check_url(url, server_address=self._http.peer(self.trust.server_url))

    def _admits(self, host: str, address: str) -> None:
        self.trust.check_address(host, address, server_address=self._http.peer(self.trust.server_url))
