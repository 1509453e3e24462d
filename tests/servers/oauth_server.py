"""An authorization server and the resource that it protects, on one port of this machine; a test turns the screws."""

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, parse_qsl, unquote, urlencode, urlsplit

RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"


@dataclass
class OAuthServer:
    """What the server does, what it knows, and what it was asked."""

    origin: str = ""
    path: str = "/mcp"
    issuer_path: str = ""
    resource_metadata: dict[str, Any] | None = field(default_factory=dict)  # None: there is none
    resource_metadata_path: str = RESOURCE_METADATA + "/mcp"
    server_metadata: dict[str, Any] | None = field(default_factory=dict)  # what differs; None: there is none
    server_metadata_path: str = SERVER_METADATA
    challenge: str | None = 'Bearer resource_metadata="{origin}{metadata}"'
    needed_scopes: tuple[str, ...] = ()  # else 403 insufficient_scope
    takes_tokens: bool = True
    redirect_extra: dict[str, str] = field(default_factory=dict)  # what the redirect says besides
    registration: dict[str, Any] = field(default_factory=dict)  # what the answer says besides
    token_answer: tuple[int, Any] | None = None  # instead of a token; {…} in texts are members of the form
    clients: dict[str, str | None] = field(default_factory=dict)  # id: secret
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)  # access token: scope
    refresh_tokens: set[str] = field(default_factory=set)
    asked: list[tuple[str, str]] = field(default_factory=list)  # method and path
    versions: list[str | None] = field(default_factory=list)  # of the requests for metadata
    forms: list[dict[str, str]] = field(default_factory=list)  # of the token endpoint
    basics: list[tuple[str, str] | None] = field(default_factory=list)  # the same requests' Basic credentials
    registrations: list[dict[str, Any]] = field(default_factory=list)
    authorizations: list[dict[str, str]] = field(default_factory=list)
    token_prefix: str = ""
    tells: Callable[[], str] = str  # what else the protected server says, wherever it can
    instead: dict[str, Callable[[BaseHTTPRequestHandler], None]] = field(default_factory=dict)  # by path
    received: list[str] = field(default_factory=list)  # every request, whole

    @property
    def url(self) -> str:
        return self.origin + self.path

    @property
    def issuer(self) -> str:
        return self.origin + self.issuer_path

    def paths(self, word: str) -> list[str]:
        return [path for _, path in self.asked if word in path]

    def described(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
            **(self.server_metadata or {}),
        }

    def get(self, path: str, query: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        if path == self.resource_metadata_path and self.resource_metadata is not None:
            return 200, {"resource": self.url, "authorization_servers": [self.issuer], **self.resource_metadata}, {}
        if path == self.server_metadata_path and self.server_metadata is not None:
            return 200, {k: v for k, v in self.described().items() if v is not None}, {}
        if path == "/authorize":
            return self.authorize(query)
        return 404, {}, {}

    def authorize(self, query: dict[str, str]) -> tuple[int, Any, dict[str, str]]:
        self.authorizations.append(query)
        code = f"code-{len(self.authorizations)}"
        self.codes[code] = query
        answer = {"code": code, "state": query["state"], **self.redirect_extra}
        kept = {name: value for name, value in answer.items() if value}
        return 302, {}, {"Location": f"{query['redirect_uri']}?{urlencode(kept)}"}

    def register(self, body: dict[str, Any]) -> tuple[int, Any]:
        self.registrations.append(body)
        client_id = f"client-{len(self.registrations)}"
        secret = None if body["token_endpoint_auth_method"] == "none" else f"secret of {client_id}: 100%"
        self.clients[client_id] = secret
        return 201, {
            **body,
            "client_id": client_id,
            **({"client_secret": secret} if secret else {}),
            **self.registration,
        }

    def token(self, form: dict[str, str], basic: tuple[str, str] | None) -> tuple[int, Any]:
        self.forms.append(form)
        self.basics.append(basic)
        if self.token_answer is not None:
            status, body = self.token_answer
            return status, json.loads(json.dumps(body).replace("CODE", form.get("code", "")))
        client_id, secret = basic or (form.get("client_id", ""), form.get("client_secret"))
        if "client_assertion" not in form and self.clients.get(client_id, secret) != secret:
            return 401, {"error": "invalid_client"}
        match form["grant_type"]:
            case "authorization_code":
                asked = self.codes.pop(form["code"], None)
                if asked is None or not _proves(form, asked) or asked["redirect_uri"] != form["redirect_uri"]:
                    return 400, {"error": "invalid_grant"}
                return self.issue(asked.get("scope", ""), refreshable=True)
            case "refresh_token" if form["refresh_token"] in self.refresh_tokens:
                self.refresh_tokens.remove(form["refresh_token"])
                return self.issue(" ".join(self.needed_scopes), refreshable=True)
            case "client_credentials":
                return self.issue(form.get("scope", ""), refreshable=False)
        return 400, {"error": "invalid_grant", "error_description": "that grant is not good"}

    def issue(self, scope: str, *, refreshable: bool) -> tuple[int, Any]:
        access, refresh = (f"{self.token_prefix}{kind}-{len(self.forms)}" for kind in ("access", "refresh"))
        self.tokens[access] = scope
        answer = {"access_token": access, "token_type": "bearer", "expires_in": 3600}
        if refreshable:
            self.refresh_tokens.add(refresh)
            answer["refresh_token"] = refresh
        return 200, answer

    def protected(self, authorization: str | None) -> tuple[int, dict[str, str]]:
        scope = self.tokens.get((authorization or "").removeprefix("Bearer ")) if self.takes_tokens else None
        if scope is None:
            challenge = (self.challenge or "").format(origin=self.origin, metadata=self.resource_metadata_path)
            return 401, {"WWW-Authenticate": challenge} if challenge else {}
        if missing := set(self.needed_scopes) - set(scope.split()):
            wanted = f'Bearer error="insufficient_scope", scope="{" ".join(sorted(missing))}"'
            return 403, {"WWW-Authenticate": wanted}
        return 200, {}

    def speak(self, message: dict[str, Any]) -> Any:
        """What the protected resource is: a small MCP server."""
        results = {
            "initialize": {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "protected", "version": "1"},
            },
            "tools/list": {
                "tools": [{"name": "secret", "description": self.tells(), "inputSchema": {"type": "object"}}]
            },
        }
        if "id" not in message:
            return None
        if message["method"] == "tools/call":
            return {"jsonrpc": "2.0", "id": message["id"], "error": {"code": 1, "message": self.tells()}}
        return {"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"], {})}


def _proves(form: dict[str, str], asked: dict[str, str]) -> bool:
    digest = hashlib.sha256(form["code_verifier"].encode()).digest()
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == asked["code_challenge"]


def _basic(header: str | None) -> tuple[str, str] | None:
    if not header or not header.startswith("Basic "):
        return None
    name, _, secret = base64.b64decode(header[6:]).decode().partition(":")
    return unquote(name), unquote(secret)


@contextmanager
def oauth_server(*, host: str = "127.0.0.1", **screws: Any) -> Iterator[OAuthServer]:
    """Run the server in a thread until the context is left."""
    server = OAuthServer(**screws)

    class Requests(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            server.asked.append(("GET", self.path))
            server.received.append(f"GET {self.path}\n{self.headers}")
            if parts.path in server.instead:
                server.instead[parts.path](self)
                return
            if parts.path.startswith("/.well-known/") or parts.path.endswith("/openid-configuration"):
                server.versions.append(self.headers["MCP-Protocol-Version"])
            if parts.path == server.path:
                self.answer(*server.protected(self.headers["Authorization"]))
            else:
                status, body, headers = server.get(parts.path, {k: v[0] for k, v in parse_qs(parts.query).items()})
                self.answer(status, headers, body)

        def do_POST(self) -> None:
            server.asked.append(("POST", self.path))
            text = self.rfile.read(int(self.headers["Content-Length"])).decode()
            server.received.append(f"POST {self.path}\n{self.headers}\n{text}")
            if self.path in server.instead:
                server.instead[self.path](self)
                return
            if self.path == "/register":
                status, body = server.register(json.loads(text))
            elif self.path == "/token":
                status, body = server.token(dict(parse_qsl(text)), _basic(self.headers["Authorization"]))
            elif self.path == server.path:
                status, headers = server.protected(self.headers["Authorization"])
                self.answer(status, headers, server.speak(json.loads(text)) if status == 200 else None)
                return
            else:
                status, body = 404, {}
            self.answer(status, {}, body)

        def answer(self, status: int, headers: dict[str, str], body: Any = None) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {
                "Content-Type": "application/json",
                "Content-Length": str(len(data)),
                **headers,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    http = ThreadingHTTPServer((host, 0), Requests)
    http.daemon_threads = True
    server.origin = f"http://{host}:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)
