"""Tools: the capability, that they are listed, and in which order."""

from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.shapes import (
    declared_faults,
    served_faults,
)
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Finding


@probed("tools-capability-declared")
async def tools_are_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools/list: tools come only if the capability is declared, and the method exists if it is."""
    async for finding in declared_faults(probe, "tools/list", "tools"):
        yield finding


@probed("tools-list-served", needs="tools")
async def the_list_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools/list: the reply is a result."""
    async for finding in served_faults(probe, "tools/list"):
        yield finding


@probed("tools-list-deterministic", needs="tools", alone=True)
async def the_order_is_the_same(probe: Probe) -> AsyncIterator[Finding]:
    """List the first page of tools several times, on two connections: the order is the same if the tools are."""
    async with probe.polite_session() as other:
        results = [await _listed(each) for each in (other, other, other)]
        # Another connection, if only over HTTP: the session of the exploration is still open.
        async with probe.polite_session(second=True) as third:
            results.append(await _listed(third))
    listed = [_names(each) for each in results]
    if len(listed[0]) < 2:
        raise NotSeen("fewer than two tools are listed")
    for result, names in zip(results, listed, strict=True):
        if names != listed[0] and sorted(names) == sorted(listed[0]):
            hint = f"before: {', '.join(listed[0])}"
            yield fault("tools/list returns the same tools in another order", result, hint=hint, beside=results[:1])
            return


async def _listed(probe: Probe) -> Json:
    return await probe.result("tools/list") or {}


def _names(result: Json) -> list[str]:
    tools = result.get("tools")
    return [str(tool.get("name")) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
