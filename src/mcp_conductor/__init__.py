"""MCP Conductor: exercise, test, certify and simulate the Model Context Protocol.

Public names are resolved on first use, so that `mcp-cli` pays only for what it needs. This file imports nothing at all:
our handler of interrupts must be installed as early as possible.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_conductor.bridge import Backoff as Backoff, Bridge as Bridge, BridgeEvent as BridgeEvent, Health as Health
    from mcp_conductor.checks.engine.findings import NotSeen as NotSeen
    from mcp_conductor.checks.engine.plugin_check import check as check
    from mcp_conductor.checks.engine.probe import Probe as Probe
    from mcp_conductor.checks.engine.record import Record as Record
    from mcp_conductor.client.public import connect as connect
    from mcp_conductor.client.session import Session as Session
    from mcp_conductor.client.subscriptions import Subscription as Subscription
    from mcp_conductor.client.sync import (
        SyncSession as SyncSession,
        SyncSubscription as SyncSubscription,
        connect_sync as connect_sync,
    )
    from mcp_conductor.errors import (
        ConductorError as ConductorError,
        ConfigError as ConfigError,
        ConnectionLost as ConnectionLost,
        HttpStatusError as HttpStatusError,
        MethodError as MethodError,
        ProtocolError as ProtocolError,
        Refused as Refused,
        RequestTimeout as RequestTimeout,
        ServerDown as ServerDown,
        StdioNotSupported as StdioNotSupported,
        TransportError as TransportError,
        UsageError as UsageError,
    )
    from mcp_conductor.files.fields import Field as Field
    from mcp_conductor.protocol.answers import (
        Answers as Answers,
        Incoming as Incoming,
    )
    from mcp_conductor.protocol.budgets import (
        Budgets as Budgets,
    )
    from mcp_conductor.protocol.in_process_spec import (
        AsgiSpec as AsgiSpec,
        StreamsSpec as StreamsSpec,
    )
    from mcp_conductor.protocol.ledger import (
        Exchange as Exchange,
    )
    from mcp_conductor.protocol.message import (
        Message as Message,
    )
    from mcp_conductor.protocol.questions import (
        ElicitationRequest as ElicitationRequest,
        LogMessage as LogMessage,
        SamplingMessage as SamplingMessage,
        SamplingRequest as SamplingRequest,
    )
    from mcp_conductor.protocol.server_spec import (
        HttpSpec as HttpSpec,
        ServerSpec as ServerSpec,
        StdioSpec as StdioSpec,
    )
    from mcp_conductor.protocol.transcript import (
        Transcript as Transcript,
    )
    from mcp_conductor.protocol.views import (
        Completion as Completion,
        Content as Content,
        Prompt as Prompt,
        PromptMessage as PromptMessage,
        PromptResult as PromptResult,
        ReadResult as ReadResult,
        Resource as Resource,
        ResourceContents as ResourceContents,
        ResourceTemplate as ResourceTemplate,
        ResourceUpdate as ResourceUpdate,
        Tool as Tool,
        ToolResult as ToolResult,
    )
    from mcp_conductor.recording.reader import Recording as Recording, read_recording as read_recording
    from mcp_conductor.recording.writer import save_recording as save_recording
    from mcp_conductor.report.formats import reporter as reporter
    from mcp_conductor.report.model import Finding as Finding, Outcome as Outcome, Report as Report
    from mcp_conductor.server.call import Call as Call
    from mcp_conductor.server.faults import fault as fault
    from mcp_conductor.server.placeholders import Scope as Scope
    from mcp_conductor.server.presets import preset as preset
    from mcp_conductor.server.spoiled_reply import SpoiledReply as SpoiledReply
    from mcp_conductor.server.steps import Script as Script, step as step
    from mcp_conductor.suites.language.asserts import predicate as predicate
    from mcp_conductor.suites.matching.matchers import matcher as matcher
    from mcp_conductor.suites.python_matchers import like as like
    from mcp_conductor.transport import opens as opens
    from mcp_conductor.transport.authorization import OAuth as OAuth

# A literal: importlib.metadata would cost every program 45 ms.
__version__ = "0.1.0"

_HOMES = {
    "Answers": "protocol.answers",
    "AsgiSpec": "protocol.in_process_spec",
    "Backoff": "bridge",
    "Bridge": "bridge",
    "BridgeEvent": "bridge",
    "Budgets": "protocol.budgets",
    "Call": "server.call",
    "Completion": "protocol.views",
    "ConductorError": "errors",
    "ConfigError": "errors",
    "ConnectionLost": "errors",
    "Content": "protocol.views",
    "ElicitationRequest": "protocol.questions",
    "Exchange": "protocol.ledger",
    "Field": "files.fields",
    "Finding": "report.model",
    "Health": "bridge",
    "HttpSpec": "protocol.server_spec",
    "HttpStatusError": "errors",
    "Incoming": "protocol.answers",
    "LogMessage": "protocol.questions",
    "Message": "protocol.message",
    "MethodError": "errors",
    "NotSeen": "checks.engine.findings",
    "OAuth": "transport.authorization",
    "Outcome": "report.model",
    "Probe": "checks.engine.probe",
    "Prompt": "protocol.views",
    "PromptMessage": "protocol.views",
    "PromptResult": "protocol.views",
    "ProtocolError": "errors",
    "ReadResult": "protocol.views",
    "Record": "checks.engine.record",
    "Recording": "recording.reader",
    "Refused": "errors",
    "Report": "report.model",
    "RequestTimeout": "errors",
    "Resource": "protocol.views",
    "ResourceContents": "protocol.views",
    "ResourceTemplate": "protocol.views",
    "ResourceUpdate": "protocol.views",
    "SamplingMessage": "protocol.questions",
    "SamplingRequest": "protocol.questions",
    "Scope": "server.placeholders",
    "Script": "server.steps",
    "ServerDown": "errors",
    "ServerSpec": "protocol.server_spec",
    "Session": "client.session",
    "SpoiledReply": "server.spoiled_reply",
    "StdioNotSupported": "errors",
    "StdioSpec": "protocol.server_spec",
    "StreamsSpec": "protocol.in_process_spec",
    "Subscription": "client.subscriptions",
    "SyncSession": "client.sync",
    "SyncSubscription": "client.sync",
    "Tool": "protocol.views",
    "ToolResult": "protocol.views",
    "Transcript": "protocol.transcript",
    "TransportError": "errors",
    "UsageError": "errors",
    "check": "checks.engine.plugin_check",
    "connect": "client.public",
    "connect_sync": "client.sync",
    "fault": "server.faults",
    "like": "suites.python_matchers",
    "matcher": "suites.matching.matchers",
    "opens": "transport",
    "predicate": "suites.language.asserts",
    "preset": "server.presets",
    "read_recording": "recording.reader",
    "reporter": "report.formats",
    "save_recording": "recording.writer",
    "step": "server.steps",
}

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604  # all of them are texts


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
