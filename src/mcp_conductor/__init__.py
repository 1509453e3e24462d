"""MCP Conductor: exercise, test, certify and simulate the Model Context Protocol.

Public names are resolved on first use, so that `mcp-cli` pays only for what it needs.
"""

from importlib import import_module
from typing import Any

# A literal: importlib.metadata would cost every program 45 ms.
__version__ = "0.1.0"

_PUBLIC = {
    "Answers": "protocol.answers",
    "ConductorError": "errors",
    "HttpSpec": "protocol.server_spec",
    "MethodError": "errors",
    "ProtocolError": "errors",
    "RequestTimeout": "errors",
    "Session": "session",
    "StdioSpec": "protocol.server_spec",
    "Transcript": "protocol.transcript",
    "TransportError": "errors",
    "UsageError": "errors",
    "connect": "opening",
}

__all__ = [*sorted(_PUBLIC), "__version__"]  # noqa: PLE0604  # every element is a text


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_PUBLIC[name]}", __name__), name)
