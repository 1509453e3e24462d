"""Adding the conversations of one start of a server to a recording that is there, or is begun.

Some clients start their server again for each call, several times at once: each start is a conversation of the same
file. A line is written by one call to the system, at the end of the file, so lines of several programs do not mix. The
number of a conversation is taken while the directory is locked, and stands in the file before that is unlocked. As long
as a program adds, the file is locked against those that would replace it, or number by themselves.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from mcp_conductor import posix
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.recording.continuing import mend
from mcp_conductor.recording.format import Header
from mcp_conductor.recording.reader import LineReader, Recording, began
from mcp_conductor.recording.writer import RecordingWriter, name_for_this_process, open_recording
from mcp_conductor.text.likely_secrets import LikelySecrets
from mcp_conductor.text.redaction import Redactor

_PATIENCE = 2.0  # seconds for which another program is waited for: a client waits for its server meanwhile
_LOOK_SECONDS = 0.02
_SESSION = re.compile(rb'(?<!\\)"session"\s*:\s*([0-9]{1,15})')


def append_recording(
    path: str,
    redactor: Redactor,
    *,
    shown: str | None = None,
    transport: str = "",
    server: Json | None = None,
    complain: Callable[[str], None] = lambda _: None,
    alone: bool = False,
    likely: LikelySecrets | None = None,
) -> RecordingWriter:
    """Add to the recording at PATH, which messages call SHOWN; without one, begin it.

    What is ALONE will have several conversations, whose numbers no other program must take. If another program replaces
    the file, or numbers conversations in it, the recording has another name.
    """
    name = shown or path
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | posix.OPEN_FILE, 0o600)
    except OSError as error:
        raise UsageError(f"cannot write {name}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UsageError(f"nothing can be added to {name}: it is not a file")
    try:
        with _directory_locked(path) as is_ours:
            if is_ours and _lock(descriptor, alone=alone):
                os.chmod(path, 0o600)
                written = _written(path, name)
                writer = RecordingWriter(
                    descriptor,
                    redactor,
                    transport=transport,
                    server=server,
                    complain=complain,
                    written=written,
                    before=0 if written is None else written[0],
                    likely=likely,
                )
                writer.claim(server)
                return writer
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    own = name_for_this_process(name)
    complain(f"another program is writing {name}: this recording is {own}")
    return open_recording(
        name_for_this_process(path),
        redactor,
        shown=own,
        transport=transport,
        server=server,
        complain=complain,
        likely=likely,
    )


def _lock(descriptor: int, *, alone: bool) -> bool:
    """Lock the file together with others that add to it, or ALONE; False if another program has it for itself."""
    until = time.monotonic() + _PATIENCE
    while True:
        if posix.lock(descriptor):
            mend(descriptor)  # while no other writes: what looks cut may else be half of what another writes now
            if alone or posix.lock(descriptor, shared=True):
                return True
        elif not alone and posix.lock(descriptor, shared=True):
            return True
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_SECONDS)


@contextmanager
def _directory_locked(path: str) -> Iterator[bool]:
    """Lock the directory of PATH for a moment; False if that takes too long."""
    descriptor = posix.open_directory(os.path.dirname(path) or ".")
    if descriptor is None:
        yield True
        return
    try:
        until = time.monotonic() + 2 * _PATIENCE
        while not (is_ours := posix.lock(descriptor)) and time.monotonic() < until:
            time.sleep(_LOOK_SECONDS)
        yield is_ours
    finally:
        os.close(descriptor)


def _written(path: str, shown: str) -> tuple[int, float] | None:
    """The last session of the recording at PATH, and how long ago it began; None if there is none yet."""
    last, header, is_first = 0, None, True
    with open(path, "rb") as lines:
        for line in lines:
            if is_first and line.strip():
                header, is_first = _opening(line, shown), False
                if header is not None:
                    continue
            last = max(last, 1, *map(int, _SESSION.findall(line)))
    if is_first:
        return None
    since = began(Recording(header=header, entries=()))
    return last, 0.0 if since is None else max(0.0, time.time() - since)


def _opening(line: bytes, shown: str) -> Header | None:
    """The header that the first LINE of a recording is, if it is one."""
    try:
        found = LineReader().take(line)
    except (UsageError, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, UsageError) else "it is not UTF-8"
        raise UsageError(f"nothing can be added to {shown}: {why}") from error
    return found if isinstance(found, Header) else None
