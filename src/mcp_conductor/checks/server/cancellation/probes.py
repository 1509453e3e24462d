"""Requests that we cancel: what is unknown, what crosses the response, and what is at work."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from time import perf_counter

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.exploration import progress_token_of
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import is_notification
from mcp_conductor.checks.engine.timing import eventually
from mcp_conductor.checks.engine.tool_calls import calls
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.report.model import Finding
from mcp_conductor.transport import meanwhile

SLOW_SECONDS = 0.3  # a call that takes so long can be cancelled while it runs
IN_FLIGHT_SECONDS = 0.1  # what was on its way when a request was cancelled may still arrive
MOST_RACES = 30
_TOKEN = "conductor-cancelled-work"


def _require_notifications(probe: Probe) -> None:
    if not probe.dialect.handshake and probe.transport != "stdio":
        raise NotSeen("over HTTP a request is cancelled by closing its stream")


@probed(
    "cancel-unknown-ignored-server",
    alone=True,
    follows=("base-notification-no-response-server", "cancel-race-server"),
)
async def senseless_cancellations_are_ignored(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel requests that are unknown, finished or not named at all: nothing is answered, and the server goes on."""
    _require_notifications(probe)
    async with probe.odd_session() as other:
        finished = (await other.ask(other.harmless)).id
        mark = len(other.record().heard)
        for params in ({"requestId": "conductor-unknown"}, {"requestId": finished}, {}, {"requestId": {"a": 1}}):
            await other.say(compact(compose("notifications/cancelled", params)))
        if not await other.alive():
            yield fault("the server stops answering after the cancellation of unknown or finished requests")
        asked = {message.id for message in other.record().sent if message.kind == "request"}
        for message in other.record().heard[mark:]:
            stray = message.kind == "error" and message.id not in asked
            if stray and probe.transport == "stdio":
                yield fault("the cancellation of an unknown or finished request is answered", message.raw)


@probed("cancel-race-server", alone=True, spoils=True)
async def cancellation_may_cross_the_response(probe: Probe) -> AsyncIterator[Finding]:
    """Send many requests, each cancelled at once, so that responses and cancellations cross: the server goes on."""
    method = next((each for each in ("tools", "prompts", "resources") if probe.declares(each)), None)
    if method is None:
        raise NotSeen("the server declares nothing that could be cancelled")
    async with probe.odd_session() as other:
        began = perf_counter()
        await other.ask(f"{method}/list")
        usual = perf_counter() - began
        races = max(1, min(MOST_RACES, int(other.timeout / usual)))  # the server may answer one after the other
        async with AsyncExitStack() as stack:
            for _ in range(races):
                crossing = await stack.enter_async_context(meanwhile(other.ask(f"{method}/list")))
                await asyncio.sleep(0)
                crossing.cancel()
        # It need not stop what it was asked to stop: then it is busy for as long as all of them take.
        if not await other.alive(busy=races * usual):
            yield fault("the server stops answering after requests that were cancelled at once")


@probed("cancel-no-response-server", alone=True)
async def cancelled_requests_are_not_answered(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel a call that takes long: no response to it comes."""
    if probe.transport != "stdio":
        raise NotSeen("only on stdio it is certain that a late response would be seen")
    slow = [(params, each) for params, each in calls(probe) if each.seconds >= SLOW_SECONDS]
    if not slow:
        raise NotSeen("no tool takes long enough to be cancelled")
    params, usual = slow[0]
    async with probe.new_session(answers=probe.session.answers) as other:
        async with meanwhile(other.ask("tools/call", params, id="conductor-cancelled")) as running:
            await asyncio.wait({running}, timeout=SLOW_SECONDS / 3)
        # Silence can only be seen by waiting for longer than the call usually takes.
        await asyncio.sleep(usual.seconds + SLOW_SECONDS)
        for message in other.record().heard:
            if message.kind in ("result", "error") and message.id == "conductor-cancelled":
                yield fault("a cancelled request is answered", message.raw)


@probed("cancel-stops-work-server", alone=True)
async def work_that_was_cancelled_ends(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel a call after its first report of progress, where more came before: no further progress is reported."""
    if probe.transport != "stdio":
        raise NotSeen("only on stdio it is certain that further progress would be seen")
    if not probe.dialect.handshake:
        raise NotSeen("stdio-cancel-silences-server looks at everything that comes then")
    params, seconds = _reporting(probe)
    async with probe.new_session(answers=probe.session.answers) as other:
        working = other.ask("tools/call", {**params, "_meta": {"progressToken": _TOKEN}}, seconds=probe.patience)
        async with meanwhile(working) as running:
            await eventually(
                lambda: running.done() or bool(_progress(other.record(), _TOKEN)), probe.patience, probe.trail
            )
        if not _progress(other.record(), _TOKEN):
            raise NotSeen("the call reported no progress the second time")
        # It is cancelled now. Once a later request is answered, the server has read so, however busy it was.
        try:
            await other.ask(other.harmless)
        except RequestTimeout:
            raise NotSeen("the server does nothing else while the call runs") from None
        await asyncio.sleep(IN_FLIGHT_SECONDS)
        before = len(_progress(other.record(), _TOKEN))
        await asyncio.sleep(seconds)
        for message in _progress(other.record(), _TOKEN)[before:][:1]:
            yield fault("progress is reported on a request that was cancelled", message.raw)


def _reporting(probe: Probe) -> tuple[Json, float]:
    """A call that took long, and reported progress more than once; and how long it took."""
    record = probe.record()
    for params, usual in calls(probe):
        if usual.seconds >= SLOW_SECONDS and len(_progress(record, progress_token_of(params))) > 1:
            return params, usual.seconds
    raise NotSeen("no tool that may be called takes long, and reports its progress meanwhile")


def _progress(record: Record, token: str) -> list[Message]:
    return [
        each
        for each in record.heard
        if is_notification(each, "notifications/progress") and each.params.get("progressToken") == token
    ]
