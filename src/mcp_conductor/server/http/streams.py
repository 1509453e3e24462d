"""Event streams: what is said on each, in order, with or without a reader at the moment.

A stream outlives the connection that reads it. A client that lost its connection, or was told to resume later, goes
on where it was (basic/transports#resumability-and-redelivery).
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.server.http.exchange import EVENT_TYPE, JSON_TYPE, Headers, HttpExchange
from mcp_conductor.server.http.limits import LIMITS
from mcp_conductor.server.spoiled_reply import SpoiledReply

_MOST_EVENTS = 1000  # kept for clients that resume the stream, or have not opened it yet
_MOST_DIGITS = 18
_MOST_STREAMS = 16  # of one session, among those that have ended
_SENT_BYTES = 256 << 10  # kept of a stream after they were sent: they may be lost with the connection


class Budget:
    """Bytes that streams without a reader may keep together: beyond MAX_BYTES, the oldest stream is cleared.

    The streams of a session have a budget of their own WITHIN that of all sessions.
    """

    def __init__(self, max_bytes: int, within: "Budget | None" = None) -> None:
        self._size = 0
        self._max_bytes = max_bytes
        self._within = within
        self._sizes: dict[Stream, int] = {}

    def take(self, stream: "Stream") -> None:
        """Count STREAM, as large as it is now; it is the newest."""
        self._size += stream.size - self._sizes.pop(stream, 0)
        self._sizes[stream] = stream.size
        if self._within is not None:
            self._within.take(stream)
        while self._size > self._max_bytes:
            next(iter(self._sizes)).clear()

    def release(self, stream: "Stream") -> None:
        if stream in self._sizes:
            self._size -= self._sizes.pop(stream)
            if self._within is not None:
                self._within.release(stream)


class Stream:
    """The events of one stream.

    NAME is None where no client can resume it. A LOSSY stream may never have a reader, and keeps only the last ones.
    None keeps more than MOST bytes, but for one event that is larger: a client that reads nothing of them is cut off.
    While it has no reader, what it keeps counts in BUDGET.
    """

    def __init__(
        self,
        name: str | None,
        retry: int | None = None,
        *,
        lossy: bool = False,
        most: int = LIMITS.stream_bytes,
        budget: Budget | None = None,
    ) -> None:
        self.name = name
        self.ended = False
        self.sent = 0  # the last event that has been sent to anybody
        self.ending: Callable[[HttpExchange], None] | None = None  # how it ends, if not as it should
        self._lossy = lossy
        self._retry = retry
        self._events: deque[tuple[int, bytes]] = deque()
        self.size = 0  # of all of them
        self._budget = budget
        self._most = most
        self.stalled: HttpExchange | None = None  # whose client has not read yet what it was sent
        self.count = 0
        self.primings: set[int] = set()  # which of the events say nothing
        self._reader = 0  # who may read; an earlier reader has to stop
        self.is_read = False
        self._wake: asyncio.Future[None] | None = None

    # What the server does with it.

    def send(self, message: Json) -> None:
        self.add(compact(message).encode())

    @property
    def is_empty(self) -> bool:
        return not self.count

    def add(self, data: bytes, *, priming: bool = False, whole: bool = True, event: str = "message") -> None:
        """Say DATA; the priming event has only an id, and retry."""
        if self.ended:
            return
        if self._lossy and not self.is_read and len(self._events) >= _MOST_EVENTS:
            self._drop()
        self.count += 1
        if priming:
            self.primings.add(self.count)
        head = b"" if self.name is None else f"id: {self.name}_{self.count}\n".encode()
        if priming and self._retry is not None:
            head += f"retry: {self._retry}\n".encode()
        kind = b"" if priming else f"event: {event}\n".encode()
        text = head + kind + b"data: " + data + (b"\n\n" if whole else b"")
        self._events.append((self.count, text))
        self.size += len(text)
        if self.size > self._most:
            self._shrink()
        if self._budget is not None and not self.is_read:
            self._budget.take(self)
        self._stir()

    def _shrink(self) -> None:
        """Keep no more than we may, but for the newest event."""
        while len(self._events) > 1 and self.size > self._most:
            if self._events[0][0] > self.sent and self.is_read:
                if self.stalled is not None:
                    self.stalled.reset()
                return  # it is about to be read
            self._drop()

    def _drop(self) -> None:
        self.size -= len(self._events.popleft()[1])

    def end(self) -> None:
        self.ended = True
        self._stir()

    def hang_up(self) -> None:
        """Close the connection that reads at the moment; the stream goes on."""
        self._reader += 1
        self._leave()
        self._stir()

    def clear(self) -> None:
        """Forget all events."""
        self._events.clear()
        self.size = 0
        self._release()

    def leave_budget(self) -> None:
        """Count nowhere from now on: no client can resume this stream any more."""
        self._release()
        self._budget = None

    def _release(self) -> None:
        if self._budget is not None:
            self._budget.release(self)

    def can_resume_after(self, position: int) -> bool:
        """Tell if all events after POSITION are kept, as far as the stream keeps all."""
        return self._lossy or position == self.count or (bool(self._events) and self._events[0][0] <= position + 1)

    # What a connection does with it.

    def attach(self) -> int:
        """Read from here on, in place of the earlier reader."""
        self._reader += 1
        self.is_read = True
        self._release()
        self._stir()
        return self._reader

    def detach(self, reader: int) -> None:
        if self.reads(reader):
            self._leave()

    def _leave(self) -> None:
        self.is_read = False
        if self._budget is not None:
            self._budget.take(self)

    def reads(self, reader: int) -> bool:
        return reader == self._reader

    def after(self, position: int) -> list[tuple[int, bytes]]:
        """The events after POSITION; of those before, the last ones are kept, if the stream can be resumed."""
        news = [event for event in self._events if event[0] > position]
        sent = self.size - sum([len(text) for _, text in news])
        keep, most = (0, 0) if self.name is None else (_MOST_EVENTS, _SENT_BYTES)
        while sent and (sent > most or self._events[0][0] <= position - keep):
            sent -= len(self._events[0][1])
            self._drop()
        return news

    async def news(self, reader: int, position: int, gone: "asyncio.Future[None]") -> None:
        """Wait until there is something to send after POSITION, or no more to be read, or GONE is done."""
        if self.count > position or self.ended or not self.reads(reader):
            return
        wake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wake = wake
        try:
            await asyncio.wait({wake, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if self._wake is wake:
                self._wake = None

    def _stir(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)


class PostSender:
    """Sends what belongs to one POST."""

    def __init__(self, stream: Stream, send: Callable[[Json], None] | None = None) -> None:
        self._send = send or stream.send
        self.hang_up = stream.hang_up if send is None else None  # there must be a stream to close

    def __call__(self, message: Json) -> None:
        self._send(message)


def speak(stream: Stream, reply: Json, spoiled: SpoiledReply | None) -> None:
    """Say REPLY, with the faults of SPOILED."""
    if spoiled is None:
        stream.send(reply)
        return
    data = spoiled.garbled(compact(reply).encode())
    for _ in range(spoiled.copies if data else 0):
        stream.add(data, whole=not spoiled.truncates)
    stream.ending = ending(spoiled)


def ending(spoiled: SpoiledReply) -> Callable[[HttpExchange], None] | None:
    """What happens to the connection, or to the process, after a reply."""
    code = spoiled.exit_code
    if code is not None:
        return lambda _: spoiled.leave(code)
    return HttpExchange.cut if spoiled.close else None


async def answer(
    exchange: HttpExchange, reply: Any, *, status: int, headers: Headers = (), spoiled: SpoiledReply | None
) -> None:
    """Answer with JSON, with the faults of SPOILED."""
    body = compact(reply).encode()
    if spoiled is None:
        await exchange.reply(status, body, headers)
        return
    data, kind, end = spoiled.garbled(body) * spoiled.copies, spoiled.content_type or JSON_TYPE, ending(spoiled)
    if end is None:
        await exchange.reply(status, data, headers, kind)
        return
    if data:
        exchange.begin(headers, kind)
        exchange.tell(data)
        await exchange.write(data, more=True)
    end(exchange)


class Streams:
    """The streams of one session, found again by the ids of their events."""

    def __init__(self, *, resumable: bool, retry: int | None, budget: Budget | None) -> None:
        self._resumable = resumable
        self._retry = retry
        self._budget = budget
        self._known: OrderedDict[str, Stream] = OrderedDict()
        self._count = 0

    def open(self, *, primed: bool = False, lossy: bool = False) -> Stream:
        """Open a stream; one that is not LOSSY is about to be read."""
        self._count += 1
        name = str(self._count) if self._resumable else None
        kept = lossy or name is not None
        stream = Stream(name, self._retry, lossy=lossy, budget=self._budget if kept else None)
        stream.is_read = not lossy
        if name is not None:
            self._known[name] = stream
            self._tidy()
        if primed and self._resumable:
            stream.add(b"", priming=True)
        return stream

    def hold(self, stream: Stream) -> None:
        """End STREAM with the session, although no client can resume it."""
        self._count += 1
        self._known[str(self._count)] = stream
        self._tidy()

    def find(self, event_id: str) -> tuple[Stream, int] | None:
        """The stream that an event belongs to, and the event's place in it."""
        name, _, number = event_id.rpartition("_")
        stream = self._known.get(name)
        if stream is None or not number.isdecimal() or len(number) > _MOST_DIGITS or int(number) > stream.count:
            return None
        return (stream, int(number)) if stream.can_resume_after(int(number)) else None

    def forget(self, stream: Stream) -> None:
        if stream.name is not None:
            self._known.pop(stream.name, None)
            stream.leave_budget()

    def end(self) -> None:
        for stream in self._known.values():
            stream.end()
            stream.leave_budget()

    def _tidy(self) -> None:
        while len(self._known) > _MOST_STREAMS:
            ended = next((name for name, stream in self._known.items() if stream.ended), None)
            if ended is None:
                return
            self._known.pop(ended).leave_budget()


async def first_word(exchange: HttpExchange, stream: Stream) -> bool:
    """Wait until there is anything to say; False when the client went away first."""
    await stream.news(stream.attach(), 0, exchange.gone)
    return not exchange.gone.done()


def _until_cut(stream: Stream, events: list[tuple[int, bytes]], left: int) -> tuple[list[tuple[int, bytes]], int]:
    """Those of EVENTS that come before a cut after LEFT messages, and how many messages are left after them."""
    before: list[tuple[int, bytes]] = []
    for event in events:
        speaks = event[0] not in stream.primings
        if speaks and not left:
            break
        before.append(event)
        left -= speaks
    return before, left


def _told(exchange: HttpExchange, events: list[tuple[int, bytes]]) -> bytes:
    """The bytes of EVENTS, which cross the wire now."""
    if exchange.observe is not None:
        for _, event in events:
            head, _, data = event.partition(b"data: ")
            if b"event: message\n" in head:  # and not where to POST to, as HTTP+SSE begins
                exchange.tell(data.rstrip())
    return b"".join(event for _, event in events)


async def pump(
    exchange: HttpExchange,
    stream: Stream,
    *,
    position: int = 0,
    headers: Headers = (),
    spoiled: SpoiledReply | None = None,
) -> bool:
    """Send what is said on STREAM after POSITION until it ends; False when the client went away first."""
    reader = stream.attach()
    left = None if spoiled is None else spoiled.cut_stream
    exchange.begin(headers, (spoiled and spoiled.content_type) or EVENT_TYPE)
    try:
        while not exchange.gone.done():
            events = stream.after(position)
            if left is not None:
                before, left = _until_cut(stream, events, left)
                if not left:
                    await exchange.write(_told(exchange, before), more=True)
                    exchange.cut()
                    return True
            if events:
                position = events[-1][0]
                stream.sent = max(stream.sent, position)
            done = stream.ended or not stream.reads(reader)
            if events or done:
                stream.stalled = exchange
                await exchange.write(_told(exchange, events), more=not done or stream.ending is not None)
                stream.stalled = None
            if done:
                if not exchange.gone.done():
                    stream.after(position)  # all has been sent
                if stream.ending is not None:
                    stream.ending(exchange)
                return True
            await stream.news(reader, position, exchange.gone)
        return False
    finally:
        stream.detach(reader)
