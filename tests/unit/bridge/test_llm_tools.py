"""Tools in the forms of the vendors of models: names that all of them allow, calls in every form, results that fit."""

import re
from types import SimpleNamespace

import pytest

from mcp_conductor.bridge.llm_tools import legal_names, read_call, tools_for
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.views import Tool, ToolResult

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ADD = Tool({"name": "add", "description": "Adds.", "inputSchema": SCHEMA}, "math")
NOW = Tool({"name": "now", "inputSchema": {"type": "object"}}, "clock")


@pytest.mark.parametrize(
    ("vendor", "first", "second"),
    [
        (
            "openai",
            {"type": "function", "function": {"name": "math__add", "description": "Adds.", "parameters": SCHEMA}},
            {
                "type": "function",
                "function": {"name": "clock__now", "parameters": {"type": "object", "properties": {}}},
            },
        ),
        (
            "openai-responses",
            {
                "type": "function",
                "name": "math__add",
                "description": "Adds.",
                "parameters": SCHEMA,
                "strict": False,
            },
            {
                "type": "function",
                "name": "clock__now",
                "parameters": {"type": "object", "properties": {}},
                "strict": False,
            },
        ),
        (
            "anthropic",
            {"name": "math__add", "description": "Adds.", "input_schema": SCHEMA},
            {"name": "clock__now", "input_schema": {"type": "object", "properties": {}}},
        ),
    ],
)
def test_a_tool_has_the_form_of_the_vendor(vendor, first, second):
    assert tools_for(vendor, [ADD, NOW]) == [first, second]


def test_gemini_takes_all_declarations_as_one_tool():
    (tool,) = tools_for("gemini", [ADD, NOW])
    declared = tool["functionDeclarations"]
    assert declared[0] == {"name": "math__add", "description": "Adds.", "parametersJsonSchema": SCHEMA}
    assert declared[1]["description"] == "now"  # which this vendor requires
    assert tools_for("gemini", []) == []


def test_an_unknown_vendor_is_refused():
    with pytest.raises(UsageError):
        tools_for("opnai", [ADD])


def tools(*pairs):
    return [Tool({"name": name}, server) for server, name in pairs]


def test_names_are_legal_and_each_is_there_once():
    given = tools(
        ("a", "b__c"),
        ("a__b", "c"),
        ("my server.v2", "größe"),
        ("my server_v2", "gr__e"),
        ("1st", "x"),
        ("s", "y" * 200),
    )
    names = legal_names(given)
    assert list(names.values()) == given
    assert all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", name) for name in names)
    assert legal_names(given) == names


def test_a_name_that_was_changed_stays_the_same_when_other_tools_come():
    (name,) = legal_names(tools(("my server", "x")))
    assert name in legal_names(tools(("my_server", "x"), ("my server", "x")))


CALLS = {
    "openai": {"id": "c1", "type": "function", "function": {"name": "math__add", "arguments": '{"a": 1}'}},
    "openai-responses": {"type": "function_call", "call_id": "c1", "name": "math__add", "arguments": '{"a": 1}'},
    "anthropic": {"type": "tool_use", "id": "c1", "name": "math__add", "input": {"a": 1}},
    "gemini": {"functionCall": {"id": "c1", "name": "math__add", "args": {"a": 1}}},
}


@pytest.mark.parametrize("vendor", CALLS)
@pytest.mark.parametrize("wrap", [dict, lambda call: SimpleNamespace(model_dump=lambda: call)], ids=["json", "sdk"])
def test_a_call_is_read_in_the_form_of_each_vendor(vendor, wrap):
    call = read_call(wrap(CALLS[vendor]))
    assert (call.vendor, call.name, call.identity, call.arguments) == (vendor, "math__add", "c1", {"a": 1})


@pytest.mark.parametrize("call", [None, 7, "add", {}, {"name": "x"}, {"type": "text", "text": "hi"}, ["x"]])
def test_what_is_no_call_is_refused(call):
    with pytest.raises(UsageError):
        read_call(call)


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', [1]])
def test_arguments_that_cannot_be_used_are_a_problem_for_the_model(arguments):
    call = read_call({"id": "c", "type": "function", "function": {"name": "x", "arguments": arguments}})
    assert call.arguments is None
    assert call.failure(call.problem)["content"].startswith("Error: the arguments")


@pytest.mark.parametrize("arguments", ["", None, {}])
def test_no_arguments_are_an_empty_object(arguments):
    assert read_call({"id": "c", "function": {"name": "x", "arguments": arguments}}).arguments == {}


PNG = "iVBORw0KGgo="
MIXED = ToolResult(
    {
        "content": [
            {"type": "text", "text": "two"},
            {"type": "image", "mimeType": "image/png", "data": PNG},
            {"type": "resource", "resource": {"uri": "x://y", "text": "inside"}},
            {"type": "resource_link", "name": "doc", "uri": "x://z"},
        ],
        "structuredContent": {"n": 2},
    }
)
FAILED = ToolResult({"content": [{"type": "text", "text": "no"}], "isError": True})


def test_a_result_has_the_form_of_the_vendor():
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    texts = [{"type": "text", "text": text} for text in ("two", "inside", "doc x://z")]
    told = read_call(CALLS["anthropic"]).answer(MIXED)
    assert told == {"type": "tool_result", "tool_use_id": "c1", "content": [texts[0], image, *texts[1:]]}
    text = "two\n[image image/png, 8 bytes]\ninside\ndoc x://z"
    assert read_call(CALLS["openai"]).answer(MIXED) == {"role": "tool", "tool_call_id": "c1", "content": text}
    assert read_call(CALLS["openai-responses"]).answer(MIXED)["output"] == text
    response = read_call(CALLS["gemini"]).answer(MIXED)["functionResponse"]
    assert response == {"id": "c1", "name": "math__add", "response": {"result": {"n": 2}}}


def test_a_failure_is_told_as_one():
    assert read_call(CALLS["anthropic"]).answer(FAILED)["is_error"] is True
    assert read_call(CALLS["openai"]).answer(FAILED)["content"] == "Error: no"
    assert read_call(CALLS["gemini"]).answer(FAILED)["functionResponse"]["response"] == {"error": "no"}
