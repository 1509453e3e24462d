"""The scripted server on stdio: what relays bring from the client, and what goes back through them."""

import asyncio
from contextlib import suppress

from mcp_conductor.checks.harness.client_record import ClientConnection, Ending
from mcp_conductor.checks.harness.run_state import RunState
from mcp_conductor.checks.harness.scripted_server import Disconnected, ScriptCall
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.line_splitter import LineSplitter
from mcp_conductor.protocol.message import Message, compact, decode

_LONGEST_LINE = 16 << 20
_DIED = 3  # the exit code of a server that goes away


class RelayHost:
    """Everything that comes in through relays."""

    def __init__(self, state: RunState, token: str) -> None:
        self._state = state
        self._token = token
        self._processes: list[_Process] = []
        self.all_ended = asyncio.Event()
        self.all_ended.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Talk through one relay until the client is done with it."""
        process = _Process(self._state, writer)
        try:
            kind, data = await _frame(reader)
            if kind != b"h" or data.decode(errors="replace") != self._token or self._state.over:
                return
            self._state.record.connections.append(process.connection)
            self._state.count(0, connections=1)
            self._processes.append(process)
            self.all_ended.clear()
            await process.listen(reader)
        except (asyncio.IncompleteReadError, OSError):
            process.note_ending("cut")
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

    def __init__(self, state: RunState, writer: asyncio.StreamWriter) -> None:
        self._state = state
        self._writer = writer
        self._lines = LineSplitter()
        self.connection = ClientConnection("stdio")
        self.is_over = False

    async def listen(self, reader: asyncio.StreamReader) -> None:
        script = self._state.script
        while True:
            kind, data = await _frame(reader)
            if kind == b"d":
                self._hear(data)
                if self._lines.waiting() > _LONGEST_LINE:
                    self._state.too_much()
                if self._state.enough.is_set():
                    return
                continue
            if kind == b"e" and (rest := self._lines.rest()).strip():
                self.connection.rest = rest
                self._state.note(self.connection, "client", rest.decode(errors="surrogateescape"))
            self.note_ending("eof" if kind == b"e" else "sigterm")
            if not script.stubborn:
                return

    def _hear(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            text = line.removesuffix(b"\r")
            self._state.note(self.connection, "client", text.decode(errors="surrogateescape"))
            if self._state.over:
                continue
            self._state.hear(self.connection, decode(text), self, self._answer)

    async def _answer(self, request: Message) -> None:
        try:
            reply = await self._state.script.reply(ScriptCall(self._state.record, request, self.connection, self))
        except Disconnected:
            self._write(b"q", bytes([_DIED]))
            self.note_ending("ours")
            self.close()
            return
        if reply is not None:
            await self.say(compact(reply))

    async def say(self, text: str) -> None:
        self._state.note(self.connection, "server", text)
        self._write(b"d", text.encode(errors="surrogateescape") + b"\n")

    async def write_stderr(self, text: str) -> None:
        self._state.note(self.connection, "stderr", text)
        self._write(b"x", text.encode() + b"\n")

    async def ask(self, raw: Json, seconds: float) -> Message | None:
        return await self._state.ask(self.say, raw, seconds)

    def _write(self, kind: bytes, data: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(kind + len(data).to_bytes(4, "big") + data)

    def note_ending(self, how: Ending) -> None:
        if any(ending == "ours" for _, ending in self.connection.endings):
            return
        self.connection.endings.append((self._state.now(), "ours" if self._state.over else how))

    def close(self) -> None:
        self.is_over = True
        with suppress(OSError):
            self._writer.close()
