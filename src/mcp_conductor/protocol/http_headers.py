"""The headers by which a request of 2026-07-28 says over HTTP what its body says too (basic/transports).

`Mcp-Method` and `Mcp-Name` name the request; a tool may ask for some of its arguments as `Mcp-Param-…`, with
`x-mcp-header` in its input schema. A tool that asks for it wrongly must not be used over HTTP.
"""

import base64
import re
from collections.abc import Mapping
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.message import Digits
from mcp_conductor.text.patterns import compiled_later

_NAME_MEMBERS = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
_PLAIN = compiled_later(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_SENTINEL = compiled_later(r"=\?base64\?(.*)\?=", re.DOTALL)
# Decimal refuses exponents that are larger still, and no argument needs them.
_NUMBER = compiled_later(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,4})?")
_TOKEN = compiled_later(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_TYPES = ("string", "integer", "boolean")

_VALUES = ("const", "default", "enum", "examples")  # what stands below these are values, not schemas

Annotations = dict[tuple[str, ...], str]  # which member of the arguments goes into which header


def encoded(value: Any) -> str:
    """A value as it stands in a header: plain if it can, else as base64 behind a sentinel."""
    text = _text(value)
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode(errors='surrogatepass')).decode()}?="


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def decoded(value: str) -> str | None:
    """What a header says: its value, or the text behind the sentinel; None when that is not base64 of UTF-8."""
    behind = _SENTINEL.fullmatch(value)
    if not behind:
        return value
    try:
        octets = base64.b64decode(behind[1], validate=True)
        # Python ignores the spare bits of the last character; two spellings of one name would pass a proxy as two.
        return octets.decode() if base64.b64encode(octets).decode() == behind[1] else None
    except ValueError:  # binascii.Error and UnicodeDecodeError are ValueErrors
        return None


def routing_headers(raw: Any, annotations: Annotations) -> list[tuple[str, str]]:
    """The headers for a message of the modern era; ANNOTATIONS are those of the tool that it calls."""
    message: Json = raw if isinstance(raw, dict) else {}
    method, params = message.get("method"), message.get("params")
    if not isinstance(method, str) or not isinstance(params, dict):
        return []
    meta = params.get("_meta")
    version = meta.get(f"{META}protocolVersion") if isinstance(meta, dict) else None
    if not isinstance(version, str):
        return []
    headers = [("MCP-Protocol-Version", version), ("Mcp-Method", method)]
    name = _name(method, params)
    if name is not None:
        headers.append(("Mcp-Name", encoded(name)))
    return headers + [
        (f"Mcp-Param-{header}", encoded(value))
        for path, header in annotations.items()
        if (value := _member(params.get("arguments"), path)) is not None
    ]


def _name(method: Any, params: Json) -> str | None:
    """What a request names, if its method is one that names something."""
    if not isinstance(method, str):
        return None
    member = _NAME_MEMBERS.get(method)
    name = params.get(member) if member else None
    return name if isinstance(name, str) else None


def _member(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def mismatch(raw: Json, headers: Mapping[str, list[str]], annotations: Annotations) -> str | None:
    """What the headers of a POST of the modern era say differently from its body RAW; None if they agree.

    HEADERS has all values of each header by its name in lower case; ANNOTATIONS are those of the tool that RAW calls.
    """
    params = raw.get("params")
    params = params if isinstance(params, dict) else {}
    said = {
        "MCP-Protocol-Version": _member(params, ("_meta", f"{META}protocolVersion")),
        "Mcp-Method": raw.get("method"),
    }
    for header, value in said.items():
        if problem := _difference(header, headers, value, verbatim=True):
            return problem
    name = _name(raw.get("method"), params)
    if name is not None and (problem := _difference("Mcp-Name", headers, name)):
        return problem
    for path, suffix in annotations.items():
        header, argument = f"Mcp-Param-{suffix}", _member(params.get("arguments"), path)
        if argument is None and not headers.get(header.lower()):
            continue
        if problem := _difference(header, headers, argument):
            return problem
    return None


def _difference(header: str, headers: Mapping[str, list[str]], value: Any, *, verbatim: bool = False) -> str | None:
    """How HEADER differs from VALUE, which may be encoded unless it must be VERBATIM."""
    given = [each.strip(" \t") for each in headers.get(header.lower(), [])]
    if not given:
        return f"the header {header} is missing"
    if value is None:
        return f"the header {header} says {given[0]!r}, but the body says nothing"
    if len(given) > 1:
        return f"the header {header} occurs {len(given)} times"
    text = given[0] if verbatim else decoded(given[0])
    if text is None:
        return f"the header {header} is marked as base64, but is not UTF-8 in base64: {given[0]!r}"
    if text == _text(value) or _equal_numbers(text, value):
        return None
    return f"the header {header} says {text!r}, but the body says {_text(value)!r}"


def _equal_numbers(text: str, value: Any) -> bool:
    """Whether TEXT is another way to write the number VALUE, such as 42.0 for 42."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    known = value.text if isinstance(value, Digits) else str(value)
    if not _NUMBER.fullmatch(text) or not _NUMBER.fullmatch(known):
        return False
    from decimal import Decimal

    return Decimal(text) == Decimal(known)


def annotations_of(schema: Any) -> Annotations | None:
    """Which arguments a tool wants in headers; None when it asks for that in a way that is not allowed."""
    found: Annotations = {}
    try:
        if not _collect(schema, (), found, reachable=True):
            return None
    except RecursionError:  # no real argument is nested so deeply
        return None
    names = [name.lower() for name in found.values()]
    return found if len(names) == len(set(names)) else None


def _collect(schema: Any, path: tuple[str, ...], found: Annotations, *, reachable: bool) -> bool:
    """Gather the annotations below SCHEMA; they are allowed only where `properties` alone lead."""
    if not isinstance(schema, dict):
        return not isinstance(schema, list) or all(_collect(item, path, found, reachable=False) for item in schema)
    if "x-mcp-header" in schema:
        header = schema["x-mcp-header"]
        fits = isinstance(header, str) and _TOKEN.fullmatch(header) and schema.get("type") in _HEADER_TYPES
        if not fits or not path or not reachable:
            return False
        found[path] = header
    for keyword, member in schema.items():
        if keyword in _VALUES:
            continue
        if keyword == "properties" and isinstance(member, dict):
            if not all(_collect(each, (*path, name), found, reachable=reachable) for name, each in member.items()):
                return False
        elif isinstance(member, (dict, list)) and not _collect(member, path, found, reachable=False):
            return False
    return True
