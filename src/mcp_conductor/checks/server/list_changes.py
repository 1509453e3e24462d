"""Lists that are not what they were: a server that promises to tell (listChanged) has told."""

from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.check import NotSeen, fault, probed
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.server.changes import changes, lists_of_the_walk
from mcp_conductor.report.model import Finding


@probed("tools-listchanged-notification", "tools-listchanged-subscribed", needs="tools.listChanged", last=True)
async def changes_of_tools_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the tools again, after some were called: if they are others, notifications/tools/list_changed came.

    The tools are those of --trigger, or all that may be called.
    """
    async for finding in _untold(probe, "tools/list"):
        yield finding


@probed(
    "resources-listchanged-notification", "resources-listchanged-subscribed", needs="resources.listChanged", last=True
)
async def changes_of_resources_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the resources again, after tools were called: if they are others, a list_changed notification came.

    The tools are those of --trigger, or all that may be called.
    """
    async for finding in _untold(probe, "resources/list"):
        yield finding


@probed("prompts-listchanged-notification", "prompts-listchanged-subscribed", needs="prompts.listChanged", last=True)
async def changes_of_prompts_are_told(probe: Probe) -> AsyncIterator[Finding]:
    """List the prompts again, after tools were called: if they are others, a list_changed notification came.

    The tools are those of --trigger, or all that may be called.
    """
    async for finding in _untold(probe, "prompts/list"):
        yield finding


async def _untold(probe: Probe, method: str) -> AsyncIterator[Finding]:
    notification = f"notifications/{method}_changed"
    if probe.dialect.handshake:
        changed = (await lists_of_the_walk(probe)).get(method)
        if changed is not None:
            if not any(probe.record().notifications(notification)):
                await probe.settled()  # it may come after the list
            if not any(probe.record().notifications(notification)):
                before, after = (", ".join(sorted(names)) for names in changed)
                what = f"{method} lists others than before, and {notification} did not come"
                yield fault(what, after, hint=f"before: {before}")
            return
        if not probe.found.triggers:
            raise NotSeen(f"{method} lists the same every time: --trigger TOOL=JSON names a tool that changes it")
    for finding in (await changes(probe)).findings((method,), notification):
        yield finding
