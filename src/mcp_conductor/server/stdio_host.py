"""stdio: one message per line on stdin and stdout, both eras on one pipe.

stdout belongs to the protocol: the real one is kept here, and all other output of this process goes to stderr. At
the end of stdin every request that is under way gets its reply, then the server ends. A line has the limit of a body
over HTTP; what is longer is refused at once, and passed over up to its end.
"""

import asyncio
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Literal

from mcp_conductor import posix
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.budgets import DEFAULT
from mcp_conductor.protocol.compose import compose_error
from mcp_conductor.protocol.dialect import INVALID_REQUEST, META
from mcp_conductor.protocol.line_splitter import LineSplitter
from mcp_conductor.protocol.message import Message, compact, decode, members
from mcp_conductor.protocol.size import size_text
from mcp_conductor.server.client import Client, modern_client
from mcp_conductor.server.definitions import Refusal, unreadable
from mcp_conductor.server.reply_means import means_of
from mcp_conductor.server.server import Deliver, Server
from mcp_conductor.server.spoiled_reply import SpoiledReply

DRAIN_SECONDS = 10.0
HURRY_SECONDS = 1.0
_CHUNK = 1 << 16
_MOST_UNSENT = 8 << 20  # a client that does not read is not listened to either
_MODERN_KEYS = (f"{META}protocolVersion", f"{META}clientCapabilities")


async def serve_stdio(
    server: Server, stop: asyncio.Event, complain: Callable[[str], None], *, drain_seconds: float = DRAIN_SECONDS
) -> int:
    """Serve until stdin ends or STOP is set: the exit code. Open requests then have DRAIN_SECONDS to be answered.

    COMPLAIN is told what is wrong with the client and cannot be told by a reply alone.
    """
    source, sink = _take_streams()
    host = StdioHost(server, source, sink, complain, drain_seconds)
    return await host.run(stop)


def _take_streams() -> tuple[int, int]:
    """Our stdin and stdout, taken away from all other code in this process."""
    source, sink = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    return source, sink


class StdioHost:
    """A server behind two file descriptors."""

    def __init__(
        self, server: Server, source: int, sink: int, complain: Callable[[str], None], drain_seconds: float
    ) -> None:
        self._server = server
        self._complain = complain
        self._drain_seconds = drain_seconds
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._writer = _Writer(sink, self._pressure)
        self._client = Client(self.send)
        self._lines = LineSplitter()
        self._passing_over = False  # whether the rest of a line that was refused is still to come
        self._complained = False
        self._ended = self._loop.create_future()
        self._means = means_of(server.config.transport, handshake=True)
        self._owed: set[asyncio.Task[None]] = set()  # requests that will get a reply

    async def run(self, stop: asyncio.Event) -> int:
        stopping = asyncio.ensure_future(stop.wait())
        try:
            if self._listen():
                await asyncio.wait({self._ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not stop.is_set():
                await self._drain(stopping)
            self._server.forget(self._client)
            self._server.stop()
            sent = asyncio.ensure_future(self._writer.drain(DRAIN_SECONDS))
            await asyncio.wait({sent, stopping}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({sent}, timeout=HURRY_SECONDS)  # the client that ended us may still be reading
            sent.cancel()
        finally:
            stopping.cancel()
            self._deafen()
        return self._ended.result() if self._ended.done() else 0

    def _listen(self) -> bool:
        """Begin to read; whether there is anything to wait for."""
        try:
            self._loop.add_reader(self._source, self._read)
        except PermissionError:  # a file, or /dev/null: always ready, and nothing that a loop could watch
            while chunk := os.read(self._source, _CHUNK):
                self._take(chunk)
            self._end(0)
            return False
        return True

    def _deafen(self) -> None:
        with suppress(OSError, ValueError):
            self._loop.remove_reader(self._source)

    def _pressure(self, unsent: int) -> None:
        """Do not take more requests than the client takes replies."""
        if self._ended.done():
            return
        if unsent > _MOST_UNSENT:
            self._deafen()
        elif not unsent:
            self._loop.add_reader(self._source, self._read)

    def _read(self) -> None:
        try:
            chunk = os.read(self._source, _CHUNK)
        except BlockingIOError:  # another process reads from it, too
            return
        except OSError:
            chunk = b""
        if chunk:
            self._take(chunk)
        else:
            self._end(0)

    def _end(self, code: int) -> None:
        if not self._ended.done():
            self._ended.set_result(code)
        self._deafen()
        if rest := self._lines.rest():  # a last line without its end is a line
            self._line(rest)

    def _take(self, chunk: bytes) -> None:
        lines = self._lines.feed(chunk)
        if lines:
            self._writer.cork()
            try:
                for line in lines:
                    if self._passing_over:
                        self._passing_over = False
                    elif len(line) > DEFAULT.message_bytes:
                        self._refuse_line()
                    else:
                        self._line(line)
            finally:
                self._writer.uncork()
        if self._passing_over:
            self._lines.clear()
        elif self._lines.waiting() > DEFAULT.message_bytes:
            self._lines.clear()
            self._passing_over = True
            self._refuse_line()

    def _refuse_line(self) -> None:
        """Answer a line that is too long before its end has come."""
        limit = size_text(DEFAULT.message_bytes)
        self.send(self._without_id(Refusal(INVALID_REQUEST, f"the message is longer than {limit}")))
        if not self._complained:
            self._complained = True
            self._complain(f"warning: a line of the client is longer than {limit}, and is not read")

    async def _drain(self, stopping: "asyncio.Task[Literal[True]]") -> None:
        """No more requests or answers come; requests that are open get their replies."""
        self._client.close()
        for listener in list(self._server.listeners):
            listener.end()
        if self._owed:
            everything = asyncio.ensure_future(asyncio.wait(self._owed, timeout=self._drain_seconds))
            with self._writer.unread() as unread:
                ends: set[asyncio.Future[Any]] = {everything, stopping, unread}
                await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            everything.cancel()

    # Messages.

    def send(self, message: Json) -> None:
        self._write(compact(message).encode() + b"\n")

    def _write(self, line: bytes) -> None:
        if self._server.observe is not None:
            self._server.observe("server", line.removesuffix(b"\n").decode(errors="surrogateescape"))
        self._writer.write(line)

    def _line(self, line: bytes) -> None:
        line = line.strip()
        if line:
            if self._server.observe is not None:
                self._server.observe("client", line.decode(errors="surrogateescape"))
            self._message(decode(line), self._deliver)

    def _deliver(self, reply: Json | None) -> None:
        if reply is not None:
            self.send(reply)

    def _message(self, message: Message, deliver: Deliver) -> None:
        if message.kind == "request":
            self._request(message, deliver)
        elif message.kind == "batch" and message.raw and self._client.dialect and self._client.dialect.batches:
            self._batch(message)
        elif message.kind in ("batch", "invalid"):
            deliver(self._unreadable(message, unreadable(message, "this revision has no batches")))
        else:
            self._server.hear(message, self._client)

    def _unreadable(self, message: Message, refusal: Refusal) -> Json:
        """The reply to what is not a request. JSON-RPC wants the id null, newer revisions want none."""
        return self._without_id(refusal) if message.id is None else compose_error(message.id, refusal.error())

    def _without_id(self, refusal: Refusal) -> Json:
        dialect = self._client.dialect
        return compose_error(None, refusal.error(), named=dialect is None or dialect.null_id)

    def _request(self, message: Message, deliver: Deliver) -> None:
        spoiled = self._server.spoiled_reply(message, self._means)
        if spoiled is not None:
            deliver = self._with_faults(spoiled, deliver)
        try:
            client = self._client_of(message)
        except Refusal as refusal:
            deliver(compose_error(message.id, refusal.error()))
            return
        self._server.take(message, client, self.send, deliver, spoiled)
        task = client.running.get(message.id) if message.id is not None else None
        if task is not None and (spoiled is None or not spoiled.silent):
            self._owed.add(task)
            task.add_done_callback(self._owed.discard)

    def _client_of(self, message: Message) -> Client:
        """The one client of this pipe, or, in the modern era, the client that the request itself describes."""
        meta = message.params.get("_meta")
        modern = isinstance(meta, dict) and any(key in meta for key in _MODERN_KEYS)
        if message.method == "initialize" or not self._server.modern_versions:
            return self._client
        if modern or not self._server.handshake_versions:
            client = modern_client(message.params, self.send, self._server.modern_versions)
            client.running = self._client.running  # a cancellation names no client
            return client
        return self._client

    def _batch(self, batch: Message) -> None:
        """Answer all requests of a batch with one batch."""
        parts = list(members(batch))
        replies: list[Json] = []
        missing = sum(part.kind in ("request", "invalid") for part in parts)

        def collect(reply: Json | None) -> None:
            nonlocal missing
            missing -= 1
            if reply is not None:
                replies.append(reply)
            if not missing and replies:
                self._write(compact(replies).encode() + b"\n")

        for part in parts:
            self._message(part, collect)

    # Faults.

    def _with_faults(self, spoiled: SpoiledReply, deliver_right: Deliver) -> Deliver:
        def deliver(reply: Json | None) -> None:
            if reply is None or spoiled.silent:
                deliver_right(None)  # a batch does not wait for it
                return
            line = spoiled.garbled(compact(reply).encode())
            if not spoiled.truncates:
                line += b"\n"
            for noise in spoiled.noise:
                self._write(noise + b"\n")
            for _ in range(spoiled.copies):
                self._write(line)
            if spoiled.exit_code is not None:
                self._writer.flush()  # nothing else is drained, and no client is told
                spoiled.leave(spoiled.exit_code)
            elif spoiled.close:
                self._writer.flush()
                self._writer.close()
            deliver_right(None)

        return deliver


class _Writer:
    """stdout, without ever waiting for it."""

    def __init__(self, sink: int, pressure: Callable[[int], None]) -> None:
        self._sink = sink
        self._pressure = pressure
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()
        self._corked = False
        self._waiting = False
        self._watched = False
        self._closed = False
        self._drained: asyncio.Future[None] | None = None
        mode = os.fstat(sink).st_mode
        if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):  # a terminal would stay so for the shell as well
            posix.set_blocking(sink, blocking=False)

    def write(self, data: bytes) -> None:
        if self._closed:
            return
        self._unsent += data
        if self._waiting:
            self._pressure(len(self._unsent))
        elif not self._corked:
            self.flush()

    def cork(self) -> None:
        """What is written from here on goes out together."""
        self._corked = True

    def uncork(self) -> None:
        self._corked = False
        if self._unsent and not self._waiting:
            self.flush()

    def flush(self) -> None:
        while self._unsent and not self._closed:
            try:
                sent = os.write(self._sink, self._unsent)
            except BlockingIOError:
                self._wait()
                return
            except OSError:  # the client has stopped reading; stdin will end as well
                self.close()
                return
            del self._unsent[:sent]
        if self._waiting:
            self._waiting = False
            self._loop.remove_writer(self._sink)
            self._pressure(0)
        if self._drained is not None:
            _finish(self._drained)

    def _wait(self) -> None:
        if not self._waiting:
            self._waiting = True
            self._loop.add_writer(self._sink, self.flush)
        self._pressure(len(self._unsent))

    def close(self) -> None:
        if self._closed:
            return
        if self._waiting:
            self._loop.remove_writer(self._sink)
        if self._watched:
            self._loop.remove_reader(self._sink)
        self._closed, self._waiting, self._watched = True, False, False
        self._unsent.clear()
        os.close(self._sink)
        self._pressure(0)
        if self._drained is not None:
            _finish(self._drained)

    @contextmanager
    def unread(self) -> "Iterator[asyncio.Future[None]]":
        """What is done as soon as the other end of the pipe is closed, where the system tells: on Linux."""
        closed: asyncio.Future[None] = self._loop.create_future()
        is_pipe = not self._closed and stat.S_ISFIFO(os.fstat(self._sink).st_mode)
        if is_pipe and sys.platform == "linux":  # it is never readable, so that only an error wakes us
            self._loop.add_reader(self._sink, _finish, closed)
            self._watched = True
        try:
            yield closed
        finally:
            closed.cancel()
            if self._watched:
                self._loop.remove_reader(self._sink)
                self._watched = False

    async def drain(self, seconds: float) -> None:
        """Wait until everything is out, for a limited time."""
        if not self._unsent:
            return
        self._drained = self._loop.create_future()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._drained


def _finish(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
