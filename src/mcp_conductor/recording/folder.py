"""A directory of recordings: one for each server that a run of tests starts or reaches, under names one can guess."""

import os
import re
from collections.abc import Callable
from itertools import count

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.recording.format import server_of
from mcp_conductor.recording.writer import RecordingWriter, open_recording
from mcp_conductor.text.redaction import Redactor

_LONGEST = 60  # characters of a name: a file system takes 255 bytes


class RecordingFolder:
    """Where recordings go."""

    def __init__(self, path: str, redactor: Redactor, *, shown: str, complain: Callable[[str], None]) -> None:
        self._path = path
        self._shown = shown
        self._redactor = redactor
        self._complain = complain
        self._taken: set[str] = set()

    def make(self) -> None:
        """Make the directory, and begin with the first of each name again."""
        self._taken.clear()
        try:
            os.makedirs(self._path, mode=0o700, exist_ok=True)
        except OSError as error:
            raise UsageError(f"cannot make the directory {self._shown}: {error.strerror}") from error

    def begin(self, name: str, spec: ServerSpec) -> RecordingWriter | None:
        """Begin a recording under NAME; None if that cannot be, which is told."""
        file = self._file(name)
        try:
            return open_recording(
                os.path.join(self._path, file),
                self._redactor,
                shown=os.path.join(self._shown, file),
                transport=spec.kind,
                server=server_of(spec),
                complain=lambda text: self._complain(f"{file}: {text}"),
            )
        except UsageError as error:
            self._complain(error.message)
            return None

    def _file(self, name: str) -> str:
        words = re.sub(r"[^\w.]+", "-", name).strip("-.")[-_LONGEST:] or "recording"
        numbered = (words if number == 1 else f"{words}-{number}" for number in count(1))
        name = next(each for each in numbered if each not in self._taken)
        self._taken.add(name)
        return f"{name}.jsonl"
