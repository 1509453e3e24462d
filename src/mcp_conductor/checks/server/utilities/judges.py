"""Cursors of lists, and features that are on their way out."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.questions import asked
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.report.model import Finding

# Pagination.


@judged("pagination-nextcursor")
def cursors_are_strings(record: Record) -> Iterator[Finding]:
    """Look at every page of every list: nextCursor, where it is given, is a string."""
    pages = [(exchange, result) for exchange, result in record.complete(*LIST_MEMBERS) if "nextCursor" in result]
    if not pages:
        raise NotSeen("no list has more than one page")
    for exchange, result in pages:
        if not isinstance(result["nextCursor"], str):
            message = f"{exchange.request.method}: nextCursor is {render(result['nextCursor'])}, not a string"
            yield fault(message, exchange.reply and exchange.reply.raw)


# What is gone, or going.


@judged("deprecated-features-server")
def nothing_is_deprecated(record: Record) -> Iterator[Finding]:
    """Look for features that new servers should not adopt: logging, and questions for sampling and roots."""
    if record.declares("logging"):
        yield fault("logging is deprecated", record.capabilities)
    for method in ("sampling/createMessage", "roots/list"):
        evidence = next((raw for name, _, raw in asked(record) if name == method), None)
        if evidence is not None:
            yield fault(f"{method} is deprecated", evidence)
