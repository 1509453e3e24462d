"""Tools that answer at once: echo, sums, the environment, structured output."""

import math
import os
import sys
from dataclasses import replace
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import SAFE_INTEGER, compact, render
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import Definition, Tool, error_result, object_schema, text_result
from mcp_conductor.server.params import BadParam
from mcp_conductor.server.presets import preset
from mcp_conductor.server.presets.making import numbers, string, tool


@preset("tool")
def echo() -> Tool:
    """Echo back the input message."""
    return tool(
        "echo",
        "Echo back the input message",
        {"message": string("Message to echo back")},
        lambda call: text_result(f"Echo: {call.arguments['message']}"),
    )


@preset("tool")
def add() -> Tool:
    """Add two numbers."""
    return _sum("add", "Add two numbers together")


@preset("tool")
def get_sum() -> Tool:
    """The sum of two numbers: add under another name."""
    return _sum("get_sum", "Get the sum of two numbers")


def _sum(name: str, description: str) -> Tool:
    terms = {
        "a": {"type": "number", "description": "First number"},
        "b": {"type": "number", "description": "Second number"},
    }

    def run(call: Call) -> Json:
        try:
            total = call.arguments["a"] + call.arguments["b"]
        except OverflowError:  # a huge integer and a fraction
            total = math.inf
        if isinstance(total, float) and not math.isfinite(total):
            return error_result("the sum is beyond what a number can hold")
        # JSON has one kind of number: 1.5 + 1.5 is 3, not 3.0.
        whole = isinstance(total, float) and total.is_integer() and abs(total) <= SAFE_INTEGER
        return text_result(compact({"result": int(total) if whole else total}))

    return tool(name, description, terms, run)


@preset("tool")
def write_to_stderr() -> Tool:
    """Write a message to the server's stderr."""

    def run(call: Call) -> Json:
        words = call.arguments["message"]
        sys.stderr.write(f"{words}\n")
        sys.stderr.flush()
        return text_result(f"Wrote to stderr: {words}")

    return tool(
        "write_to_stderr",
        "Write a message to stderr (for testing stderr capture)",
        {"message": string("Message to write to stderr")},
        run,
    )


@preset("tool")
def numbered_tools(count: int = 5) -> list[Definition]:
    """As many tools as `count` says, tool_1 and so on, that echo a message."""
    return [_numbered_tool(number) for number in numbers(count)]


def _numbered_tool(number: int) -> Tool:
    return tool(
        f"tool_{number}",
        f"Test tool number {number}",
        {"message": string(f"Message for tool {number}")},
        lambda call: text_result(f"Tool {number}: {call.arguments['message']}"),
    )


@preset("tool")
def get_temp() -> Tool:
    """Structured output by an output schema: the temperature of a city."""
    return tool(
        "get_temp",
        "Get the current temperature for a city (mock; returns 25 in requested units)",
        _CITY_AND_UNITS,
        _temperature,
        outputSchema=_TEMPERATURE,
    )


@preset("tool")
def get_temp_extra() -> Tool:
    """Structured output that breaks its own schema: get_temp with an undeclared member."""

    def run(call: Call) -> Json:
        result = _temperature(call)
        return {**result, "structuredContent": {**result["structuredContent"], "extra": "undeclared"}}

    description = (
        "Like get_temp, but returns an extra structuredContent property that violates the output schema "
        "(for validation-bypass testing)"
    )
    sound = tool("get_temp_extra", description, _CITY_AND_UNITS, run, outputSchema=_TEMPERATURE)
    return replace(sound, output_checked=False)


_CITY_AND_UNITS: Json = {"city": string("City name"), "units": string("Temperature units", enum=["C", "F"])}
_TEMPERATURE: Json = {
    **object_schema(
        {
            "temperature": {"type": "number", "description": "Temperature value"},
            "unit": string("C or F"),
            "city": string("City name"),
        }
    ),
    "additionalProperties": False,
}


def _temperature(call: Call) -> Json:
    city, unit = call.arguments["city"], call.arguments["units"]
    return {
        **text_result(f"The temperature in {city} is 25 degrees {unit}"),
        "structuredContent": {"temperature": 25, "unit": unit, "city": city},
    }


@preset("tool")
def list_items() -> Tool:
    """Structured output with arrays and objects inside; the text only sums it up."""
    item = {
        "type": "object",
        "properties": {
            "id": {"type": "number"},
            "name": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["id", "name", "tags"],
        "additionalProperties": False,
    }
    schema = object_schema({"items": {"type": "array", "items": item}, "total": {"type": "number"}})
    found = [{"id": 1, "name": "Item A", "tags": ["foo", "bar"]}, {"id": 2, "name": "Item B", "tags": ["baz"]}]
    return tool(
        "list_items",
        "Returns a list of items with nested structured output",
        {},
        lambda _: {**text_result("Found 2 items."), "structuredContent": {"items": found, "total": 2}},
        outputSchema={**schema, "additionalProperties": False},
    )


@preset("tool", "record_shipment", "nullable_fields")
def record_shipment() -> Tool:
    """Arguments that are optional and may be null, each an anyOf; answers with what it got."""
    quantity = {"type": "integer", "minimum": -SAFE_INTEGER, "maximum": SAFE_INTEGER}
    return tool(
        "record_shipment",
        "Record a shipment. Every argument is optional and may be null, so each is an anyOf with a null branch.",
        {
            "direction": _nullable("Direction of the shipment", type="string", enum=["envio", "recebimento"]),
            "reference": _nullable("Free-text reference", type="string"),
            "quantity": _nullable("Number of packages", **quantity),
            "express": _nullable("Ship express", type="boolean"),
        },
        lambda call: text_result(render(call.arguments, 2)),
        required=[],
    )


def _nullable(description: str, **schema: Any) -> Json:
    return {"description": description, "anyOf": [schema, {"type": "null"}]}


@preset("tool", "get-env", "get_env")
def get_env() -> Tool:
    """All environment variables of the server, as JSON."""
    made = tool(
        "get-env",
        "Returns all environment variables, helpful for debugging MCP server configuration",
        {},
        lambda _: text_result(render(dict(os.environ), 2)),
    )
    return replace(made, shows_environment=True)


@preset("tool")
def composable_tool(
    name: str,
    inputSchema: Json,  # noqa: N803  # params are named as in config files
    description: str = "",
    structuredContent: bool = False,  # noqa: N803
) -> Tool:
    """A tool with any JSON Schema that answers with its arguments, as text or as structured content."""
    if not name:
        raise BadParam("name", "must not be empty")
    if inputSchema.get("type") != "object":
        raise BadParam("inputSchema", 'must have "type": "object"')

    def run(call: Call) -> Json:
        structured = {"structuredContent": call.arguments} if structuredContent else {}
        return {**text_result(compact(call.arguments)), **structured}

    described = {"description": description} if description else {}
    return Tool(listed={"name": name, **described, "inputSchema": inputSchema}, run=run)
