"""HTTP+SSE, the transport of 2024-11-05, as it is heard."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.check import judged, judged_everywhere
from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.report.model import Finding


@judged("sse-data-json")
def events_are_messages(record: Record) -> Iterator[Finding]:
    """Look at the data of every message event: it is one JSON object."""
    for message in record.heard:
        if not isinstance(message.raw, dict):
            yield fault("the data of an event is not one JSON object", message.text)


@judged_everywhere("sse-message-events")
def misnamed_events_carry_no_messages(record: Record) -> Iterator[Finding]:
    """Look for JSON-RPC messages in events of another type than message."""
    for frame in record.frames:
        head, _, data = frame.text.partition("\ndata: ") if frame.source == "http" else ("", "", "")
        if head.startswith("event: ") and data.startswith("{") and '"jsonrpc"' in data:
            yield fault(f"a message comes as an event of the type {head.removeprefix('event: ')}", data)
            return
