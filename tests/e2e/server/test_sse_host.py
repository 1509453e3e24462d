"""A composable server on HTTP+SSE, the transport of 2024-11-05: one GET stream, and POSTs beside it."""

import signal

import pytest
from tests.e2e.server.http_wire import EVENTS
from tests.e2e.server.wire import (
    INITIALIZED,
    MODERN,
    call,
    code_of,
    echo,
    initialize,
    modern,
    notification,
    ping,
    request,
    result,
    slow,
    text_of,
)

SSE = {"type": "sse", "port": 0}
OLDEST = "2024-11-05"
FORM = {"message": "Who?", "schema": {"type": "object"}}


class Visit:
    """A GET stream, and the POSTs that belong to it."""

    def __init__(self, server) -> None:
        self.server = server
        self.stream = server.begin("GET")
        self.endpoint = self.stream.next()

    def post(self, message, **headers):
        return self.server.send("POST", message, headers, self.endpoint.data)

    def say(self, *messages) -> None:
        for message in messages:
            answer = self.post(message)
            assert (answer.status, answer.body) == (202, b"")

    def ask(self, message):
        self.say(message)
        return self.stream.hear()

    def open(self, version: str = OLDEST, **capabilities):
        reply = self.ask(initialize(version, **capabilities))
        self.say(INITIALIZED)
        return reply["result"]


@pytest.fixture
def visit(web):
    return Visit(web(transport=SSE))


def test_stream_begins_with_the_endpoint_to_post_to(visit):
    assert visit.server.path == "/sse"
    assert (visit.stream.status, visit.stream.headers["content-type"]) == (200, EVENTS)
    assert (visit.endpoint.kind, visit.endpoint.id, visit.endpoint.retry) == ("endpoint", None, None)
    assert visit.endpoint.data.startswith("/")


def test_path_of_the_stream_is_that_of_the_config(web):
    visit = Visit(web(transport={**SSE, "path": "/events"}))
    assert visit.server.path == "/events"
    assert visit.open()["protocolVersion"] == OLDEST


@pytest.mark.parametrize("version", [OLDEST, "2025-11-25"])
def test_replies_come_on_the_stream_and_posts_are_only_accepted(visit, version):
    assert visit.open(version)["protocolVersion"] == version
    visit.say(ping(1), slow(2, 1, "token"))
    heard = [visit.stream.next() for _ in range(4)]
    assert {event.kind for event in heard} == {"message"}
    assert [event.message.get("id") for event in heard] == [1, None, None, 2]


def test_request_before_initialize_is_refused_on_the_stream(visit):
    assert code_of(visit.ask(request(1, "tools/list"))) == -32600
    assert visit.ask(ping(2)) == result(2, {})


def test_modern_era_does_not_exist_here(visit):
    assert code_of(visit.ask(modern(request(1, "server/discover")))) == -32600
    visit.open()
    assert code_of(visit.ask(modern(request(2, "server/discover")))) == -32601
    assert visit.post(ping(3), **{"MCP-Protocol-Version": MODERN}).status == 202


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 400), ("?sessionId=", 400), ("?sessionId=nobody", 404), ("?other=1", 400), ("?%ff=%", 400)],
)
def test_post_without_a_session_that_lives_is_refused(visit, query, status):
    assert visit.server.send("POST", ping(1), {}, "/sse" + query).status == status


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b"\xff", -32700),
        (b"5", -32600),
        (b"[]", -32600),
        (b"{}", -32600),
        (b"[5]", -32600),
    ],
    ids=repr,
)
def test_post_that_is_no_message_is_bad(visit, body, code):
    answer = visit.post(body)
    assert (answer.status, answer.code) == (400, code)
    assert visit.ask(ping(1)) == result(1, {})


def test_null_is_json_but_no_message(visit):
    assert visit.post(b"null").code == -32600


def test_other_verbs_and_types_are_refused(visit):
    assert visit.server.send("DELETE").status == 405
    assert visit.server.send("PUT").headers["allow"] == "GET, POST"
    assert visit.server.send("GET", None, {"Accept": "application/json"}).status == 406
    assert visit.server.send("GET", None, {"Origin": "http://example.com"}).status == 403
    assert visit.server.send("GET", None, {"Host": "example.com"}).status == 421
    assert visit.server.send("GET", None, {}, "/mcp").status == 404


def test_session_ends_with_its_stream(visit):
    other = Visit(visit.server)
    other.open()
    visit.open()
    visit.say(slow(1, 30_000, "token"))
    visit.stream.hear()
    visit.stream.close()
    assert any(visit.post(ping(2)).status == 404 for _ in range(1000)), "as soon as the server has noticed"
    assert other.ask(ping(1)) == result(1, {})


def test_questions_come_on_the_stream_and_answers_by_post(visit):
    visit.open("2025-06-18", elicitation={})
    question = visit.ask(call(1, "collect_elicitation", FORM))
    assert question["method"] == "elicitation/create"
    reply = visit.ask(result(question["id"], {"action": "decline"}))
    assert '"decline"' in text_of(reply)


def test_changes_come_to_every_stream_that_is_initialized(visit):
    other, third = Visit(visit.server), Visit(visit.server)
    visit.open()
    other.open()
    third.ask(initialize())
    visit.say(call(1, "remove_tool", {"name": "add"}))
    changed = notification("notifications/tools/list_changed")
    assert [visit.stream.hear(), other.stream.hear()] == [changed, changed]
    assert third.ask(ping(1)) == result(1, {})


def test_cancelled_request_is_never_answered(visit):
    visit.open()
    visit.say(slow(1, 30_000, "token"))
    visit.stream.hear()
    visit.say(notification("notifications/cancelled", {"requestId": 1}))
    assert visit.ask(ping(2)) == result(2, {})


def test_signal_ends_the_server_and_its_streams(visit):
    visit.open()
    visit.say(echo(1), slow(2, 30_000))
    assert visit.stream.hear()["id"] == 1
    assert visit.server.signal(signal.SIGTERM, 2.5) == 0
    assert visit.stream.rest() == []
    assert visit.server.errors == ""
