"""Tool calls: their results, and what is refused.

Only the tools that the exploration has called are called here too: those that only read, or that the user has named.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from itertools import chain
from typing import Any

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.checks.engine.check import judged, probed
from mcp_conductor.checks.engine.exploration import tool_params
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import completed, error_code
from mcp_conductor.checks.engine.shapes import (
    annotation_faults,
    binary_flaw,
    echoes,
    embedded_flaw,
    flag,
    having,
    is_one_of,
    link_flaw,
    listed_tools,
    misfits,
    text_flaw,
)
from mcp_conductor.checks.engine.tool_calls import WRONG_VALUES, call_tool, callable_tools, succeeded
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST
from mcp_conductor.protocol.message import Message, read
from mcp_conductor.protocol.schema import Undecided, choices_of, complaints, flaw, parts, refuses, types_of
from mcp_conductor.report.model import Finding

NO_SUCH_TOOL = "conductor_no_such_tool"
MOST_TOOLS = 5  # that are called with wrong arguments


def results(record: Record) -> Iterator[tuple[str, Json]]:
    """Every result of a tool, with the tool's name; NotSeen when there are no results."""
    for params, result in _calls(record):
        yield str(params.get("name", "a task")), result


def _calls(record: Record) -> Iterator[tuple[Json, Json]]:
    seen = False
    for exchange, result in record.complete("tools/call", "tasks/result"):
        seen = True
        yield exchange.request.params, result
    if not seen:
        raise NotSeen("no tool was called with a result; --call-tools says which tools may be called")


def blocks(record: Record) -> Iterator[tuple[Json, str, Any]]:
    """Every content block in results of tools: the params of the call, its path, and the block."""
    seen = False
    for params, result in _calls(record):
        content = result.get("content")
        for index, block in enumerate(content if isinstance(content, list) else []):
            seen = True
            yield params, f"result.content[{index}]", block
    if not seen:
        raise NotSeen("no tool returned any content")


@judged("tools-call-content-array", needs="tools")
def content_is_an_array(record: Record) -> Iterator[Finding]:
    """Look at every result of a tool: content is an array, even if there is structuredContent or isError."""
    for name, result in results(record):
        # A question that does not say that it is one has another fault.
        if not isinstance(result.get("content"), list) and "inputRequests" not in result:
            yield fault(f"tool {name!r}: the result has no array content", result)


@judged("tools-call-iserror-flag", needs="tools")
def is_error_is_a_flag(record: Record) -> Iterator[Finding]:
    """Look at every result of a tool: isError, if it is there, is a boolean."""
    for path, result in having((("result", result) for _, result in results(record)), "isError"):
        yield from misfits(result, {"isError": flag}, path)


@judged("tools-call-content-types", "tools-call-content-types-audio", "tools-call-content-types-link", needs="tools")
def content_has_known_types(record: Record) -> Iterator[Finding]:
    """Look at every content block in results of tools: an object, of a type that the revision knows."""
    known = record.dialect.content
    for params, path, block in blocks(record):
        if not is_one_of(block, known):
            yield fault(
                f"tool {params.get('name')!r}: the type of a content block is not {', '.join(sorted(known))}",
                block,
                path=path,
            )


def _flaws(record: Record, kind: str, flaw_of: Callable[[Json], str | None]) -> Iterator[Finding]:
    seen = False
    for params, path, block in blocks(record):
        if isinstance(block, dict) and block.get("type") == kind:
            seen = True
            if (found := flaw_of(block)) and not echoes(block, params):
                yield fault(f"tool {params.get('name')!r}: {kind} content: {found}", block, path=path)
    if not seen:
        raise NotSeen(f"no tool returned {kind} content")


@judged("tools-content-text", needs="tools")
def text_has_text(record: Record) -> Iterator[Finding]:
    """Look at every text block in results of tools: text is a string, which may be empty."""
    yield from _flaws(record, "text", text_flaw)


@judged("tools-content-image", needs="tools")
def images_are_base64(record: Record) -> Iterator[Finding]:
    """Look at every image in results of tools: data is base64, and there is a mimeType."""
    yield from _flaws(record, "image", binary_flaw)


@judged("tools-content-audio", needs="tools")
def audio_is_base64(record: Record) -> Iterator[Finding]:
    """Look at all audio in results of tools: data is base64, and there is a mimeType."""
    yield from _flaws(record, "audio", binary_flaw)


@judged("tools-content-embedded-resource", needs="tools")
def embedded_resources_have_contents(record: Record) -> Iterator[Finding]:
    """Look at every embedded resource in results of tools: it has a uri, and either text or a base64 blob."""
    yield from _flaws(record, "resource", embedded_flaw)


@judged("tools-content-resource-link", needs="tools")
def links_have_uris_and_names(record: Record) -> Iterator[Finding]:
    """Look at every resource_link in results of tools: it has a uri and a name."""
    yield from _flaws(record, "resource_link", link_flaw)


@judged("tools-content-annotations", needs="tools")
def content_annotations_fit(record: Record) -> Iterator[Finding]:
    """Look at the annotations of content in results of tools: audience, priority and lastModified have their types."""
    for path, block in having(((path, block) for _, path, block in blocks(record)), "annotations"):
        yield from annotation_faults(block, path)


@judged("tools-embedded-resource-capability", needs="tools")
def embedding_servers_have_resources(record: Record) -> Iterator[Finding]:
    """Look for embedded resources in results of tools: a server that sends them declares resources."""
    embedded = [found for found in blocks(record) if isinstance(found[2], dict) and found[2].get("type") == "resource"]
    if not embedded:
        raise NotSeen("no tool returned an embedded resource")
    if not record.declares("resources"):
        params, path, block = embedded[0]
        yield fault(f"tool {params.get('name')!r} embeds a resource, but resources is not declared", block, path=path)


# Structured content.


@judged("tools-structured-content-conforms", needs="tools")
def structured_content_fits(record: Record) -> Iterator[Finding]:
    """Validate structuredContent in results of tools that have an outputSchema, unless isError is true."""
    schemas = {
        str(tool.get("name")): tool["outputSchema"] for _, tool in listed_tools(record) if "outputSchema" in tool
    }
    seen, undecided = False, ""
    for name, result in results(record):
        schema = schemas.get(name)
        # A schema that cannot be used is the matter of schema-valid-in-dialect.
        if schema is None or result.get("isError") is True or flaw(schema):
            continue
        seen = True
        if "structuredContent" not in result:
            yield fault(f"tool {name!r} has an outputSchema, but its result has no structuredContent", result)
            continue
        found = complaints(result["structuredContent"], schema)
        if found and isinstance(found[0], Undecided):
            undecided = f"tool {name!r}: whether structuredContent fits is not known: {found[0]}"
            continue
        for complaint in found:
            yield fault(f"tool {name!r}: structuredContent: {complaint}", result, path="result.structuredContent")
    if undecided:
        raise NotSeen(undecided)
    if not seen:
        raise NotSeen("no tool with an outputSchema was called with success")


def _structured_results(record: Record) -> Iterator[tuple[str, Json]]:
    found = [(name, result) for name, result in results(record) if "structuredContent" in result]
    if not found:
        raise NotSeen("no result has structuredContent")
    yield from found


@judged("tools-structured-content-object", needs="tools")
def structured_content_is_an_object(record: Record) -> Iterator[Finding]:
    """Look at structuredContent in results of tools: it is an object."""
    for name, result in _structured_results(record):
        if not isinstance(result["structuredContent"], dict):
            yield fault(f"tool {name!r}: structuredContent is not an object", result, path="result.structuredContent")


@judged("tools-structured-content-text", needs="tools")
def structured_content_is_also_text(record: Record) -> Iterator[Finding]:
    """Look at results with structuredContent: a text block has the same, as JSON."""
    for name, result in _structured_results(record):
        content = result.get("content")
        written = (
            [block.get("text") for block in content if isinstance(block, dict)] if isinstance(content, list) else []
        )
        if result.get("isError") is not True and not any(_says(each, result["structuredContent"]) for each in written):
            yield fault(f"tool {name!r}: no text block has structuredContent as JSON", result)


def _says(written: Any, value: Any) -> bool:
    try:
        return isinstance(written, str) and bool(read(written) == value)
    except (ValueError, RecursionError):
        return False


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
