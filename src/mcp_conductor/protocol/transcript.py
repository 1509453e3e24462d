"""Everything that crossed the wire, verbatim and in order, with what we noticed in between.

Verbose output, recordings, the last lines of stderr in an error and later checks are all views of it. Secrets are kept
out at the edge: `redact` stands between a transcript and everything that leaves the program.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple, get_args

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.ledger import Exchange, Ledger
from mcp_conductor.protocol.message import Message, compact, decode, members, read
from mcp_conductor.redaction import Redactor

# "note" is ours: what we noticed at this place in the conversation.
Source = Literal["client", "server", "stderr", "http", "note"]

_STDERR_TAIL = 10
_LONGEST_TAIL_LINE = 400


class Frame(NamedTuple):
    """One thing that happened: a line from either side, a line of stderr, or a note of ours.

    Only the text is kept: it is the truth, and tuples of plain values cost the garbage collector nothing, however long
    the conversation. The message is read from it anew when somebody asks.
    """

    at: float
    source: Source
    text: str

    @property
    def message(self) -> Message | None:
        if self.source not in ("client", "server"):
            return None
        return decode(self.text.encode(errors="surrogateescape"))

    def messages(self) -> list[Message]:
        """The messages of this frame: one, or those of a batch, or none."""
        message = self.message
        if message is None:
            return []
        return members(message) if message.kind == "batch" else [message]


class Transcript:
    """The append-only record of one conversation."""

    def __init__(
        self,
        secrets: Iterable[str] = (),
        listener: Callable[[Frame], None] | None = None,
        keep: int | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        # With KEEP, only so many frames are remembered: the listener sees all of them.
        self.frames: list[Frame] | deque[Frame] = [] if keep is None else deque(maxlen=keep)
        self.listener = listener
        # With REDACTOR, what this conversation must not show is shared with others.
        self.redactor = redactor or Redactor()
        self.redactor.learn(secrets)
        self._last_of_others = -math.inf

    def begin_process(self) -> None:
        """Another process is the server from now on: what an earlier one wrote to stderr does not explain its end."""
        if self.frames:
            self._last_of_others = self.frames[-1].at

    def add(self, at: float, source: Source, text: str) -> None:
        frame = Frame(at, source, text)
        self.frames.append(frame)
        if self.listener is not None:
            self.listener(frame)

    def hide(self, secrets: Iterable[str]) -> None:
        """Blot these out too, from now on."""
        self.redactor.learn(secrets)

    def redact(self, text: str) -> str:
        """TEXT with every secret of this conversation blotted out."""
        return self.redactor.redact(text)

    def since(self, start: int) -> list[Frame]:
        """The frames from number START on."""
        return self.frames[start:] if isinstance(self.frames, list) else list(self.frames)[start:]

    def messages(self, source: Source) -> Iterator[Message]:
        return (message for frame in self.frames if frame.source == source for message in frame.messages())

    def notes(self) -> list[str]:
        return [frame.text for frame in self.frames if frame.source == "note"]

    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines that the server's process wrote to stderr, fit to be shown."""
        tail: list[str] = []
        for frame in reversed(self.frames):
            if frame.at <= self._last_of_others:
                break
            if frame.source == "stderr" and frame.text.strip():
                tail.append(self.redact(frame.text)[:_LONGEST_TAIL_LINE])
                if len(tail) == _STDERR_TAIL:
                    break
        return tuple(reversed(tail))

    def exchanges(self) -> list[Exchange]:
        """Requests of the client with their replies, in the order in which they ended; unanswered ones come last."""
        ledger = Ledger()
        ended = []
        for frame in self.frames:
            for message in frame.messages():
                if frame.source == "client" and message.kind == "request":
                    ledger.sent(message, frame.at)
                elif frame.source == "server" and (exchange := ledger.heard(message, frame.at)):
                    ended.append(exchange)
        end = self.frames[-1].at if self.frames else 0.0
        lost = (ledger.lost(request.id, end) for request in ledger.open_requests() if request.id is not None)
        return ended + [exchange for exchange in lost if exchange]

    def line(self, frame: Frame) -> str:
        """FRAME as one line of JSON, for a recording; secrets blotted out."""
        return compact({"at": round(frame.at, 6), "source": frame.source, "text": self.redact(frame.text)})

    def to_jsonl(self) -> Iterator[str]:
        return (self.line(frame) for frame in self.frames)

    @classmethod
    def from_jsonl(cls, lines: Iterable[str]) -> "Transcript":
        """Read a recording back."""
        transcript = cls()
        for number, line in enumerate(lines, 1):
            if line.strip():
                transcript.add(*_frame_fields(line, number))
        return transcript


def _frame_fields(line: str, number: int) -> tuple[float, Source, str]:
    try:
        fields = read(line)
        at, source, text = float(fields["at"]), fields["source"], fields["text"]
        fits = math.isfinite(at) and fields["at"] is not True and source in get_args(Source) and isinstance(text, str)
    except (ValueError, OverflowError, KeyError, TypeError, RecursionError):
        fits = False
    if not fits:
        raise UsageError(f"line {number} of the recording is not a frame: {line.strip()[:80]}")
    return at, source, text
