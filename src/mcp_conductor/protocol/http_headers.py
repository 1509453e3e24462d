"""The headers by which a request of 2026-07-28 says over HTTP what its body says too (basic/transports).

`Mcp-Method` and `Mcp-Name` name the request; a tool may ask for some of its arguments as `Mcp-Param-…`, with
`x-mcp-header` in its input schema. A tool that asks for it wrongly must not be used over HTTP.
"""

import base64
import re
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META

_NAME_MEMBERS = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_TASK_METHODS = "tasks/"
_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?")
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_TYPES = ("string", "integer", "boolean")

_VALUES = ("const", "default", "enum", "examples")  # what stands below these are values, not schemas

Annotations = dict[tuple[str, ...], str]  # which member of the arguments goes into which header


def encoded(value: Any) -> str:
    """A value as it stands in a header: plain if it can, else as base64 behind a sentinel."""
    text = ("true" if value else "false") if isinstance(value, bool) else str(value)
    if _PLAIN.fullmatch(text) and not (text.startswith("=?base64?") and text.endswith("?=")):
        return text
    return f"=?base64?{base64.b64encode(text.encode(errors='surrogatepass')).decode()}?="


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
    member = "taskId" if method.startswith(_TASK_METHODS) else _NAME_MEMBERS.get(method)
    name = params.get(member) if member else None
    if isinstance(name, str):
        headers.append(("Mcp-Name", encoded(name)))
    return headers + [
        (f"Mcp-Param-{header}", encoded(value))
        for path, header in annotations.items()
        if (value := _member(params.get("arguments"), path)) is not None
    ]


def _member(value: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def annotations_of(schema: Any) -> Annotations | None:
    """Which arguments a tool wants in headers; None when it asks for that in a way that is not allowed."""
    found: Annotations = {}
    try:
        if not _collect(schema, (), found, reachable=True):
            return None
    except RecursionError:  # nobody needs an argument so deep
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
