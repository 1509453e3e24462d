"""A recording, read while it is written: what is new each time, and whether another recording has taken its place.

As `tail -F` does: a file that is not there is waited for, one that was cut or replaced is read from its beginning. The
end of a line that is not whole comes later. Only that line is kept in memory.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import BinaryIO

from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import open_file
from mcp_conductor.protocol.line_splitter import LineSplitter
from mcp_conductor.recording.format import Entry, Header
from mcp_conductor.recording.reader import LineReader
from mcp_conductor.values import dataclass

_CHUNK = 1 << 20
_OPENING = 256  # bytes by which a recording is known again: they hold the time when it began
_LONGEST_LINE = 400_000_000


@dataclass(frozen=True, slots=True)
class Began:
    """A recording begins; AGAIN, if it is not the first in this file."""

    again: bool


class RecordingTail:
    """The end of a recording at PATH, which messages call SHOWN."""

    def __init__(self, path: str, shown: str) -> None:
        self._path = path
        self._shown = shown
        self._file: BinaryIO | None = None
        self._times = 0  # that a recording has begun
        self._begin()

    @property
    def is_there(self) -> bool:
        return self._file is not None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def read(self) -> Iterator[Began | Header | Entry]:
        """What has come since the last time; one that reads all of it is up to date for the moment."""
        if self._file is None and not self._open():
            return
        while self._file is not None:
            if self._begins_again(self._file):
                self._begin()
            data = _read_at(self._file, self._offset, _CHUNK)
            if not data:
                if not self._is_replaced(self._file):
                    return
                self.close()
                if not self._open():
                    return
                continue
            if self._offset == 0:
                self._times += 1
                yield Began(self._times > 1)
            if len(self._opening) < _OPENING:
                self._opening += data[: _OPENING - len(self._opening)]
            self._offset += len(data)
            yield from self._found_in(data)

    def _open(self) -> bool:
        try:
            file = open_file(self._path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise UsageError(f"cannot read {self._shown}: {str(error.strerror).lower()}") from error
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise UsageError(f"{self._shown} cannot be followed: it is not a file")
        self._file = file
        self._begin()
        return True

    def _begin(self) -> None:
        self._offset = 0
        self._opening = b""
        self._split = LineSplitter()
        self._lines = LineReader()

    def _begins_again(self, file: BinaryIO) -> bool:
        """Whether the file is not the one that was read: it is shorter now, or it begins in another way."""
        if os.fstat(file.fileno()).st_size < self._offset:
            return True
        return _read_at(file, 0, len(self._opening)) != self._opening

    def _is_replaced(self, file: BinaryIO) -> bool:
        """Whether another file has the name now. If none has, more may come from the one that had it."""
        with suppress(OSError):
            return not os.path.samestat(os.stat(self._path), os.fstat(file.fileno()))
        return False

    def _found_in(self, data: bytes) -> Iterator[Header | Entry]:
        for line in self._split.feed(data):
            try:
                found = self._lines.take(line + b"\n")
            except UnicodeDecodeError as error:
                raise UsageError(f"{self._shown} is not a recording: it is not UTF-8") from error
            if isinstance(found, (Header, Entry)):
                yield found
        if self._split.waiting() > _LONGEST_LINE:
            raise UsageError(f"{self._shown} is not a recording: it has a line of more than 400 MB")


def _read_at(file: BinaryIO, offset: int, most: int) -> bytes:
    """What stands in FILE now, past the buffer of it."""
    os.lseek(file.fileno(), offset, os.SEEK_SET)
    return os.read(file.fileno(), most)
