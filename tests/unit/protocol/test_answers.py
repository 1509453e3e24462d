"""What the server may ask of us, what we declare, and what we answer in each revision."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.answers import Answers, elicitation_answers, sampling_answers
from mcp_conductor.protocol.dialect import DIALECTS, HANDSHAKE

R1, R3, R4, R5 = (DIALECTS[version] for version in ("2024-11-05", "2025-06-18", "2025-11-25", "2026-07-28"))
TEMPLATE = {"model": "m", "role": "assistant", "content": {"type": "text", "text": "4"}}
FORM = {
    "message": "Name?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 7}},
        "required": ["name"],
    },
}


def sampled(answers: Answers):
    return answers.to("sampling/createMessage", {}, R4)


def elicited(answers: Answers, params=FORM):
    return answers.to("elicitation/create", params, R4)


@pytest.mark.parametrize(
    ("dialect", "capabilities"),
    [
        (R1, {"roots": {"listChanged": True}, "sampling": {}}),
        (R3, {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {}}),
        (R4, {"roots": {"listChanged": True}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}),
        (R5, {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}),
    ],
)
def test_exactly_what_can_be_answered_is_declared(dialect, capabilities):
    assert Answers(roots=[], sampling="auto", elicitation="auto").capabilities(dialect) == capabilities
    assert Answers().capabilities(dialect) == {}


@pytest.mark.parametrize(
    ("version", "declared"), [("2025-06-18", {}), ("2025-11-25", {"tools": {}}), ("2026-07-28", {"tools": {}})]
)
def test_that_tools_are_taken_is_declared_where_a_revision_has_that(version, declared):
    answers = Answers(sampling="auto", sampling_tools=True)
    assert answers.capabilities(DIALECTS[version]) == {"sampling": declared}
    with pytest.raises(UsageError):
        Answers(sampling_tools=True)


def test_a_list_of_answers_is_declared_even_when_it_is_empty():
    assert Answers(sampling=[], elicitation=[]).capabilities(R4) == {
        "sampling": {},
        "elicitation": {"form": {}, "url": {}},
    }


@pytest.mark.parametrize("version", HANDSHAKE)
def test_ping_is_always_answered_where_it_exists(version):
    assert Answers().to("ping", {}, DIALECTS[version]).members == {"result": {}}


@pytest.mark.parametrize(
    ("answers", "method", "dialect"),
    [
        (Answers(), "ping", R5),
        (Answers(), "roots/list", R4),
        (Answers(), "sampling/createMessage", R4),
        (Answers(elicitation="auto"), "elicitation/create", R1),
        (Answers(), "tasks/get", R4),
        (Answers(), "no/such/method", R4),
    ],
)
def test_what_was_not_offered_is_refused_as_an_unknown_method_and_told(answers, method, dialect):
    answer = answers.to(method, {}, dialect)
    assert answer.members["error"]["code"] == -32601
    assert answer.warning is not None


def test_roots_are_given_as_declared():
    roots = [{"uri": "file:///a", "name": "A"}]
    answer = Answers(roots=roots).to("roots/list", {}, R4)
    assert (answer.members, answer.warning) == ({"result": {"roots": roots}}, None)
    assert Answers(roots=[]).to("roots/list", {}, R4).result == {"roots": []}


def test_automatic_sampling_is_an_empty_text_of_a_stub_model():
    assert sampled(Answers(sampling="auto")).members == {
        "result": {
            "model": "stub-model",
            "stopReason": "endTurn",
            "role": "assistant",
            "content": {"type": "text", "text": ""},
        }
    }


def test_rejected_sampling_is_an_error():
    answer = sampled(Answers(sampling="reject"))
    assert (answer.error["code"], answer.warning) == (-1, None)


def test_a_sampling_template_is_returned_as_it_is_every_time():
    answers = Answers(sampling=TEMPLATE)
    assert [sampled(answers).result for _ in range(3)] == [TEMPLATE] * 3


def test_a_list_of_sampling_answers_is_used_up_in_order():
    answers = Answers(sampling=[TEMPLATE, "reject", "auto"])
    assert sampled(answers).result == TEMPLATE
    assert sampled(answers).error is not None
    assert sampled(answers).result["model"] == "stub-model"
    last = sampled(answers)
    assert (last.error["code"], last.warning is None) == (-1, False)


def test_an_elicitation_without_an_answer_is_declined_with_a_warning():
    answer = elicited(Answers())
    assert answer.members == {"result": {"action": "decline"}}
    assert "Name?" in answer.warning


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ("reject", {"action": "decline"}),
        ("decline", {"action": "decline"}),
        ("cancel", {"action": "cancel"}),
        ("auto", {"action": "accept", "content": {"name": "", "age": 7}}),
        ({"name": "x"}, {"action": "accept", "content": {"name": "x"}}),
        ({"action": "accept", "content": {"name": "x"}}, {"action": "accept", "content": {"name": "x"}}),
        ({"action": "decline"}, {"action": "decline"}),
        ({"action": "cancel"}, {"action": "cancel"}),
    ],
)
def test_an_elicitation_is_answered_as_declared(given, result):
    answer = elicited(Answers(elicitation=given))
    assert (answer.members, answer.warning) == ({"result": result}, None)


@pytest.mark.parametrize("params", [{}, {"requestedSchema": {}}, {"message": "Sure?", "mode": "form"}])
def test_automatic_elicitation_without_a_schema_accepts_with_empty_content(params):
    assert elicited(Answers(elicitation="auto"), params).result == {"action": "accept", "content": {}}


def test_content_with_a_field_called_action_is_content_when_the_server_asks_for_one():
    schema = {"type": "object", "properties": {"action": {"type": "string"}}}
    answer = elicited(Answers(elicitation={"action": "accept"}), {"requestedSchema": schema})
    assert answer.result == {"action": "accept", "content": {"action": "accept"}}


def test_a_list_of_elicitation_answers_is_used_up_in_order():
    answers = Answers(elicitation=[{"name": "x"}, "cancel"])
    assert elicited(answers).result["content"] == {"name": "x"}
    assert elicited(answers).result == {"action": "cancel"}
    last = elicited(answers)
    assert (last.result, last.warning is None) == ({"action": "decline"}, False)


@pytest.mark.parametrize("content", [{}, {"name": 5}, {"name": "x", "age": "old"}, {"action": "accept"}])
def test_content_that_does_not_fit_the_schema_is_our_users_mistake(content):
    with pytest.raises(UsageError):
        elicited(Answers(elicitation=content))


@pytest.mark.parametrize("schema", [None, [], 5, {"type": "nonsense"}, {"$ref": "https://example.com/schema"}])
def test_a_schema_that_cannot_be_used_is_told_not_crashed_on(schema):
    with pytest.raises(UsageError):
        elicited(Answers(elicitation={"name": "x"}), {"requestedSchema": schema})


@pytest.mark.parametrize("properties", [None, 5])
def test_properties_that_are_no_object_are_told_not_crashed_on(properties):
    with pytest.raises(UsageError):
        elicited(Answers(elicitation={"action": "accept"}), {"requestedSchema": {"properties": properties}})


@pytest.mark.parametrize(
    "member",
    [
        {"type": "string", "minLength": "5"},
        {"type": "string", "format": []},
        {"type": "integer", "minimum": "x"},
        {"type": "integer", "maximum": "x"},
        {"type": "integer", "minimum": None},
        {"type": "array", "minItems": "5"},
    ],
)
def test_constraints_of_the_wrong_type_are_told_not_crashed_on(member):
    with pytest.raises(UsageError):
        elicited(Answers(elicitation="auto"), {"requestedSchema": {"properties": {"a": member}, "required": ["a"]}})


def test_a_page_to_visit_is_accepted_without_content_and_told():
    answer = elicited(Answers(elicitation="auto"), {"mode": "url", "url": "https://example.com/pay"})
    assert answer.members == {"result": {"action": "accept"}}
    assert "https://example.com/pay" in answer.warning


def test_a_page_to_visit_can_be_declined():
    assert elicited(Answers(elicitation="reject"), {"mode": "url", "url": "u"}).result == {"action": "decline"}


@pytest.mark.parametrize("mode", ["voice", None, 5])
def test_an_unknown_mode_is_an_error_of_the_server(mode):
    assert elicited(Answers(elicitation="auto"), {"mode": mode}).error["code"] == -32602


@pytest.mark.parametrize(
    "given", ["auto", "reject", TEMPLATE, [], ["auto", TEMPLATE, "reject"], {**TEMPLATE, "stopReason": "endTurn"}]
)
def test_these_can_answer_sampling(given):
    assert sampling_answers(given) is given


@pytest.mark.parametrize(
    "given",
    [
        "cancel",
        "hello",
        "",
        5,
        True,
        {},
        {"model": "m"},
        {"model": "m", "role": "assistant"},
        {"role": "assistant", "content": {"type": "text", "text": ""}},
        {"model": "", "role": "assistant", "content": {"type": "text", "text": ""}},
        ["auto", "hello"],
        ["auto", {"model": "m"}],
        [["auto"]],
        [None],
    ],
)
def test_these_cannot_answer_sampling(given):
    with pytest.raises(UsageError):
        sampling_answers(given)


def test_what_a_sampling_template_lacks_is_named():
    with pytest.raises(UsageError) as caught:
        sampling_answers({"role": "assistant"})
    assert "model and content" in caught.value.message


@pytest.mark.parametrize("given", ["auto", "reject", "decline", "cancel", {}, {"a": 1}, [], [{"a": 1}, "cancel"]])
def test_these_can_answer_elicitation(given):
    assert elicitation_answers(given) is given


@pytest.mark.parametrize("given", ["accept", "hello", "", 5, True, ["accept"], [["auto"]], [None], [5]])
def test_these_cannot_answer_elicitation(given):
    with pytest.raises(UsageError):
        elicitation_answers(given)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sampling": "autoo"},
        {"sampling": {"role": "assistant"}},
        {"sampling": ["auto", 7]},
        {"elicitation": "acept"},
        {"elicitation": 7},
        {"roots": "file:///x"},
        {"roots": ["file:///x"]},
        {"roots": [{"name": "x"}]},
        {"roots": {"uri": "file:///x"}},
    ],
)
def test_an_answer_that_can_never_be_given_is_refused_where_it_is_made(wrong):
    with pytest.raises(UsageError):
        Answers(**wrong)


def test_a_list_may_hold_functions_beside_fixed_answers():
    answers = Answers(sampling=["reject", lambda request: f"{request.max_tokens} tokens"])
    assert answers.to("sampling/createMessage", {"maxTokens": 5}, R4).members["error"]
    said = answers.to("sampling/createMessage", {"maxTokens": 5}, R4)
    assert said.members["result"]["content"] == {"type": "text", "text": "5 tokens"}
