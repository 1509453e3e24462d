"""A subscription of the modern era: a stream that a probe opens, and what has come on it."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose_in
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message

ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
# What may be asked for, the capability that offers it, and the notification that brings it.
KINDS = {
    "toolsListChanged": ("tools.listChanged", "notifications/tools/list_changed"),
    "promptsListChanged": ("prompts.listChanged", "notifications/prompts/list_changed"),
    "resourcesListChanged": ("resources.listChanged", "notifications/resources/list_changed"),
    "resourceSubscriptions": ("resources.subscribe", "notifications/resources/updated"),
}
CHANGES = {notification: kind for kind, (_, notification) in KINDS.items()}
REQUEST_SCOPED = ("notifications/progress", "notifications/message")


class Subscription:
    """A subscription: what has come for it so far."""

    def __init__(self, probe: Probe, identity: Id, ended: "asyncio.Future[Exchange]") -> None:
        self.probe = probe
        self.id = identity
        self._ended = ended

    @property
    def notices(self) -> list[Message]:
        """All notifications of the session that could be for a subscription, with any tags."""
        kinds = (ACKNOWLEDGED, *CHANGES, *REQUEST_SCOPED)
        return [message for message in self.probe.record().notifications() if message.method in kinds]

    @property
    def own(self) -> list[Message]:
        """Those that are tagged with the id of this subscription."""
        return [message for message in self.notices if is_same_id(tag_of(message), self.id)]

    @property
    def acknowledgement(self) -> Message | None:
        found = [message for message in self.notices if message.method == ACKNOWLEDGED]
        return next((message for message in found if is_same_id(tag_of(message), self.id)), found[0] if found else None)

    @property
    def reply(self) -> Message | None:
        if not self._ended.done() or self._ended.cancelled() or self._ended.exception() is not None:
            return None
        return self._ended.result().reply

    async def end(self) -> None:
        """Cancel it: by a notification, or over HTTP by closing the stream."""
        self._ended.cancel()
        await asyncio.gather(self._ended, return_exceptions=True)

    def acknowledged(self) -> Message:
        if self.acknowledgement is None:
            raise NotSeen("the subscription was not acknowledged")
        return self.acknowledgement


def tag_of(message: Message) -> Any:
    meta = message.params.get("_meta")
    return meta.get(f"{META}subscriptionId") if isinstance(meta, dict) else None


def is_same_id(tag: Any, identity: Id) -> bool:
    return type(tag) is type(identity) and tag == identity


def allowed(acknowledged: Message) -> Json:
    given = acknowledged.params.get("notifications")
    return {kind: value for kind, value in given.items() if value} if isinstance(given, dict) else {}


@asynccontextmanager
async def listening(probe: Probe, wanted: Json, name: Id | None = None) -> AsyncIterator[Subscription]:
    """A subscription in the session of PROBE, acknowledged, refused, or ignored for as long as we wait.

    Without a NAME it has an id that no other one in the session had.
    """
    session = probe.session
    identity = f"conductor-{session.next_id()}" if name is None else name
    raw = compose_in(
        session.dialect,
        "subscriptions/listen",
        {"notifications": wanted},
        identity=identity,
        client=session.client,
        capabilities=session.client_capabilities(session.dialect),
    )
    ended = asyncio.ensure_future(probe.session.exchange(raw, timeout=math.inf))
    stream = Subscription(probe, identity, ended)
    before = len(stream.notices)
    try:
        await _until(probe, ended, lambda: len(stream.notices) > before)
        yield stream
    finally:
        await stream.end()


async def _until(probe: Probe, ended: "asyncio.Future[Any]", condition: Callable[[], bool]) -> None:
    """Wait until CONDITION holds, the request has ended, or the time is over."""
    heard = asyncio.Event()
    probe.session.transcript.listener = lambda _: heard.set()
    ended.add_done_callback(lambda _: heard.set())
    try:
        async with asyncio.timeout(probe.timeout):
            while not condition() and not ended.done():
                await heard.wait()
                heard.clear()
    except TimeoutError:
        probe.trail.late.append("what was waited for")
    probe.session.transcript.listener = None
