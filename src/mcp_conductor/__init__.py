"""MCP Conductor: exercise, test, certify and simulate the Model Context Protocol.

Public names are resolved on first use, so that `mcp-cli` pays only for what it needs. This file imports nothing at all:
an interrupt at start-up must find our handler as early as can be.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_conductor.errors import (
        ConductorError as ConductorError,
        MethodError as MethodError,
        ProtocolError as ProtocolError,
        RequestTimeout as RequestTimeout,
        TransportError as TransportError,
        UsageError as UsageError,
    )
    from mcp_conductor.opening import connect as connect
    from mcp_conductor.protocol.answers import Answers as Answers
    from mcp_conductor.protocol.server_spec import HttpSpec as HttpSpec, StdioSpec as StdioSpec
    from mcp_conductor.protocol.transcript import Transcript as Transcript
    from mcp_conductor.session import Session as Session

# A literal: importlib.metadata would cost every program 45 ms.
__version__ = "0.1.0"

_HOMES = {
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

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604  # all of them are texts


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
