"""Tools, as they are listed: names, schemas, annotations."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged, judged_everywhere
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import (
    TOOL_ANNOTATIONS,
    array_faults,
    flag,
    having,
    listed_tools,
    listing,
    misfits,
    name_faults,
    objects,
    structure,
    text,
    texts,
    undeclared_changes,
)
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
