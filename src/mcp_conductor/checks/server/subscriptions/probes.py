"""Subscriptions (2026-07-28): what a server acknowledges, and what it sends on a stream that a client has opened."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.replies import code_of
from mcp_conductor.checks.engine.subscriptions import (
    ACKNOWLEDGED,
    CHANGES,
    KINDS,
    REQUEST_SCOPED,
    allowed,
    is_same_id,
    listening,
    tag_of,
)
from mcp_conductor.checks.engine.tool_calls import callable_again, carry_out
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META, METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.report.model import Finding

SETTLE_SECONDS = 0.2  # for what is sent on other streams than the one that we wait for


def _everything(probe: Probe) -> Json:
    """A filter that asks for all there is, whether the server offers it or not."""
    uris = [resource["uri"] for resource in probe.found.resources if isinstance(resource.get("uri"), str)]
    wanted: Json = {kind: True for kind in KINDS if kind != "resourceSubscriptions"}
    return {**wanted, "resourceSubscriptions": uris[:10]} if uris else wanted


def _offered_filter(probe: Probe) -> Json:
    """A filter that asks for what the server offers."""
    everything = _everything(probe)
    offered = {kind: value for kind, value in everything.items() if probe.declares(KINDS[kind][0])}
    if not offered:
        raise NotSeen("the server declares nothing to subscribe to")
    return offered


async def _call(probe: Probe, wanted: list[Json], meta: Json | None = None) -> None:
    for params in wanted:
        await carry_out(probe, {**params, **({"_meta": meta} if meta else {})})
    await asyncio.sleep(SETTLE_SECONDS)


@probed("subs-listen-served", alone=True)
async def subscriptions_are_served(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe to what the server declares: it is not refused."""
    wanted = _offered_filter(probe)
    async with probe.listening_session() as other, listening(other, wanted) as stream:
        if stream.reply is not None and stream.reply.kind == "error":
            yield fault("subscriptions/listen is refused, though there is something to subscribe to", stream.reply.raw)


@probed("subs-ack-first", alone=True)
async def acknowledgements_come_first(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe: the first notification is the acknowledgement, with the filter that the server will keep to."""
    wanted = _offered_filter(probe)
    async with probe.listening_session() as other, listening(other, wanted) as stream:
        if stream.reply is not None and stream.reply.kind == "error":
            raise NotSeen("the subscription was refused")
        first = stream.notices[0] if stream.notices else None
        if first is None or first.method != ACKNOWLEDGED:
            yield fault("the subscription is not acknowledged first", first.raw if first else None)
        elif not isinstance(first.params.get("notifications"), dict):
            yield fault("the acknowledgement has no object notifications", first.raw)


@probed("subs-ack-subset", alone=True)
async def acknowledgements_promise_no_more_than_there_is(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for everything, and for one thing: nothing is acknowledged that was not asked for, or is not declared."""
    offered = _offered_filter(probe)
    one = dict([next(iter(offered.items()))])
    for wanted in (_everything(probe), one):
        async with probe.listening_session() as other, listening(other, wanted) as stream:
            acknowledged = stream.acknowledged()
            for kind, value in allowed(acknowledged).items():
                if kind not in wanted or (isinstance(value, list) and not _within(value, wanted[kind])):
                    yield fault(f"{kind} is acknowledged, but was not asked for", acknowledged.raw)
                elif kind not in offered:
                    yield fault(f"{kind} is acknowledged, but {KINDS[kind][0]} is not declared", acknowledged.raw)


def _within(values: list[Any], wanted: Any) -> bool:
    return isinstance(wanted, list) and all(value in wanted for value in values)


@probed("subs-id-tagged", alone=True)
async def notifications_have_the_id(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe with the ids "sub-1" and 0, and call tools: every notification has exactly that subscriptionId."""
    wanted = _offered_filter(probe)
    for identity in ("sub-1", 0):
        async with (
            probe.listening_session() as other,
            listening(other, wanted, identity) as stream,
        ):
            stream.acknowledged()
            with suppress(NotSeen):
                await _call(other, callable_again(probe))
            for message in stream.notices:
                if message.method not in REQUEST_SCOPED and not is_same_id(tag_of(message), identity):
                    tag = render(tag_of(message))
                    yield fault(f"the subscriptionId of the subscription {identity!r} is {tag}", message.raw)


@probed("subs-empty-filter", alone=True)
async def nothing_may_be_subscribed_to(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe to nothing, and call tools: the acknowledgement is empty, and nothing else comes."""
    _offered_filter(probe)
    async with probe.listening_session() as other, listening(other, {}) as stream:
        if stream.reply is not None and stream.reply.kind == "error":
            if code_of(stream.reply) == METHOD_NOT_FOUND:
                raise NotSeen("the server has no subscriptions")
            yield fault("an empty filter is refused", stream.reply.raw)
            return
        acknowledged = stream.acknowledged()
        if allowed(acknowledged):
            yield fault("nothing was asked for, but something is acknowledged", acknowledged.raw)
        with suppress(NotSeen):
            await _call(other, callable_again(probe))
        for message in stream.notices:
            if message.method in CHANGES:
                yield fault("nothing was asked for, but a notification is sent", message.raw)


@probed("subs-filter-respected", alone=True)
async def filters_are_kept_to(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe to each kind of change by itself, and call tools: no other kind comes under its id."""
    offered, wanted = _offered_filter(probe), callable_again(probe)
    seen = False
    for kind in offered:
        async with (
            probe.listening_session() as other,
            listening(other, offered, f"conductor-all-{kind}") as everything,
            listening(other, {kind: offered[kind]}, f"conductor-{kind}") as stream,
        ):
            await _call(other, wanted)
            changes = [message for message in everything.own if message.method in CHANGES]
            seen = seen or any(CHANGES[message.method] != kind for message in changes)
            for message in stream.own:
                if message.method in CHANGES and CHANGES[message.method] != kind:
                    yield fault(f"{message.method} is sent, but only {kind} was asked for", message.raw)
    if not seen:
        raise NotSeen("no tool that may be called changes anything")


async def _meanwhile(probe: Probe) -> AsyncIterator[Message]:
    """The progress and the log messages that come on a stream while tools are called: they do not belong there."""
    meta = {f"{META}logLevel": "debug", "progressToken": "conductor-progress"}
    wanted = callable_again(probe)
    async with (
        probe.listening_session() as other,
        listening(other, _offered_filter(probe)) as stream,
    ):
        stream.acknowledged()
        if probe.transport == "stdio":
            await _call(other, wanted, meta)
            found = stream.own  # all share one channel: only the tag tells
        else:
            async with probe.new_session(answers=probe.session.answers) as third:
                await _call(third, wanted, meta)
            found = stream.notices
        for message in found:
            if message.method in REQUEST_SCOPED:
                yield message


@probed("subs-no-request-scoped", alone=True)
async def streams_have_no_progress(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools that report progress and log while a subscription is open: none of it comes on its stream."""
    async for message in _meanwhile(probe):
        yield fault(f"{message.method} is sent with the id of a subscription", message.raw)


@probed("logging-modern-own-stream", needs="logging", alone=True)
async def log_messages_go_with_their_request(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools that log while a subscription is open: no log message comes on its stream."""
    async for message in _meanwhile(probe):
        if message.method == "notifications/message":
            yield fault("a log message is sent with the id of a subscription", message.raw)


@probed("subs-cancel-ends", alone=True)
async def cancelled_subscriptions_are_over(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel one of two subscriptions, and call tools: no more changes come for it."""
    if probe.transport != "stdio":
        raise NotSeen("over HTTP nothing can come on a stream that is closed")
    offered, wanted = _offered_filter(probe), callable_again(probe)
    async with (
        probe.listening_session() as other,
        listening(other, offered, "conductor-kept") as kept,
        listening(other, offered, "conductor-ended") as ended,
    ):
        await ended.end()
        await other.alive()
        before = len(ended.own)
        await _call(other, wanted)
        if not any(message.method in CHANGES for message in kept.own):
            raise NotSeen("no tool that may be called changes anything")
        for message in ended.own[before:]:
            yield fault("a message is sent for a subscription that was cancelled", message.raw)


@probed("subs-result-meta", alone=True, follows="base-method-not-found-server")
async def results_of_subscriptions_have_the_id(probe: Probe) -> AsyncIterator[Finding]:
    """Look at the result by which a server ends a subscription: its subscriptionId is that of the request."""
    async with probe.listening_session() as other, listening(other, {}) as stream:
        await asyncio.sleep(SETTLE_SECONDS)
        if stream.reply is None or stream.reply.kind != "result":
            raise NotSeen("the server ended no subscription")
        result = stream.reply.result
        meta = result.get("_meta") if isinstance(result, dict) else None
        tag = meta.get(f"{META}subscriptionId") if isinstance(meta, dict) else None
        if not is_same_id(tag, stream.id):
            yield fault("the result of a subscription does not have its subscriptionId", stream.reply.raw)
