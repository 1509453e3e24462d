"""A result may be a question; the next round repeats the request with the answers and the server's state."""

import pytest

from mcp_conductor.errors import ProtocolError
from mcp_conductor.protocol.dialect import DIALECTS, NEWEST_MODERN
from mcp_conductor.protocol.input_rounds import is_final, next_round

ASKS = {"resultType": "input_required", "inputRequests": {"k": {"method": "roots/list"}}}


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("tools/call", {}),
        ("tools/call", {"resultType": "complete"}),
        ("tools/call", {"resultType": "complete", "inputRequests": {}}),
        ("tools/call", {"resultType": "task", "taskId": "t"}),
        ("tools/list", {"tools": []}),
    ],
)
def test_a_complete_result_a_task_and_a_result_without_type_are_final(method, result):
    assert is_final(method, result, NEWEST_MODERN)


@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
@pytest.mark.parametrize(
    "result",
    [
        ASKS,
        {"resultType": "input_required", "requestState": "s"},
        {"resultType": "input_required", "inputRequests": {}, "requestState": ""},
    ],
)
def test_a_question_is_not_final_where_questions_are_allowed(method, result):
    assert not is_final(method, result, NEWEST_MODERN)


@pytest.mark.parametrize(
    ("method", "result", "version"),
    [
        ("tools/list", ASKS, "2026-07-28"),
        ("tools/call", ASKS, "2025-11-25"),
        ("prompts/get", {"resultType": "task"}, "2026-07-28"),
        ("tools/call", {"resultType": "surprise"}, "2026-07-28"),
        ("tools/call", {"resultType": None}, "2026-07-28"),
        ("tools/call", {"resultType": ["complete"]}, "2026-07-28"),
        ("tools/call", {"resultType": "input_required"}, "2026-07-28"),
    ],
)
def test_a_type_that_means_nothing_there_cannot_be_continued_from(method, result, version):
    with pytest.raises(ProtocolError) as caught:
        is_final(method, result, DIALECTS[version])
    assert caught.value.message.startswith(method)


def test_the_next_round_has_the_first_params_our_answers_and_the_servers_state():
    params = {"name": "t", "arguments": {"a": 1}, "_meta": {"progressToken": 1}}
    following = next_round(params, {**ASKS, "requestState": "opaque"}, {"k": {"roots": []}})
    assert following == {**params, "inputResponses": {"k": {"roots": []}}, "requestState": "opaque"}
    assert params == {"name": "t", "arguments": {"a": 1}, "_meta": {"progressToken": 1}}


def test_answers_and_state_of_an_earlier_round_are_not_sent_again():
    params = {"name": "t", "inputResponses": {"old": {}}, "requestState": "old"}
    assert next_round(params, ASKS, {}) == {"name": "t"}


@pytest.mark.parametrize("state", ["", None, {"a": [1]}, 0])
def test_state_is_echoed_exactly_as_it_came(state):
    assert next_round({}, {"requestState": state}, {}) == {"requestState": state}
