"""Tasks of 2025-11-25: notifications of their status."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.task_shapes import task_flaw
from mcp_conductor.report.model import Finding


@judged("taskc-status-notification")
def status_notifications_are_whole(record: Record) -> Iterator[Finding]:
    """Look at every notification of a task's status: it has the whole task."""
    found = list(record.notifications("notifications/tasks/status"))
    if not found:
        raise NotSeen("no status of a task was notified")
    for message in found:
        problem = task_flaw(message.params)
        if problem is not None:
            yield fault(f"a task {problem}", message.raw)
