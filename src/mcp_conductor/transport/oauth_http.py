"""HTTP for OAuth: `Trust` checks every URL, and every address behind it, before anything is sent."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager

from mcp_conductor.protocol.oauth_trust import Trust
from mcp_conductor.transport.http_client import HttpClient, Response


class OAuthHttp:
    """Requests to authorization servers, on the connections of the server's own client."""

    def __init__(self, http: HttpClient, trust: Trust) -> None:
        self.trust = trust
        self._http = http

    def open(
        self, method: str, url: str, headers: Iterable[tuple[str, str]] = (), body: bytes | None = None
    ) -> AbstractAsyncContextManager[Response]:
        """As HttpClient does; raises Untrusted before anything is sent."""
        self.check_url(url)
        return self._http.open(method, url, headers, body, admits=self._admits)

    def check_url(self, url: str) -> None:
        """Refuse URL if nothing may be sent there, and the user's browser may not open it."""
        self.trust.check_url(url, server_address=self._http.peer(self.trust.server_url))

    def _admits(self, host: str, address: str) -> None:
        self.trust.check_address(host, address, server_address=self._http.peer(self.trust.server_url))
