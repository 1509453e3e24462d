"""One direction of a relay on stdio with faults: replies that a fault is for pass spoiled, all else byte for byte.

Whole lines are looked at. A reply that is late is held back, and others pass it. What is held back has a bound: beyond
it, nothing more is read from that side until some of it is written.
"""

import os
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import groupby
from time import monotonic

from mcp_conductor.protocol.budgets import DEFAULT
from mcp_conductor.protocol.line_splitter import LineSplitter
from mcp_conductor.protocol.message import Message, compact, decode
from mcp_conductor.protocol.transcript import Frame, Source
from mcp_conductor.proxy.spoiling import PlannedFault, Spoiling, parts_of, spoiled_text
from mcp_conductor.proxy.stdio_relay import Stream
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.writer import RecordingWriter
from mcp_conductor.server.faults import Side
from mcp_conductor.server.spoiled_reply import STDOUT

_MOST_HELD = 64 << 20
_LONGEST_LINE = DEFAULT.message_bytes
_MEANS = frozenset({STDOUT})


class FaultyStream(Stream):
    """What one side says to the other."""

    is_faulty = True

    def __init__(self, source: int, sink: int, writer: RecordingWriter, name: Source, spoiling: Spoiling) -> None:
        super().__init__(source, sink, writer, name)
        self._speaker: Side = "client" if name == "client" else "server"
        self._spoiling = spoiling
        self._lines = LineSplitter()
        self._out: list[bytes] = []  # what is to be written next
        self._unrecorded: list[str | bytes] = []  # notes, and what is written
        self._is_passing = False  # within a line that is too long to be looked at
        self._held: list[tuple[float, int, bytes, PlannedFault]] = []  # replies by the time at which they are due
        self._held_bytes = 0
        self._count = 0
        self._is_closing = False  # once all is written
        self._is_closed = False  # what comes is thrown away
        self._has_ended = False

    @property
    def reads(self) -> bool:  # type: ignore[override]  # it changes here
        return not self._has_ended and self._held_bytes <= _MOST_HELD

    def take(self, data: bytes) -> bool:
        if self._is_closed:
            return True
        if self._is_passing:
            head, newline, data = data.partition(b"\n")
            self._is_passing = not newline
            self._pass(head + newline)
        for line in self._lines.feed(data):
            self._line(line, b"\n")
        if self._lines.waiting() > _LONGEST_LINE:
            self._pass(self._lines.rest())
            self._is_passing = True
        return self.write()

    def end(self) -> bool:
        if rest := self._lines.rest():  # a last line without its end is a line
            self._line(rest, b"")
        super().end()
        self._has_ended = True
        if self._speaker == "client" and self._held:  # who has gone does not reply any more
            text = f"{len(self._held)} replies that were held back are not sent: the client has gone"
            self._unrecorded.append(text)
            self._held.clear()
        return self.write()

    def due(self) -> float | None:
        return self._held[0][0] if self._held and self.exit_code is None else None

    def wake(self) -> bool:
        while self._held and self._held[0][0] <= monotonic() and not self._is_over:
            _, _, line, plan = heappop(self._held)
            self._held_bytes -= len(line)
            self._send(line, plan)
        return self.write()

    def write(self) -> bool:
        if self._out:
            self.rest = memoryview(b"".join([self.rest, *self._out]))
            self._out.clear()
        at = self._writer.now()
        goes_on = super().write()
        self._record(at)
        if self._is_closing and not self.rest:
            self._close_sink()
        return goes_on and not (self._has_ended and not self.rest and not self._held)

    @property
    def _is_over(self) -> bool:
        """Whether nothing more is said to the other side."""
        return self.exit_code is not None or self._is_closing or self._is_closed

    def _record(self, at: float) -> None:
        for is_note, some in groupby(self._unrecorded, lambda each: isinstance(each, str)):
            if is_note:
                self._writer.write_all([Entry(Frame(at, "note", str(text))) for text in some])
            else:
                self.recorder.take(at, b"".join(each for each in some if isinstance(each, bytes)))
        self._unrecorded.clear()

    def _pass(self, data: bytes) -> None:
        if data and not self._is_over:
            self._out.append(data)
            self._unrecorded.append(data)

    def _line(self, line: bytes, newline: bytes) -> None:
        if self._is_over:
            return
        if not self._spoiling.listens_to(self._speaker) or not line.strip():
            self._pass(line + newline)
            return
        message = decode(line)
        parts = list(parts_of(message))
        plans = [self._plan(part) for part in parts]
        if not any(plans):
            self._pass(line + newline)
            return
        if others := [part.raw for part, plan in zip(parts, plans, strict=True) if plan is None]:
            self._pass(compact(others).encode() + newline)
        for part, plan in zip(parts, plans, strict=True):
            if plan is not None:
                text = compact(part.raw).encode() if message.kind == "batch" else line
                self._reply(part, text, newline, plan)

    def _plan(self, part: Message) -> PlannedFault | None:
        """What is to go wrong with PART, if it is a reply. If it is a request, its reply may be one."""
        if part.kind == "request":
            self._spoiling.asked(part, self._speaker, _MEANS)
        return self._spoiling.replied(part, self._speaker)

    def _reply(self, reply: Message, line: bytes, newline: bytes, plan: PlannedFault) -> None:
        spoiled = self._spoiling.strike(plan, self._unrecorded.append)
        if spoiled.silent:
            return
        end = b"\r" if line.endswith(b"\r") else b""
        text = spoiled_text(spoiled, reply.raw, line.removesuffix(b"\r"))
        text = b"" if spoiled.truncates and not text else text + (b"" if spoiled.truncates else end + newline)
        whole = b"".join(noise + b"\n" for noise in spoiled.noise) + text * spoiled.copies
        if spoiled.delay:
            self._count += 1
            heappush(self._held, (monotonic() + spoiled.delay, self._count, whole, plan))
            self._held_bytes += len(whole)
        else:
            self._send(whole, plan)

    def _send(self, whole: bytes, plan: PlannedFault) -> None:
        self._pass(whole)
        if plan.spoiled.exit_code is not None:
            self.exit_code = plan.spoiled.exit_code
        self._is_closing = self._is_closing or plan.spoiled.close

    def _close_sink(self) -> None:
        """Let the other side see the end of the stream; what comes from now on goes nowhere."""
        self._is_closing, self._is_closed = False, True
        self._held.clear()
        self._held_bytes = 0
        self._writer.add("process", f"a fault closed {'stdout' if self._speaker == 'server' else 'stdin'}")
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, self.sink)
        os.close(null)


def faulty_streams(spoiling: Spoiling) -> Callable[[int, int, RecordingWriter, Source], FaultyStream]:
    """What makes the streams of a relay with these faults."""
    return lambda source, sink, writer, name: FaultyStream(source, sink, writer, name, spoiling)
