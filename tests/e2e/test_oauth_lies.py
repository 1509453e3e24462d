"""Authorization servers that lie, through mcp-cli: nothing secret reaches them, and every run ends soon and clearly.

The liar is a server on 127.0.0.1 with all its metadata; what it points at is another one, on 127.0.0.2.
"""

import base64
import time
from urllib.parse import quote

import pytest
from tests.e2e.authorizing import step
from tests.servers.oauth_server import RESOURCE_METADATA, SERVER_METADATA, oauth_server

from mcp_conductor.errors import MethodError, TransportError
from mcp_conductor.protocol.oauth_trust import Untrusted

SECRET = "canary-secret"
WHO = ("--oauth-client-id", "me", "--oauth-client-secret", SECRET)
MACHINE = ("--oauth-grant", "client_credentials", *WHO)
MODERN = ("--protocol", "2026-07-28")
LIST = ("--method", "tools/list")
QUICK = 10.0
# What no server but the right one may see.
CANARIES = (SECRET, base64.b64encode(f"me:{quote(SECRET)}".encode()).decode(), "code_verifier", "refresh-", "Bearer ")


def answering(status=200, body=b"", **headers):
    """The same answer to every request."""

    def answer(request):
        request.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "Content-Type": "application/json", **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)

    return answer


def dripping(request):
    """Metadata that comes one byte at a time, and has no end that anyone will live to see."""
    request.send_response(200)
    request.send_header("Content-Length", "1000000")
    request.end_headers()
    try:
        for _ in range(200):
            request.wfile.write(b" ")
            request.wfile.flush()
            time.sleep(0.05)
    except OSError:
        pass  # the client has gone, as it should


def names_another_issuer(liar, other):
    liar.server_metadata = {"issuer": other.issuer}


def has_endpoint_elsewhere(name, path):
    def lie(liar, other):
        liar.server_metadata = {name: other.origin + path}

    return lie


def is_another_issuer_with_its_endpoints(liar, other):
    liar.resource_metadata = None
    liar.server_metadata = {"issuer": other.issuer, "token_endpoint": f"{other.origin}/token"}


def has_strange_endpoint(url):
    def lie(liar, _):
        liar.server_metadata = {"authorization_endpoint": url}

    return lie


def redirects(path, status, target="{other}/.well-known/oauth-authorization-server"):
    def lie(liar, other):
        location = target.format(other=other.origin, liar=liar.origin)
        liar.instead[path] = answering(status, Location=location)

    return lie


def answers(path, **how):
    def lie(liar, _):
        liar.instead[path] = answering(**how)

    return lie


def drips(liar, _):
    liar.instead[SERVER_METADATA] = dripping


def redirects_with(**extra):
    def lie(liar, _):
        liar.redirect_extra = extra

    return lie


def never_content(liar, _):
    liar.takes_tokens = False


def always_wants_more(liar, _):
    liar.token = lambda form, basic: liar.issue("", refreshable=False)
    wanted = iter(range(1000))

    def protected(authorization):
        if not authorization:
            return 401, {"WWW-Authenticate": "Bearer"}
        return 403, {"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="more-{next(wanted)}"'}

    liar.protected = protected


def has_its_metadata_elsewhere(liar, other):
    liar.challenge = f'Bearer resource_metadata="{other.origin}{RESOURCE_METADATA}/mcp"'


def describes_another_resource(liar, other):
    liar.resource_metadata = {"resource": other.url}


def names_another_authorization_server(liar, other):
    liar.resource_metadata = {"authorization_servers": [other.issuer]}


LIES = {
    "metadata of another issuer": (names_another_issuer, (*MODERN, *MACHINE), 1, "names another issuer"),
    "metadata of another issuer, in an earlier revision": (names_another_issuer, MACHINE, 1, "names another issuer"),
    "metadata of another issuer, for a login with a secret": (names_another_issuer, WHO, 1, "names another issuer"),
    "metadata of another issuer, without resource metadata": (
        is_another_issuer_with_its_endpoints,
        MACHINE,
        1,
        "--oauth-issuer http://127.0.0.1",
    ),
    "another authorization server": (names_another_authorization_server, MACHINE, 1, "--oauth-issuer http://127.0.0.2"),
    "token endpoint elsewhere": (
        has_endpoint_elsewhere("token_endpoint", "/token"),
        MACHINE,
        1,
        "--oauth-issuer http://127.0.0.1",
    ),
    "token endpoint elsewhere, for a code": (has_endpoint_elsewhere("token_endpoint", "/token"), (), 1, "elsewhere"),
    "registration endpoint elsewhere": (
        has_endpoint_elsewhere("registration_endpoint", "/register"),
        (),
        1,
        "has its registration_endpoint elsewhere",
    ),
    "authorization endpoint elsewhere": (
        has_endpoint_elsewhere("authorization_endpoint", "/authorize"),
        (),
        1,
        "has its authorization_endpoint elsewhere",
    ),
    "authorization endpoint that is a script": (has_strange_endpoint("javascript:alert(1)"), (), 1, "not an http"),
    "authorization endpoint that is a file": (has_strange_endpoint("file:///etc/passwd"), (), 1, "not an http"),
    "metadata redirected elsewhere": (redirects(SERVER_METADATA, 302), MACHINE, 1, "which is not followed"),
    "resource metadata redirected elsewhere": (redirects(f"{RESOURCE_METADATA}/mcp", 307), MACHINE, 0, ""),
    "token endpoint redirected elsewhere": (redirects("/token", 307, "{other}/token"), MACHINE, 1, "not followed"),
    "metadata redirected in a circle": (
        redirects(SERVER_METADATA, 307, "{liar}" + SERVER_METADATA),
        MACHINE,
        1,
        "more than 3 redirects",
    ),
    "huge metadata": (answers(SERVER_METADATA, body=b" " * 3_000_000), MACHINE, 1, "longer than 1 MiB"),
    "metadata that never ends": (drips, (*MACHINE, "--timeout", "1s"), 124, "no result within 1 s"),
    "a token of 10 MB": (answers("/token", body=b'{"access_token": "' + b"x" * 10_000_000), MACHINE, 1, "1 MiB"),
    "another issuer in the redirect": (redirects_with(iss="http://127.0.0.2:1"), (), 1, "comes from the issuer"),
    "an error that draws on the terminal": (
        answers(
            "/token",
            status=400,
            body=b'{"error": "x\\u001b[31m", "error_description": "\\u001b]0;t\\u0007\\n::error::y"}',
        ),
        MACHINE,
        1,
        "refused with status 400",
    ),
    "no token is ever good": (never_content, MACHINE, 1, "answers 401 again"),
    "no scope is ever enough": (always_wants_more, MACHINE, 1, "answers 403 again"),
    "resource metadata elsewhere": (has_its_metadata_elsewhere, MACHINE, 1, "is about 'http://127.0.0.2"),
    "metadata of another resource": (describes_another_resource, MACHINE, 1, "is about 'http://127.0.0.2"),
}


@pytest.mark.parametrize(("lie", "flags", "code", "says"), LIES.values(), ids=LIES)
def test_a_lie_brings_no_secret_and_ends_soon(consenting, lie, flags, code, says):
    began = time.monotonic()
    with oauth_server(clients={"me": SECRET}) as liar, oauth_server(host="127.0.0.2") as other:
        lie(liar, other)
        ended, out, err = consenting(liar.url, *LIST, *flags)
        assert ended == code, err
        assert says in err
        if code:
            assert out == ""
        assert "Traceback" not in err
        assert "internal error" not in err
        assert not {"\x1b", "\x07"} & set(err)
        assert not any(line.lstrip().startswith("::") for line in err.splitlines())
        assert SECRET not in err
        assert not [text for text in other.received for canary in CANARIES if canary in text]
        assert len(liar.forms) <= 15
    assert time.monotonic() - began < QUICK


@pytest.mark.parametrize(
    "body",
    [
        [],
        "text",
        None,
        {},
        {"access_token": 7},
        {"access_token": None},
        {"access_token": ""},
        {"access_token": "two\nlines"},
        {"access_token": "é"},
        {"access_token": ["a"]},
        {"access_token": "a", "token_type": "mac"},
        {"access_token": "a", "token_type": 7},
        {"access_token": "a", "token_type": None},
        {"error": 7},
        {"error": {"a": 1}, "access_token": "a"},
        {"error": "invalid_grant", "error_description": ["x"]},
    ],
)
async def test_a_token_response_of_a_strange_shape_is_an_error(body):
    with oauth_server(token_answer=(200, body)) as server, pytest.raises((TransportError, MethodError)):
        await step("oauth/client-credentials", server.url, *WHO)


@pytest.mark.parametrize(
    "more", [{}, {"expires_in": "soon"}, {"refresh_token": {}, "scope": 7, "token_type": "bearer"}]
)
async def test_a_token_that_can_be_used_is_used_also_with_odd_members_next_to_it(more):
    with oauth_server(token_answer=(200, {"access_token": "a", **more})) as server:
        assert (await step("oauth/client-credentials", server.url, *WHO))["access_token"] == "a"


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("oauth/client-credentials", ()),
        ("oauth/refresh", ("--oauth-refresh-token", "r")),
        ("oauth/token", ("--oauth-code", "c", "--oauth-code-verifier", "v")),
    ],
)
async def test_metadata_of_another_issuer_gets_nothing_of_the_user_until_the_user_names_its_place(method, words):
    with oauth_server(clients={"me": SECRET}, server_metadata={"issuer": "http://127.0.0.2:1"}) as liar:
        with pytest.raises(Untrusted) as caught:
            await step(method, liar.url, *WHO, *words)
        assert caught.value.hint == f'OAuth(issuer="{liar.issuer}") allows it'
        assert liar.forms == []
        if method == "oauth/client-credentials":
            assert await step(method, liar.url, *WHO, *words, "--oauth-issuer", liar.issuer)


async def test_metadata_on_the_servers_own_origin_may_name_an_issuer_with_another_path():
    with oauth_server(clients={"me": SECRET}, resource_metadata=None) as server:
        server.server_metadata = {"issuer": f"{server.origin}/tenant"}
        assert await step("oauth/client-credentials", server.url, *WHO)
