"""Changes: a server that declares listChanged or subscribe has sent the notifications."""

from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.changes import UPDATED, changed_lists, changes
from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.report.model import Finding


@probed("tools-listchanged-notification", "tools-listchanged-subscribed", needs="tools.listChanged", last=True)
async def changes_of_tools_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the tools again, after some were called: if the list has changed, notifications/tools/list_changed came.

    The tools are those of --trigger, or all that may be called.
    """
    async for finding in _untold(probe, "tools/list"):
        yield finding


@probed(
    "resources-listchanged-notification", "resources-listchanged-subscribed", needs="resources.listChanged", last=True
)
async def changes_of_resources_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the resources again, after tools were called: if the list has changed, a list_changed notification came.

    The tools are those of --trigger, or all that may be called.
    """
    async for finding in _untold(probe, "resources/list"):
        yield finding


@probed("prompts-listchanged-notification", "prompts-listchanged-subscribed", needs="prompts.listChanged", last=True)
async def changes_of_prompts_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the prompts again, after tools were called: if the list has changed, a list_changed notification came.

    The tools are those of --trigger, or all that may be called.
    """
    async for finding in _untold(probe, "prompts/list"):
        yield finding


@probed("resources-updated-sent", "resources-updated-subscribed", needs="resources.subscribe", last=True)
async def changes_of_subscribed_resources_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe to resources, read them, call tools (those of --trigger, or all that may be called), and read again:
    for each that is another than before, notifications/resources/updated came. A change that was not told must be
    seen twice, and one that comes without a call does not count.
    """
    if not probe.found.resources:
        raise NotSeen("no resource is listed")
    uris = {str(resource.get("uri")) for resource in probe.found.resources}
    for finding in (await changes(probe)).findings(uris, UPDATED):
        yield finding


async def _untold(probe: Probe, method: str) -> AsyncIterator[Finding]:
    notification = f"notifications/{method}_changed"
    if probe.dialect.handshake:
        changed = (await changed_lists(probe)).get(method)
        if changed is not None:
            if not any(probe.record().notifications(notification)):
                await probe.settled()  # it may come after the list
            if not any(probe.record().notifications(notification)):
                before, after = (", ".join(sorted(page.names)) for page in changed)
                what = f"{method} lists others than before, and {notification} did not come"
                yield fault(what, after, hint=f"before: {before}", beside=[page.result for page in changed])
            return
        if not probe.found.triggers:
            raise NotSeen(f"{method} lists the same every time: --trigger TOOL=JSON names a tool that changes it")
    for finding in (await changes(probe)).findings((method,), notification):
        yield finding
