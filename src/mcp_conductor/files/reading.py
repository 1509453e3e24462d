"""Files that people name: read whole, but only up to a limit, and never something that has no end.

A pipe that nothing writes to would be waited for without end, and a device has no end at all; so only files are read,
and what the shell hands over: stdin and the pipes of `<(command)`. Everything that can go wrong is an OSError.
"""

import errno
import gc
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from mcp_conductor import posix

SETTINGS = 16_000_000  # bytes: settings, suites, server files, variables
_HANDED_OVER = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/", os.devnull)

_handed_over: dict[str, bytes] = {}  # what came by a pipe, which can be read once only


def read_bytes(path: str, most: int = SETTINGS) -> bytes:
    """All of the file at PATH, which may have at most MOST bytes."""
    if path in _handed_over:
        return _handed_over[path]
    with open_file(path) as file:
        data = file.read(most + 1)
        is_pipe = stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most // 1_000_000} MB")
    if is_pipe:
        _handed_over[path] = data
    return data


@contextmanager
def no_collecting() -> Iterator[None]:
    """Files become many objects that stay to the end; to look for garbage among them takes a third as long as to read
    them, and finds none.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def open_file(path: str) -> BinaryIO:
    """Open the file at PATH; nothing else than a file is opened, and opening never waits."""
    if "\0" in path:
        raise OSError(errno.EINVAL, "there is a NUL in its name")
    descriptor = os.open(path, os.O_RDONLY | posix.OPEN_AT_ONCE | getattr(os, "O_BINARY", 0))
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    if path.startswith(_HANDED_OVER) and not stat.S_ISDIR(mode):
        posix.set_blocking(descriptor, blocking=True)
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
    raise OSError(errno.EINVAL, "it is not a file, but a pipe or a device")
