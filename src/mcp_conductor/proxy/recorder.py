"""What passes a relay, as frames of a recording: each line of a stream is one."""

from mcp_conductor.protocol.budgets import DEFAULT
from mcp_conductor.protocol.line_splitter import LineSplitter
from mcp_conductor.protocol.transcript import Frame, Source
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.writer import RecordingWriter

_LONGEST_LINE = DEFAULT.message_bytes


class StreamRecorder:
    """Records one stream of bytes."""

    def __init__(self, writer: RecordingWriter, source: Source) -> None:
        self._writer = writer
        self._source = source
        self._lines = LineSplitter()

    def take(self, at: float, data: bytes) -> None:
        """Record DATA, which came at this time."""
        if lines := self._lines.feed(data):
            self._write(at, lines)
        if self._lines.waiting() > _LONGEST_LINE:
            self._write(at, [self._lines.rest()])
            text = f"the last line of {self._source} is longer than we keep in memory: it goes on in the next"
            self._writer.write(Entry(Frame(at, "note", text)))

    def end(self) -> None:
        """Record what has no end of line."""
        self._write(self._writer.now(), [self._lines.rest()])

    def _write(self, at: float, lines: list[bytes]) -> None:
        source, blank_too = self._source, self._source == "stderr"
        entries = [
            Entry(Frame(at, source, line.removesuffix(b"\r").decode(errors="surrogateescape")))
            for line in lines
            if line and (blank_too or not line.isspace())
        ]
        if entries:
            self._writer.write_all(entries)
