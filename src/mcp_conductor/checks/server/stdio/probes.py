"""stdio, tried: messages in pieces, and requests that are cancelled."""

import asyncio
from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.timing import eventually
from mcp_conductor.errors import ConductorError, RequestTimeout
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding
from mcp_conductor.transport import meanwhile

LONG_LINE = 2**20
SLOW_SECONDS = 0.2  # a call that takes longer can be cancelled on its way
IN_FLIGHT_SECONDS = 0.1  # what was on its way when a request was cancelled may still arrive


@probed("stdio-fragmented-input-server", alone=True)
async def lines_may_come_in_any_pieces(probe: Probe) -> AsyncIterator[Finding]:
    """Write two requests at once, and one of a mebibyte, which comes in many pieces: all are answered."""
    method = "ping" if probe.dialect.handshake else "server/discover"
    async with probe.odd_session() as other:
        two = [_request(other, method, identity) for identity in ("conductor-a", "conductor-b")]
        other.write("\n".join(two))
        await other.ask(method)
        if not await eventually(lambda: _heard_both(other), other.timeout, other.trail):
            yield fault("two requests that are written at once are not both answered", two)
    async with probe.odd_session() as other:
        if not await _answers_long_line(other, method):
            yield fault(f"a request of {LONG_LINE} bytes is not answered")


def _request(probe: Probe, method: str, identity: str) -> str:
    context = probe.dialect.context(probe.session.client, {})
    params = probe.dialect.stamp(None, context)
    return compact(compose(method, params, identity=identity))


def _heard_both(probe: Probe) -> bool:
    return {"conductor-a", "conductor-b"} <= {message.id for message in probe.record().heard}


async def _answers_long_line(probe: Probe, method: str) -> bool:
    try:
        await probe.ask(method, {"_meta": {"example.com/padding": "x" * LONG_LINE}}, seconds=probe.patience)
    except ConductorError:
        return False
    return True


@probed("stdio-cancel-silences-server", alone=True)
async def cancelled_requests_are_silent(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel a tool call that took some time before: neither an answer nor progress comes for it."""
    is_slow = next(
        (
            each
            for each in probe.record().exchanges
            if each.request.method == "tools/call" and each.seconds > SLOW_SECONDS
        ),
        None,
    )
    if is_slow is None or is_slow.reply is None:
        raise NotSeen("no tool that may be called takes long enough to be cancelled")
    token = "conductor-cancelled"
    params = {**is_slow.request.params, "_meta": {**is_slow.request.params.get("_meta", {}), "progressToken": token}}
    async with probe.new_session() as other:
        async with meanwhile(other.ask("tools/call", params, id=token)):
            await asyncio.sleep(SLOW_SECONDS / 4)
        # It is cancelled now, and the session has told the server so.
        # Once a later request is answered, the server has read the cancellation, however busy it was.
        try:
            await other.ask("server/discover")
        except RequestTimeout:
            raise NotSeen("the server does nothing else while the call runs") from None
        await asyncio.sleep(IN_FLIGHT_SECONDS)
        before = len(other.record().heard)
        await asyncio.sleep(min(is_slow.seconds * 1.5, probe.timeout))
        for message in other.record().heard[before:]:
            if message.id == token or (message.kind == "notification" and message.params.get("progressToken") == token):
                yield fault("a message is sent for a request that was cancelled", message.raw)
