"""What roots, sampling and elicitation are answered with, in both eras: as responses, or as inputResponses."""

from collections.abc import Iterable, Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

SAMPLING: Json = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}],
    "maxTokens": 20,
}
FORM: Json = {
    "message": "Who are you?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "your name"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
        },
        "required": ["name"],
    },
}
_OLD_CONTENT = ("text", "image")
_CONTENT = (*_OLD_CONTENT, "audio", "tool_use", "tool_result")


def root_problems(result: Any, member: str, raw: Any) -> Iterator[Finding]:
    """What is wrong with the uri or the name of roots."""
    roots = result.get("roots") if isinstance(result, dict) else None
    items = roots if isinstance(roots, list) else []
    if not items:
        raise NotSeen("the client has no roots")
    for index, root in enumerate(items):
        value = root.get(member) if isinstance(root, dict) else None
        path = f"roots[{index}].{member}"
        if member == "uri" and value is None:
            yield fault("a root has no uri", raw, path=path)
        elif member == "uri" and not (isinstance(value, str) and value.startswith("file://")):
            yield fault("the uri of a root does not begin with file://", raw, path=path)
        if member == "name" and value is not None and not isinstance(value, str):
            yield fault("the name of a root is not a string", raw, path=path)


def sampling_problems(result: Any, what: str, raw: Any, *, several: bool) -> Iterator[Finding]:
    """What is wrong with one side of a sampled message: its fields, its content or its stopReason."""
    message: Json = result if isinstance(result, dict) else {}
    content = message.get("content")
    if what == "fields":
        fits = {
            "role": message.get("role") in ("user", "assistant"),
            "content": isinstance(content, (dict, list)),
            "model": isinstance(message.get("model"), str),
        }
        for name, right in fits.items():
            if not right:
                yield fault(f"the result of sampling/createMessage has no valid {name}", raw, path=f"result.{name}")
    elif what == "stopReason":
        if "stopReason" not in message:
            raise NotSeen("there is no stopReason")
        if not isinstance(message["stopReason"], str):
            yield fault("stopReason is not a string", raw, path="result.stopReason")
    elif content is not None:
        blocks = content if isinstance(content, list) else [content]
        if isinstance(content, list) and not several:
            yield fault("the content of a sampled message is an array", raw, path="result.content")
        known = _OLD_CONTENT if what == "old content" else _CONTENT if several else _CONTENT[:3]
        for block in blocks:
            if not isinstance(block, dict) or block.get("type") not in known:
                yield fault(f"the content of a sampled message is not {', '.join(known)}", raw, path="result.content")


def content_problems(answered: Iterable[tuple[Message, Message]], *, defaults: bool = False) -> Iterator[Finding]:
    """What is wrong with the content of accepted forms."""
    yield from form_problems(
        ((question.params, reply.result, reply.raw) for question, reply in answered), defaults=defaults
    )


def form_problems(answered: Iterable[tuple[Json, Any, Any]], *, defaults: bool = False) -> Iterator[Finding]:
    """The same for questions with their params, and results with the messages that brought them."""
    from mcp_conductor.protocol.schema import complaints

    accepted = False
    for params, result, raw in answered:
        schema = params.get("requestedSchema")
        if schema is None or not isinstance(result, dict) or result.get("action") != "accept":
            continue
        accepted = True
        content = result.get("content", {})
        if defaults:
            if isinstance(content, dict) and "colour" not in content:
                yield fault("the default value of the form is not filled in", raw, path="result.content.colour")
            continue
        for problem in complaints(content, schema):
            yield fault(f"the content does not fit the form: {problem}", raw, path="result.content")
    if not accepted:
        raise NotSeen("the client accepted no form")
