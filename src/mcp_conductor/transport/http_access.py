"""Access to one server at a URL: the headers with its credentials, and what to do when it refuses them (401, 403)."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from mcp_conductor.errors import ConductorError, ConnectionLost, HttpStatusError, way
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.oddities import shortened
from mcp_conductor.protocol.server_spec import HttpSpec
from mcp_conductor.text.visible import cut
from mcp_conductor.transport import Authorize, Listener, client_for
from mcp_conductor.transport.http_client import Response, head
from mcp_conductor.transport.http_connection import Reply

_GONE_SECONDS = 1.0  # to find out whether a server that closed a connection is still there
_GONE_PAUSES = (0.0, 0.05)  # before each look: a process that ends may close its connections before it stops listening
_EXCERPT = 200
_OPENINGS = ("initialize", "server/discover", "GET")  # GET: the stream of HTTP+SSE
_NOT_THERE = (404, 405, 501)  # with these, a page for browsers comes from no MCP server, and not from a proxy of one
_MOST_READ = 10_000  # of what is shown in part
_FLAGS, _KEYWORDS = "--token TOKEN; mcp-cli --oauth gets one", "auth=TOKEN; auth=OAuth(…) gets one"
_NOT_TAKEN = "the server does not accept the token: is it for this server, and not expired?"


class HttpAccess:
    """HTTP to one server, with its credentials, seen by the transcript."""

    def __init__(self, spec: HttpSpec, listener: Listener, authorize: Authorize | None) -> None:
        self.url = spec.url
        self.budgets = spec.budgets
        self._fixed = list(spec.headers.items())
        if authorize is None:
            self._fixed += spec.credentials.items()
        self._listener = listener
        self._http = client_for(spec)
        self._authorization = authorize(self._http) if authorize else None
        if self._authorization is not None:
            self._authorization.watch(listener.trace, listener.hide)

    async def aclose(self) -> None:
        await self._http.aclose()

    def speak(self, dialect: Dialect) -> None:
        if self._authorization is not None:
            self._authorization.version = dialect.version

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: str,
        headers: list[tuple[str, str]],
        body: bytes | None = None,
        begun: Response | None = None,
        *,
        exchange: int,
    ) -> AsyncIterator[Response]:
        """Send a request with the credentials; the context is its answer. BEGUN is one to what was sent already."""
        everything = [*headers, *self._fixed]
        if self._authorization is not None:
            everything += await self._authorization.headers()
        if begun is None:
            self._listener.trace(head(f"{method} {url}", everything), exchange)
        async with self._http.open(method, url, everything, body, begun=begun) as response:
            if begun is None:
                self._listener.trace(head(f"HTTP {response.status}", response.headers), exchange)
            yield response

    def begin(
        self, headers: list[tuple[str, str]], body: bytes, on_head: Callable[[Reply], object], exchange: int
    ) -> Reply | None:
        """POST now, if nothing has to be waited for; None if something has, and nothing was sent. See HttpClient."""
        if self._authorization is not None:
            return None
        everything = [*headers, *self._fixed]
        reply = self._http.begin("POST", self.url, everything, body, on_head)
        if reply is not None:
            self._listener.trace(head(f"POST {self.url}", everything), exchange)
        return reply

    async def is_gone(self) -> bool:
        """Whether the server cannot be connected to any more, as far as that can be told quickly."""
        for pause in _GONE_PAUSES:
            await asyncio.sleep(pause)
            try:
                async with asyncio.timeout(_GONE_SECONDS):
                    await self._http.reach(self.url)
            except ConnectionLost as error:
                return error.final
            except (ConductorError, TimeoutError):
                return False
        return False

    def begun(self, reply: Reply, exchange: int) -> Response:
        """The answer to what `begin` has sent."""
        response = self._http.begun(self.url, reply)
        self._listener.trace(head(f"HTTP {response.status}", response.headers), exchange)
        return response

    async def authorize_after(self, response: Response) -> bool:
        """Get a token if RESPONSE asks for one; whether there is a new one: then try again."""
        if self._authorization is None:
            return False
        if response.status not in (401, 403):
            if response.status < 400:
                self._authorization.accepted()
            return False
        await response.read()
        return await self._authorization.challenged(response.status, response.header("www-authenticate"))

    def refusal(self, what: str, response: Response, said: Message, *, session: bool = False) -> HttpStatusError:
        """The error for an answer with a status that means failure: what it SAID, and for a 401 what to do."""
        error = said.error if is_rpc_error(said) else None
        reason = hint = None
        if response.status == 401:
            from mcp_conductor.protocol.oauth import why_unauthorized

            reason = self.excerpt(why_unauthorized(response.header("www-authenticate"), said.raw))
            known = self._authorization is not None or any(name.lower() == "authorization" for name, _ in self._fixed)
            hint = _NOT_TAKEN if known else f"the server wants a token: {way(_FLAGS, _KEYWORDS)}"
        elif response.status in _NOT_THERE and response.media_type == "text/html":
            hint = not_mcp(what, response.media_type, said.text)
        refused = HttpStatusError(
            what,
            response.status,
            list(response.headers),
            self.excerpt(said.text),
            session=session,
            reason=reason,
            hint=hint,
        )
        refused.error, refused.answers = error, None if error is None else said.id
        return refused

    def excerpt(self, said: str | bytes) -> str:
        """The beginning of what was SAID, on one line, without secrets."""
        begun = said[: 2 * _MOST_READ]
        text = begun if isinstance(begun, str) else begun.decode(errors="replace")
        return " ".join(shortened(text, self._listener.redact, _MOST_READ).split())[:_EXCERPT]


def not_mcp(what: str, kind: str | None, said: str) -> str | None:
    """The hint where WHAT begins a conversation, and what was SAID to it, as KIND, is none of MCP's."""
    if what not in _OPENINGS or '"jsonrpc"' in said:
        return None
    kind = cut(kind or "no content type", 60)
    return f"this is not an MCP endpoint, it answers with {kind}: is the port right, and the path? It is often /mcp"


def is_rpc_error(message: Message) -> bool:
    """Whether MESSAGE is an error of JSON-RPC, and not one of OAuth or of a proxy, which have an `error` as well."""
    if message.kind != "error":
        return False
    error = message.error
    return "jsonrpc" in message.raw or (isinstance(error, dict) and isinstance(error.get("code"), int))
