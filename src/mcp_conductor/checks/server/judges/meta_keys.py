"""The keys that a server puts into `_meta`: their grammar, whose they are, and what some of them hold."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.message import Message, kind_of
from mcp_conductor.protocol.meta_keys import KEY, TRACE, is_reserved, labels_of
from mcp_conductor.report.model import Finding

_TOP_LEVELS = ("com", "org", "net", "io", "dev", "ai", "app")
# What stands below these is data or a schema, in which `_meta` may be a name like any other.
_NOT_OURS = frozenset(
    {"arguments", "content", "data", "experimental", "inputSchema", "metadata", "outputSchema", "requestedSchema"}
    | {"input", "structuredContent", "extensions"}
)


class _Entry(NamedTuple):
    key: str
    value: Any
    path: str
    message: Message


def _entries(record: Record) -> list[_Entry]:
    """Every member of every `_meta` of the server."""
    found = [
        _Entry(key, value, path, message)
        for path, meta, message in _sent(record)
        if isinstance(meta, dict)
        for key, value in meta.items()
    ]
    if not found:
        raise NotSeen("the server sent no _meta")
    return found


def _sent(record: Record) -> Iterator[tuple[str, Any, Message]]:
    """Every `_meta` of the server, of whatever type: its path, itself, and the message that has it."""
    for message in record.heard:
        if "_meta" in message.text or "\\u" in message.text:  # which is quicker to see than that it is not there
            for path, meta in _metas(message.raw, ""):
                yield path, meta, message


def _metas(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _metas(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, member in value.items():
            below = f"{path}.{key}" if path else key
            if key == "_meta":
                yield below, member
            elif key not in _NOT_OURS or (key == "content" and _is_content(member)):
                yield from _metas(member, below)


def _is_content(value: Any) -> bool:
    """Content blocks have a type; the answer to a form, which is also called content, has none."""
    blocks = value if isinstance(value, list) else [value]
    return all(isinstance(block, dict) and "type" in block for block in blocks)


@judged("base-meta-key-format-server")
def meta_keys_follow_the_grammar(record: Record) -> Iterator[Finding]:
    """Look at every `_meta`: an object. Its keys: an optional prefix of labels with dots and a slash, then a name."""
    flawed = [each for each in _sent(record) if not isinstance(each[1], dict)]
    for path, meta, message in flawed:
        yield fault(f"_meta is {kind_of(meta)}, not an object", message.raw, path=path)
    for entry in [] if flawed else _entries(record):
        if not KEY.fullmatch(entry.key):
            yield fault(f"{entry.key!r} is not a key for _meta", entry.message.raw, path=entry.path)


@judged("base-meta-reserved-prefix-server")
def reserved_prefixes_are_left_alone(record: Record) -> Iterator[Finding]:
    """Look at every key in `_meta` whose prefix is reserved for MCP: it is one that MCP defines."""
    for entry in _entries(record):
        if is_reserved(entry.key, record.dialect):
            yield fault(f"the prefix of {entry.key!r} is reserved for MCP", entry.message.raw, path=entry.path)


@judged("base-meta-reverse-dns")
def prefixes_are_reversed_domains(record: Record) -> Iterator[Finding]:
    """Look at every prefix in `_meta`: none is a domain name that is not reversed, such as example.com/."""
    for entry in _entries(record):
        labels = labels_of(entry.key)
        if len(labels) > 1 and labels[-1] in _TOP_LEVELS and labels[0] not in _TOP_LEVELS:
            yield fault(
                f"the prefix of {entry.key!r} is not a domain name in reverse order", entry.message.raw, path=entry.path
            )


@judged("meta-trace-context-format-server")
def trace_context_has_its_format(record: Record) -> Iterator[Finding]:
    """Look at traceparent, tracestate and baggage in `_meta`: they have the formats of the W3C."""
    entries = [entry for entry in _entries(record) if entry.key in TRACE]
    if not entries:
        raise NotSeen("no trace context was sent")
    for entry in entries:
        if not isinstance(entry.value, str) or not TRACE[entry.key].fullmatch(entry.value):
            path = f"{entry.path}.{entry.key}"
            yield fault(
                f"{entry.key} does not have the format of W3C", entry.value, path=path, beside=[entry.message.raw]
            )
