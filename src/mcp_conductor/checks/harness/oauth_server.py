"""A server that wants a token, and the authorization server that gives it, both polite."""

import base64
import hashlib
import secrets
from urllib.parse import parse_qsl, urlencode

from mcp_conductor.checks.harness.client_record import ClientRecord, HttpRequest
from mcp_conductor.checks.harness.http_server import PATH, WebHost
from mcp_conductor.checks.harness.scripted_server import ServerScript
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact, parse
from mcp_conductor.server.http.exchange import HttpExchange

PRM = "/.well-known/oauth-protected-resource"
ISSUER = "/as"
ASM = (
    f"/.well-known/oauth-authorization-server{ISSUER}",
    f"/.well-known/openid-configuration{ISSUER}",
    f"{ISSUER}/.well-known/openid-configuration",
)
AUTHORIZE, TOKEN, REGISTER = "/as/authorize", "/as/token", "/as/register"
TOLD = "/told/metadata"  # where the challenge says that the metadata is
_SCOPE = "mcp:use"


class OAuthServer(ServerScript):
    """An MCP server that wants a token, and the authorization server that gives it."""

    metadata_at = TOLD  # of the resource
    server_metadata_at = ASM[0]
    tells = True  # whether the challenge names the place of the metadata

    def __init__(self, record: ClientRecord, version: str | None) -> None:
        super().__init__(record, version)
        self.token = secrets.token_urlsafe(16)
        self.codes: dict[str, Json] = {}

    # What a scenario may change.

    def resource(self, origin: str) -> Json:
        return {"resource": origin + PATH, "authorization_servers": [origin + ISSUER], "scopes_supported": [_SCOPE]}

    def server(self, origin: str) -> Json:
        return {
            "issuer": origin + ISSUER,
            "authorization_endpoint": origin + AUTHORIZE,
            "token_endpoint": origin + TOKEN,
            "registration_endpoint": origin + REGISTER,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
            "authorization_response_iss_parameter_supported": True,
        }

    def sent_back(self, origin: str, query: Json) -> Json:
        """The query with which the user is sent back to the client."""
        state = {"state": query["state"]} if "state" in query else {}
        return {"code": self._code(query), "iss": origin + ISSUER, **state}

    # What is asked for.

    async def web(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> bool:
        if request.path == PATH:
            if request.header("authorization") == f"Bearer {self.token}":
                self.did("let in")
                return False
            await self._challenge(host, exchange, request)
        elif request.path == self.metadata_at:
            await host.reply(exchange, request, 200, compact(self.resource(host.origin)))
        elif request.path == self.server_metadata_at:
            await host.reply(exchange, request, 200, compact(self.server(host.origin)))
        elif request.path == REGISTER and request.method == "POST":
            await self._register(host, exchange, request)
        elif request.path == AUTHORIZE:
            await self._authorize(host, exchange, request)
        elif request.path == TOKEN and request.method == "POST":
            await self._give(host, exchange, request)
        else:
            return False
        return True

    async def _challenge(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> None:
        self.did("challenged")
        told = f' resource_metadata="{host.origin}{self.metadata_at}",' if self.tells else ""
        challenge = f'Bearer{told} scope="{_SCOPE}"'
        await host.reply(exchange, request, 401, headers=[("WWW-Authenticate", challenge)])

    async def _register(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> None:
        wanted = parse(request.body.decode(errors="replace")).raw
        known = {**(wanted if isinstance(wanted, dict) else {}), "client_id": "client-1"}
        if known.get("token_endpoint_auth_method") not in (None, "none"):
            known["client_secret"] = secrets.token_urlsafe(16)
        await host.reply(exchange, request, 201, compact(known))

    async def _authorize(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> None:
        query = dict(parse_qsl(request.query))
        back = query.get("redirect_uri", "")
        if not back.startswith(("http://127.0.0.1", "http://localhost", "http://[::1]")):
            await host.reply(exchange, request, 400)
            return
        self.did("consented")
        target = f"{back}{'&' if '?' in back else '?'}{urlencode(self.sent_back(host.origin, query))}"
        await host.reply(exchange, request, 302, headers=[("Location", target)])

    def _code(self, query: Json) -> str:
        code = secrets.token_urlsafe(8)
        self.codes[code] = query
        return code

    async def _give(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> None:
        form = dict(parse_qsl(request.body.decode(errors="replace")))
        asked = self.codes.pop(form.get("code", ""), None)
        if asked is None or not _proves(form.get("code_verifier", ""), asked.get("code_challenge")):
            await host.reply(exchange, request, 400, '{"error":"invalid_grant"}')
            return
        self.did("gave a token")
        given = {"access_token": self.token, "token_type": "Bearer", "expires_in": 3600, "scope": _SCOPE}
        await host.reply(exchange, request, 200, compact(given))


def _proves(verifier: str, challenge: str | None) -> bool:
    if challenge is None:
        return True  # a missing code_challenge is found elsewhere
    digest = hashlib.sha256(verifier.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=") == challenge
