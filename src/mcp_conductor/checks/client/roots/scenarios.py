"""Changes of roots: a client that declares roots.listChanged has sent the notification."""

from collections.abc import Iterator
from itertools import pairwise

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ClientConnection, ClientRecord
from mcp_conductor.checks.harness.scenario import watched
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

CHANGED = "notifications/roots/list_changed"


@watched("roots-listchanged-sent-client", scenario="questions", recorded="conversation")
def changes_of_roots_are_told(record: ClientRecord) -> Iterator[Finding]:
    """Ask for the roots twice: if they have changed, notifications/roots/list_changed came.

    The roots of a client rarely change during a check: most clients list the same roots twice.
    """
    changed = [
        (connection, after)
        for connection in record.connections
        if _promises(connection)
        for after in _others(connection)
    ]
    for connection, after in changed:
        if not connection.notifications(CHANGED):
            yield fault(f"the roots have changed, but {CHANGED} was not sent", after.raw)
    if not changed:
        raise NotSeen("the client does not declare roots.listChanged, or its roots stayed the same")


def _promises(connection: ClientConnection) -> bool:
    roots = connection.capabilities.get("roots")
    return isinstance(roots, dict) and roots.get("listChanged") is True


def _others(connection: ClientConnection) -> Iterator[Message]:
    """Answers with other roots than the answer before."""
    answers = [
        reply for _, reply in connection.asked("roots/list") if reply is not None and isinstance(reply.result, dict)
    ]
    for before, after in pairwise(answers):
        if before.result.get("roots") != after.result.get("roots"):
            yield after
