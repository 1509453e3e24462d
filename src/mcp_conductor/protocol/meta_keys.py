"""The keys of `_meta`: their grammar, which prefixes belong to MCP, and the formats of a trace."""

from mcp_conductor.protocol.dialect import META, Dialect
from mcp_conductor.text.patterns import compiled_later

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?"
KEY = compiled_later(rf"(?:(?P<prefix>{_LABEL}(?:\.{_LABEL})*)/)?{_NAME}")
PREFIXED_KEY = compiled_later(rf"{_LABEL}(?:\.{_LABEL})*/{_NAME}")
_MCP = ("mcp", "modelcontextprotocol")
_DEFINED = {
    f"{META}{name}"
    for name in (
        "protocolVersion",
        "clientCapabilities",
        "clientInfo",
        "serverInfo",
        "logLevel",
        "subscriptionId",
        "related-task",
        "model-immediate-response",
    )
}
_STATE = r"[a-z0-9][a-z0-9_*/@-]*=[\x20-\x2b\x2d-\x3c\x3e-\x7e]*"  # no comma, no equals sign
TRACE = {
    "traceparent": compiled_later(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?"),
    "tracestate": compiled_later(rf"(?:{_STATE})?(?:\s*,\s*(?:{_STATE})?)*\s*"),
    "baggage": compiled_later(r"\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*=[^,]*(?:,\s*[!#$%&'*+.^_`|~0-9A-Za-z-]+\s*=[^,]*)*"),
}


def labels_of(key: str) -> list[str]:
    fits = KEY.fullmatch(key)
    return (fits["prefix"] or "").lower().split(".") if fits else []


def is_reserved(key: str, dialect: Dialect) -> bool:
    """Whether the prefix of KEY is reserved for MCP in this revision, and MCP does not define it."""
    labels = labels_of(key)
    reserved = labels[:-1] if dialect.reserved_before_last else labels[1:2]
    return key not in _DEFINED and any(label in _MCP for label in reserved)
