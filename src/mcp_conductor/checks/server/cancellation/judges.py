"""Requests that a server cancels."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import is_number
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding


def _cancellations(record: Record) -> list[Message]:
    found = list(record.notifications("notifications/cancelled"))
    if not found:
        raise NotSeen("the server cancelled nothing")
    return found


@judged("cancel-notification-shape-server")
def cancellations_name_a_request(record: Record) -> Iterator[Finding]:
    """Look at every cancellation of the server: requestId is a string or a number, reason a string if it is given."""
    for message in _cancellations(record):
        identity = message.params.get("requestId")
        if not isinstance(identity, str) and not is_number(identity):
            yield fault("requestId is neither a string nor a number", message.raw)
        if "reason" in message.params and not isinstance(message.params["reason"], str):
            yield fault("reason is not a string", message.raw)


@judged("cancel-only-own-active-server")
def the_server_cancels_its_own_requests(record: Record) -> Iterator[Finding]:
    """Look at every cancellation of the server: it names a request that the server itself made."""
    own = {message.id for message in record.questions()}
    for message in _cancellations(record):
        identity = message.params.get("requestId")
        if (isinstance(identity, str) or is_number(identity)) and identity not in own:
            yield fault(f"the server cancels {identity!r}, which is not one of its own requests", message.raw)


@judged("cancel-server-only-subscriptions")
def the_server_cancels_subscriptions_only(record: Record) -> Iterator[Finding]:
    """Look at every cancellation of the server: it names a subscriptions/listen request."""
    requests = (message for message in record.sent if message.kind == "request")
    subscriptions = {message.id for message in requests if message.method == "subscriptions/listen"}
    for message in _cancellations(record):
        identity = message.params.get("requestId")
        if not (isinstance(identity, str) or is_number(identity)) or identity not in subscriptions:
            yield fault("the server cancels something that is not a subscription", message.raw)
