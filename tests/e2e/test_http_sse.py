"""HTTP+SSE, the transport of 2024-11-05: found by its URL, by a flag, or because a POST was refused."""

import json
import queue

import pytest
from tests.e2e.http_manners import QUICK, assert_failed
from tests.e2e.listing import LIST, assert_listed
from tests.servers.http_raw import HttpServer, event

from mcp_conductor import read_recording

TOOLS = {"tools": []}
HELLO = {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}


class OldServer(HttpServer):
    """A server of HTTP+SSE: what is put into the outbox goes out on its one stream; None ends that."""

    def __init__(self, endpoint: str = "/messages?session=1", refusal: int = 405, **manners) -> None:
        self.endpoint = endpoint
        self.refusal = refusal
        self.outbox: queue.Queue[str | None] = queue.Queue()
        super().__init__({"GET": self.push, "POST": self.take, **manners})

    def push(self, call) -> None:
        call.stream(event(self.endpoint, event="endpoint"))
        while (message := self.outbox.get(timeout=QUICK)) is not None:
            call.send(event(message, event="message").encode())
        call.close()

    def take(self, call) -> None:
        if call.path == "/mcp":
            call.reply(self.refusal, "no")
            return
        call.reply(202, "Accepted")
        if call.id is not None:
            self.outbox.put(call.text(HELLO if call.method == "initialize" else TOOLS))

    def stop(self) -> None:
        self.outbox.put(None)
        super().stop()


@pytest.fixture
def old():
    """Start a server of HTTP+SSE."""
    started: list[OldServer] = []

    def start(*arguments, **options) -> OldServer:
        started.append(OldServer(*arguments, **options))
        return started[-1]

    yield start
    for server in started:
        server.stop()


def test_a_url_that_ends_in_sse_is_spoken_to_at_once(cli, old):
    server = old()
    assert_listed(cli(f"{server.origin}/sse", *LIST))
    assert [(call.verb, call.path) for call in server.calls[:2]] == [("GET", "/sse"), ("POST", "/messages?session=1")]


def test_a_flag_says_so_too(cli, old):
    server = old()
    assert_listed(cli(server.url, *LIST, "--transport", "sse"))
    assert server.calls[0].verb == "GET"


@pytest.mark.parametrize("status", [400, 404, 405])
def test_a_refused_post_falls_back(cli, old, status):
    server = old(refusal=status)
    assert_listed(cli(server.url, *LIST))
    assert [call.verb for call in server.calls][:3] == ["POST", "GET", "POST"]


def test_exchanges_are_numbered_on_after_a_fall_back(cli, old, tmp_path):
    assert_listed(cli(old().url, *LIST, "--record", "r.jsonl"))
    frames = [entry.frame for entry in read_recording(str(tmp_path / "r.jsonl")).entries]
    asked = [(frame.exchange, frame.text.split()[0]) for frame in frames if frame.text.startswith(("GET", "POST"))]
    assert asked == [(number, verb) for number, verb in enumerate(["POST", "GET", "POST", "POST", "POST"], 1)]


@pytest.mark.parametrize("status", [401, 403, 500])
def test_other_statuses_do_not_fall_back(cli, http, status):
    server = http({"POST": lambda call: call.reply(status)})
    assert_failed(cli(server.url, *LIST), f"initialize was answered with status {status}")
    assert server.asked("GET") == []


def test_nothing_falls_back_where_the_transport_is_given(cli, old):
    server = old()
    assert_failed(cli(server.url, *LIST, "--transport", "http"), "initialize was answered with status 405")
    assert server.asked("GET") == []


def test_a_refused_post_stands_where_there_is_no_stream_either(cli, http):
    server = http({"POST": lambda call: call.reply(404, "nothing here")})
    assert_failed(
        cli(server.url, *LIST), "initialize was answered with status 404: 'nothing here'", "is the path right?"
    )


def test_a_refused_post_is_told_when_the_stream_keeps_silent(cli, http):
    server = http(
        {"POST": lambda call: call.reply(400, "bad luck"), "GET": lambda call: (call.stream(": \n\n"), call.hold())}
    )
    run = cli(server.url, *LIST, "--timeout", "10s")
    assert run.code == 1
    assert "400" in run.err


@pytest.mark.parametrize("protocol", ["auto", "2024-11-05"])
def test_it_is_found_with_other_choices_of_protocol(cli, old, protocol):
    assert_listed(cli(old().url, *LIST, "--protocol", protocol))


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        ("/messages?session=1", "/messages?session=1"),
        ("messages", "/api/messages"),
        ("?id=7", "/api/sse?id=7"),
        ("  ../messages  ", "/messages"),
    ],
)
def test_a_relative_endpoint_is_taken_from_the_url_of_the_stream(cli, old, endpoint, path):
    server = old(endpoint)
    assert_listed(cli(f"{server.origin}/api/sse", *LIST))
    assert {call.path for call in server.asked("POST")} == {path}


def test_an_absolute_endpoint_on_the_same_origin_is_taken(cli, old):
    server = old()
    server.endpoint = f"{server.origin}/messages"
    assert_listed(cli(f"{server.origin}/sse", *LIST))


def test_an_endpoint_on_another_origin_is_refused(cli, old, http):
    elsewhere = http()
    server = old(f"{elsewhere.origin}/messages")
    run = cli(f"{server.origin}/sse", *LIST, "--token", "very-secret-token")
    assert_failed(run, f"posted to another origin, {elsewhere.origin}/messages, which is refused")
    assert elsewhere.calls == []


@pytest.mark.parametrize("endpoint", ["//elsewhere.invalid/messages", "https://127.0.0.1/messages", "file:///messages"])
def test_an_endpoint_that_only_looks_like_ours_is_refused(cli, old, endpoint):
    assert_failed(cli(f"{old(endpoint).origin}/sse", *LIST), "another origin")


@pytest.mark.parametrize("endpoint", ["http://[broken", "http://127.0.0.1:99999/", "http://127.0.0.1:x/"])
def test_an_endpoint_that_is_no_url_is_reported(cli, old, endpoint):
    assert_failed(cli(f"{old(endpoint).origin}/sse", *LIST, "--timeout", "2s"), endpoint)


def test_a_stream_that_ends_before_the_endpoint_is_reported(cli, http):
    server = http({"GET": lambda call: (call.stream(": hi\n\n"), call.close())})
    assert_failed(cli(f"{server.origin}/sse", *LIST), "the server closed the event stream")


def test_a_stream_that_ends_before_the_answer_is_reported(cli, old):
    server = old(**{"tools/list": lambda call: (call.reply(202), call.server.outbox.put(None))})
    run = cli(f"{server.origin}/sse", *LIST, "--timeout", "5s")
    assert_failed(run, "the server closed the event stream", "tools/list")


def test_a_stream_that_is_reset_is_reported(cli, http):
    server = http({"GET": lambda call: (call.stream("event: endp"), call.reset())})
    assert_failed(cli(f"{server.origin}/sse", *LIST), "the connection was lost within the body of the answer")


def test_a_stream_that_never_names_the_endpoint_runs_into_the_timeout(cli, http):
    server = http({"GET": lambda call: (call.stream(": hi\n\n"), call.hold())})
    assert_failed(cli(f"{server.origin}/sse", *LIST, "--timeout", "700ms"), "0.7 s", code=124)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_refused_stream_is_reported_with_its_status(cli, http, status):
    server = http({"GET": lambda call: call.reply(status, "no")})
    assert_failed(cli(f"{server.origin}/sse", *LIST), f"status {status}")


def test_a_stream_that_is_a_page_is_reported(cli, http):
    server = http({"GET": lambda call: call.reply(200, "<h1>hi</h1>", "text/html")})
    assert_failed(cli(f"{server.origin}/sse", *LIST), "answers with text/html, not with events")


def test_a_refused_message_is_reported_with_its_status(cli, old):
    server = old(**{"tools/list": lambda call: call.reply(500, "no")})
    assert_failed(cli(f"{server.origin}/sse", *LIST), "tools/list was answered with status 500: 'no'")


def test_messages_that_are_none_do_not_disturb(cli, old):
    server = old(**{"tools/list": lambda call: (call.server.outbox.put("garbage"), call.server.take(call))})
    assert_listed(cli(f"{server.origin}/sse", *LIST), "warning: the server wrote a line that is not a message")


def test_the_credentials_are_sent_with_every_request_and_shown_in_none(cli, old, tmp_path):
    server = old()
    run = cli(f"{server.origin}/sse", *LIST, "--token", "very-secret-token", "--verbose", "--record", "r.jsonl")
    assert json.loads(run.out) == TOOLS
    assert {call.headers.get("authorization") for call in server.calls} == {"Bearer very-secret-token"}
    assert "very-secret-token" not in run.err + (tmp_path / "r.jsonl").read_text()
