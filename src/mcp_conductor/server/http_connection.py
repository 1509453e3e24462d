"""One connection of an HTTP/1.1 server: requests come in, and are answered one after another.

The parser is a library's. What stands around it is ours, because faults have to reach the wire itself: to cut a
connection in the middle of a chunk, to say nothing, to say it twice. And a framework would cost more than all we do.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from types import coroutine
from typing import Any
from urllib.parse import unquote

import httptools

from mcp_conductor.protocol.dialect import INVALID_REQUEST
from mcp_conductor.server.http_exchange import Exchange

_LARGEST_HEAD = 64 << 10
_MOST_WAITING = 16  # requests that a client may send before it has its answers

Serving = Coroutine[Any, Any, None]
Handler = Callable[[Exchange], Serving]


class Connection(asyncio.Protocol):
    """What a client says on one socket, and what it is told there."""

    def __init__(self, handle: Handler, live: set["Connection"]) -> None:
        self._handle = handle
        self._live = live
        self._loop = asyncio.get_running_loop()
        self.gone: asyncio.Future[None] = self._loop.create_future()
        self.idle_since: float | None = self._loop.time()  # None while a request is answered
        self._transport: asyncio.Transport
        self._parser = httptools.HttpRequestParser(self)
        self._ends = False  # after the answer
        self._full: asyncio.Future[None] | None = None  # the client does not read as fast as we write
        self._answering: Exchange | None = None
        self._task: asyncio.Task[None] | None = None  # that does so; the loop itself does not hold it
        self._waiting: deque[Exchange] = deque()
        self._read: Exchange | None = None  # the request whose body comes in
        self._target = b""
        self._headers: dict[str, list[str]] = {}
        self._head_size = 0  # of a head that is not complete yet

    def stop(self) -> None:
        """Take no more requests."""
        self._ends = True
        if self.idle_since is not None:
            self.close()

    def abort(self) -> None:
        self._transport.abort()

    # What the socket says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # it listens on streams
        self._transport = transport
        self._live.add(self)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._live.discard(self)
        self.gone.set_result(None)
        self.resume_writing()

    def data_received(self, data: bytes) -> None:
        if self._read is None:
            self._head_size += len(data)
        try:
            self._parse(data)
        except httptools.HttpParserError as error:
            self._break_off(400, f"this is not HTTP/1.1: {error}")
        if self._head_size > _LARGEST_HEAD:
            self._break_off(431, f"the head of the request is longer than {_LARGEST_HEAD} bytes")
        if self._waiting:
            self._go_on()
        if len(self._waiting) >= _MOST_WAITING:
            self._transport.pause_reading()

    def pause_writing(self) -> None:
        self._full = self._loop.create_future()

    def resume_writing(self) -> None:
        if self._full is not None and not self._full.done():
            self._full.set_result(None)
        self._full = None

    # What an exchange does with it.

    def write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    async def drained(self) -> None:
        if self._full is not None:
            await self._full

    def close(self) -> None:
        self._transport.close()

    # What the parser says.

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            if "upgrade" in self._headers:
                self._decline(data[upgrade.args[0] :])
            else:
                self._ends = True  # CONNECT: what follows is for somebody else

    def _decline(self, rest: bytes) -> None:
        """Answer whoever offers another protocol in this one.

        The parser thinks that the offer has been taken, and has passed the body over: it is told the same once more,
        without the offer.
        """
        head = [
            self._parser.get_method(),
            b" ",
            self._target,
            b" HTTP/%b\r\n" % self._parser.get_http_version().encode(),
        ]
        for name, values in self._headers.items():
            head += [f"{name}: {value}\r\n".encode("latin-1") for value in values if name != "upgrade"]
        self._parser = httptools.HttpRequestParser(self)
        self._parse(b"".join([*head, b"\r\n", rest]))

    def on_message_begin(self) -> None:
        self._target = b""
        self._headers = {}

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        self._head_size = 0
        parser = self._parser
        if parser.should_upgrade() and "upgrade" in self._headers:
            return
        path, query = _parts(self._target)
        method = parser.get_method().decode("latin-1")
        old = parser.get_http_version() == "1.0"
        lasting = parser.should_keep_alive() and not old and not self._ends
        exchange = Exchange(method, path, query, self._headers, self, lasting=lasting)
        exchange.chunked = not old
        self._read = exchange
        self._headers = {}  # trailers are not headers
        self._waiting.append(exchange)
        self.idle_since = None

    def on_body(self, body: bytes) -> None:
        if self._read is not None:
            self._read.feed(body)

    def on_message_complete(self) -> None:
        if self._read is not None:
            self._read.feed_end()
            self._read = None

    # One after another.

    def _go_on(self) -> None:
        """Answer what has come in.

        Most requests need no wait, and are then answered at once: without a task, and without a turn of the loop.
        """
        while self._answering is None and self._waiting and not self._transport.is_closing():
            self._answering = self._waiting.popleft()
            serving = self._serve(self._answering, self._handle)
            try:
                waited = serving.send(None)
            except StopIteration:
                continue
            self._task = self._loop.create_task(self._finish(serving, waited))
        if len(self._waiting) < _MOST_WAITING and not self._ends:
            self._transport.resume_reading()
        if self._answering is None and self.idle_since is None:
            self.idle_since = self._loop.time()

    async def _finish(self, serving: Serving, waited: Any) -> None:
        await _rest(serving, waited)
        self._go_on()

    async def _serve(self, exchange: Exchange, handle: Handler) -> None:
        try:
            await handle(exchange)
        finally:
            self._answering = None
            if self._ends or not (exchange.answered and exchange.lasting):
                self.close()

    def _break_off(self, status: int, problem: str) -> None:
        """Tell the client what is wrong with what it sends, and hear no more of it."""
        self._ends = True
        self._head_size = 0
        self._transport.pause_reading()
        if self._read is not None:
            self.close()  # somebody waits for the rest of it
        elif self._answering is None and not self._waiting:
            self._answering = Exchange("GET", "", b"", {}, self, lasting=False)
            refusal = self._answering.refuse(status, INVALID_REQUEST, problem)
            self._task = self._loop.create_task(self._serve(self._answering, lambda _: refusal))


@coroutine
def _rest(serving: Serving, waited: Any) -> Generator[Any, Any, None]:
    """The rest of a coroutine that was begun by hand, and waits for WAITED."""
    while True:
        problem: BaseException | None = None
        try:
            yield waited
        except BaseException as error:  # noqa: BLE001  # whatever it is, it is meant for the coroutine
            problem = error
        try:
            waited = serving.send(None) if problem is None else serving.throw(problem)
        except StopIteration:
            return


def _parts(target: bytes) -> tuple[str, bytes]:
    """The path, without its escapes, and the query."""
    if not target.startswith(b"/"):  # all of a URL, as proxies are asked
        try:
            url = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError:
            return target.decode("latin-1"), b""
        return unquote((url.path or b"/").decode("latin-1")), url.query or b""
    path, _, query = target.partition(b"?")
    return unquote(path.decode("latin-1")), query
