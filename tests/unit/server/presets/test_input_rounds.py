import json

import pytest
from tests.unit.server.harness import ACCEPTED, ERAS, HANDSHAKE, MODERN, SAMPLED, Conversation, failure_of, text_of

ACCEPTED_TEXT = json.dumps(ACCEPTED, separators=(",", ":"))
SAMPLED_TEXT = json.dumps(SAMPLED, separators=(",", ":"))


def elicitation(message, properties, required=()):
    schema = {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


@pytest.mark.parametrize("version", ERAS)
@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("mrtr_confirm", {"action": "sell"}, f'MRTR complete — confirmation for "sell": {ACCEPTED_TEXT}'),
        ("mrtr_two_step", {}, f"MRTR two-step complete — final answer: {ACCEPTED_TEXT}"),
        ("mrtr_roots", {}, "MRTR roots complete — client reported 1 root(s)"),
        ("mrtr_sample", {}, f"MRTR sample complete — echoed: {SAMPLED_TEXT}"),
        ("mrtr_edge", {}, "MRTR edge complete"),
    ],
)
async def test_a_tool_of_several_rounds_completes_in_both_eras(tool, arguments, said, version):
    talk = Conversation(tool, version=version)
    assert (await talk.listed())["name"] == tool
    assert text_of(await talk.call(tool, arguments)) == said


@pytest.mark.parametrize("version", ERAS)
async def test_mrtr_empty_completes_without_content(version):
    talk = Conversation("mrtr_empty", version=version)
    assert await talk.call("mrtr_empty") == {"content": []}
    assert len(talk.asked) == 1


async def test_the_first_round_of_mrtr_confirm_is_the_question():
    talk = Conversation("mrtr_confirm", version=MODERN)
    first = await talk.result("tools/call", {"name": "mrtr_confirm", "arguments": {"action": "sell"}})
    confirm = elicitation("Confirm: sell?", {"confirm": {"type": "boolean", "title": "Confirm"}}, ["confirm"])
    assert first["resultType"] == "input_required"
    assert first["inputRequests"] == {"confirm": confirm}
    assert isinstance(first["requestState"], str)


async def test_mrtr_two_step_asks_one_after_the_other():
    talk = Conversation("mrtr_two_step", version=MODERN)
    first = await talk.result("tools/call", {"name": "mrtr_two_step"})
    second = await talk.result("tools/call", {"name": "mrtr_two_step", **talk.answered(first)})
    assert [list(round_["inputRequests"]) for round_ in (first, second)] == [["first"], ["second"]]
    assert [question["params"]["message"] for question in talk.asked] == ["Step 1: enter the first value"]
    assert second["inputRequests"]["second"]["params"]["message"] == "Step 2: enter the second value"


async def test_mrtr_sample_and_mrtr_roots_ask_for_just_that():
    talk = Conversation("mrtr_sample", "mrtr_roots", version=MODERN)
    await talk.call("mrtr_sample")
    await talk.call("mrtr_roots")
    messages = [{"role": "user", "content": {"type": "text", "text": "Say hello."}}]
    assert talk.asked == [
        {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 64}},
        {"method": "roots/list"},
    ]


async def test_mrtr_roots_counts_what_is_no_list_as_none():
    talk = Conversation("mrtr_roots", answers={"roots/list": {}})
    assert text_of(await talk.call("mrtr_roots")) == "MRTR roots complete — client reported 0 root(s)"


async def test_mrtr_loop_asks_the_same_for_ever():
    talk = Conversation("mrtr_loop", version=MODERN)
    again = elicitation("Answer again (this never completes)", {"value": {"type": "string", "title": "Value"}})
    result = await talk.result("tools/call", {"name": "mrtr_loop"})
    sizes = set()
    for _ in range(20):
        assert result["resultType"] == "input_required"
        assert result["inputRequests"] == {"again": again}
        sizes.add(len(result["requestState"]))
        result = await talk.result("tools/call", {"name": "mrtr_loop", **talk.answered(result)})
    assert len(sizes) <= 2  # what is remembered does not grow


async def test_mrtr_loop_ends_after_a_hundred_rounds_in_the_handshake_era():
    talk = Conversation("mrtr_loop", version=HANDSHAKE)
    assert failure_of(await talk.call("mrtr_loop")) == "MRTR loop ended after 100 rounds"
    assert len(talk.asked) == 100


async def test_mrtr_edge_has_a_round_of_questions_only_and_one_of_state_only():
    talk = Conversation("mrtr_edge", version=MODERN)
    first = await talk.result("tools/call", {"name": "mrtr_edge"})
    assert first == {
        "resultType": "input_required",
        "inputRequests": {
            "note": elicitation("Edge round 1: enter a note", {"value": {"type": "string", "title": "Note"}})
        },
    }
    second = await talk.result("tools/call", {"name": "mrtr_edge", **talk.answered(first)})
    assert sorted(second) == ["requestState", "resultType"]
    third = await talk.result("tools/call", {"name": "mrtr_edge", **talk.answered(second)})
    assert text_of(third) == "MRTR edge complete"


@pytest.mark.parametrize("tool", ["mrtr_confirm", "mrtr_roots", "mrtr_sample", "mrtr_loop", "mrtr_edge"])
async def test_what_the_client_cannot_answer_is_not_asked(tool):
    talk = Conversation(tool, version=MODERN, capabilities={})
    error = await talk.error("tools/call", {"name": tool, "arguments": {"action": "sell"}})
    assert error["code"] == -32021
    assert list(error["data"]) == ["requiredCapabilities"]
