"""Matchers that go by a JSON Schema: one in the file of tests, or the one that the server declares for a tool."""

import os
from collections.abc import Callable
from typing import Any

from mcp_conductor.bounded.worker import TooSlowError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.other_files import other_file
from mcp_conductor.files.source import load
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.protocol.schema import Undecided, checker, flaw, property_of
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.comparison import Comparison, Place, UndecidedError
from mcp_conductor.suites.matching.differences import shown, without_nothing
from mcp_conductor.suites.matching.expected import Node, compile_node
from mcp_conductor.suites.matching.matchers import ANYTHING, Tools, matcher, special_key
from mcp_conductor.values import dataclass

_RESPONSE = {"jsonrpc", "id", "result"}


@dataclass(frozen=True, slots=True)
class Fits:
    """What a schema accepts."""

    check: Callable[[Any], list[str]]
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        for complaint in self.check(without_nothing(actual)):
            if isinstance(complaint, Undecided):
                raise UndecidedError(place, TooSlowError(complaint))
            seen.add(place, f"does not fit the schema: {complaint}", NOTHING, actual)


@special_key("schema")
def schema(field: Field, _: Field, __: bool) -> Node:
    """match:schema: {…} — what fits this JSON Schema, or the one in a file: `{file: user.schema.json}`, relative to the
    file of tests.

    {match:schema: {type: integer}}   5    passes
    {match:schema: {type: integer}}   "5"  does not fit the schema: the value: "5" is not of type "integer"
    {match:schema: {required: [id]}}  {}   does not fit the schema: the value: "id" is a required property
    """
    wanted = field.value
    if wanted == ANYTHING:
        return compile_node(field, partial=False)
    quoted = True
    if isinstance(wanted, dict) and wanted.keys() == {"file"}:
        file = other_file(field.member("file", wanted["file"]), os.path.dirname(field.document.file))
        wanted, quoted = file.read(load).data, not file.outside
    if not isinstance(wanted, (dict, bool)):
        field.refuse(f"must be a JSON Schema, not {kind_of(wanted)}")
    if problem := flaw(wanted):
        field.refuse(f"cannot be used: {problem}" if quoted else "cannot be used: it is not a JSON Schema")
    return Fits(checker(wanted))


@matcher("outputSchema")
def output_schema(actual: Any, *, tools: Tools | None) -> str | None:
    """match:outputSchema — a structuredContent (or the result or response that it is in) that fits the outputSchema
    which tools/list declares for the tool that was called.

    Where tools/list has the outputSchema {type: object, required: [sum]} for `add`, which was called:

    match:outputSchema  {"sum": 3}       passes
    match:outputSchema  {"total": 3}     does not fit the outputSchema of 'add': the value: "sum" is a required property
    match:outputSchema  {"content": []}  has no structuredContent
    """
    if not tools:
        return "cannot be checked: the tool that was called is unknown, or tools/list does not have it"
    name, tool = next(iter(tools.items()))
    declared = tool.get("outputSchema")
    if declared is None:
        return f"cannot be checked: the tool {name!r} declares no outputSchema"
    content = _structured_content(actual, declared)
    if content is NOTHING:
        return f"has no structuredContent{_reason(actual)}"
    complaints = checker(declared)(without_nothing(content))
    if complaints and isinstance(complaints[0], Undecided):
        raise TooSlowError(f"the outputSchema of {name!r} cannot be applied: {complaints[0]}")
    return f"does not fit the outputSchema of {name!r}: {'; '.join(complaints[:10])}" if complaints else None


def _structured_content(actual: Any, declared: Any) -> Any:
    """The structuredContent that ACTUAL is, or that is in it; NOTHING when ACTUAL is a result without one."""
    if not isinstance(actual, dict):
        return actual
    if "structuredContent" in actual and not property_of("structuredContent", declared):
        return actual["structuredContent"]
    if "error" in actual and "jsonrpc" in actual:
        return NOTHING
    result = actual.get("result")
    if isinstance(result, dict) and actual.keys() <= _RESPONSE and _is_result(result):
        return _structured_content(result, declared)
    return NOTHING if _is_result(actual) and not property_of("content", declared) else actual


def _is_result(value: dict[str, Any]) -> bool:
    """Whether VALUE looks like the result of a tool, rather than like what is in it."""
    blocks = value.get("content")
    typed = isinstance(blocks, list) and all(isinstance(block, dict) and "type" in block for block in blocks)
    return typed or "structuredContent" in value


def _reason(actual: Any) -> str:
    result = actual.get("result", actual)
    if "error" in actual:
        return f": the reply is an error, {shown(actual['error'])}"
    failed = isinstance(result, dict) and result.get("isError") is True
    return ": the tool reported a failure (isError: true)" if failed else ""
