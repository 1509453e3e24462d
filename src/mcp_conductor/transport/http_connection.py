"""One connection of an HTTP/1.1 client: a request goes out, its answer is handed over as it comes, then the next.

Most answers are small and come in one piece. So who asks is told within the callback of the socket that brought the
head, and finds the rest there, without a task and without a turn of the loop.
"""

import asyncio
import errno
import socket
import sys
from collections.abc import AsyncIterator, Callable
from typing import cast

from mcp_conductor.bounded.direct import DirectFuture
from mcp_conductor.bounded.turns import read_in_pieces
from mcp_conductor.transport.http_framing import Answer, Header, NotHttp

_MOST_HELD = 2**18  # bytes of a body that were not taken yet; then no more are read
# Elsewhere it has other numbers, or none.
_TCP_INFO: int | None = getattr(socket, "TCP_INFO", None) if sys.platform == "linux" else None
_TCP_ESTABLISHED = b"\x01"


class ConnectionEnded(Exception):  # noqa: N818  # that may well be in good order
    """The connection was lost, or the server closed it."""


class Connection(asyncio.Protocol):
    """One socket, and TLS on it if there is any."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport
        self.lost = asyncio.get_running_loop().create_future()
        self.requests = 0  # that it has carried
        self.on_idle_end: Callable[[Connection], object] | None = None  # told when the connection ends between requests
        self._reply: Reply | None = None

    # What the one who asks does.

    def ask(
        self,
        request: bytes,
        on_end: "Callable[[Connection], object]",
        on_head: "Callable[[Reply], object] | None" = None,
        *,
        bodiless: bool = False,
        tunnel: bool = False,
    ) -> "Reply":
        """Send REQUEST. ON_END is called when the answer was read or given up: the connection is usable or closed then.

        ON_HEAD is called once, when the head of the answer has come, or no answer will come.
        """
        self.requests += 1
        reply = self._reply = Reply(self, Answer(bodiless=bodiless, tunnel=tunnel), on_end, on_head)
        self.transport.write(request)
        return reply

    @property
    def usable(self) -> bool:
        """Whether another request may be sent here: the connection is idle, and as far as we know the server agrees."""
        return self._reply is None and not self.transport.is_closing()

    def looks_closed(self) -> bool:
        """Whether the server has closed the connection, and the loop has not told us yet."""
        if _TCP_INFO is None:
            return False
        try:
            state = self._socket().getsockopt(socket.IPPROTO_TCP, _TCP_INFO, 1)
        except OSError:
            return False
        return state != _TCP_ESTABLISHED

    def close(self) -> None:
        self.transport.close()

    def abort(self) -> None:
        self.transport.abort()

    def done(self, reply: "Reply") -> None:
        """REPLY is over: the connection goes on only if nothing of it is left in either direction."""
        if self._reply is not reply:
            return
        self._reply = None
        answer = reply.answer
        odd = not answer.lasts or answer.rest or reply.error is not None
        # What was not sent whole may have been answered already.
        if odd or not answer.ended or self.transport.get_write_buffer_size():
            self.abort()
        elif not self.transport.is_closing():
            self.transport.resume_reading()

    # What the socket says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # that of another loop may not say so
        read_in_pieces(transport)

    def data_received(self, data: bytes) -> None:
        if self._reply is None:  # nothing was asked, so it must not be taken for the next answer
            self.abort()
            return
        self._reply.take(data)

    def eof_received(self) -> None:
        if self._reply is not None:
            self._reply.end(refused=self._socket_error() == errno.EPIPE)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)
        if self._reply is not None:
            self._reply.break_off(exc)
        elif self.on_idle_end is not None:
            self.on_idle_end(self)

    def _socket(self) -> socket.socket:
        found: socket.socket = self.transport.get_extra_info("socket")
        return found

    def _socket_error(self) -> int:
        try:
            return self._socket().getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        except OSError:
            return 0


class Reply:
    """The answer to one request, which may still be on its way (`http_client.RawReply`)."""

    def __init__(
        self,
        connection: Connection,
        answer: Answer,
        on_end: Callable[[Connection], object],
        on_head: "Callable[[Reply], object] | None",
    ) -> None:
        self.answer = answer
        self.error: NotHttp | ConnectionEnded | None = None  # why no more will come
        # The server had closed the connection before it got the request, of which it has read nothing.
        self.never_read = False
        self._connection = connection
        self._on_head = on_head
        self._on_end: Callable[[Connection], object] | None = on_end
        self._taken = 0  # bytes of the body
        self._more: DirectFuture[None] | None = None  # who waits for the head, or for more of the body

    @property
    def status(self) -> int:
        return self.answer.status

    @property
    def headers(self) -> tuple[Header, ...]:
        return self.answer.headers

    def take_whole(self) -> bytes | None:
        """The body, if it has come whole; then the answer is over."""
        if not self.answer.ended:
            return None
        pieces = self.answer.body
        body = pieces.popleft() if len(pieces) == 1 else b"".join(pieces)
        pieces.clear()
        self.close()
        return body

    async def arrive(self) -> None:
        """Wait for the head, or for an error; to be cancelled closes the connection."""
        try:
            while not self.answer.status and self.error is None:
                await self._wait()
        except asyncio.CancelledError:
            self.close()
            raise

    async def aiter_stream(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises NotHttp or ConnectionEnded where it breaks off."""
        pieces = self.answer.body
        while True:
            while pieces:
                piece = pieces.popleft()
                self._taken += len(piece)
                yield piece
            if self.answer.ended:
                return
            if self.error is not None:
                raise self.error
            self._connection.transport.resume_reading()
            await self._wait()

    async def _wait(self) -> None:
        self._more = DirectFuture(asyncio.get_running_loop())
        await self._more

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        """Take no more of it; what has not come yet closes the connection."""
        on_end, self._on_end, self._on_head = self._on_end, None, None
        self._connection.done(self)
        if on_end is not None:
            on_end(self._connection)

    cancel = close

    # What the connection says.

    def take(self, data: bytes) -> None:
        try:
            self.answer.feed(data)
        except NotHttp as error:
            self.fail(error)
            return
        if self.answer.came - self._taken > _MOST_HELD or self.answer.rest:
            self._connection.transport.pause_reading()
        self._tell()

    def end(self, *, refused: bool) -> None:
        """The server has closed the connection; if it REFUSED what we sent, it had done so before."""
        self.never_read = refused and not self.answer.begun
        try:
            self.answer.end_of_connection()
        except NotHttp as error:
            self.fail(error)
        else:
            self._tell()

    def break_off(self, why: Exception | None) -> None:
        """The connection is lost."""
        self.fail(ConnectionEnded(str(why or "closed")))

    def fail(self, error: NotHttp | ConnectionEnded) -> None:
        if self.error is not None or self.answer.ended:
            return
        self.error = error
        self._connection.abort()
        self._tell()

    def _tell(self) -> None:
        """Wake who waits, if there is something to tell."""
        if not self.answer.status and self.error is None:
            return
        on_head, self._on_head = self._on_head, None
        if on_head is not None:
            on_head(self)
        elif self._more is not None:
            self._more.settle(None)
