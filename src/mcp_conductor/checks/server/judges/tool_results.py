"""Results of tool calls: content blocks, and structured content."""

from collections.abc import Callable, Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
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
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import read
from mcp_conductor.protocol.schema import Undecided, checker, flaw
from mcp_conductor.report.model import Finding


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
