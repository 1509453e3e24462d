"""Tools: the capability, that they are listed, and in which order."""

from collections.abc import AsyncIterator
from itertools import chain

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.exploration import tool_params
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.replies import completed, error_code
from mcp_conductor.checks.engine.shapes import (
    declared_faults,
    served_faults,
)
from mcp_conductor.checks.engine.tool_calls import WRONG_VALUES, call_tool, callable_tools, succeeded
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.schema import choices_of, complaints, parts, refuses, types_of
from mcp_conductor.report.model import Finding


@probed("tools-capability-declared")
async def tools_are_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools/list: tools come only if the capability is declared, and the method exists if it is."""
    async for finding in declared_faults(probe, "tools/list", "tools"):
        yield finding


@probed("tools-list-served", needs="tools")
async def the_list_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools/list: the reply is a result."""
    async for finding in served_faults(probe, "tools/list"):
        yield finding


@probed("tools-list-deterministic", needs="tools", alone=True)
async def the_order_is_the_same(probe: Probe) -> AsyncIterator[Finding]:
    """List the first page of tools several times, on two connections: the order is the same if the tools are."""
    async with probe.polite_session() as other:
        results = [await _listed(each) for each in (other, other, other)]
        # Another connection, if only over HTTP: the session of the exploration is still open.
        async with probe.polite_session(second=True) as third:
            results.append(await _listed(third))
    listed = [_names(each) for each in results]
    if len(listed[0]) < 2:
        raise NotSeen("fewer than two tools are listed")
    for result, names in zip(results, listed, strict=True):
        if names != listed[0] and sorted(names) == sorted(listed[0]):
            hint = f"before: {', '.join(listed[0])}"
            yield fault("tools/list returns the same tools in another order", result, hint=hint, beside=results[:1])
            return


async def _listed(probe: Probe) -> Json:
    return await probe.result("tools/list") or {}


def _names(result: Json) -> list[str]:
    tools = result.get("tools")
    return [str(tool.get("name")) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


NO_SUCH_TOOL = "conductor_no_such_tool"
MOST_TOOLS = 5  # that are called with wrong arguments


# Refusals.


@probed("tools-call-unknown-tool", needs="tools")
async def unknown_tools_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool that does not exist: the reply is an error with the code -32602, not a result."""
    reply = await probe.ask("tools/call", {"name": NO_SUCH_TOOL, "arguments": {}})
    if error_code(reply) != INVALID_PARAMS:
        yield fault(f"an unknown tool is not refused with {INVALID_PARAMS}", reply.raw)


@probed("tools-call-missing-name", needs="tools")
async def malformed_calls_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool without its name, and with arguments that are not an object: the error has the code -32602."""
    malformed: list[tuple[str, Json]] = [("tools/call without a name", {"arguments": {}})]
    malformed += [
        ("tools/call with a string as arguments", {"name": tool["name"], "arguments": "text"})
        for tool in (await callable_tools(probe))[:1]
    ]
    for what, params in malformed:
        reply = await probe.ask("tools/call", params)
        # The name is also in a header over HTTP, and who looks there first is right too.
        if error_code(reply) not in (INVALID_PARAMS, INVALID_REQUEST, HEADER_MISMATCH):
            yield fault(f"{what} is not refused with {INVALID_PARAMS}", reply.raw)


@probed("tools-validate-input", needs="tools")
async def wrong_arguments_are_not_taken(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools with arguments that break their schemas (missing, of a wrong type, not in enum): none succeeds."""
    async for what, reply in _wrong_calls(probe):
        result = completed(reply)
        if result is not None and result.get("isError") is not True:
            yield fault(f"{what} is accepted", reply.raw)


@probed("tools-call-invalid-args-tool-error", needs="tools")
async def wrong_arguments_are_tool_errors(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools with arguments that break their schemas: the reply is a result with isError, for the model to read."""
    async for what, reply in _wrong_calls(probe):
        # In the modern era the schema still lists invalid tool arguments under -32602.
        accepted = not probe.dialect.handshake and error_code(reply) == INVALID_PARAMS
        if reply.kind == "error" and not accepted:
            yield fault(f"{what} is answered with a JSON-RPC error, not with isError in a result", reply.raw)


async def _wrong_calls(probe: Probe) -> AsyncIterator[tuple[str, Message]]:
    """Replies to calls with exactly one wrong argument each, and what was wrong."""
    calls: list[list[tuple[str, Json]]] = []
    for tool in await callable_tools(probe):
        wrong = await without_blocking(_wrong_arguments, tool)
        calls.append([(what, {"name": tool["name"], "arguments": arguments}) for what, arguments in wrong])
    seen = False
    for what, params in chain(*[each for each in calls if each][:MOST_TOOLS]):
        reply = await call_tool(probe, params)
        if reply is not None:
            seen = True
            yield f"{params['name']}, {what}", reply
    if not seen:
        raise NotSeen("no tool that may be called has arguments that could be wrong; --call-tools says which may be")


def _wrong_arguments(tool: Json) -> list[tuple[str, Json]]:
    """Arguments that the schema of TOOL refuses, one of each kind."""
    params, schema = tool_params(tool), tool["inputSchema"]
    right = params["arguments"] if params else {}
    properties = schema.get("properties")
    named = properties if isinstance(properties, dict) else {}
    required = [name for name in schema.get("required", []) if name in named]
    trials = [
        (f"without the required argument {name!r}", {k: v for k, v in right.items() if k != name})
        for name in required[:1]
    ]
    wrong_type = wrong_choice = None
    for name, member in named.items():
        some = parts(member, schema)
        types, choices = types_of(some) - {"null"}, choices_of(some)
        if choices and wrong_choice is None:
            wrong_choice = (f"{name!r} not in its enum", {**right, name: "conductor-no-such-choice"})
        elif len(types) == 1 and types <= set(WRONG_VALUES) and wrong_type is None:
            wrong_type = (f"{name!r} of a wrong type", {**right, name: WRONG_VALUES[min(types)]})
    trials += [trial for trial in (wrong_type, wrong_choice) if trial]
    return [(what, arguments) for what, arguments in trials if refuses(schema, arguments)]


@probed("tools-call-arguments-omitted", needs="tools")
async def arguments_can_be_left_out(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool that needs no arguments without any: it works as with {}."""
    for tool in await callable_tools(probe):
        if await without_blocking(complaints, {}, tool["inputSchema"]):
            continue
        with_empty = await call_tool(probe, {"name": tool["name"], "arguments": {}})
        without = await call_tool(probe, {"name": tool["name"]}) if succeeded(with_empty) else None
        if without is not None:
            if not succeeded(without):
                yield fault(f"tool {tool['name']!r} works with arguments {{}}, but not without arguments", without.raw)
            return
    raise NotSeen("no tool that may be called works without arguments")
