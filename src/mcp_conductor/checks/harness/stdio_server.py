"""The scripted server on stdio: what relays bring from the client, and what goes back through them."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from mcp_conductor.checks.harness.client_record import ClientRecord, Ending, Line
from mcp_conductor.checks.harness.scripted_server import Call, Departure, Script, Voice
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.message import Message, build, compact, decode, members
from mcp_conductor.transport.stdio import Lines

_LONGEST_LINE = 16 << 20
_MOST_FRAMES = 5_000
_MOST_BYTES = 32 << 20  # of memory for them
_MOST_CONNECTIONS = 100
_DIED = 3  # the exit code of a server that goes away


class Open:
    """What both hosts know: the questions that wait for an answer, the calls that are worked on, and the clock."""

    def __init__(self, record: ClientRecord, script: Script) -> None:
        self.record = record
        self.script = script
        self.over = False  # whatever the client does from now on, we made it do
        self.stirred = 0.0  # when something was last said, by either side
        self.enough = asyncio.Event()  # the client says more than anybody can want to hear
        self._frames = 0
        self._bytes = 0
        self._connections = 0
        self._began = asyncio.get_running_loop().time()
        self._waiting: dict[Id, asyncio.Future[Message]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def now(self) -> float:
        self.stirred = asyncio.get_running_loop().time()
        return self.stirred - self._began

    def note(self, line: Line, source: Any, text: str) -> None:
        if self.over:
            return
        line.transcript.add(self.now(), source, text)
        self.count(text.__sizeof__())

    def count(self, size: int, *, connections: int = 0) -> None:
        """Count what the client says, on all its connections together: it may be too much."""
        self._frames += 1
        self._bytes += size
        self._connections += connections
        if self._frames > _MOST_FRAMES or self._bytes > _MOST_BYTES or self._connections > _MOST_CONNECTIONS:
            self.too_much()

    def too_much(self) -> None:
        """Hear no more of this client."""
        self.over = True
        self.enough.set()

    def take(self, line: Line, message: Message, voice: Voice | None = None) -> None:
        """Take a notification, or an answer to a question of ours; VOICE is how we can say something at once."""
        if message.kind == "notification":
            self.script.heard(line, message)
            ready = message.method == "notifications/initialized"
            if ready and voice is not None and self.script.finds_client_idle:
                self.begin(self.script.ask_idle(Call(self.record, message, line, voice)))
        elif message.kind != "request" and message.id in self._waiting:
            future = self._waiting.pop(message.id)
            if not future.done():
                future.set_result(message)

    async def answer_to(self, identity: Id, seconds: float) -> Message | None:
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[identity] = future
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            return None
        finally:
            self._waiting.pop(identity, None)

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def stop(self) -> None:
        self.over = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class RelayHost:
    """Everything that comes in through relays."""

    def __init__(self, opened: Open, token: str) -> None:
        self._open = opened
        self._token = token
        self._processes: list[_Process] = []
        self.all_ended = asyncio.Event()
        self.all_ended.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk through one relay until the client is done with it."""
        process = _Process(self._open, writer)
        try:
            kind, data = await _frame(reader)
            if kind != b"h" or data.decode(errors="replace") != self._token or self._open.over:
                return
            self._open.record.lines.append(process.line)
            self._open.count(0, connections=1)
            self._processes.append(process)
            self.all_ended.clear()
            await process.listen(reader)
        except (asyncio.IncompleteReadError, OSError):
            process.ended("cut")
        finally:
            process.close()
            if all(each.is_over for each in self._processes):
                self.all_ended.set()

    def close(self) -> None:
        for process in self._processes:
            process.close()


async def _frame(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], await reader.readexactly(int.from_bytes(head[1:], "big"))


class _Process:
    """One process that the client started: the voice of our server on its stdout."""

    def __init__(self, opened: Open, writer: asyncio.StreamWriter) -> None:
        self._open = opened
        self._writer = writer
        self._lines = Lines()
        self.line = Line("stdio")
        self.is_over = False

    async def listen(self, reader: asyncio.StreamReader) -> None:
        script = self._open.script
        while True:
            kind, data = await _frame(reader)
            if kind == b"d":
                self._hear(data)
                if self._lines.waiting() > _LONGEST_LINE:
                    self._open.too_much()
                if self._open.enough.is_set():
                    return
                continue
            if kind == b"e" and (rest := self._lines.rest()).strip():
                self.line.rest = rest
                self._open.note(self.line, "client", rest.decode(errors="surrogateescape"))
            self.ended("eof" if kind == b"e" else "sigterm")
            if not script.stubborn:
                return

    def _hear(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            text = line.removesuffix(b"\r")
            self._open.note(self.line, "client", text.decode(errors="surrogateescape"))
            if self._open.over:
                continue
            message = decode(text)
            for each in members(message) if message.kind == "batch" else [message]:
                if each.kind == "request":
                    self._open.begin(self._answer(each))
                else:
                    self._open.take(self.line, each, self)

    async def _answer(self, request: Message) -> None:
        try:
            reply = await self._open.script.reply(Call(self._open.record, request, self.line, self))
        except Departure:
            self._write(b"q", bytes([_DIED]))
            self.ended("ours")
            self.close()
            return
        if reply is not None:
            await self.say(compact(reply))

    async def say(self, text: str) -> None:
        self._open.note(self.line, "server", text)
        self._write(b"d", text.encode(errors="surrogateescape") + b"\n")

    async def mutter(self, text: str) -> None:
        self._open.note(self.line, "stderr", text)
        self._write(b"x", text.encode() + b"\n")

    async def ask(self, raw: Json, seconds: float) -> Message | None:
        message = build(raw)
        assert message.id is not None
        await self.say(message.text)
        return await self._open.answer_to(message.id, seconds)

    def _write(self, kind: bytes, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(kind + len(data).to_bytes(4, "big") + data)

    def ended(self, how: Ending) -> None:
        if any(ending == "ours" for _, ending in self.line.endings):
            return
        self.line.endings.append((self._open.now(), "ours" if self._open.over else how))

    def close(self) -> None:
        self.is_over = True
        with suppress(OSError):
            self._writer.close()
