"""Subscriptions: to one resource, in every revision; in 2026-07-28 they are requests that stay open as long as the
server tells of changes.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from types import TracebackType
from typing import Any, NamedTuple, Self
from weakref import WeakSet, ref

from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.views import ResourceUpdate


class Stream(NamedTuple):
    """A subscription of 2026-07-28 that the server has acknowledged; END comes when it is over."""

    identity: Id
    acknowledged: Message
    end: "asyncio.Task[Exchange]"


class Subscription:
    """A subscription to one resource. `await` it to subscribe; iterate over it to hear of each update:

    `async for update in session.subscribe(uri)`. The iteration ends when the subscription does, and raises
    ConnectionLost if the server goes away. Leaving it as a context manager ends the subscription.
    """

    def __init__(
        self,
        uri: str,
        *,
        begin: "Callable[[Subscription], Awaitable[None]]",
        end: "Callable[[Subscription], Awaitable[None]]",
        most_bytes: int,  # of updates that wait to be heard
    ) -> None:
        self.uri = uri
        self.stream: Stream | None = None  # that brings its updates, in 2026-07-28
        self._begin = begin
        self._end = end
        self._most_bytes = most_bytes
        self._begun = False
        self._waiting: deque[tuple[ResourceUpdate, int]] = deque()
        self._bytes = 0
        self._over = False
        self._error: ConductorError | None = None
        self._changed = asyncio.Event()

    def __await__(self) -> Generator[Any, None, Self]:
        return self._open().__await__()

    async def _open(self) -> Self:
        if not self._begun:
            self._begun = True
            try:
                await self._begin(self)
            except BaseException:
                self._begun = False
                raise
        return self

    # No generator: that would be over for good when the wait for one update is cancelled, as by a time-out.

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ResourceUpdate:
        await self._open()
        while not self._waiting:
            if self._error is not None:
                raise self._error
            if self._over:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        update, size = self._waiting.popleft()
        self._bytes -= size
        return update

    async def __aenter__(self) -> Self:
        return await self._open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """End the subscription, unless another one to the same resource goes on."""
        if self._begun and not self._over:
            self.over()
            await self._end(self)

    def over(self, error: ConductorError | None = None) -> None:
        """No update will come any more; ERROR says why, if it was lost."""
        if not self._over:
            self._over, self._error = True, error
            self._changed.set()

    def hears(self, update: Message) -> bool:
        """Whether UPDATE is for it: of its own resource, or of a part of that, and on its own stream."""
        identity = _stream_of(update)
        if self.stream is not None and identity is not None and identity != self.stream.identity:
            return False
        uri = update.params.get("uri")
        return isinstance(uri, str) and (uri == self.uri or uri.startswith(self.uri.rstrip("/") + "/"))

    def heard(self, message: Message) -> bool:
        """Take an update; whether there was room for it."""
        size = len(message.text)
        if self._bytes + size > self._most_bytes:
            return False
        self._bytes += size
        self._waiting.append((ResourceUpdate(message.params), size))
        self._changed.set()
        return True


class Subscriptions:
    """The subscriptions of one session."""

    def __init__(self) -> None:
        self._acknowledgements: dict[Id, asyncio.Future[Message]] = {}
        self._ends: list[asyncio.Task[Exchange]] = []
        self._streams: dict[str, list[Stream]] = {}  # by URI
        # Weakly: one that is not iterated over, and that the program has dropped, needs no updates.
        self._open: WeakSet[Subscription] = WeakSet()
        self._full = False  # whether a note already says that updates were left out

    async def acknowledgement(self, identity: Id, end: "asyncio.Task[Exchange]", seconds: float) -> Message | None:
        """The acknowledgement of the subscription that END waits for; None if it does not come in time."""
        self._ends.append(end)
        acknowledged: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._acknowledgements[identity] = acknowledged
        both: list[asyncio.Future[Any]] = [acknowledged, end]
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return acknowledged.result() if acknowledged.done() else None

    def heard(self, acknowledgement: Message) -> None:
        identity = _stream_of(acknowledgement)
        acknowledged = None if identity is None else self._acknowledgements.pop(identity, None)
        if acknowledged is not None and not acknowledged.done():
            acknowledged.set_result(acknowledgement)

    def add(self, subscription: Subscription) -> None:
        self._open.add(subscription)

    def hold(self, subscription: Subscription, stream: Stream) -> None:
        """STREAM brings the updates of SUBSCRIPTION, until that is over."""
        subscription.stream = stream
        self._streams.setdefault(subscription.uri, []).append(stream)
        lives = ref(subscription)
        stream.end.add_done_callback(lambda ended: _on_stream_ended(lives(), ended))

    def updated(self, message: Message, note: Callable[[str], None]) -> None:
        """A resource has changed: those who iterate over its updates get this one."""
        for subscription in [each for each in self._open if each.hears(message)]:
            if not subscription.heard(message) and not self._full:
                self._full = True
                note(f"updates of {subscription.uri} come faster than they are heard: some are left out")

    async def end_one(self, subscription: Subscription) -> bool:
        """SUBSCRIPTION is over: whether the server has to be told, since it was the last one to its resource."""
        self._open.discard(subscription)
        if subscription.stream is None:
            return not any(each.uri == subscription.uri for each in self._open)
        self._streams[subscription.uri].remove(subscription.stream)
        await _ended([subscription.stream])
        return False

    async def end_all(self, uri: str) -> None:
        """URI is unsubscribed: nothing more is heard of it."""
        for subscription in [each for each in self._open if each.uri == uri]:
            self._open.discard(subscription)
            subscription.over()
        await _ended(self._streams.pop(uri, []))

    def lost(self, error: ConductorError | None) -> None:
        """The conversation has ended, by ERROR or by us."""
        for subscription in list(self._open):
            subscription.over(error)

    def close(self) -> None:
        for end in self._ends:
            end.cancel()
        self.lost(None)


def _stream_of(message: Message) -> int | None:
    """The id of the request on whose stream a notification comes, as it says itself."""
    meta = message.params.get("_meta")
    identity = meta.get(f"{META}subscriptionId") if isinstance(meta, dict) else None
    return identity if isinstance(identity, int) else None


def _on_stream_ended(subscription: Subscription | None, ended: "asyncio.Task[Exchange]") -> None:
    if subscription is not None and not ended.cancelled():
        error = ended.exception()
        subscription.over(error if isinstance(error, ConductorError) else None)


async def _ended(streams: list[Stream]) -> None:
    """End STREAMS; the server has been told when this returns."""
    for stream in streams:
        stream.end.cancel()
    if streams:
        await asyncio.wait([stream.end for stream in streams])
