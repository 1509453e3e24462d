"""Answers that come as a stream of events: disturbed, interrupted, resumed, endless, or on the wrong stream."""

import json
import queue
import threading
import time

import pytest
from tests.e2e.http_manners import QUICK, assert_failed, in_turn
from tests.e2e.listing import LIST, assert_listed
from tests.servers.http_raw import event

TOOLS = {"tools": []}
NOTICE = {"method": "notifications/message", "params": {"level": "info", "data": "hi"}}


def answer(call, **fields):
    call.stream()
    call.event(TOOLS, **fields)
    call.close()


def resume(result=TOOLS):
    """A GET stream that brings the answer to the request with id 2, as a good server would after Last-Event-ID."""

    def get(call):
        if "last-event-id" not in call.headers:
            call.reply(405)
            return
        call.stream(event({"id": 2, "result": result}, id="end"))
        call.close()

    return get


def resumptions(server):
    return [call.headers["last-event-id"] for call in server.asked("GET") if "last-event-id" in call.headers]


def test_an_answer_as_an_event_is_an_answer(cli, http):
    assert_listed(cli(http({"tools/list": answer, "initialize": lambda call: call.politely()}).url, *LIST))


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_may_end_in_three_ways(cli, http, end):
    server = http({"tools/list": lambda call: (call.stream(f"data: {call.text(TOOLS)}{end}{end}"), call.hold())})
    assert_listed(cli(server.url, *LIST))


def test_an_answer_in_several_lines_of_data_is_one(cli, http):
    server = http({
        "tools/list": lambda call: (
            call.stream("".join(f"data: {line}\n" for line in json.dumps(json.loads(call.text(TOOLS)), indent=1).split("\n")), "\n"),
            call.close(),
        )
    })  # fmt: skip
    assert_listed(cli(server.url, *LIST))


def test_a_stream_that_stays_open_after_the_answer_does_not_keep_us(cli, http):
    run = cli(http({"tools/list": lambda call: (call.stream(), call.event(TOOLS), call.hold())}).url, *LIST)
    assert_listed(run)
    assert run.seconds < 5


def test_lines_that_are_no_fields_do_not_disturb(cli, http):
    garbage = ": comment\n\nnonsense\n<html>\n\n\x00\x01: x\n\nretry: soon\n\nevent: other\ndata: {not for us\n\n"
    server = http({"tools/list": lambda call: (call.stream(garbage), call.event(TOOLS), call.close())})
    assert_listed(cli(server.url, *LIST))


def test_events_that_are_no_messages_are_noted(cli, http):
    server = http(
        {"tools/list": lambda call: (call.stream(event("{]"), event("7"), b"data: \xff\n\n"), call.event(TOOLS))}
    )
    assert_listed(cli(server.url, *LIST), "not a message", "broke a rule of JSON-RPC")


def test_answers_to_unknown_ids_are_noted(cli, http):
    stray = event({"id": 4711, "result": {}})
    server = http({"tools/list": lambda call: (call.stream(stray), call.event(TOOLS))})
    assert_listed(cli(server.url, *LIST), "warning: the server sent an answer with id 4711, which no request has")


def test_an_event_of_60_megabytes_is_taken(cli, http):
    text = "x" * (60 * 2**20)
    server = http({"tools/list": lambda call: (call.stream(), call.event({"tools": [], "text": text}), call.close())})
    run = cli(server.url, *LIST, "--timeout", "60s", limit=90)
    assert run.code == 0, run.err
    assert len(run.out) > len(text)


def test_an_event_byte_by_byte_is_taken(cli, http):
    def drip(call):
        call.stream()
        for byte in f": é\r\ndata: {call.text(TOOLS)}\r\n\r\n".encode():
            call.send(bytes([byte]))
            time.sleep(0.002)  # the drip itself

    assert_listed(cli(http({"tools/list": drip}).url, *LIST))


def test_an_event_that_never_ends_runs_into_the_timeout(cli, http):
    server = http({"tools/list": lambda call: (call.stream(f"data: {call.text(TOOLS)}\n"), call.hold())})
    assert_failed(cli(server.url, *LIST, "--timeout", "700ms"), "tools/list was not answered", code=124)


def test_keep_alives_do_not_prolong_the_time(cli, http):
    def keep_alive(call):
        call.stream()
        while True:
            call.send(b": still here\n\n")
            time.sleep(0.02)  # the pace of the server

    run = cli(http({"tools/list": keep_alive}).url, *LIST, "--request-timeout", "700ms")
    assert_failed(run, "no answer to tools/list within 0.7 s", code=124)


def test_questions_on_the_stream_are_answered(cli, http):
    answered = threading.Event()

    def ask(call):
        call.stream(event({"id": "q1", "method": "ping"}))
        assert answered.wait(QUICK)
        call.event(TOOLS)
        call.close()

    def take(call):
        if "result" in call.message:
            assert (call.id, call.message["result"]) == ("q1", {})
            answered.set()
        call.politely()

    assert_listed(cli(http({"tools/list": ask, "POST": take}).url, *LIST))


# Streams that end too early.


@pytest.mark.parametrize("end", ["close", "reset"])
@pytest.mark.parametrize("sent", ["", ": hi\n\n", event(NOTICE), 'data: {"jsonrpc": "2.0", "id": 2, "res'])
def test_a_stream_without_ids_that_ends_before_the_answer_is_reported(cli, http, end, sent):
    server = http({"tools/list": lambda call: (call.stream(sent), getattr(call, end)())})
    run = cli(server.url, *LIST)
    assert_failed(run)
    assert "the stream ended before tools/list was answered" in run.err or "within the body of the answer" in run.err
    assert resumptions(server) == []


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_stream_with_ids_is_resumed_where_it_ended(cli, http, end):
    begin = event(NOTICE, id="one", retry=20) + event(NOTICE, id="two") + 'id: three\ndata: {"half'
    server = http(
        {"tools/list": lambda call: (call.stream(begin), getattr(call, end)()), "GET": resume()}, session="s1"
    )
    assert_listed(cli(server.url, *LIST))
    (resumed,) = [call for call in server.asked("GET") if "last-event-id" in call.headers]
    assert resumed.headers["last-event-id"] == "two"
    assert resumed.headers["accept"] == "text/event-stream"
    assert resumed.headers["mcp-session-id"] == "s1"
    assert resumed.headers["mcp-protocol-version"] == "2025-11-25"


def test_a_stream_is_resumed_after_the_time_that_the_server_asks_for(cli, http):
    times = []

    def prime(call):
        call.stream(event("", id="p", retry=400))
        times.append(time.monotonic())
        call.close()

    server = http({
        "tools/list": prime,
        "GET": lambda call: (times.append(time.monotonic()) if "last-event-id" in call.headers else None, resume()(call)),
    })  # fmt: skip
    assert_listed(cli(server.url, *LIST))
    assert times[1] - times[0] >= 0.39
    assert resumptions(server) == ["p"]


@pytest.mark.parametrize(
    "priming", ["id: p\ndata:\n\n", "id: p\ndata\n\n", "id: p\n\n", "retry: 10\nid: p\ndata: \n\n"]
)
def test_a_priming_event_is_no_message(cli, http, priming):
    server = http({"tools/list": lambda call: (call.stream(priming), call.event(TOOLS, id="q"), call.close())})
    assert_listed(cli(server.url, *LIST))
    assert resumptions(server) == []


def test_a_stream_is_resumed_as_often_as_it_brings_something_new(cli, http):
    steps = iter(range(8))

    def get(call):
        if "last-event-id" not in call.headers:
            call.reply(405)
        elif (step := next(steps)) < 7:
            call.stream(event(NOTICE, id=f"r{step}", retry=5))
            call.close()
        else:
            resume()(call)

    server = http({"tools/list": lambda call: (call.stream(event("", id="r", retry=5)), call.close()), "GET": get})
    assert_listed(cli(server.url, *LIST))
    assert resumptions(server) == ["r", *(f"r{step}" for step in range(7))]


def test_a_resumption_that_fails_is_tried_again(cli, http):
    get = in_turn(
        lambda call: call.reply(405), lambda call: call.reset(), lambda call: (call.stream(), call.close()), resume()
    )
    server = http({"tools/list": lambda call: (call.stream(event("", id="p", retry=20)), call.close()), "GET": get})
    assert_listed(cli(server.url, *LIST))
    assert resumptions(server)[-1] == "p"


@pytest.mark.parametrize("status", [400, 404, 405, 500])
def test_a_resumption_that_is_refused_is_reported(cli, http, status):
    server = http({
        "tools/list": lambda call: (call.stream(event("", id="p", retry=20)), call.close()),
        "GET": lambda call: call.reply(status),
    })  # fmt: skip
    assert_failed(cli(server.url, *LIST), "tools/list", "cannot be resumed", f"status {status}")


def test_a_resumption_that_brings_nothing_is_given_up(cli, http):
    server = http({
        "tools/list": lambda call: (call.stream(event("", id="p", retry=20)), call.close()),
        "GET": in_turn(lambda call: call.reply(405), lambda call: (call.stream(), call.close())),
    })  # fmt: skip
    assert_failed(cli(server.url, *LIST), "the stream ended before tools/list was answered")


def test_an_empty_id_ends_the_resumable_part(cli, http):
    begin = event(NOTICE, id="one", retry=20) + event(NOTICE, id="")
    server = http({"tools/list": lambda call: (call.stream(begin), call.close()), "GET": resume()})
    assert_failed(cli(server.url, *LIST), "the stream ended before tools/list was answered")
    assert resumptions(server) == []


@pytest.mark.parametrize("identity", ["é", "☃ 1"])
def test_an_id_beyond_ascii_is_sent_back_as_utf_8(cli, http, identity):
    begin = event("", id=identity, retry=20)
    server = http({"tools/list": lambda call: (call.stream(begin), call.close()), "GET": resume()})
    assert_listed(cli(server.url, *LIST, "--timeout", "2s"))
    assert [text.encode("latin-1").decode() for text in resumptions(server)] == [identity]


def test_nothing_is_resumed_in_the_modern_era(cli, http):
    begin = event(NOTICE, id="one", retry=20)
    server = http({"tools/list": lambda call: (call.stream(begin), call.close())}, modern=True)
    assert_failed(cli(server.url, *LIST, "--protocol", "modern"), "the stream ended before tools/list was answered")
    assert server.asked("GET") == []


# The GET stream.


def test_an_answer_on_the_other_stream_is_taken_by_its_id(cli, http):
    answers: queue.Queue[str] = queue.Queue()

    def get(call):
        call.stream()
        call.send(event(answers.get(timeout=QUICK)).encode())
        call.hold()

    server = http(
        {"GET": get, "tools/list": lambda call: (call.stream(": \n\n"), answers.put(call.text(TOOLS)), call.hold())}
    )
    run = cli(server.url, *LIST)
    assert (run.code, json.loads(run.out)) == (0, TOOLS), run
    assert run.seconds < QUICK


@pytest.mark.parametrize("status", [400, 404, 405, 500, 501])
def test_a_server_without_the_other_stream_is_fine(cli, http, status):
    assert_listed(cli(http({"GET": lambda call: call.reply(status)}).url, *LIST))


@pytest.mark.parametrize("get", ["hold", "reset", "close"])
def test_a_failure_of_the_get_stream_is_not_an_error(cli, http, get):
    run = cli(http({"GET": lambda call: getattr(call, get)()}).url, *LIST)
    assert_listed(run)
    assert run.seconds < 5


def test_there_is_no_get_stream_in_the_modern_era(cli, http):
    server = http(modern=True)
    assert cli(server.url, *LIST, "--protocol", "modern").code == 0
    assert {call.verb for call in server.calls} == {"POST"}


# Giving up.


def test_a_request_that_takes_too_long_is_cancelled_by_a_message_in_the_handshake_era(cli, http):
    server = http({"tools/list": lambda call: (call.stream(), call.hold())})
    assert_failed(cli(server.url, *LIST, "--request-timeout", "500ms"), "no answer to tools/list", code=124)
    (cancelled,) = server.asked("notifications/cancelled")
    assert cancelled.message["params"]["requestId"] == server.asked("tools/list")[0].id


def test_a_request_that_takes_too_long_is_cancelled_by_closing_its_stream_in_the_modern_era(cli, http):
    gone = threading.Event()
    server = http({"tools/list": lambda call: (call.stream(), call.hold(), gone.set())}, modern=True)
    run = cli(server.url, *LIST, "--protocol", "modern", "--request-timeout", "500ms")
    assert_failed(run, "no answer to tools/list", code=124)
    assert gone.wait(QUICK)
    assert server.asked("notifications/cancelled") == []
