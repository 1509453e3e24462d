"""Steps, as a client notices them, in both eras."""

import json

import pytest
from tests.unit.server.harness import ACCEPTED, ERAS, HANDSHAKE, MODERN, Conversation, failure_of, text_of

from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, MISSING_CLIENT_CAPABILITY
from mcp_conductor.server import inline
from mcp_conductor.server.definitions import Tool
from mcp_conductor.server.steps import STEPS

SCHEMA = {"type": "object", "properties": {"value": {"type": "string"}}}
LOGGING = {"_meta": {"io.modelcontextprotocol/logLevel": "debug"}}
both_eras = pytest.mark.parametrize("version", ERAS)


def tool(*steps, result="done", **members) -> Tool:
    definition = {"name": "tool", "steps": list(steps), "result": result, **members}
    return inline.tool(Field.root(parse(json.dumps(definition), "server.json"), {}))


def resource(uri: str, text: str):
    return inline.resource(
        Field.root(parse(json.dumps({"uri": uri, "mimeType": "text/x", "text": text}), "r.json"), {})
    )


def test_every_step_tells_what_it_does():
    assert [name for name, read in STEPS.items() if not read.__doc__] == []


# Saying something meanwhile.


@both_eras
async def test_log_sends_a_text_or_any_data(version):
    talk = Conversation(
        tool(
            {"log": "hello {{ arguments.a }}"},
            {"log": {"level": "error", "data": {"n": "{{ arguments.a }}"}, "logger": "l"}},
        ),
        version=version,
        logging=True,
    )
    await talk.call("tool", {"a": 1}, **LOGGING)
    assert talk.notified("notifications/message") == [
        {"level": "info", "data": "hello 1"},
        {"level": "error", "logger": "l", "data": {"n": 1}},
    ]


@both_eras
async def test_progress_is_reported_to_a_client_that_asked_for_it(version):
    talk = Conversation(
        tool({"progress": 1}, {"progress": {"progress": "{{ arguments.at }}", "total": 4, "message": "m"}}),
        version=version,
    )
    await talk.call("tool", {"at": 2})
    assert talk.heard == []
    await talk.call("tool", {"at": 2}, _meta={"progressToken": "t"})
    assert talk.notified("notifications/progress") == [
        {"progressToken": "t", "progress": 1},
        {"progressToken": "t", "progress": 2, "total": 4, "message": "m"},
    ]


async def test_notify_sends_any_notification():
    talk = Conversation(
        tool(
            {"notify": {"method": "notifications/x", "params": {"a": ["{{ arguments.a }}"]}}},
            {"notify": {"method": "bare"}},
        )
    )
    await talk.call("tool", {"a": 1})
    assert talk.notified("notifications/x") == [{"a": [1]}]
    assert talk.heard[1] == {"jsonrpc": "2.0", "method": "bare"}


@pytest.mark.parametrize(
    "time", [0, 1, "1ms", "0.001s", "{{ arguments.ms }}", "{{ arguments.zero }}s", "{{ arguments.ms }}ms"]
)
async def test_sleep_lets_time_pass(time):
    assert text_of(await Conversation(tool({"sleep": time})).call("tool", {"ms": 1, "zero": 0})) == "done"


async def test_sleep_fails_when_a_placeholder_is_no_time():
    assert "'soon'" in failure_of(await Conversation(tool({"sleep": "{{ arguments.a }}"})).call("tool", {"a": "soon"}))


# Asking the client.


@both_eras
async def test_sample_asks_the_model(version):
    talk = Conversation(
        tool(
            {"sample": "Why {{ arguments.a }}?"},
            {
                "sample": {
                    "messages": [{"role": "user", "content": "{{ arguments.b }}"}],
                    "maxTokens": 7,
                    "systemPrompt": "s",
                    "as": "other",
                }
            },
            result="{{ answers.sample_1.content.text }} {{ answers.other.model }}",
        ),
        version=version,
    )
    assert text_of(await talk.call("tool", {"a": "me", "b": {"type": "text", "text": "x"}})) == "hello m"
    content = {"type": "text", "text": "Why me?"}
    assert talk.asked[0]["params"] == {"messages": [{"role": "user", "content": content}], "maxTokens": 100}
    assert talk.asked[1]["params"] == {
        "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}],
        "maxTokens": 7,
        "systemPrompt": "s",
    }


@both_eras
async def test_elicit_asks_by_form(version):
    talk = Conversation(
        tool(
            {"elicit": {"message": "{{ arguments.a }}?", "schema": SCHEMA, "_meta": {"m": 1}}},
            result="{{ answers.elicit_1.content.value }}",
        ),
        version=version,
    )
    assert text_of(await talk.call("tool", {"a": 1})) == "blue"
    (question,) = talk.asked
    assert question["params"] == {"mode": "form", "message": "1?", "requestedSchema": SCHEMA, "_meta": {"m": 1}}


@both_eras
async def test_elicit_asks_by_url_with_an_id_where_there_are_ids(version):
    talk = Conversation(tool({"elicit": {"message": "m", "url": "https://a/{{ arguments.a }}"}}), version=version)
    await talk.call("tool", {"a": 1})
    params = talk.asked[0]["params"]
    assert (params["mode"], params["url"]) == ("url", "https://a/1")
    assert ("elicitationId" in params) == (version == HANDSHAKE)


@both_eras
@pytest.mark.parametrize("step", ["list_roots", {"list_roots": None}, {"list_roots": {}}])
async def test_list_roots_asks_for_the_roots(version, step):
    talk = Conversation(tool(step, result="{{ answers.list_roots_1.roots[0].uri }}"), version=version)
    assert text_of(await talk.call("tool")) == "file:///work"


QUESTIONS = {
    "form": {"elicit": {"message": "m", "schema": SCHEMA}, "ifSupported": True},
    "model": {"sample": "p", "ifSupported": True},
    "roots": {"list_roots": None},
}


@both_eras
async def test_ask_asks_several_things_at_once(version):
    talk = Conversation(
        tool({"ask": QUESTIONS}, result={"content": [], "structuredContent": "{{ answers }}"}), version=version
    )
    result = await talk.call("tool")
    assert set(result["structuredContent"]) == set(QUESTIONS)
    assert result["structuredContent"]["form"] == ACCEPTED


@both_eras
async def test_what_the_client_does_not_declare_is_left_out_if_the_question_says_so(version):
    talk = Conversation(
        tool({"ask": QUESTIONS}, result="{{ answers.model | json }}"), version=version, capabilities={"roots": {}}
    )
    assert text_of(await talk.call("tool")) == "null"
    assert [question["method"] for question in talk.asked] == ["roots/list"]


@both_eras
async def test_a_single_question_can_be_left_out_too(version):
    talk = Conversation(tool({"sample": {"prompt": "p", "ifSupported": True}}), version=version, capabilities={})
    assert text_of(await talk.call("tool")) == "done"


async def test_a_client_that_cannot_answer_gets_an_error_result_in_the_handshake_era():
    assert "sampling" in failure_of(await Conversation(tool({"sample": "p"}), capabilities={}).call("tool"))


async def test_a_client_that_cannot_answer_gets_a_json_rpc_error_in_the_modern_era():
    error = await Conversation(tool({"sample": "p"}), capabilities={}, version=MODERN).error(
        "tools/call", {"name": "tool"}
    )
    assert error["code"] == MISSING_CLIENT_CAPABILITY


async def test_questions_one_after_the_other_take_a_round_each_and_effects_happen_once():
    talk = Conversation(
        tool(
            {"log": "first"},
            {"list_changed": "tools"},
            {"elicit": {"message": "a", "schema": SCHEMA}},
            {"log": "second"},
            {"elicit": {"message": "b", "schema": SCHEMA}},
            {"log": "third"},
            result="{{ answers.elicit_1.content.value }} {{ answers.elicit_2.content.value }}",
        ),
        version=MODERN,
        logging=True,
        answers={"elicitation/create": [{"action": "accept", "content": {"value": word}} for word in ("x", "y")]},
    )
    assert text_of(await talk.call("tool", **LOGGING)) == "x y"
    assert [params["data"] for params in talk.notified("notifications/message")] == ["first", "second", "third"]


@both_eras
@pytest.mark.parametrize(
    ("needed", "declared"),
    [
        ("roots", {"roots": {}}),
        ({"roots": {}}, {"roots": {"listChanged": True}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {}}),
        ({"elicitation": {"url": {}}}, {"elicitation": {"url": {}}}),
        ({"roots": {"listChanged": True}}, {"roots": {"listChanged": True}}),
    ],
)
async def test_require_goes_on_with_a_client_that_declares_what_is_needed(version, needed, declared):
    assert (
        text_of(await Conversation(tool({"require": needed}), version=version, capabilities=declared).call("tool"))
        == "done"
    )


@pytest.mark.parametrize(
    ("needed", "declared"), [({"sampling": {}}, {}), ({"sampling": {"tools": {}}}, {"sampling": {}})]
)
async def test_require_refuses_a_client_that_does_not(needed, declared):
    old = Conversation(tool({"require": needed}), capabilities=declared)
    assert "sampling" in failure_of(await old.call("tool"))
    modern = Conversation(tool({"require": needed}), capabilities=declared, version=MODERN)
    error = await modern.error("tools/call", {"name": "tool"})
    assert (error["code"], error["data"]) == (MISSING_CLIENT_CAPABILITY, {"requiredCapabilities": needed})


# Changing what the server has.


async def test_update_resource_changes_it_and_tells_its_subscribers():
    talk = Conversation(
        tool({"update_resource": {"uri": "test://{{ arguments.a }}", "text": "new {{ arguments.a }}"}}),
        resource("test://1", "old"),
        subscriptions=True,
    )
    await talk.result("resources/subscribe", {"uri": "test://1"})
    await talk.call("tool", {"a": 1})
    assert talk.notified("notifications/resources/updated") == [{"uri": "test://1"}]
    read = await talk.result("resources/read", {"uri": "test://1"})
    assert read == {"contents": [{"uri": "test://1", "mimeType": "text/x", "text": "new 1"}]}


async def test_update_resource_without_content_only_tells():
    talk = Conversation(tool({"update_resource": {"uri": "test://1"}}), resource("test://1", "old"), subscriptions=True)
    await talk.result("resources/subscribe", {"uri": "test://1"})
    await talk.call("tool")
    assert talk.notified("notifications/resources/updated") == [{"uri": "test://1"}]
    assert (await talk.result("resources/read", {"uri": "test://1"}))["contents"][0]["text"] == "old"


@pytest.mark.parametrize(
    "step", [{"update_resource": {"uri": "test://1", "text": "t"}}, {"remove_resource": "test://1"}]
)
async def test_a_resource_that_is_not_there_cannot_be_changed(step):
    assert "test://1" in failure_of(await Conversation(tool(step)).call("tool"))


async def test_resources_can_be_added_and_removed():
    added = {"uri": "test://{{ arguments.a }}", "title": "t", "mimeType": "text/x", "text": "{{ arguments.a }}"}
    talk = Conversation(tool({"add_resource": added}), list_changed=frozenset({"resources"}))
    await talk.call("tool", {"a": 1})
    assert await talk.listed("resources/list") == {
        "name": "test://1",
        "uri": "test://1",
        "title": "t",
        "mimeType": "text/x",
    }
    read = await talk.result("resources/read", {"uri": "test://1"})
    assert read == {"contents": [{"uri": "test://1", "mimeType": "text/x", "text": "1"}]}
    talk.server.tools["tool"] = tool({"remove_resource": "test://1"})
    await talk.call("tool")
    assert await talk.result("resources/list") == {"resources": []}
    assert len(talk.notified("notifications/resources/list_changed")) == 2


async def test_list_changed_tells_clients():
    talk = Conversation(tool({"list_changed": "prompts"}), list_changed=frozenset({"prompts"}))
    await talk.call("tool")
    assert talk.notified("notifications/prompts/list_changed") == [{}]


async def test_resources_are_not_changed_again_when_the_request_comes_again():
    talk = Conversation(
        tool(
            {"update_resource": {"uri": "test://1", "text": "new"}},
            {"add_resource": {"uri": "test://2", "text": "added"}},
            {"remove_resource": "test://3"},
            "list_roots",
        ),
        *(resource(f"test://{number}", "old") for number in (1, 3)),
        version=MODERN,
    )
    asked = await talk.result("tools/call", {"name": "tool"})
    again = {"name": "tool", **talk.answered(asked)}
    assert list(talk.server.resources) == ["test://1", "test://2"]
    talk.server.resources.clear()
    assert text_of(await talk.result("tools/call", again)) == "done"
    assert talk.server.resources == {}


# Going wrong.


@both_eras
async def test_fail_with_a_text_is_an_error_result(version):
    talk = Conversation(tool({"fail": "no {{ arguments.a }}"}, {"log": "never"}), version=version, logging=True)
    assert failure_of(await talk.call("tool", {"a": "way"}, **LOGGING)) == "no way"
    assert talk.heard == []


@both_eras
async def test_fail_with_a_code_is_a_json_rpc_error(version):
    talk = Conversation(
        tool({"fail": {"code": -32050, "message": "m {{ arguments.a }}", "data": {"a": "{{ arguments.a }}"}}}),
        version=version,
    )
    error = await talk.error("tools/call", {"name": "tool", "arguments": {"a": 1}})
    assert error == {"code": -32050, "message": "m 1", "data": {"a": 1}}


async def test_fail_with_a_text_is_an_internal_error_where_there_are_no_error_results():
    entry = Field.root(parse(json.dumps({"name": "p", "text": "t", "steps": [{"fail": "no"}]}), "p.json"), {})
    error = await Conversation(inline.prompt(entry)).error("prompts/get", {"name": "p"})
    assert error == {"code": INTERNAL_ERROR, "message": "no"}


@both_eras
@pytest.mark.parametrize("step", ["close_stream", {"close_stream": {}}])
async def test_close_stream_does_nothing_where_there_is_no_stream(version, step):
    assert text_of(await Conversation(tool(step), version=version).call("tool")) == "done"
