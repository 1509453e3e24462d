"""Arguments that only some keywords of JSON Schema refuse."""

from collections.abc import AsyncIterator
from typing import Any

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.tool_calls import WRONG_VALUES, call_tool, callable_tools, succeeded
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.samples import filled_in
from mcp_conductor.protocol.schema import complaints, refuses
from mcp_conductor.report.model import Finding


@probed("schema-default-2020-12-server", needs="tools")
async def validation_follows_2020_12(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools with arguments that only prefixItems, dependentRequired or unevaluatedProperties refuses: all fail."""
    seen = False
    for tool in await callable_tools(probe):
        schema = tool["inputSchema"]
        for keyword, arguments in await without_blocking(_wrong_by_2020_12, schema) if "$schema" not in schema else ():
            reply = await call_tool(probe, {"name": tool["name"], "arguments": arguments})
            seen = seen or reply is not None
            if reply is not None and succeeded(reply):
                yield fault(f"tool {tool['name']!r} accepts arguments that {keyword} forbids", reply.raw)
    if not seen:
        raise NotSeen("no tool that may be called has a schema that needs 2020-12")


def _wrong_by_2020_12(schema: Json) -> list[tuple[str, Json]]:
    """Arguments that only a keyword of 2020-12 refuses, which older drafts ignore; and the keyword."""
    right = filled_in(schema)
    trials: list[tuple[str, Json]] = [("unevaluatedProperties", {**right, "conductor-unknown": 1})]
    dependent = schema.get("dependentRequired")
    for name, others in (dependent if isinstance(dependent, dict) else {}).items():
        given = filled_in({**schema, "required": [*schema.get("required", []), name]})
        trials.append(("dependentRequired", {key: value for key, value in given.items() if key not in others}))
    properties = schema.get("properties")
    for name, member in (properties if isinstance(properties, dict) else {}).items():
        first = (member.get("prefixItems") or [None])[0] if isinstance(member, dict) else None
        kind = first.get("type") if isinstance(first, dict) else None
        if isinstance(kind, str) and kind in WRONG_VALUES:
            trials.append(("prefixItems", {**right, name: [WRONG_VALUES[kind]]}))
    return [
        (keyword, arguments)
        for keyword, arguments in trials
        if refuses(schema, arguments) and not complaints(arguments, _without(schema, keyword))
    ]


def _without(schema: Any, keyword: str) -> Any:
    """SCHEMA without a keyword, at its root and in its properties."""
    plain = {key: member for key, member in schema.items() if key != keyword}
    named = plain.get("properties")
    if isinstance(named, dict):
        plain["properties"] = {
            name: {key: each for key, each in member.items() if key != keyword} if isinstance(member, dict) else member
            for name, member in named.items()
        }
    return plain
