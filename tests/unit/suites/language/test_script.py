"""The client's side of a test: answers in order, and what is said of questions that were not expected."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.suites.language.script import ScriptedAnswers, read_script
from mcp_conductor.suites.language.variables import Variables

DIALECT = next(dialect for dialect in DIALECTS.values() if dialect.version == "2025-11-25")
FORM = {"message": "Who?", "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}  # fmt: skip


def script(text):
    document = parse(text, "a.test.mcp.yml")
    return read_script(Field(document, (), document.data), None)


def answers(text, *more, **variables):
    scripts = tuple(map(script, (text, *more)))
    found = ScriptedAnswers(set().union(*(each.kinds for each in scripts)))
    found.begin(scripts, Variables(values=variables))
    return found


@pytest.mark.parametrize(
    ("reply", "result"),
    [
        ("decline", {"action": "decline"}),
        ("reject", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
        ("accept", {"action": "accept", "content": {"n": 0}}),
        ("{n: 5}", {"action": "accept", "content": {"n": 5}}),
        ("{content: {n: 5}}", {"action": "accept", "content": {"n": 5}}),
        ("{action: accept, content: {n: 6}}", {"action": "accept", "content": {"n": 6}}),
        ("'{{ said }}'", {"action": "accept", "content": {"n": 7}}),
    ],
)
def test_a_reply_to_an_elicitation_may_be_written_in_short(reply, result):
    found = answers(f"elicitation: [{{reply: {reply}}}]", said={"n": 7})
    assert found.to("elicitation/create", FORM, DIALECT).result == result
    assert found.findings() == []


def test_a_whole_message_is_sent_as_it_is_written():
    found = answers("sampling: [{reply: {role: user, model: m, content: {type: text, text: hi}}}]")
    assert found.to("sampling/createMessage", {}, DIALECT).result == {
        "role": "user",
        "model": "m",
        "content": {"type": "text", "text": "hi"},
    }


def test_a_reply_to_sampling_is_a_text_or_parts_of_a_message():
    found = answers("sampling: [{reply: '42'}, {reply: {model: m}}, {reply: reject}, {error: {code: 1, message: no}}]")
    replies = [found.to("sampling/createMessage", {}, DIALECT) for _ in range(4)]
    assert replies[0].result["content"] == {"type": "text", "text": "42"}
    assert (replies[1].result["model"], replies[1].result["role"]) == ("m", "assistant")
    assert replies[2].error["message"] == "User rejected sampling request"
    assert replies[3].error == {"code": 1, "message": "no"}


def test_turns_are_used_up_in_order_and_what_is_left_is_told_of():
    text = "elicitation: [{reply: decline}, {reply: cancel}, {reply: accept}]"
    found = answers(text)
    said = [found.to("elicitation/create", FORM, DIALECT).result["action"] for _ in range(2)]
    assert said == ["decline", "cancel"]
    assert [each.message for each in found.unused_answers(script(text))] == [
        "the server did not ask for elicitation/create"
    ]


def test_a_question_too_many_is_refused_and_told_of():
    found = answers("elicitation: [{reply: cancel}]")
    actions = [found.to("elicitation/create", FORM, DIALECT).result["action"] for _ in range(2)]
    assert actions == ["cancel", "decline"]
    assert [each.message for each in found.findings()] == [
        "the server asked for elicitation/create, and the test has no answer to that"
    ]


def test_a_reply_that_is_no_list_is_given_again_and_again():
    found = answers("elicitation: cancel")
    assert [found.to("elicitation/create", FORM, DIALECT).result["action"] for _ in range(3)] == ["cancel"] * 3


def test_the_script_of_a_test_counts_more_than_that_of_its_file():
    found = answers("{elicitation: cancel, roots: ['file:///a']}", "{elicitation: [{reply: decline}], roots: []}")
    assert found.to("elicitation/create", FORM, DIALECT).result == {"action": "decline"}
    assert found.roots == []


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{message: Whom?}", "what the server asked for: message is 'Who?', not 'Whom?'"),
        ("{message: Who?, mode: form}", "what the server asked for: mode is missing"),
        ("Who?", "what the server asked for: it is an object, not the string 'Who?'"),
    ],
)
def test_a_question_that_is_not_the_expected_one_is_answered_and_told_of(expect, message):
    found = answers(f"elicitation: [{{expect: {expect}, reply: decline}}]")
    assert found.to("elicitation/create", FORM, DIALECT).result == {"action": "decline"}
    assert [each.message for each in found.findings()] == [message]


@pytest.mark.parametrize(
    "text",
    [
        "elicitation: perhaps",
        "elicitation: [{reply: accept, error: no}]",
        "elicitation: [{expect: {message: x}}]",
        "elicitation: [5]",
        "sampling: 5",
        "roots: file:///a",
        "questions: []",
    ],
)
def test_a_script_that_cannot_be_is_refused(text):
    with pytest.raises(UsageError):
        script(text)


# Questions as tasks of the client.

TASK = {"task": {"ttl": 60000}}


def test_a_question_that_is_asked_as_a_task_is_answered_as_one():
    found = answers("{elicitation: [{reply: {n: 5}}], tasks: [elicitation]}")
    made = found.to("elicitation/create", {**FORM, **TASK}, DIALECT).result["task"]
    assert (made["status"], made["ttl"]) == ("working", 60000)
    asked = {"taskId": made["taskId"]}
    assert found.to("tasks/get", asked, DIALECT).result == {**made, "status": "completed"}
    assert found.to("tasks/result", asked, DIALECT).result == {
        "action": "accept",
        "content": {"n": 5},
        "_meta": {"io.modelcontextprotocol/related-task": asked},
    }
    assert found.findings() == []


def test_an_error_is_that_of_a_task_which_failed():
    found = answers("{sampling: [{error: {code: -1, message: no}}], tasks: [sampling]}")
    asked = {"taskId": found.to("sampling/createMessage", TASK, DIALECT).result["task"]["taskId"]}
    assert found.to("tasks/get", asked, DIALECT).result["status"] == "failed"
    assert found.to("tasks/result", asked, DIALECT).error == {"code": -1, "message": "no"}


def test_tasks_are_declared_for_what_is_answered_where_the_revision_has_them():
    found = answers("{sampling: auto, tasks: [sampling, elicitation]}", "elicitation: auto")
    assert found.capabilities(DIALECT)["tasks"] == {
        "requests": {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}
    }
    assert "tasks" not in found.capabilities(DIALECTS["2025-06-18"])
    assert "tasks" not in found.capabilities(DIALECTS["2026-07-28"])
    assert answers("{sampling: auto, tasks: [elicitation]}").capabilities(DIALECT) == {"sampling": {}}
    assert "tasks" not in answers("sampling: auto").capabilities(DIALECT)


def test_a_question_is_answered_at_once_where_tasks_were_not_declared():
    found = answers("{elicitation: [{reply: {n: 5}}], sampling: auto, tasks: [sampling]}")
    assert found.to("elicitation/create", {**FORM, **TASK}, DIALECT).result["action"] == "accept"
    assert found.to("tasks/get", {"taskId": "x"}, DIALECT).error["code"] == -32602
    assert answers("sampling: auto").to("tasks/get", {"taskId": "x"}, DIALECT).error["code"] == -32601


def test_what_can_be_a_task_is_checked():
    with pytest.raises(UsageError, match="roots"):
        script("tasks: [roots]")
