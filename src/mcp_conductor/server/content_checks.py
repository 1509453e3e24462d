"""The results that a file writes out, checked before anything is served.

Content of a kind that MCP does not have is a mistake, and so is structured content that breaks the outputSchema of its
own tool. What is filled in for each request is not known yet, and is left alone.
"""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.protocol.schema import complaints

# What a block of content of each kind must have.
_KINDS = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
    "resource": ("resource",),
}
_ROLES = ("user", "assistant")
_ON_PURPOSE = "`checked: false` in the tool gives it as it is"
_BY_A_FAULT = "the fault break_schema makes a reply wrong on purpose"


def content_mistakes(result: Field) -> Iterator[UsageError]:
    """What is wrong with the content in RESULT, which a tool gives: an array of blocks, or all of a result."""
    content = result
    if isinstance(result.value, dict):
        if "content" not in result.value:
            return
        content = result.member("content", result.value["content"])
    if isinstance(content.value, list):
        for block in content.items():
            yield from _block_mistakes(block, _ON_PURPOSE)
    elif not _is_open(content.value) and content is not result:
        yield content.mistake(f"must be an array of blocks, not {kind_of(content.value)}", _ON_PURPOSE)


def message_mistakes(messages: Field) -> Iterator[UsageError]:
    """What is wrong with MESSAGES, which a prompt gives."""
    for message in messages.items():
        if _is_open(message.value):
            continue
        known = message.members()
        role = known.get("role")
        if role is None or "content" not in known:
            yield message.mistake("needs role and content", "{role: user, content: {type: text, text: …}}")
            continue
        if not _is_open(role.value) and role.value not in _ROLES:
            yield role.mistake(f"must be user or assistant, not {role.value!r}", _BY_A_FAULT)
        yield from _block_mistakes(known["content"], _BY_A_FAULT)


def _block_mistakes(block: Field, on_purpose: str) -> Iterator[UsageError]:
    if _is_open(block.value):
        return
    if not isinstance(block.value, dict):
        yield block.mistake(f"must be an object, not {kind_of(block.value)}", "{type: text, text: …}")
        return
    kind = block.value.get("type")
    if _is_open(kind):
        return
    if kind not in _KINDS:
        near = nearest(kind, tuple(_KINDS)) if isinstance(kind, str) else None
        hint = f"did you mean {near!r}?" if near else f"one of {', '.join(_KINDS)}; {on_purpose}"
        where = block.member("type", kind) if "type" in block.value else block
        said = f"is {kind!r}, which is not a kind of content" if "type" in block.value else "has no type"
        yield where.mistake(said, hint)
        return
    if missing := [name for name in _KINDS[kind] if name not in block.value]:
        yield block.mistake(f"is content of type {kind}, and has no {' or '.join(missing)}", on_purpose)


def output_mistakes(result: Field | None, schema: Any, where: Field) -> Iterator[UsageError]:
    """How RESULT, which a tool always gives, breaks the outputSchema that the tool lists; WHERE is the tool."""
    value = None if result is None else result.value
    if isinstance(value, dict) and value.get("isError") not in (None, False):
        return
    if not isinstance(value, dict) or "structuredContent" not in value:
        hint = f"result: {{content: […], structuredContent: {{…}}}}; or {_ON_PURPOSE}"
        yield (result or where).mistake("has no structuredContent, which the outputSchema of the tool promises", hint)
        return
    structured = value["structuredContent"]
    if result is not None and not _has_placeholders(structured) and (found := complaints(structured, schema)):
        content = result.member("structuredContent", structured)
        yield content.mistake(f"breaks the outputSchema of the tool: {'; '.join(found)}", _ON_PURPOSE)


def _is_open(value: Any) -> bool:
    """Whether VALUE is not known before a request comes."""
    return isinstance(value, str) and "{{" in value


def _has_placeholders(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_placeholders, value.values()))
    return any(map(_has_placeholders, value)) if isinstance(value, list) else _is_open(value)
