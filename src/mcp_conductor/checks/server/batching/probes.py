"""Batches: arrays of messages, which only one revision has."""

from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import http_session
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding

_NOTICE = compose("notifications/conductor-unknown", {})
_IDS = ("conductor-batch-a", "conductor-batch-b")


@probed("batch-receive-server", alone=True)
async def batches_are_answered(probe: Probe) -> AsyncIterator[Finding]:
    """Send two pings and a cancellation as one array: both pings are answered, singly or as an array."""
    batch = [compose("ping", identity=each) for each in _IDS]
    # It may be ignored, and every server knows it: what stops at an unknown notification does so without a batch, too.
    notice = compose("notifications/cancelled", {"requestId": "conductor-unknown"})
    async with probe.new_session() as other:
        if other.session.opened.get("protocolVersion") != probe.dialect.version:
            raise NotSeen("a new session speaks another revision")
        reply = await other.say(compact([batch[0], notice, batch[1]]))
        missing = _unanswered_ids(other.record())
        if missing and reply is not None:
            await other.alive()  # a round trip, in which a second answer can come
            missing = _unanswered_ids(other.record())
        if missing:
            what = f"of the requests in a batch, {len(missing)} of {len(batch)} are not answered"
            yield fault(what, batch if reply is None else reply.raw)


def _unanswered_ids(record: Record) -> set[str]:
    return set(_IDS) - {str(message.id) for message in record.heard if message.kind in ("result", "error")}


@probed("batch-notifications-only-202", alone=True, follows="http-notification-202")
async def batches_of_notifications_are_accepted(probe: Probe) -> AsyncIterator[Finding]:
    """POST an array of two notifications: the status is 202, and there is no body."""
    async with http_session(probe) as http:
        answer = await http.post([_NOTICE, _NOTICE])
    if answer.status != 202:
        yield fault(f"a batch of notifications is answered with {answer.status}, not 202", answer.shown())
    elif answer.text.strip():
        yield fault("a batch of notifications is answered with a body", answer.shown())
