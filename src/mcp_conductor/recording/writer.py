"""Writing a recording while a conversation goes on.

Each line is handed to the system as soon as it is known, and whole: what was said until a process is killed is in the
file. The file is for its owner alone, and holds no secret that is known when a line is written. A file that
cannot be written any more is told once, and the conversation goes on.
"""

import os
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from mcp_conductor import __version__, posix
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact, read
from mcp_conductor.protocol.transcript import Frame, Source, Transcript
from mcp_conductor.recording.format import FIRST_SESSION, Entry, Header, entry_line, header_line
from mcp_conductor.text.likely_secrets import LikelySecrets, may_be_in
from mcp_conductor.text.redaction import LineRedactor, Redactor

TOOL = f"mcp-conductor {__version__}"
_OURS = ("note", "process")  # sources of our own words


class RecordingWriter:
    """A recording that is being written; its creator closes it. Without a DESCRIPTOR, nothing is kept."""

    def __init__(
        self,
        descriptor: int | None,
        redactor: Redactor,
        *,
        transport: str = "",
        server: Json | None = None,
        complain: Callable[[str], None] = lambda _: None,  # told when it cannot be written any more
        written: tuple[int, float] | None = None,  # of one that goes on: its last session, and how long ago it began
        before: int = 0,  # sessions that stand before those of this writer, which counts from 1
        likely: LikelySecrets | None = None,
    ) -> None:
        self.redactor = redactor
        self._likely = likely or LikelySecrets()
        self.broken = False  # it could not be written any more
        self._descriptor = descriptor
        self._complain = complain
        self.before = before
        self._sessions, ago = written or (0, 0.0)
        self._sessions -= before
        self._began = time.monotonic() - ago
        self._stderr: dict[int, LineRedactor] = {}
        if written is None:
            self._put(header_line(header_now(transport, self._redacted(server or {}))))

    def session(self, server: Json | None = None) -> "SessionWriter":
        """Begin another conversation of this recording, with SERVER."""
        return SessionWriter(self, self.next_session(), server)

    def next_session(self) -> int:
        """The number of a new conversation."""
        self._sessions += 1
        return self._sessions

    def claim(self, server: Json | None = None) -> None:
        """Let the first conversation of this writer, with SERVER, be known by its number before anything is said."""
        text = f"session {self.before + FIRST_SESSION} begins"
        self.write(Entry(Frame(self.now(), "note", text), FIRST_SESSION, None, server if self.before else None))

    def now(self) -> float:
        """How many seconds ago the recording began."""
        return time.monotonic() - self._began

    def add(self, source: Source, text: str, *, session: int = FIRST_SESSION, exchange: int | None = None) -> None:
        """Record what happens now."""
        self.write(Entry(Frame(self.now(), source, text), session, exchange))

    def write(self, entry: Entry) -> None:
        """Record ENTRY, without secrets."""
        self.write_all((entry,))

    def write_all(self, entries: Sequence[Entry]) -> None:
        """Record ENTRIES, which came together, without secrets."""
        if self._descriptor is None:
            return
        if self.before:
            entries = [entry._replace(session=entry.session + self.before) for entry in entries]
        if self.redactor.knows_secrets and not self._is_clean(entries):
            entries = list(map(self._without_secrets, entries))
        if self._likely.is_always_needed or may_be_in("\n".join([entry[0].text for entry in entries])):
            entries = list(map(self._without_likely_secrets, entries))
        self._put("\n".join(map(entry_line, entries)))

    def _is_clean(self, entries: Sequence[Entry]) -> bool:
        """Whether no secret is in any of ENTRIES. One search in all of them is much quicker than one in each."""
        if any(entry.server is not None or entry.frame.source == "stderr" for entry in entries):
            return False
        together = "\n".join([entry.frame.text for entry in entries])
        return self.redactor.redact(together) is together

    def _without_secrets(self, entry: Entry) -> Entry:
        frame = entry.frame
        if frame.source == "stderr":
            lines = self._stderr.setdefault(entry.session, LineRedactor(self.redactor))
            frame = frame.shown_after(lines)
        server = None if entry.server is None else self._redacted(entry.server)
        return Entry(frame._replace(text=self.redactor.redact(frame.text)), entry.session, entry.exchange, server)

    def _without_likely_secrets(self, entry: Entry) -> Entry:
        frame = entry.frame
        if frame.source in _OURS:
            return entry
        if frame.source == "http" and not self._likely.is_always_needed and _is_clean_head(frame.text):
            return entry
        text = self._likely.redact(frame.text, (entry.session, frame.source))
        return entry._replace(frame=frame._replace(text=text))

    def close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)
            for line in self._likely.report():
                self._complain(line)

    def _redacted(self, server: Json) -> Json:
        redacted: Json = read(self._likely.redact(self.redactor.redact(compact(server))))
        return redacted

    def _put(self, line: str) -> None:
        if self._descriptor is None:
            return
        rest = memoryview(line.encode() + b"\n")
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except OSError as error:
            self.close()
            self.broken = True
            self._complain(f"the recording ends here: {error.strerror}")


class SessionWriter:
    """One conversation of a recording. Its frames count their time from its own beginning."""

    def __init__(self, writer: RecordingWriter, number: int, server: Json | None) -> None:
        self._writer = writer
        self._number = number
        self._server = server
        self._offset: float | None = None

    def take(self, frame: Frame) -> None:
        """Record FRAME, which has just come. The first one tells when the conversation began."""
        if self._offset is None:
            self._offset = max(0.0, self._writer.now() - frame.at)
            if self._server is not None:
                opening = Frame(self._offset + frame.at, "note", f"session {self._writer.before + self._number} begins")
                self._writer.write(Entry(opening, self._number, None, self._server))
        self._writer.write(Entry(frame._replace(at=frame.at + self._offset), self._number))


@lru_cache(maxsize=128)  # heads of HTTP are the same again and again
def _is_clean_head(text: str) -> bool:
    return LikelySecrets().redact(text) == text


def open_recording(
    path: str,
    redactor: Redactor,
    *,
    shown: str | None = None,
    transport: str = "",
    server: Json | None = None,
    complain: Callable[[str], None] = lambda _: None,
    replacing: Callable[[], None] = lambda: None,
    likely: LikelySecrets | None = None,
) -> RecordingWriter:
    """Begin a recording at PATH, which messages call SHOWN; a file that is there is replaced, of which REPLACING tells.

    If another program is writing there, which a client that starts its server twice does, the file has another name.
    """
    try:
        descriptor = _open_for_us_alone(path, replacing)
        if descriptor is None:
            descriptor = _open_for_us_alone(name_for_this_process(path), replacing)
            told = name_for_this_process(shown or path)
            complain(f"another program is writing {shown or path}: this recording is {told}")
    except OSError as error:
        raise UsageError(f"cannot write {shown or path}: {error.strerror}") from error
    return RecordingWriter(descriptor, redactor, transport=transport, server=server, complain=complain, likely=likely)


def header_now(transport: str, server: Json) -> Header:
    """The header of a recording that begins now."""
    seconds = time.time()
    began = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03}Z"
    return Header(tool=TOOL, began=began, transport=transport, server=server)


def recording_lines(transcript: Transcript) -> Iterator[str]:
    """The lines of a recording of TRANSCRIPT, a conversation that is over, without its secrets."""
    stderr = LineRedactor(transcript.redactor)
    likely = LikelySecrets()
    yield header_line(Header(tool=TOOL))
    for frame in transcript.frames:
        shown = frame.shown_after(stderr)
        text = transcript.redact(shown.text)
        if frame.source not in _OURS:
            text = likely.redact(text, frame.source)
        yield entry_line(Entry(shown._replace(text=text)))


def save_recording(transcript: Transcript, path: str) -> None:
    """Write what is remembered of a conversation to a file that only its owner can read."""
    from mcp_conductor.files.writing import write_file

    write_file(path, "".join(f"{line}\n" for line in recording_lines(transcript)), secret=True)


def _open_for_us_alone(path: str, replacing: Callable[[], None]) -> int | None:
    """Open a file that other users cannot read, even if it existed before: a conversation is private.

    None if another program is writing it: its lines and ours would be no recording.
    """
    from mcp_conductor.files.writing import open_pipe

    flags = os.O_WRONLY | os.O_CREAT | posix.OPEN_FILE
    descriptor = open_pipe(path, flags, 0o600)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):  # and not /dev/stdout
        if not posix.lock(descriptor):
            os.close(descriptor)
            return None
        os.chmod(path, 0o600)
        if os.fstat(descriptor).st_size:
            replacing()
        os.ftruncate(descriptor, 0)
    return descriptor


def name_for_this_process(path: str) -> str:
    """Another name than PATH, for a recording of this process alone."""
    start, end = os.path.splitext(path)
    return f"{start}-{os.getpid()}{end}"
