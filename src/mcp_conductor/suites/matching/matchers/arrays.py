"""Matchers of arrays."""

from typing import Any

from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.differences import described, element_count, shown
from mcp_conductor.suites.matching.matchers import matcher
from mcp_conductor.suites.matching.matchers.text import string_length, text_of
from mcp_conductor.suites.matching.paths import parse_path


@matcher("arrayLength")
def array_length(actual: Any, length: int) -> str | None:
    """match:arrayLength:LENGTH — an array of LENGTH elements.

    match:arrayLength:2  ["a", "b"]  passes
    match:arrayLength:3  ["a", "b"]  has 2 elements, not 3
    match:arrayLength:5  "hello"     is the string 'hello', not an array
    """
    if not isinstance(actual, list):
        return f"is {described(actual)}, not an array"
    return None if len(actual) == length else f"has {element_count(actual)}, not {length}"


@matcher("length")
def has_length(actual: Any, length: int) -> str | None:
    """match:length:LENGTH — a text of LENGTH characters, or an array of LENGTH elements.

    match:length:5  "hello"     passes
    match:length:2  ["a", "b"]  passes
    match:length:4  "hello"     is 5 characters long, not 4: 'hello'
    """
    if isinstance(actual, (list, str)):
        return array_length(actual, length) if isinstance(actual, list) else string_length(actual, length)
    return f"is {described(actual)}, not text or an array"


@matcher("arrayContains")
def array_contains(actual: Any, value: str) -> str | None:
    """match:arrayContains:VALUE — an array with this element; or, as arrayContains:FIELD:VALUE, with an object whose
    field (name, or path with dots) is VALUE. Values are compared as text.

    match:arrayContains:b           ["a", "b"]          passes
    match:arrayContains:name:read   [{"name": "read"}]  passes
    match:arrayContains:c           ["a", "b"]          has no element 'c': ["a","b"]
    match:arrayContains:name:write  [{"name": "read"}]  has no element whose 'name' is 'write', only 'read'
    """
    if not isinstance(actual, list):
        return f"is {described(actual)}, not an array"
    field, colon, wanted = value.partition(":")
    if any(not isinstance(item, dict) and text_of(item) == value for item in actual):
        return None
    if colon and any(isinstance(item, dict) and _field_is(item, field, wanted) for item in actual):
        return None
    if colon and any(isinstance(item, dict) for item in actual):
        seen = [shown(found) for item in actual if (found := _field(item, field)) is not NOTHING]
        return f"has no element whose {field!r} is {wanted!r}, only {', '.join(seen[:10]) or 'elements without it'}"
    return f"has no element {value!r}: {shown(actual)}"


def _field(item: Any, field: str) -> Any:
    if isinstance(item, dict) and field in item:
        return item[field]
    try:
        return parse_path(field).find(item)
    except ValueError:
        return NOTHING


def _field_is(item: Any, field: str, wanted: str) -> bool:
    found = _field(item, field)
    values = found if isinstance(found, list) and "*" in field and field not in item else [found]
    return bool(values) and all(value is not NOTHING and text_of(value) == wanted for value in values)
