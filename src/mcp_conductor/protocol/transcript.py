"""Everything that crossed the wire, verbatim and in order, with what we noticed in between.

Verbose output, recordings, the last lines of stderr in an error and later checks are all views of it. Secrets are kept
out at the edge: `redact` stands between a transcript and everything that leaves the program.
"""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Literal, NamedTuple

from mcp_conductor.errors import way
from mcp_conductor.protocol.budgets import DEFAULT, UNBOUNDED, Budgets
from mcp_conductor.protocol.ledger import Exchange, Ledger
from mcp_conductor.protocol.message import Message, cut_off, decode, members
from mcp_conductor.text.redaction import LineRedactor, Redactor, redacted_lines

# "note" is ours: what we noticed at this place in the conversation; "process": how that of the server begins and ends.
Source = Literal["client", "server", "stderr", "http", "note", "process"]

SIDES = ("client", "server")  # whose frames are messages
_AT_ONCE = 256  # texts that are read together; where one of them is not JSON, all of these are read one by one
_MOST_AT_ONCE = 1_000_000  # characters of these; a longer text is read alone
_STDERR_TAIL = 200
_LONGEST_TAIL_LINE = 400
_new_tuple = tuple.__new__
_FRAME_BYTES = 200  # of memory for a frame besides its text
_LARGE = 1_000_000  # characters of a message that may be cut
_SLACK = 64  # one part in so many is left free, when frames are forgotten


class Frame(NamedTuple):
    """One thing that happened: a line from either side, a line of stderr, or a note of ours.

    Only the text is kept, which is the truth. The message is parsed again when it is asked for.
    """

    at: float
    source: Source
    text: str
    exchange: int | None = None  # the number of the HTTP exchange that it belongs to, where there is one

    @property
    def message(self) -> Message | None:
        if self.source not in SIDES:
            return None
        return decode(self.text.encode(errors="surrogateescape"), UNBOUNDED)

    def messages(self) -> Iterator[Message]:
        """The messages of this frame: one, or those of a batch, or none."""
        message = self.message
        if message is None:
            return iter(())
        return members(message) if message.kind == "batch" else iter((message,))

    def shown_after(self, stderr: LineRedactor) -> "Frame":
        """This frame; if it is a line of stderr, without secrets that may have begun in those of STDERR before it."""
        return self._replace(text=stderr.redact(self.text)) if self.source == "stderr" else self

    def within(self, characters: int) -> "Frame":
        """This frame; only the ends of a text of more CHARACTERS."""
        return self if len(self.text) <= characters else self._replace(text=cut_off(self.text))

    @property
    def size(self) -> int:
        """How many bytes of memory it takes."""
        return self.text.__sizeof__() + _FRAME_BYTES


class Spoken(NamedTuple):
    """A message, when it was sent, and by whom."""

    at: float
    source: Source
    message: Message


def decoded(frames: Iterable[Frame]) -> Iterator[Spoken]:
    """What each of FRAMES is that is of either side: a message, or a batch."""
    from mcp_conductor.protocol.together import decode_texts

    for some in _in_parts(frame for frame in frames if frame.source in SIDES):
        for frame, message in zip(some, decode_texts([frame.text for frame in some]), strict=True):
            yield _new_tuple(Spoken, (frame.at, frame.source, message))


def _in_parts(frames: Iterable[Frame]) -> Iterator[list[Frame]]:
    """FRAMES, as many at once as can be read together without much memory besides theirs."""
    some: list[Frame] = []
    size = 0
    for frame in frames:
        size += len(frame.text)
        if some and (len(some) == _AT_ONCE or size > _MOST_AT_ONCE):
            yield some
            some, size = [], len(frame.text)
        some.append(frame)
    if some:
        yield some


def spoken(said: Iterable[Spoken]) -> Iterator[Spoken]:
    """Every message in what was SAID, each of a batch by itself."""
    for each in said:
        if each.message.kind == "batch":
            yield from (Spoken(each.at, each.source, message) for message in members(each.message))
        else:
            yield each


class Transcript:
    """The append-only record of one conversation.

    Frames are numbered from 0 on. What is over the budgets is forgotten, the oldest first, and counted; the numbers of
    the other frames stay as they are. The listener sees every frame. Unless KEEPS_NEWEST is off, the newest one is
    kept even if it alone is over the budget.
    """

    def __init__(
        self,
        secrets: Iterable[str] = (),
        listener: Callable[[Frame], None] | None = None,
        budgets: Budgets = DEFAULT,
        redactor: Redactor | None = None,
        *,
        keeps_newest: bool = True,
    ) -> None:
        self.listener = listener
        # With REDACTOR, what this conversation must not show is shared with others.
        self.redactor = redactor or Redactor()
        self.redactor.learn(secrets)
        self.mark = 0  # the number of the next frame: a place to look from, see `since`
        self.unanswered = ""  # the method of the last request that we stopped waiting for
        self.forgotten = Forgotten()
        self._most_bytes = budgets.transcript_bytes
        self._fewest = int(keeps_newest)  # frames that are never forgotten
        self._most_stderr_bytes = budgets.stderr_bytes
        self._most_whole_bytes = budgets.whole_bytes
        self.large = 0  # characters of large messages of the server, whole or cut
        # Of plain tuples of plain values: they cost the garbage collector nothing, however long the conversation.
        self._frames: dict[int, tuple[float, Source, str, int | None]] = {}
        self._stderr: deque[int] = deque()  # which of them are the server's stderr
        self._first = 0  # no frame has a lower number
        self._bytes = 0
        self._stderr_bytes = 0
        self._last_at = 0.0
        self._last_of_others = -math.inf
        self._http_exchanges = 0
        self._kept: list[Spoken] | None = None  # what each frame of either side is, see `read`
        self._kept_exchanges: list[Exchange] | None = None

    @classmethod
    def of(cls, frames: Iterable[Frame]) -> "Transcript":
        """A transcript of these frames."""
        transcript = cls(budgets=UNBOUNDED)
        for frame in frames:
            transcript.add(*frame)
        return transcript

    @classmethod
    def read(cls, frames: Iterable[Frame]) -> "Transcript":
        """A transcript of these frames, which are all; their messages are kept for those who look at them often."""
        transcript = cls.of(frames)
        transcript._kept = list(decoded(transcript.frames))  # noqa: SLF001  # it is one of ours
        return transcript

    @property
    def frames(self) -> list[Frame]:
        """All frames that are remembered."""
        return [_new_tuple(Frame, each) for each in self._frames.values()]

    @property
    def size(self) -> int:
        """How many bytes of memory the frames take that are remembered."""
        return self._bytes

    @property
    def last_at(self) -> float:
        """When the last frame came."""
        return self._last_at

    def begin_process(self) -> None:
        """Another process is the server from now on: what an earlier one wrote to stderr does not explain its end."""
        if self.mark:
            self._last_of_others = self._last_at

    def begin_exchange(self) -> int:
        """The number of an HTTP exchange that begins. A conversation may turn to another transport, and numbers on."""
        self._http_exchanges += 1
        return self._http_exchanges

    def add(self, at: float, source: Source, text: str, exchange: int | None = None) -> None:
        number = self.mark
        if len(text) > _LARGE and source == "server":
            self.large += len(text)
            if self.large > self._most_whole_bytes:
                text = cut_off(text)
        self._frames[number] = (at, source, text, exchange)
        self.mark = number + 1
        self._last_at = at
        self._bytes = total = self._bytes + text.__sizeof__() + _FRAME_BYTES
        if source == "stderr":
            self._stderr.append(number)
            self._stderr_bytes += text.__sizeof__() + _FRAME_BYTES
            while self._stderr_bytes > self._most_stderr_bytes and len(self._stderr) > 1:
                self._forget(self._stderr[0])
        if total > self._most_bytes:
            self._shrink()
        if self.listener is not None:
            self.listener(Frame(at, source, text, exchange))

    def _shrink(self) -> None:
        """Forget the oldest frames: a few more than must be, so that this is done seldom in a long conversation."""
        most, left, number = self._most_bytes - self._most_bytes // _SLACK, self._bytes, self._first
        while left > most and len(self._frames) > self._fewest:
            # The first key of a dict from which others were deleted would take long to find.
            if number in self._frames:
                left -= self._forget(number)
            number += 1
        self._first = number

    def _forget(self, number: int) -> int:
        """Forget a frame: how many bytes it took."""
        _, source, text, _ = self._frames.pop(number)
        size = text.__sizeof__() + _FRAME_BYTES
        self._bytes -= size
        if source == "stderr":
            self._stderr.popleft()  # it is the oldest
            self._stderr_bytes -= size
        self.forgotten.add(source, size)
        return size

    def hide(self, secrets: Iterable[str]) -> None:
        """Redact these too, from now on."""
        self.redactor.learn(secrets)

    def redact(self, text: str) -> str:
        """TEXT without the secrets of this conversation."""
        return self.redactor.redact(text)

    def since(self, start: int) -> list[Frame]:
        """The frames from number START on."""
        found = []
        for number, frame in reversed(self._frames.items()):
            if number < start:
                break
            found.append(_new_tuple(Frame, frame))
        found.reverse()
        return found

    def decoded(self) -> Iterator[Spoken]:
        """What each frame of either side is: a message, or a batch."""
        if self._kept is not None:
            return iter(self._kept)
        return (
            Spoken(frame.at, frame.source, message) for frame in self.frames if (message := frame.message) is not None
        )

    def spoken(self) -> Iterator[Spoken]:
        """Every message of either side, each of a batch by itself."""
        return spoken(self.decoded())

    def messages(self, source: Source) -> Iterator[Message]:
        if self._kept is not None:
            return (message for _, side, message in self.spoken() if side == source)
        return (message for frame in self.frames if frame.source == source for message in frame.messages())

    def notes(self) -> list[str]:
        return [text for _, source, text, _ in self._frames.values() if source == "note"]

    def stderr_tail(self) -> tuple[str, ...]:
        """The last lines that the server's process wrote to stderr, fit to be shown."""
        tail: list[str] = []
        for number in reversed(self._stderr):
            at, _, text, _ = self._frames[number]
            if at <= self._last_of_others:
                break
            if not text.isspace() and text:
                tail.append(text)
                if len(tail) == _STDERR_TAIL:
                    break
        return tuple(line[:_LONGEST_TAIL_LINE] for line in redacted_lines(tail[::-1], self.redact))

    def exchanges(self) -> list[Exchange]:
        """Requests of the client with their replies, in the order in which they ended; unanswered ones come last."""
        if self._kept_exchanges is not None:
            return self._kept_exchanges
        ledger = Ledger()
        ended = []
        for at, source, message in self.spoken():
            if source == "client" and message.kind == "request":
                ledger.sent(message, at)
            elif source == "server" and (exchange := ledger.heard(message, at)):
                ended.append(exchange)
        lost = (ledger.lost(request.id, self._last_at) for request in ledger.open_requests() if request.id is not None)
        found = ended + [exchange for exchange in lost if exchange]
        if self._kept is not None:
            self._kept_exchanges = found
        return found


class Forgotten:
    """What a transcript had no room for."""

    def __init__(self) -> None:
        self.frames: dict[Source, int] = {}
        self.bytes: dict[Source, int] = {}

    def add(self, source: Source, size: int) -> None:
        self.frames[source] = self.frames.get(source, 0) + 1
        self.bytes[source] = self.bytes.get(source, 0) + size

    def __str__(self) -> str:
        """What was forgotten in one sentence; nothing, if nothing was."""
        from mcp_conductor.protocol.size import size_text

        told = [
            f"{count} {_FRAMES[source]}{'' if count == 1 else 's'} ({size_text(self.bytes[source])})"
            for source, count in self.frames.items()
        ]
        of_stderr = [*self.frames] == ["stderr"]
        flag = "--max-stderr-size" if of_stderr else "--max-transcript-size"
        hint = way(flag, "Budgets(stderr_bytes=…)" if of_stderr else "Budgets(transcript_bytes=…)")
        return (
            f"the oldest part of the conversation was forgotten: {', '.join(told)}; {hint} keeps more" if told else ""
        )


_FRAMES: dict[Source, str] = {
    "client": "client message",
    "server": "server message",
    "stderr": "stderr line",
    "http": "HTTP head",
    "note": "note",
    "process": "process event",
}
