"""Batches, arrays of messages, which only one revision has: that a server sends none in the others."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.report.model import Finding


@judged("batch-removed-server", follows="stdio-newline-framing-server")
def no_batches_are_sent(record: Record) -> Iterator[Finding]:
    """Look at everything that the server sent: none of it is an array."""
    for _, source, message in record.transcript.decoded():
        if source == "server" and message.kind == "batch":
            yield fault(f"the server sends {len(message.raw)} messages in one array", message.raw)
