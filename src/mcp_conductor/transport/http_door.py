"""The door of one server at a URL: the headers that open it, and what to do when it stays shut (401, 403)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.server_spec import HttpSpec
from mcp_conductor.transport import Authorize, Listener, client_for
from mcp_conductor.transport.http_client import Response, head


class HttpDoor:
    """HTTP to one server, with its credentials, seen by the transcript."""

    def __init__(self, spec: HttpSpec, listener: Listener, authorize: Authorize | None) -> None:
        self.url = spec.url
        self._fixed_headers = list(spec.headers.items())
        self._listener = listener
        self._http = client_for(spec)
        self._authorization = authorize(self._http) if authorize else None
        self._hide_secrets()

    async def aclose(self) -> None:
        await self._http.aclose()

    def speak(self, dialect: Dialect) -> None:
        if self._authorization is not None:
            self._authorization.version = dialect.version

    @asynccontextmanager
    async def open(
        self, method: str, url: str, headers: list[tuple[str, str]], body: bytes | None = None
    ) -> AsyncIterator[Response]:
        """Send a request, with the headers that open the door; the context is its answer."""
        everything = [*headers, *self._fixed_headers]
        if self._authorization is not None:
            everything += await self._authorization.headers()
        self._listener.trace(head(f"{method} {url}", everything))
        async with self._http.open(method, url, everything, body) as response:
            self._listener.trace(head(f"HTTP {response.status}", response.headers))
            yield response

    async def opened_by(self, response: Response) -> bool:
        """Whether a refusal was for want of a token, and there is one now: then try again."""
        if self._authorization is None:
            return False
        if response.status not in (401, 403):
            if response.status < 400:
                self._authorization.accepted()
            return False
        await response.read()
        again = await self._authorization.challenged(response.status, response.header("www-authenticate"))
        self._hide_secrets()
        return again

    def _hide_secrets(self) -> None:
        if self._authorization is not None:
            self._listener.hide(self._authorization.secrets)
