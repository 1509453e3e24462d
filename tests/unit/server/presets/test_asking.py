import json

import pytest
from tests.unit.server.harness import (
    ACCEPTED,
    ERAS,
    HANDSHAKE,
    MODERN,
    ROOTS,
    SAMPLED,
    Conversation,
    failure_of,
    text_of,
)

from mcp_conductor.server.presets.asking import collect_url_elicitation

REFUSED = {"code": -1, "message": "the user said no"}


@pytest.mark.parametrize("version", ERAS)
async def test_collect_sample_tells_what_the_model_said(version):
    talk = Conversation("collect_sample", version=version)
    description = "Send a sampling request with the given text and return the response"
    assert (await talk.listed())["description"] == description
    said = text_of(await talk.call("collect_sample", {"text": "Hi"}))
    assert said == "Sampling response: " + json.dumps(SAMPLED, separators=(",", ":"))
    messages = [{"role": "user", "content": {"type": "text", "text": "Hi"}}]
    assert talk.asked == [{"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": 100}}]


async def test_collect_sample_fails_when_the_client_cannot_or_will_not():
    for options in ({"capabilities": {}}, {"answers": {"sampling/createMessage": REFUSED}}):
        talk = Conversation("collect_sample", **options)
        assert failure_of(await talk.call("collect_sample", {"text": "Hi"}))


@pytest.mark.parametrize("version", ERAS)
async def test_list_roots_shows_the_roots(version):
    talk = Conversation("list_roots", version=version)
    assert (await talk.listed())["description"] == "List the current roots configured on the client"
    assert text_of(await talk.call("list_roots")) == "Roots: " + json.dumps(ROOTS["roots"], indent=2)
    assert talk.asked == [{"method": "roots/list"}]


@pytest.mark.parametrize(
    ("answer", "why"),
    [(REFUSED, "the user said no"), ({"roots": 1}, "the client's roots are a number, not an array")],
)
async def test_list_roots_tells_why_it_failed(answer, why):
    talk = Conversation("list_roots", answers={"roots/list": answer})
    assert failure_of(await talk.call("list_roots")) == f"Error listing roots: {why}"


async def test_list_roots_fails_when_the_client_has_none_to_list():
    said = failure_of(await Conversation("list_roots", capabilities={}).call("list_roots"))
    assert said.startswith("Error listing roots: the client does not support roots/list")


@pytest.mark.parametrize("tool", ["list_roots", "collect_sample", "collect_elicitation", "collect_url_elicitation"])
async def test_the_modern_era_refuses_a_question_that_the_client_has_not_declared(tool):
    talk = Conversation(tool, version=MODERN, capabilities={})
    arguments = {"text": "t", "message": "m", "schema": {"type": "object"}, "url": "https://example.com"}
    assert (await talk.error("tools/call", {"name": tool, "arguments": arguments}))["code"] == -32021


@pytest.mark.parametrize("version", ERAS)
async def test_collect_elicitation_asks_by_the_schema_of_the_call(version):
    talk = Conversation("collect_elicitation", version=version)
    listed = await talk.listed()
    assert listed["inputSchema"]["properties"]["schema"] == {"description": "JSON schema for the elicitation request"}
    assert listed["inputSchema"]["required"] == ["message", "schema"]
    schema = {"type": "object", "properties": {"value": {"type": "string"}}}
    said = text_of(await talk.call("collect_elicitation", {"message": "Which?", "schema": schema}))
    assert said == "Elicitation response: " + json.dumps(ACCEPTED, separators=(",", ":"))
    params = {"mode": "form", "message": "Which?", "requestedSchema": schema}
    assert talk.asked == [{"method": "elicitation/create", "params": params}]


async def test_collect_elicitation_tells_of_a_user_who_declines():
    talk = Conversation("collect_elicitation", answers={"elicitation/create": {"action": "decline"}})
    said = text_of(await talk.call("collect_elicitation", {"message": "m", "schema": {"type": "object"}}))
    assert said == 'Elicitation response: {"action":"decline"}'


async def test_collect_elicitation_does_not_ask_by_a_schema_that_is_none():
    talk = Conversation("collect_elicitation")
    assert "an object, not a number" in failure_of(
        await talk.call("collect_elicitation", {"message": "m", "schema": 1})
    )
    assert talk.asked == []


async def test_collect_elicitation_speaks_as_2025_06_18_does():
    talk = Conversation("collect_elicitation", version="2025-06-18", capabilities={"elicitation": {}})
    await talk.call("collect_elicitation", {"message": "m", "schema": {"type": "object"}})
    assert talk.asked[0]["params"] == {"message": "m", "requestedSchema": {"type": "object"}}


async def test_collect_url_elicitation_says_when_it_is_complete():
    talk = Conversation("collect_url_elicitation", answers={"elicitation/create": {"action": "accept"}})
    listed = await talk.listed()
    assert listed["inputSchema"]["required"] == ["message", "url"]
    assert listed["inputSchema"]["properties"]["url"]["format"] == "uri"
    arguments = {"message": "Go", "url": "https://example.com/x", "elicitationId": "e1"}
    said = text_of(await talk.call("collect_url_elicitation", arguments))
    assert said == 'URL elicitation response: {"action":"accept"}'
    assert talk.asked == [{"method": "elicitation/create", "params": {"mode": "url", **arguments}}]
    assert talk.notified("notifications/elicitation/complete") == [{"elicitationId": "e1"}]


async def test_collect_url_elicitation_makes_up_an_id_and_is_not_complete_when_declined():
    talk = Conversation("collect_url_elicitation", answers={"elicitation/create": {"action": "decline"}})
    await talk.call("collect_url_elicitation", {"message": "Go", "url": "https://example.com/x"})
    assert talk.asked[0]["params"]["elicitationId"]
    assert talk.notified("notifications/elicitation/complete") == []


async def test_collect_url_elicitation_asks_for_the_url_of_the_file_if_the_call_has_none():
    tool = collect_url_elicitation(url="https://example.com/default")
    talk = Conversation(tool, answers={"elicitation/create": {"action": "decline"}})
    for arguments, url in (
        ({}, "https://example.com/default"),
        ({"url": "https://example.com/x"}, "https://example.com/x"),
    ):
        await talk.call("collect_url_elicitation", {"message": "Go", **arguments})
        assert talk.asked[-1]["params"]["url"] == url


async def test_collect_url_elicitation_has_no_id_in_the_modern_era():
    talk = Conversation("collect_url_elicitation", version=MODERN)
    await talk.call("collect_url_elicitation", {"message": "Go", "url": "https://example.com/x"})
    assert talk.asked[0]["params"] == {"mode": "url", "message": "Go", "url": "https://example.com/x"}
    assert talk.heard == []


@pytest.mark.parametrize("capabilities", [{}, {"elicitation": {}}, {"elicitation": {"form": {}}}])
async def test_collect_url_elicitation_fails_when_the_client_takes_forms_only(capabilities):
    talk = Conversation("collect_url_elicitation", version=HANDSHAKE, capabilities=capabilities)
    arguments = {"message": "Go", "url": "https://example.com/x"}
    assert failure_of(await talk.call("collect_url_elicitation", arguments))
    assert talk.asked == []


async def test_url_elicitation_form_is_listed_with_an_optional_message():
    listed = await Conversation("url_elicitation_form").listed()
    assert listed["description"].startswith("Present a form via URL elicitation; collects submitted text")
    assert "required" not in listed["inputSchema"]
