"""Results that stand by themselves (2026-07-28): that they name the server."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.dialect import (
    META,
)
from mcp_conductor.report.model import Finding


@judged("meta-server-info-results")
def results_name_the_server(record: Record) -> Iterator[Finding]:
    """Look at every result: its `_meta` has serverInfo, with name and version."""
    for exchange, result in record.some_results():
        meta = result.get("_meta")
        info = meta.get(f"{META}serverInfo") if isinstance(meta, dict) else None
        named = isinstance(info, dict) and all(isinstance(info.get(member), str) for member in ("name", "version"))
        if not named:
            yield fault(f"the result of {exchange.request.method} does not name the server", result)
