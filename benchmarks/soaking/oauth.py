"""Servers that lie about their authorization, to get at a secret: it may arrive only where it was meant to go.

Two servers on 127.0.0.1, each on a port of its own: the one that the user names, and another one, to which the lies
point. Both write down everything that comes.
"""

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from benchmarks.soaking.judging import Case, Limits, Result, judged
from benchmarks.soaking.watch import MCP_CLI, run

SECRET = "canaryOfTheSoak7411"
CLIENT = "soak-client"
FORMS = (SECRET.encode(), base64.b64encode(f"{CLIENT}:{SECRET}".encode()).rstrip(b"="))
SECONDS = 10.0
MEGABYTES = 300
CODES = {0, 1, 2, 124}
OF_THE_RESOURCE = "/.well-known/oauth-protected-resource"
OF_THE_ISSUER = "/.well-known/oauth-authorization-server"


@dataclass(frozen=True)
class Lie:
    """What the server says that is not so: {own} and {other} are the two origins."""

    name: str
    issuer: str = "{own}"  # the authorization server, in the metadata of the resource
    named_issuer: str = "{own}"  # in its own metadata
    token_endpoint: str = "{own}/token"
    challenge: str = 'Bearer resource_metadata="{own}' + OF_THE_RESOURCE + '"'
    redirects: dict[str, str] = field(default_factory=dict)  # from a path
    accepts: bool = True  # the token that it issued
    ways: tuple[str, ...] = ("login", "credentials")


LIES = (
    Lie("none at all"),
    Lie("another authorization server", issuer="{other}"),
    Lie("another authorization server, with a path", issuer="{other}/{own}"),
    Lie("another authorization server behind a user name", issuer="http://127.0.0.1@{other_host}"),
    Lie("another issuer", named_issuer="{other}"),
    Lie("a token endpoint elsewhere", token_endpoint="{other}/token", ways=("login", "credentials", "refresh", "code")),
    Lie("a token endpoint without a scheme", token_endpoint="//{other_host}/token"),
    Lie("a token endpoint in capitals", token_endpoint="HTTP://{other_host}/token"),
    Lie("a token endpoint behind a user name", token_endpoint="http://{own_host}@{other_host}/token"),
    Lie("a token endpoint behind a backslash", token_endpoint="http://{other_host}\\@{own_host}/token"),
    Lie("a token endpoint behind a fragment", token_endpoint="{other}/token#{own}"),
    Lie("metadata of the resource elsewhere", challenge='Bearer resource_metadata="{other}' + OF_THE_RESOURCE + '"'),
    Lie("metadata of the resource that moves", redirects={OF_THE_RESOURCE: "{other}" + OF_THE_RESOURCE}),
    Lie("metadata of the issuer that moves", redirects={OF_THE_ISSUER: "{other}" + OF_THE_ISSUER}),
    Lie("a token endpoint that moves", redirects={"/token": "{other}/token"}, ways=("login", "credentials", "refresh")),
    Lie("a server that moves", redirects={"/mcp": "{other}/mcp"}, ways=("login", "token")),
    Lie("tokens that it never accepts", accepts=False),
    Lie("a challenge without end", challenge="Bearer " + ", ".join(f'x{n}="y"' for n in range(800)), accepts=False),
)
SECRET_FLAGS = ("--oauth-client-id", CLIENT, "--oauth-client-secret", SECRET)
# The programs by how they come by a secret; {url} is the server's.
WAYS = {
    "login": ("{url}", "--method", "tools/list", "--oauth", "--oauth-grant", "client_credentials", *SECRET_FLAGS),
    "credentials": ("--method", "oauth/client-credentials", "--server-url", "{url}", *SECRET_FLAGS),
    "refresh": (
        "--method", "oauth/refresh", "--server-url", "{url}", "--oauth-client-id", CLIENT,
        "--oauth-refresh-token", SECRET,
    ),
    "code": (
        "--method", "oauth/token", "--server-url", "{url}", "--oauth-client-id", CLIENT, "--oauth-code", SECRET,
        "--oauth-code-verifier", "v" * 43, "--redirect-uri", "http://127.0.0.1/",
    ),
    "token": ("{url}", "--method", "tools/list", "--token", SECRET),
}  # fmt: skip
RUNS = sum(len(lie.ways) for lie in LIES)


class Origin(ThreadingHTTPServer):
    """One of the two servers, and what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.heard: list[bytes] = []
        self.lie = LIES[0]
        self.names: dict[str, str] = {}
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.origin = f"http://{self.host}"

    def filled(self, text: str) -> str:
        for name, value in self.names.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    def document(self, path: str) -> dict[str, object] | None:
        if path.startswith(OF_THE_RESOURCE):
            return {"resource": f"{self.names['own']}/mcp", "authorization_servers": [self.filled(self.lie.issuer)]}
        if path.startswith((OF_THE_ISSUER, "/.well-known/openid-configuration")):
            return {
                "issuer": self.filled(self.lie.named_issuer),
                "authorization_endpoint": f"{self.names['own']}/authorize",
                "token_endpoint": self.filled(self.lie.token_endpoint),
                "grant_types_supported": ["client_credentials", "authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            }
        return None


class Answers(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: Origin

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers["Content-Length"] or 0)))

    def _answer(self, body: bytes) -> None:
        origin, path = self.server, self.path.partition("?")[0]
        origin.heard.append(f"{self.command} {self.path}\n{self.headers}\n".encode() + body)
        if path in origin.lie.redirects and origin.origin == origin.names["own"]:
            self._reply(307, {}, Location=origin.filled(origin.lie.redirects[path]))
        elif (document := origin.document(path)) is not None:
            self._reply(200, document)
        elif path == "/token":
            self._reply(200, {"access_token": "issued", "token_type": "bearer", "expires_in": 3600})
        elif path == "/mcp" and (not self.headers["Authorization"] or not origin.lie.accepts):
            self._reply(401, {}, **{"WWW-Authenticate": origin.filled(origin.lie.challenge)})
        elif path == "/mcp":
            self._speak(body)
        else:
            self._reply(404, {})

    def _speak(self, body: bytes) -> None:
        message = json.loads(body or b"{}")
        if "id" not in message:
            self._reply(202 if body else 405, None)
            return
        info = {"name": "liar", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info, "tools": []}
        self._reply(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _reply(self, status: int, document: object, **headers: str) -> None:
        data = b"" if document is None else json.dumps(document).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def two_origins(lie: Lie) -> Iterator[tuple[Origin, Origin]]:
    own, other = Origin(), Origin()
    own.lie = lie
    names = {"own_host": own.host, "other_host": other.host}
    own.names = {"own": own.origin, "other": other.origin, **names}
    # The other one is honest about itself, so that it would be believed.
    other.names = {"own": other.origin, "other": own.origin, **names}
    threads = [threading.Thread(target=each.serve_forever, args=(0.02,), daemon=True) for each in (own, other)]
    for thread in threads:
        thread.start()
    try:
        yield own, other
    finally:
        for each in (own, other):
            each.shutdown()
            each.server_close()


def _lied_to(name: str, lie: Lie, way: str) -> Result:
    with two_origins(lie) as (own, other):
        words = tuple(word.replace("{url}", f"{own.origin}/mcp") for word in WAYS[way])
        ended = run((*MCP_CLI, *words, "--timeout", "5s"), SECONDS + 3)
    # Where all is true, it has to work; else nothing would be shown by the rest.
    codes = {0} if lie is LIES[0] else CODES
    result = judged(name, ended, codes, Limits(SECONDS, MEGABYTES))
    for request in other.heard:
        if any(form in request for form in FORMS):
            first = request.partition(b"\n")[0].decode(errors="replace")
            result.complain("let in", f"the secret went to the other port, with {first}")
    if any(form in ended.err for form in FORMS):
        result.complain("leaked", "the secret is on stderr")
    return result


def cases(runs: int, _seed: int) -> list[Case]:
    every = [(lie, way) for lie in LIES for way in lie.ways]
    chosen = [every[number * len(every) // runs] for number in range(runs)] if runs < len(every) else every
    return [_case(number, *each) for number, each in enumerate(chosen)]


def _case(number: int, lie: Lie, way: str) -> Case:
    name = f"{number}: mcp-cli, {way}: {lie.name}"
    return Case(name, lambda: _lied_to(name, lie, way))
