"""Tools in the forms that the APIs of language models take, and their calls: pure values, and no vendor's SDK.

    vendor             a tool                                     a call by the model           what goes back
    openai             {"type": "function", "function": {…}}      {"id", "function": {…}}       {"role": "tool", …}
    openai-responses   {"type": "function", "name", …}            {"type": "function_call"}     function_call_output
    anthropic          {"name", "description", "input_schema"}    {"type": "tool_use", …}       tool_result
    gemini             {"functionDeclarations": [{"name", …}]}    {"functionCall": {…}}         functionResponse

All of them allow letters, digits, `_` and `-` in a name, and 64 characters; Gemini wants a letter or `_` first.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, get_args

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact, kind_of
from mcp_conductor.protocol.views import Content, Tool, ToolResult

Vendor = Literal["openai", "openai-responses", "anthropic", "gemini"]
LONGEST_NAME = 64
SEPARATOR = "__"
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")  # that Anthropic takes in a result


def legal_names(tools: Iterable[Tool]) -> dict[str, Tool]:
    """TOOLS by the names that models know them by: `server__tool`, made legal, each of them once."""
    found: dict[str, Tool] = {}
    for tool in tools:
        whole = f"{tool.server}{SEPARATOR}{tool.name}" if tool.server else tool.name
        name = re.sub(r"[^A-Za-z0-9_-]", "_", whole)
        name = name if re.match(r"[A-Za-z_]", name) else f"_{name}"
        if name != whole or len(name) > LONGEST_NAME or name in found:
            # What was changed could be equal to another name: a part of its hash tells them apart.
            mark = hashlib.sha256(tool.full_name.encode()).hexdigest()[:8]
            name = f"{name[: LONGEST_NAME - 9]}_{mark}"
        found[name] = tool
    return found


def tools_for(vendor: Vendor, tools: Iterable[Tool]) -> list[Json]:
    """TOOLS as the API of VENDOR takes them."""
    if vendor not in get_args(Vendor):
        near = nearest(vendor, list(get_args(Vendor)))
        raise UsageError(f"unknown vendor {vendor!r}", hint=f"did you mean {near!r}?" if near else _known())
    described = [_Described(name, tool) for name, tool in legal_names(tools).items()]
    match vendor:
        case "anthropic":
            return [{**each.head, "input_schema": each.schema} for each in described]
        case "gemini":
            # A description is required there.
            declared = [
                {"description": each.tool.name, **each.head, "parametersJsonSchema": each.schema} for each in described
            ]
            return [{"functionDeclarations": declared}] if declared else []
        case "openai":
            return [{"type": "function", "function": {**each.head, "parameters": each.schema}} for each in described]
        case _:
            # What is strict by default takes only some schemas: every member required, and no others allowed.
            return [{"type": "function", **each.head, "parameters": each.schema, "strict": False} for each in described]


def _known() -> str:
    return f"known: {', '.join(get_args(Vendor))}"


class _Described(NamedTuple):
    name: str
    tool: Tool

    @property
    def head(self) -> Json:
        description = self.tool.description or self.tool.title
        return {"name": self.name, **({"description": description} if description else {})}

    @property
    def schema(self) -> Json:
        """All of them want an object with properties, also for a tool without arguments."""
        return {"type": "object", "properties": {}, **self.tool.input_schema}


class ToolCall(NamedTuple):
    """A call that a model has made."""

    vendor: Vendor
    name: str
    identity: str | None
    arguments: Json | None
    problem: str | None = None  # why the arguments cannot be used

    def answer(self, result: ToolResult) -> Json:
        """RESULT, as the API of the vendor takes it."""
        match self.vendor:
            case "anthropic":
                content = [_anthropic_block(block) for block in result.content]
                failed = {"is_error": True} if result.is_error else {}
                return {"type": "tool_result", "tool_use_id": self.identity, "content": content, **failed}
            case "gemini":
                key = "error" if result.is_error else "result"
                value = result.structured if result.structured is not None and not result.is_error else _text(result)
                named = {"id": self.identity} if self.identity is not None else {}
                return {"functionResponse": {**named, "name": self.name, "response": {key: value}}}
            case "openai":
                return {"role": "tool", "tool_call_id": self.identity, "content": _told(result)}
            case _:
                return {"type": "function_call_output", "call_id": self.identity, "output": _told(result)}

    def failure(self, why: str) -> Json:
        """What tells the model that the call was not made, or failed."""
        return self.answer(ToolResult({"content": [{"type": "text", "text": why}], "isError": True}))


def read_call(call: object) -> ToolCall:
    """A call in the form of any vendor: JSON, or an object of the vendor's SDK. Raises UsageError if it is none."""
    given = _as_json(call)
    match given:
        case {"type": "tool_use", "name": str(name), "id": str(identity)}:
            return _call("anthropic", name, identity, given.get("input"))
        case {"type": "function_call", "name": str(name), "call_id": str(identity)}:
            return _call("openai-responses", name, identity, given.get("arguments"))
        case {"function": {"name": str(name)}, "id": str(identity)}:
            return _call("openai", name, identity, given["function"].get("arguments"))
        case {"functionCall": {"name": str(name)} as inner} | {"function_call": {"name": str(name)} as inner}:
            return _call("gemini", name, inner.get("id"), inner.get("args"))
        case {"name": str(name), "args": _}:
            return _call("gemini", name, given.get("id"), given.get("args"))
    shown = compact(given)[:200] if isinstance(given, dict) else kind_of(given)
    raise UsageError(
        f"this is not a call of a tool by a model: {shown}", hint=f"in the form of: {', '.join(get_args(Vendor))}"
    )


def _as_json(call: object) -> Any:
    if isinstance(call, Mapping):
        return dict(call)
    for method in ("model_dump", "to_dict"):  # of pydantic, which the SDKs use; of older ones
        if callable(dump := getattr(call, method, None)):
            return dump()
    return call


def _call(vendor: Vendor, name: str, identity: Any, arguments: Any) -> ToolCall:
    named = identity if isinstance(identity, str) else None
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError as error:
            return ToolCall(vendor, name, named, None, f"the arguments are not JSON: {error}")
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, Mapping):
        return ToolCall(vendor, name, named, None, f"the arguments must be an object, not {kind_of(arguments)}")
    return ToolCall(vendor, name, named, dict(arguments))


def _text(result: ToolResult) -> str:
    """What a model can read of a result, as text."""
    parts = [block.text or _named(block) for block in result.content]
    return "\n".join(part for part in parts if part) or (compact(result.structured) if result.structured else "")


def _told(result: ToolResult) -> str:
    return f"Error: {_text(result)}" if result.is_error else _text(result)


def _named(block: Content) -> str:
    """A block without text, named so that the model knows of it."""
    match block.type:
        case "resource_link":
            return f"{block.raw.get('name', '')} {block.raw.get('uri', '')}".strip()
        case "image" | "audio":
            return f"[{block.type} {block.mime_type}, {len(block.data)} bytes]"
        case "resource":
            return f"[resource {compact(block.raw.get('resource', {}).get('uri', ''))}]"
    return "" if block.type == "text" else compact(block.raw)


def _anthropic_block(block: Content) -> Json:
    if block.type == "image" and block.mime_type in _IMAGES and block.data:
        source = {"type": "base64", "media_type": block.mime_type, "data": block.raw["data"]}
        return {"type": "image", "source": source}
    return {"type": "text", "text": block.text or _named(block)}
