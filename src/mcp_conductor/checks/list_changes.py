"""Lists that are not what they were: a server that promises to tell (listChanged) has told."""

from collections.abc import AsyncIterator
from itertools import pairwise

from mcp_conductor.checks import NotSeen, fault, probed
from mcp_conductor.checks.probe import Probe
from mcp_conductor.checks.record import Record
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.report import Finding


@probed("tools-listchanged-notification", needs="tools.listChanged")
async def changes_of_tools_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the tools again, after some were called: if they are others, notifications/tools/list_changed came."""
    async for finding in _untold(probe, "tools/list", "name"):
        yield finding


@probed("resources-listchanged-notification", needs="resources.listChanged")
async def changes_of_resources_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the resources again, after tools were called: if they are others, a list_changed notification came."""
    async for finding in _untold(probe, "resources/list", "uri"):
        yield finding


@probed("prompts-listchanged-notification", needs="prompts.listChanged")
async def changes_of_prompts_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the prompts again, after tools were called: if they are others, a list_changed notification came."""
    async for finding in _untold(probe, "prompts/list", "name"):
        yield finding


async def _untold(probe: Probe, method: str, key: str) -> AsyncIterator[Finding]:
    await probe.ask(method)
    listed = _first_pages(probe.record(), method, key)
    changed = next(((before, after) for before, after in pairwise(listed) if before != after), None)
    if changed is None:
        raise NotSeen(f"{method} lists the same every time")
    notification = f"notifications/{method.partition('/')[0]}/list_changed"
    if not any(probe.record().notifications(notification)):
        await probe.settled()  # it may come after the list
    if not any(probe.record().notifications(notification)):
        before, after = (", ".join(sorted(names)) for names in changed)
        what = f"{method} lists others than before, and {notification} did not come"
        yield fault(what, after, hint=f"before: {before}")


def _first_pages(record: Record, method: str, key: str) -> list[set[str]]:
    """What each first page of a list has: a later one may change with it, but need not be asked for again."""
    return [
        {str(item.get(key)) for item in result.get(LIST_MEMBERS[method], ()) if isinstance(item, dict)}
        for exchange, result in record.complete(method)
        if "cursor" not in exchange.request.params and isinstance(result.get(LIST_MEMBERS[method]), list)
    ]
