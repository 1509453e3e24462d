import json
import os

import pytest
from tests.unit.server.harness import MODERN, Conversation, failure_of, made, text_of

from mcp_conductor.server.params import BadParam

SCHEMA = {"type": "object", "$schema": "https://json-schema.org/draft/2020-12/schema"}
TERMS = {
    "a": {"type": "number", "description": "First number"},
    "b": {"type": "number", "description": "Second number"},
}


async def test_echo_says_the_message():
    talk = Conversation("echo")
    assert await talk.listed() == {
        "name": "echo",
        "description": "Echo back the input message",
        "inputSchema": {
            **SCHEMA,
            "properties": {"message": {"type": "string", "description": "Message to echo back"}},
            "required": ["message"],
        },
    }
    assert await talk.call("echo", {"message": "hi"}) == {"content": [{"type": "text", "text": "Echo: hi"}]}


async def test_arguments_that_do_not_fit_are_a_failure_of_the_tool():
    said = failure_of(await Conversation("echo").call("echo", {"message": 1}))
    assert said.startswith("Input validation error: Invalid arguments for tool echo: message:")


@pytest.mark.parametrize(
    ("name", "description"), [("add", "Add two numbers together"), ("get_sum", "Get the sum of two numbers")]
)
async def test_numbers_are_added(name, description):
    talk = Conversation(name)
    schema = {**SCHEMA, "properties": TERMS, "required": ["a", "b"]}
    assert await talk.listed() == {"name": name, "description": description, "inputSchema": schema}
    assert text_of(await talk.call(name, {"a": 1, "b": 2.5})) == '{"result":3.5}'


@pytest.mark.parametrize(
    ("a", "b", "total"), [(1, 2, "3"), (1.5, 1.5, "3"), (-1.5, 1.5, "0"), (2**60, 1, "1152921504606846977")]
)
async def test_a_sum_is_written_as_json_writes_numbers(a, b, total):
    assert text_of(await Conversation("add").call("add", {"a": a, "b": b})) == f'{{"result":{total}}}'


@pytest.mark.parametrize(("a", "b"), [(1e308, 1e308), (10**400, 0.5)])
async def test_a_sum_beyond_all_numbers_is_a_failure(a, b):
    assert "beyond" in failure_of(await Conversation("add").call("add", {"a": a, "b": b}))


async def test_write_to_stderr_writes_one_line(capsys):
    talk = Conversation("write_to_stderr")
    assert (await talk.listed())["description"] == "Write a message to stderr (for testing stderr capture)"
    assert text_of(await talk.call("write_to_stderr", {"message": "oh"})) == "Wrote to stderr: oh"
    assert capsys.readouterr().err == "oh\n"


async def test_numbered_tools_count_from_one():
    talk = Conversation(*made("numbered_tools", count=2))
    first, second = (await talk.result("tools/list"))["tools"]
    assert (first["name"], first["description"]) == ("tool_1", "Test tool number 1")
    assert second["inputSchema"]["properties"] == {"message": {"type": "string", "description": "Message for tool 2"}}
    assert text_of(await talk.call("tool_2", {"message": "m"})) == "Tool 2: m"


async def test_get_temp_gives_a_text_and_structured_content():
    talk = Conversation("get_temp")
    listed = await talk.listed()
    assert listed["inputSchema"]["properties"]["units"] == {
        "type": "string",
        "description": "Temperature units",
        "enum": ["C", "F"],
    }
    assert listed["outputSchema"] == {
        **SCHEMA,
        "properties": {
            "temperature": {"type": "number", "description": "Temperature value"},
            "unit": {"type": "string", "description": "C or F"},
            "city": {"type": "string", "description": "City name"},
        },
        "required": ["temperature", "unit", "city"],
        "additionalProperties": False,
    }
    assert await talk.call("get_temp", {"city": "Rome", "units": "C"}) == {
        "content": [{"type": "text", "text": "The temperature in Rome is 25 degrees C"}],
        "structuredContent": {"temperature": 25, "unit": "C", "city": "Rome"},
    }


async def test_get_temp_extra_breaks_its_output_schema_but_checks_its_arguments():
    talk = Conversation("get_temp_extra")
    assert (await talk.listed())["outputSchema"]["additionalProperties"] is False
    result = await talk.call("get_temp_extra", {"city": "Rome", "units": "F"})
    assert result["structuredContent"] == {"temperature": 25, "unit": "F", "city": "Rome", "extra": "undeclared"}
    assert "isError" not in result
    assert failure_of(await talk.call("get_temp_extra", {"city": "Rome", "units": "K"}))


async def test_list_items_sums_up_what_is_structured():
    talk = Conversation("list_items")
    listed = await talk.listed()
    assert listed["description"] == "Returns a list of items with nested structured output"
    assert listed["inputSchema"] == {**SCHEMA, "properties": {}}
    assert listed["outputSchema"]["required"] == ["items", "total"]
    assert await talk.call("list_items") == {
        "content": [{"type": "text", "text": "Found 2 items."}],
        "structuredContent": {
            "items": [
                {"id": 1, "name": "Item A", "tags": ["foo", "bar"]},
                {"id": 2, "name": "Item B", "tags": ["baz"]},
            ],
            "total": 2,
        },
    }


async def test_record_shipment_takes_null_for_everything():
    talk = Conversation("record_shipment")
    listed = await talk.listed()
    assert "required" not in listed["inputSchema"]
    assert listed["inputSchema"]["properties"]["quantity"] == {
        "description": "Number of packages",
        "anyOf": [{"type": "integer", "minimum": -(2**53 - 1), "maximum": 2**53 - 1}, {"type": "null"}],
    }
    arguments = {"direction": None, "reference": "x", "quantity": 2, "express": None}
    assert text_of(await talk.call("record_shipment", arguments)) == json.dumps(arguments, indent=2)
    assert text_of(await talk.call("record_shipment")) == "{}"
    assert failure_of(await talk.call("record_shipment", {"direction": "sideways"}))


async def test_get_env_shows_the_environment():
    talk = Conversation("get_env")
    assert (await talk.listed())["name"] == "get-env"
    assert json.loads(text_of(await talk.call("get-env"))) == dict(os.environ)


async def test_composable_tool_answers_with_its_arguments():
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    (tool,) = made("composable_tool", name="mine", description="My own", inputSchema=schema)
    talk = Conversation(tool)
    assert await talk.listed() == {"name": "mine", "description": "My own", "inputSchema": schema}
    assert text_of(await talk.call("mine", {"n": 42})) == '{"n":42}'
    assert failure_of(await talk.call("mine"))


async def test_composable_tool_can_answer_with_structured_content():
    (tool,) = made("composable_tool", name="mine", inputSchema={"type": "object"}, structuredContent=True)
    talk = Conversation(tool, version=MODERN)
    assert await talk.listed() == {"name": "mine", "inputSchema": {"type": "object"}}
    assert await talk.call("mine", {"n": 1}) == {
        "content": [{"type": "text", "text": '{"n":1}'}],
        "structuredContent": {"n": 1},
    }


@pytest.mark.parametrize("params", [{"name": "", "inputSchema": {"type": "object"}}, {"name": "x", "inputSchema": {}}])
def test_composable_tool_needs_a_name_and_the_schema_of_an_object(params):
    with pytest.raises(BadParam, match="must"):
        made("composable_tool", **params)
