"""text/event-stream, decoded as it comes: bytes in, events out, by the rules of the WHATWG standard.

Lines end in CR, LF or CRLF, also across chunks; comments are keep-alives; an id with a NUL is ignored, and so is a
retry that is not all digits. An event without data is told too if it set an id or a retry: that is how MCP servers
prime a stream that can be resumed.
"""

import codecs
import re

from mcp_conductor.values import dataclass

_Decoder = codecs.getincrementaldecoder("utf-8")
_EVENT_END = rb"(?:\r\n|\n|\r(?!\n)){2}"
_LONGEST_RETRY = 24 * 3600 * 1000  # milliseconds; more is a mistake


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a stream; `id` and `retry` are what this event itself set."""

    data: str = ""
    kind: str = "message"
    id: str | None = None
    retry: int | None = None


class EventStream:
    """The decoder of one stream."""

    def __init__(self) -> None:
        self._decode = _Decoder(errors="replace").decode
        self._rest: list[str] = []  # pieces of a line that has not ended
        self._after_cr = False
        self._first = True
        self._data: list[str] = []
        self._size = 0
        self._rest_size = 0
        self._kind = ""
        self._id: str | None = None
        self._retry: int | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that CHUNK completes."""
        text = self._decode(chunk)
        if text and self._first:
            self._first = False
            text = text.removeprefix("\ufeff")
        if text and self._after_cr:
            text = text.removeprefix("\n")
            self._after_cr = False
        if "\r" in text:
            self._after_cr = text.endswith("\r")
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        *lines, rest = text.split("\n")
        if lines and self._rest:
            lines[0] = "".join([*self._rest, lines[0]])
            self._rest.clear()
        events = [event for line in lines if (event := self._line(line)) is not None]
        if rest:
            self._rest.append(rest)
        self._rest_size = len(rest) if lines else self._rest_size + len(rest)
        return events

    def waiting(self) -> int:
        """How many characters belong to an event that has not ended."""
        return self._size + self._rest_size

    def _line(self, line: str) -> Event | None:
        if not line:
            self._size = 0
            return self._dispatch()
        self._size += len(line) + 1
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._kind = value
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self._retry = min(int(value[-18:]), _LONGEST_RETRY) if len(value.lstrip("0")) < 18 else _LONGEST_RETRY
        return None

    def _dispatch(self) -> Event | None:
        event = Event("\n".join(self._data), self._kind or "message", self._id, self._retry)
        empty = not self._data and self._id is None and self._retry is None
        self._clear()
        return None if empty else event

    def _clear(self) -> None:
        self._data = []
        self._kind = ""
        self._id = self._retry = None


class EventSplitter:
    """A stream cut where its events end, byte for byte."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> list[bytes]:
        """The events that CHUNK completes, each with the empty line that ends it."""
        known = max(0, len(self._rest) - 3)  # no end of an event lies before
        self._rest += chunk
        pieces, begin = [], 0
        for found in re.finditer(_EVENT_END, self._rest[known:]):
            pieces.append(bytes(self._rest[begin : known + found.end()]))
            begin = known + found.end()
        del self._rest[:begin]
        return pieces

    def waiting(self) -> int:
        return len(self._rest)

    def rest(self) -> bytes:
        """What came after the last event."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest
