"""Going on with a recording that is there: more conversations, behind those that it has."""

import json
import os
import stat
import time
from collections.abc import Callable

from mcp_conductor import posix
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.recording.reader import Recording, began
from mcp_conductor.recording.writer import RecordingWriter, SessionWriter
from mcp_conductor.text.redaction import Redactor

_CHUNK = 1 << 16


class GrowingRecording:
    """A recording to which conversations are added; it is opened when the first begins, and its creator closes it."""

    def __init__(self, opened: Callable[[], RecordingWriter], path: str | None = None) -> None:
        self._open = opened
        self._path = path  # where it must stay
        self._file: os.stat_result | None = None  # which file that was
        self._writer: RecordingWriter | None = None

    def session(self, server: Json) -> SessionWriter:
        """Begin another conversation, with SERVER. Raises UsageError."""
        if self._writer is None:
            self._writer = self._open()
            self._file = None if self._path is None else _stat(self._path)
        return self._writer.session(server)

    @property
    def broken(self) -> bool:
        """Whether it could not be written any more."""
        return self._writer is not None and (self._writer.broken or self.gone)

    @property
    def gone(self) -> bool:
        """Whether its file was removed, or another is in its place: what was added is lost."""
        if self._path is None or self._file is None:
            return False
        there = _stat(self._path)
        return there is None or not os.path.samestat(there, self._file)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


def continue_recording(
    path: str,
    recording: Recording,
    redactor: Redactor,
    *,
    shown: str | None = None,
    complain: Callable[[str], None] = lambda _: None,
) -> RecordingWriter:
    """Go on at PATH, where RECORDING was read. A last line that was cut is removed first: nothing could follow it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | posix.OPEN_FILE)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            _lock(descriptor, shown or path)
            os.chmod(path, 0o600)
            mend(descriptor)
    except OSError as error:
        raise UsageError(f"cannot write {shown or path}: {error.strerror}") from error
    last = max((entry.frame.at for entry in recording.entries), default=0.0)
    since = began(recording)
    seconds = last if since is None else max(last, time.time() - since)
    written = max(recording.sessions(), default=0), seconds
    return RecordingWriter(descriptor, redactor, complain=complain, written=written)


def lost_recording(redactor: Redactor) -> RecordingWriter:
    """One that could not be gone on with: nothing of it is kept."""
    writer = RecordingWriter(None, redactor)
    writer.broken = True
    return writer


def _lock(descriptor: int, shown: str) -> None:
    """Two programs would give their conversations the same numbers."""
    if not posix.lock(descriptor):
        os.close(descriptor)
        raise UsageError(f"cannot write {shown}: another program adds to it")


def mend(descriptor: int) -> None:
    """Give the last line its end, or remove what there is of it."""
    size = os.fstat(descriptor).st_size
    tail = b""
    place = size
    while place and b"\n" not in tail:
        step = min(_CHUNK, place)
        place -= step
        tail = os.pread(descriptor, step, place) + tail
    last = tail[tail.rfind(b"\n") + 1 :]
    if not last:
        return
    try:
        json.loads(last)
    except ValueError:
        os.ftruncate(descriptor, size - len(last))
    else:
        os.write(descriptor, b"\n")
