"""One connection of an HTTP/1.1 server: requests come in, and are answered one after another.

It is our own, because faults have to reach the wire itself: to cut a connection in the middle of a chunk, to say
nothing, to say it twice. And a framework would cost more than all we do.
"""

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import field
from typing import Any

from mcp_conductor.bounded.direct import DirectTask
from mcp_conductor.bounded.turns import read_in_pieces
from mcp_conductor.protocol.dialect import INVALID_REQUEST
from mcp_conductor.server.http.exchange import HttpExchange, HttpRefused
from mcp_conductor.server.http.heads import END, check_beginning, head_in, not_http
from mcp_conductor.server.http.limits import LIMITS, Limits
from mcp_conductor.transport.http_framing import ChunkedBody, NotHttp
from mcp_conductor.values import dataclass

_AT_ONCE = struct.pack("ii", 1, 0)

Serving = Coroutine[Any, Any, None]
Handler = Callable[[HttpExchange], Serving]


@dataclass(slots=True)
class Connections:
    """All connections of one listening socket."""

    handle: Handler
    limits: Limits = LIMITS
    direct: bool = False  # whether handling a request needs no task (`DirectTask`)
    live: set["Connection"] = field(default_factory=set)
    refused: set["Connection"] = field(default_factory=set)  # those of them that were too many
    held: int = 0  # bytes of bodies that wait for their answers

    def make_room(self, newest: "Connection") -> bool:
        """Close the connection that has sent no whole head for the longest time; False if all of them have."""
        idle = [each for each in self.live - self.refused if each is not newest and each.idle_since is not None]
        if idle:
            oldest = min(idle, key=lambda each: each.idle_since or 0.0)
            self.live.discard(oldest)
            oldest.close()
        return bool(idle)


class Connection(asyncio.Protocol):
    """What a client says on one socket, and what it is told there."""

    def __init__(self, every: Connections) -> None:
        self._every = every
        self._limits = every.limits
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.idle_since: float | None = self._loop.time()  # None while a request is answered
        self._transport: asyncio.Transport
        self._ends = False  # after the answer
        self._deaf = False  # what comes in is thrown away
        self._lingers_since: float | None = None
        self._full: asyncio.Future[None] | None = None  # the client does not read as fast as we write
        self._unread = (0, 0.0)  # how much the client had not read, and since when it is not less
        self._answering: HttpExchange | None = None
        self._task: DirectTask | None = None  # that does so
        self._waiting: deque[HttpExchange] = deque()
        self._read: HttpExchange | None = None  # the request whose body comes in
        self._read_mark = (0, 0.0)  # how much of it had come, and when
        self._length = 0  # of that body, if it is exact
        self._pieces: deque[bytes] = deque()  # of that body, if it comes in chunks
        self._chunks: ChunkedBody | None = None
        self._framing = 0  # bytes around the chunks
        self._head = bytearray()  # that is not complete yet
        self._head_since: float | None = None
        self._is_last = False  # the client says that no other request follows

    def stop(self) -> None:
        """Take no more requests."""
        self._ends = True
        if self.idle_since is not None:
            self.close()

    def abort(self) -> None:
        self._transport.abort()

    def look_after(self, now: float) -> None:
        """End what has taken too long by NOW."""
        limits = self._limits
        unread = self._transport.get_write_buffer_size()
        if not unread or unread < self._unread[0] or not self._unread[0]:
            self._unread = (unread, now)
        elif now - self._unread[1] > limits.unread_seconds:
            self.reset()
            return
        if self._lingers_since is not None:
            if now - self._lingers_since > limits.linger_seconds:
                self.abort()
        elif self._head_since is not None and not self._is_busy():
            if now - self._head_since > limits.head_seconds:
                self._break_off(408, f"the head of the request took longer than {limits.head_seconds:g} s")
        elif self._read is not None and not self._is_busy():
            if self._read.size >= self._read_mark[0] + limits.body_progress:
                self._read_mark = (self._read.size, now)
            elif now - self._read_mark[1] > limits.body_seconds:
                self._break_off(408, f"the body made no progress for {limits.body_seconds:g} s")
        elif self.idle_since is not None and now - self.idle_since > limits.idle_seconds:
            self.close()

    def _is_busy(self) -> bool:
        """Whether it is we who do not read."""
        if self._transport.is_reading():
            return False
        now = self._loop.time()
        self._read_mark = (self._read_mark[0], now)
        self._head_since = None if self._head_since is None else now
        return True

    # What the socket says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # it listens on streams
        self._transport = transport
        read_in_pieces(transport)
        every, most = self._every, self._limits.connections
        every.live.add(self)
        if len(every.live) - len(every.refused) <= most or every.make_room(self):
            return
        every.refused.add(self)
        if len(every.refused) > most:  # those that are told why take their time
            self.abort()
        else:
            self._break_off(503, f"there are {most} connections already")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._every.live.discard(self)
        self._every.refused.discard(self)
        for exchange in (*self._waiting, *([self._read] if self._read is not None else [])):
            self._every.held -= exchange.let_go()
        self.gone.set_result(None)
        self.resume_writing()
        if self._answering is not None and self._answering.ends_with_client:
            self.cancel()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        before = self._read
        try:
            self._parse(data)
        except HttpRefused as refused:
            self._break_off(refused.status, refused.problem)
        # Most requests come in one piece: then no clock is needed.
        if not self._head:
            self._head_since = None
        elif self._head_since is None:
            self._head_since = self._loop.time()
        if self._read is not None and self._read is not before:
            self._read_mark = (self._read.size, self._loop.time())
        if self._waiting:
            self._go_on()
            if self._waiting and self._is_laden():
                self._transport.pause_reading()

    def _is_laden(self) -> bool:
        """Whether enough has come in for now."""
        waiting = self._waiting
        if len(waiting) < 2:
            return False
        return len(waiting) >= self._limits.waiting or sum(each.size for each in waiting) > self._limits.body_bytes

    def pause_writing(self) -> None:
        self._full = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._full is not None and not self._full.done():
            self._full.set_result(None)
        self._full = None

    # What an exchange does with it.

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing() and self._lingers_since is None:
            self._transport.write(data)

    async def drained(self) -> None:
        if self._full is not None:
            await self._full

    def close(self) -> None:
        self._transport.close()

    def cancel(self) -> None:
        """End what is being answered."""
        if self._task is not None:
            self._task.cancel()

    def reset(self) -> None:
        """Let go of a client that does not read; otherwise the system would keep for it what we have written."""
        self._transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.abort()

    # What a client sends.

    def _parse(self, data: bytes) -> None:
        place = 0
        while place < len(data) and not self._deaf:
            place = self._take_head(data, place) if self._read is None else self._take_body(self._read, data, place)

    def _take_head(self, data: bytes, place: int) -> int:
        """Take the rest of a head, which begins at PLACE: where it ends, or what has come of it."""
        if self._is_last:
            if data[place:].strip(b"\r\n"):
                raise not_http("something comes after the last request")
            return len(data)
        head, before, limit = self._head, len(self._head), self._limits.head_bytes
        if not before:  # most heads come in one piece, which need not be kept
            found = data.find(END, place + len(b"\r\n"), place + limit)
            if found >= 0:
                self._begin(data[place : found + len(END)])
                return found + len(END)
        head += data[place : place + limit - before]
        found = head.find(END, max(before - len(END) + 1, len(b"\r\n")))
        if found < 0:
            check_beginning(head, before, self._limits.target_bytes)
            if len(head) >= limit:
                raise HttpRefused(431, f"the head of the request is longer than {limit} bytes")
            return len(data)
        whole = bytes(head[: found + len(END)])
        head.clear()
        self._begin(whole)
        return place + len(whole) - before

    def _begin(self, data: bytes) -> None:
        """A request begins, with the head DATA."""
        head = head_in(data, self._limits.target_bytes)
        lasting = head.lasts and not self._ends
        read = self._read = HttpExchange(head.method, head.path, head.query, head.headers, self, lasting=lasting)
        read.target, read.chunked, read.exact = head.target, head.knows_chunks, not head.chunked
        self._is_last = not head.lasts
        self._length, self._framing = head.length, 0
        self._chunks = ChunkedBody(self._pieces, strict=True) if head.chunked else None
        self._waiting.append(read)
        self.idle_since = None
        if head.length > self._limits.body_bytes:
            raise HttpRefused(413, f"the body is larger than {self._limits.body_bytes} bytes")
        if head.method == "CONNECT":  # what follows is for another protocol
            self._ends = self._deaf = True
        if self._deaf or not (head.length or head.chunked):
            self._end(read)

    def _take_body(self, read: HttpExchange, data: bytes, place: int) -> int:
        """Take what DATA has of the body, beginning at PLACE: where that ends."""
        if self._chunks is None:
            part = data[place : place + self._length - read.size]
            self._feed(read, part)
            if read.size == self._length:
                self._end(read)
            return place + len(part)
        before = self._chunks.came
        try:
            rest = self._chunks.feed(data[place:])
        except NotHttp as error:
            raise not_http(str(error)) from error
        end = len(data) - len(rest)
        self._framing += end - place - (self._chunks.came - before)
        while self._pieces:
            self._feed(read, self._pieces.popleft())
        limits = self._limits
        if self._framing > limits.framing_bytes + limits.framing_ratio * read.size:
            raise HttpRefused(400, "chunk sizes, extensions or trailers around the body are too long")
        if self._chunks.ended:
            self._end(read)
        return end

    def _feed(self, read: HttpExchange, part: bytes) -> None:
        self._every.held += read.feed(part)
        if read.size > self._limits.body_bytes:
            raise HttpRefused(413, f"the body is larger than {self._limits.body_bytes} bytes")
        if self._every.held > self._limits.held_bytes:
            raise HttpRefused(503, "too much is being sent here at once")

    def _end(self, read: HttpExchange) -> None:
        read.feed_end()
        self._read = None

    # One after another.

    def _go_on(self) -> None:
        """Answer what has come in.

        Most requests need no wait, and are then answered at once: without a task, and without a turn of the loop.
        """
        while self._answering is None and self._waiting and not self._transport.is_closing():
            self._answering = self._waiting.popleft()
            serving = self._serve(self._answering, self._every.handle)
            self._task = DirectTask(self._loop, serving, self._go_on, direct=self._every.direct)
            self._task.start()
        if not self._ends and not (self._waiting and self._is_laden()):
            self._transport.resume_reading()
        if self._answering is None and self.idle_since is None:
            self.idle_since = self._loop.time()

    async def _serve(self, exchange: HttpExchange, handle: Handler) -> None:
        try:
            await handle(exchange)
        finally:
            self._answering = None
            self._every.held -= exchange.let_go()
            if self._ends or not (exchange.answered and exchange.lasting):
                self._part()

    def _part(self) -> None:
        """Close the connection; a client that still sends must not lose the answer by that."""
        if self._transport.is_closing() or (self._read is None and not self._deaf):
            self.close()
        elif self._lingers_since is None:
            self._deaf = True
            self._lingers_since = self._loop.time()
            self._transport.write_eof()
            self._transport.resume_reading()

    def _break_off(self, status: int, problem: str) -> None:
        """Tell the client what is wrong with what it sends, and hear no more of it."""
        if self._deaf:
            return
        self._ends = self._deaf = True
        self._head.clear()
        self._head_since = None
        self._transport.pause_reading()
        if self._read is not None:
            if not self._read.give_up(status, problem):
                self.close()  # it has been answered already, or half of it
        elif self._answering is None and not self._waiting:
            self._answering = HttpExchange("GET", "", b"", {}, self, lasting=False)
            refusal = self._answering.refuse(status, INVALID_REQUEST, problem)
            self._task = DirectTask(self._loop, self._serve(self._answering, lambda _: refusal), self._go_on)
            self._loop.call_soon(self._task.start)
