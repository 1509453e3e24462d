"""An answer in a recording with an id that no request had, while a request has no answer."""

import json

import pytest

from mcp_conductor.checks.engine.judging import Options, judge
from mcp_conductor.protocol.transcript import Transcript

ECHO = "base-response-id-echo-server"
INFO = {"name": "n", "version": "1"}
OPENED = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": INFO,
}
OPENING = [
    (">", {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": INFO}}),
    ("<", {"id": 0, "result": OPENED}),
    (">", {"method": "notifications/initialized"}),
]  # fmt: skip
SOURCES = {">": "client", "<": "server", "=": "http"}


def ask(identity, method="tools/list", **params):
    return ">", {"id": identity, "method": method, "params": params}


def answer(identity, **members):
    return "<", {"id": identity, **(members or {"result": {"tools": []}})}


def cancel(identity):
    return ">", {"method": "notifications/cancelled", "params": {"requestId": identity}}


def outcomes(*said, **options):
    transcript = Transcript()
    for at, (mark, what) in enumerate(said):
        text = what if isinstance(what, str) else json.dumps({"jsonrpc": "2.0", **what})
        transcript.add(float(at), SOURCES[mark], text)
    return {each.id: each for each in judge(transcript, Options(**options)).outcomes}


def told(*said):
    """What is said of the ids, or why it was not seen."""
    found = outcomes(*said, only=(ECHO,))[ECHO]
    return [each.message for each in found.findings] or found.reason


def test_ids_that_come_back_are_passed():
    assert outcomes(*OPENING, ask(1), answer(1))[ECHO].status == "passed"
    assert outcomes(*OPENING, ask(1), ask("1"), answer("1"), answer(1.0))[ECHO].status == "passed"


def test_an_answer_with_another_id_is_named_with_its_request():
    found = outcomes(*OPENING, ask(1), answer("not-1"), ask(2), answer(2))
    assert found[ECHO].status == "failed"
    assert [each.message for each in found[ECHO].findings] == [
        "the answer to tools/list has the id 'not-1', but the request has 1"
    ]
    assert found["base-response-once-server"].status == "skipped"


def test_the_type_of_an_id_counts():
    assert told(*OPENING, ask(1), answer("1")) == ["the answer to tools/list has the id '1', but the request has 1"]


def test_where_several_requests_wait_the_answer_is_not_said_to_be_of_one():
    assert told(*OPENING, ask(1), ask(2), answer(9)) == ["an answer has the id 9, which no request has"]


def test_each_request_without_an_answer_explains_one_foreign_answer():
    assert len(told(*OPENING, ask(1), answer(8), ask(2), answer(9))) == 2


def test_that_the_client_gives_up_afterwards_changes_nothing():
    assert len(told(*OPENING, ask(1), answer(9), cancel(1))) == 1


UNKNOWN = "an answer has an id that no request has, but no request waited for an answer"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ((*OPENING, ask(1), cancel(1), answer(9)), UNKNOWN),
        ((*OPENING, ask(1), answer(1), answer(9)), UNKNOWN),
        ((*OPENING, answer(9), ask(1)), UNKNOWN),  # it may be answered after the recording
        ((*OPENING, ask(1)), None),
        ((*OPENING, ask(1), answer(None, error={"code": -32700, "message": "?"})), None),
        ((ask(5), *OPENING, ask(1), answer(9)), "the recording may begin in the middle of the conversation"),
        ((answer(9), *OPENING, ask(1)), "the recording may begin in the middle of the conversation"),
        ((*OPENING, (">", "{not JSON"), ask(1), answer(9)), "the client sent what is not a message"),
        ((ask(1, _meta=MODERN), answer(9)), "the recording may begin in the middle of the conversation"),
    ],
)  # fmt: skip
def test_what_has_another_explanation_is_not_blamed(said, reason):
    assert told(*said) == reason


@pytest.mark.parametrize(("sent", "heard"), [(1.5, 1), (1.5, 2), (2**53 + 1, 2**53), (2**53 + 1, 1)])
def test_a_number_that_json_rpc_need_not_keep_breaks_no_must_when_it_comes_back_changed(sent, heard):
    found = outcomes(*OPENING, ask(1), answer(1), ask(sent), answer(heard))
    assert {each.id for each in found.values() if each.status == "failed"} == set()


def test_a_second_answer_is_found_beside_a_fraction_that_was_answered():
    found = outcomes(*OPENING, ask(1), answer(1), ask(1.5), answer(1.5), answer(1))
    assert found["base-response-once-server"].status == "failed"


def test_a_conversation_of_the_modern_era_that_begins_with_its_opening_is_judged():
    discovered = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    opening = [ask(0, "server/discover", _meta=MODERN), answer(0, result=discovered)]
    assert len(told(*opening, ask(1, _meta=MODERN), answer(9))) == 1
    listening = ask(1, "subscriptions/listen", _meta=MODERN)
    assert told(*opening, listening, answer(9)) == UNKNOWN


def over_http(*said, resumed=""):
    return [*OPENING[:1], ("=", f"POST /mcp{resumed}"), *OPENING[1:], *said]


def test_over_http_a_result_with_another_id_is_found():
    assert len(told(*over_http(ask(1), answer(9)))) == 1


def test_over_http_a_refusal_without_the_id_of_its_request_is_no_answer():
    refusal = answer("server-error", error={"code": -32600, "message": "Not Acceptable"})
    assert told(*over_http(ask(1), ("=", "HTTP 406"), refusal)) is None


def test_a_stream_that_was_resumed_may_have_answers_to_what_was_asked_before():
    assert told(*over_http(ask(1), answer(9), resumed="\nLast-Event-ID: 4")) == "a stream was resumed"
