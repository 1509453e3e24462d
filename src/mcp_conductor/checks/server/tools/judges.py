"""Tools, as they are listed: names, schemas, annotations."""

from collections.abc import Callable, Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged, judged_everywhere
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import (
    TOOL_ANNOTATIONS,
    annotation_faults,
    array_faults,
    binary_flaw,
    echoes,
    embedded_flaw,
    flag,
    having,
    is_one_of,
    link_flaw,
    listed_tools,
    listing,
    misfits,
    name_faults,
    objects,
    structure,
    text,
    text_flaw,
    texts,
    undeclared_changes,
)
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import read
from mcp_conductor.protocol.schema import Undecided, checker, flaw
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

TASK_SUPPORT = ("forbidden", "optional", "required")
_NAME = compiled_later(r"[A-Za-z0-9_.-]{1,128}")


@judged("tools-listchanged-flag", needs="tools", follows="lifecycle-initialize-result-server")
def list_changed_is_a_flag(record: Record) -> Iterator[Finding]:
    """Look at the declared capability: listChanged is a boolean."""
    for path, capability in having([("capabilities.tools", record.capabilities["tools"])], "listChanged"):
        yield from misfits(capability, {"listChanged": flag}, path)


@judged("tools-list-array", needs="tools")
def the_list_is_an_array(record: Record) -> Iterator[Finding]:
    """Look at every result of tools/list: tools is an array."""
    yield from array_faults(record, "tools/list", "tools")


@judged("tools-item-name", needs="tools")
def tools_have_names(record: Record) -> Iterator[Finding]:
    """Look at every listed tool, over all pages: it has a name, which is not empty, and no other has the same."""
    items = listing(record, "tools/list", "tools")
    yield from name_faults(items, "tool")
    for path, tool in objects(items):
        if tool.get("name") == "":
            yield fault("a tool has an empty name", tool, path=path)


@judged("tools-item-inputschema", needs="tools")
def tools_have_input_schemas(record: Record) -> Iterator[Finding]:
    """Look at every listed tool: inputSchema is an object with type "object" at its root."""
    for path, tool in listed_tools(record):
        schema = tool.get("inputSchema")
        where = f"{path}.inputSchema"
        if not isinstance(schema, dict):
            flaw = "is not an object" if "inputSchema" in tool else "is missing"
            yield fault(f"tool {tool.get('name')!r}: inputSchema {flaw}", tool, path=path)
            continue
        if schema.get("type") != "object":
            yield fault(
                f'tool {tool.get("name")!r}: inputSchema.type must be "object"', schema, path=where, beside=[tool]
            )
        yield from misfits(schema, {"properties": structure, "required": texts}, where)


@judged("tools-item-outputschema-object", needs="tools")
def output_schemas_are_for_objects(record: Record) -> Iterator[Finding]:
    """Look at every listed tool that has an outputSchema: it is an object with type "object" at its root."""
    seen = False
    for path, tool in listed_tools(record):
        if "outputSchema" in tool:
            seen = True
            schema = tool["outputSchema"]
            if not isinstance(schema, dict) or schema.get("type") != "object":
                message = f'tool {tool.get("name")!r}: outputSchema.type must be "object"'
                yield fault(message, schema, path=f"{path}.outputSchema", beside=[tool])
    if not seen:
        raise NotSeen("no tool has an outputSchema")


@judged("tools-item-description", needs="tools")
def descriptions_are_texts(record: Record) -> Iterator[Finding]:
    """Look at every listed tool: its description, if there is one, is a string."""
    yield from _members(record, {"description": text})


@judged("tools-item-title", needs="tools")
def titles_are_texts(record: Record) -> Iterator[Finding]:
    """Look at every listed tool: its title, if there is one, is a string."""
    yield from _members(record, {"title": text})


def _members(record: Record, members: dict[str, Any]) -> Iterator[Finding]:
    for path, tool in having(listed_tools(record), *members):
        yield from misfits(tool, members, path)


@judged("tools-item-annotations", needs="tools")
def annotations_are_hints(record: Record) -> Iterator[Finding]:
    """Look at the annotations of every listed tool: title is a string, hints are booleans that do not contradict."""
    for path, tool in having(listed_tools(record), "annotations"):
        yield from misfits(tool, {"annotations": structure}, path)
        annotations = tool.get("annotations")
        yield from misfits(annotations, TOOL_ANNOTATIONS, f"{path}.annotations")
        if (
            isinstance(annotations, dict)
            and annotations.get("readOnlyHint") is annotations.get("destructiveHint") is True
        ):
            yield fault(
                f"tool {tool.get('name')!r}: readOnlyHint and destructiveHint are both true",
                annotations,
                path=f"{path}.annotations",
                beside=[tool],
            )


@judged("tools-item-execution", needs="tools")
def task_support_is_one_of_three(record: Record) -> Iterator[Finding]:
    """Look at every listed tool that has execution.taskSupport: it is forbidden, optional or required."""
    for path, tool in having(listed_tools(record), "execution"):
        yield from misfits(tool, {"execution": structure}, path)
        execution = tool.get("execution")
        if isinstance(execution, dict) and execution.get("taskSupport", TASK_SUPPORT[0]) not in TASK_SUPPORT:
            yield fault(
                f"tool {tool.get('name')!r}: taskSupport is not {', '.join(TASK_SUPPORT)}",
                execution,
                path=f"{path}.execution",
                beside=[tool],
            )


@judged("tools-name-length-charset", needs="tools")
def names_are_plain(record: Record) -> Iterator[Finding]:
    """Look at the name of every listed tool: 1 to 128 letters, digits, underscores, hyphens and dots."""
    for path, tool in listed_tools(record):
        name = tool.get("name")
        if isinstance(name, str) and not _NAME.fullmatch(name):
            told = f"tool {name!r}: the name should be 1 to 128 characters of A-Z a-z 0-9 _ - ."
            yield fault(told, name, path=f"{path}.name", beside=[tool])


@judged_everywhere("tools-listchanged-needs-capability")
@judged("tools-listchanged-needs-capability")
def changes_are_declared(record: Record) -> Iterator[Finding]:
    """Look for notifications/tools/list_changed from a server that does not declare tools.listChanged."""
    yield from undeclared_changes(record, "tools")


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
    checkers: dict[str, Callable[[Any], list[str]] | None] = {}  # a schema is compiled once, however often it is used
    seen, undecided = False, ""
    for name, result in results(record):
        if schemas.get(name) is None or result.get("isError") is True:
            continue
        if name not in checkers:
            # A schema that cannot be used is the matter of schema-valid-in-dialect.
            checkers[name] = None if flaw(schemas[name]) else checker(schemas[name])
        complaints = checkers[name]
        if complaints is None:
            continue
        seen = True
        if "structuredContent" not in result:
            yield fault(f"tool {name!r} has an outputSchema, but its result has no structuredContent", result)
            continue
        found = complaints(result["structuredContent"])
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


@judged(
    "tools-structured-content-text",
    needs="tools",
    follows=("tools-call-content-array", "tools-structured-content-object"),
)
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
