"""A client in a browser: a page of an origin that the file allows may ask, call and read; a page of another may not.

The requests are those that a browser sends for `fetch(url, {method: "POST", headers: {…}})` from a page elsewhere.
"""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.e2e.server.http_wire import BOTH, EVENTS
from tests.e2e.server.wire import INITIALIZED, NEWEST, echo, initialize, modern, request

APP, LOCAL, EVIL = "https://app.example.com", "http://localhost:5173", "https://evil.example.com"
HEADERS = "authorization, content-type, last-event-id, mcp-method, mcp-param-city, mcp-protocol-version, mcp-session-id"
WAYS = {
    "sessions": {"type": "streamable-http"},
    "json": {"type": "streamable-http", "json": True},
    "stateless": {"type": "streamable-http", "stateless": True},
    "modern only": {"type": "streamable-http", "modern": {"legacy": "reject"}},
    "sse": {"type": "sse"},
}
METHODS = {"sessions": "GET, POST, DELETE", "json": "GET, POST, DELETE", "sse": "GET, POST"}


@pytest.fixture
def serve(web):
    return lambda way, **members: web(transport={**WAYS[way], "port": 0, "allowedOrigins": [APP]}, **members)


def preflight(server, origin, **headers):
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": HEADERS}
    return server.send("OPTIONS", None, {"Origin": origin, **asks, "Accept": None, "Content-Type": None, **headers})


def may_be_read(answer, origin):
    exposed = [name.strip() for name in (answer.headers["access-control-expose-headers"] or "").split(",")]
    told = (answer.headers["access-control-allow-origin"], "Mcp-Session-Id" in exposed, answer.headers["vary"])
    return told == (origin, True, "Origin")


@pytest.mark.parametrize("origin", [APP, LOCAL])
@pytest.mark.parametrize("way", WAYS)
def test_browser_that_asks_first_is_told_what_it_may_send(serve, way, origin):
    answer = preflight(serve(way), origin)
    assert (answer.status, answer.body) == (204, b"")
    assert may_be_read(answer, origin)
    assert answer.headers["access-control-allow-methods"] == METHODS.get(way, "POST")
    assert answer.headers["access-control-allow-headers"] == HEADERS


@pytest.mark.parametrize("origin", [EVIL, "null", f"{APP}.evil.example.com"])
@pytest.mark.parametrize("way", WAYS)
def test_browser_with_a_page_of_another_origin_is_told_nothing(serve, way, origin):
    server = serve(way)
    asked, called = preflight(server, origin), server.post(initialize(), Origin=origin)
    assert [asked.status, called.status] == [403, 403]
    assert [name for each in (asked, called) for name in each.headers if name.lower().startswith("access-")] == []


@pytest.mark.parametrize("way", ["sessions", "json"])
def test_page_of_an_allowed_origin_opens_a_session_calls_listens_and_ends_it(serve, way):
    server = serve(way)
    opened = server.post(initialize(), Origin=APP)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": NEWEST, "Origin": APP}
    answers = [opened, server.post(INITIALIZED, **session), server.post(echo(1), **session)]
    stream = server.begin("GET", None, {"Accept": EVENTS, **session})
    answers += [stream, server.send("DELETE", None, session), server.post(echo(2), **session)]
    assert [each.status for each in answers] == [200, 202, 200, 200, 200, 404]
    assert all(may_be_read(each, APP) for each in answers)


def test_page_of_an_allowed_origin_speaks_the_modern_era(serve):
    answer = serve("modern only").modern(modern(request(1, "server/discover")), Origin=APP)
    assert (answer.status, may_be_read(answer, APP)) == (200, True)


def test_page_of_an_allowed_origin_uses_http_sse(serve):
    server = serve("sse")
    stream = server.begin("GET", None, {"Origin": APP, "Accept": EVENTS})
    assert may_be_read(stream, APP)
    path = stream.next().data
    answer = server.send("POST", initialize(), {"Origin": APP}, path)
    assert (answer.status, may_be_read(answer, APP)) == (202, True)


@pytest.mark.parametrize(
    ("verb", "message", "headers", "path", "status"),
    [
        ("POST", echo(1), {}, None, 400),
        ("POST", echo(1), {"Mcp-Session-Id": "x"}, None, 404),
        ("POST", echo(1), {"Accept": "text/html"}, None, 406),
        ("POST", echo(1), {"Content-Type": "text/plain"}, None, 415),
        ("POST", echo(1), {}, "/elsewhere", 404),
        ("PUT", None, {}, None, 405),
        ("OPTIONS", None, {}, None, 405),
    ],
)
def test_page_can_read_why_it_was_refused(serve, verb, message, headers, path, status):
    answer = serve("sessions").send(verb, message, {"Accept": BOTH, "Origin": APP, **headers}, path)
    assert (answer.status, may_be_read(answer, APP)) == (status, True)
    assert json.loads(answer.body)["error"]["message"]


def test_page_can_read_a_status_that_a_fault_makes(serve):
    fault = {"fault": "http_status", "params": {"status": 429, "retryAfter": 2}, "when": {"method": "tools/call"}}
    server = serve("stateless", faults=[fault])
    answer = server.post(echo(1), MCP_Protocol_Version=NEWEST, Origin=APP)
    assert (answer.status, answer.headers["retry-after"], may_be_read(answer, APP)) == (429, "2", True)
    assert "Retry-After" in answer.headers["access-control-expose-headers"]


def test_names_of_headers_that_are_none_are_not_repeated(serve):
    answer = preflight(serve("sessions"), APP, **{"Access-Control-Request-Headers": "a b, <script>"})
    assert (answer.status, answer.headers["access-control-allow-headers"]) == (204, None)


def test_program_that_names_no_origin_is_told_nothing_of_origins(serve):
    answer = serve("sessions").post(initialize())
    assert [name for name in answer.headers if name.lower().startswith(("access-", "vary"))] == []


def test_pages_of_two_origins_are_told_each_their_own(serve):
    server = serve("stateless")
    with ThreadPoolExecutor(2) as pool:
        answers = pool.map(lambda origin: server.post(initialize(), Origin=origin), [APP, LOCAL] * 5)
        assert [answer.headers["access-control-allow-origin"] for answer in answers] == [APP, LOCAL] * 5
