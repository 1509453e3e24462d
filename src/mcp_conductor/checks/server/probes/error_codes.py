"""Error codes that are retired (2026-07-28)."""

from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.replies import RETIRED_CODES, sent_codes
from mcp_conductor.report.model import Finding

_NO_RESOURCE = "conductor://no/such/resource"


@probed("errors-retired-codes-server")
async def retired_codes_are_not_used(probe: Probe) -> AsyncIterator[Finding]:
    """Read a resource that does not exist, and look at all errors: none has the code -32002 or -32042."""
    if probe.declares("resources"):
        await probe.ask("resources/read", {"uri": _NO_RESOURCE})
    for code, _, raw in sent_codes(probe.record()):
        if code in RETIRED_CODES:
            yield fault(f"error code {code} is retired", raw)
