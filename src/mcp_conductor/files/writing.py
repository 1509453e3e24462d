"""Files that are written whole or not at all: a disk that is full, or a signal, leaves the old file as it was.

A draft is written next to the file and then replaces it. Where it cannot be replaced (a device, a pipe, an open
descriptor such as /dev/stdout, a file that is mounted) the text goes straight into it.
"""

import errno
import os
import stat
import time

from mcp_conductor import posix
from mcp_conductor.errors import UsageError

_DESCRIPTORS = ("/dev/fd/", "/dev/std", "/proc/")
_MOST_LINKS = 40
_READER_SECONDS, _LOOK_SECONDS = 2.0, 0.02


def write_file(path: str, text: str, *, shown: str | None = None, secret: bool = False) -> None:
    """Write TEXT to the file at PATH, which messages call SHOWN, and make its directory if it is missing.

    A link stays a link, and a file keeps its mode; what is SECRET can be read by its owner only.
    """
    # Half a character is written as JSON writes it.
    write_bytes(path, text.encode(errors="backslashreplace"), shown=shown, secret=secret)


def write_bytes(path: str, data: bytes, *, shown: str | None = None, secret: bool = False) -> None:
    """`write_file` for DATA that is not text."""
    try:
        _write(path, data, secret=secret)
    except OSError as error:
        raise UsageError(f"cannot write {shown or path}: {error.strerror}") from error


def _write(path: str, data: bytes, *, secret: bool) -> None:
    place = _target(path)
    os.makedirs(os.path.dirname(place), mode=0o700 if secret else 0o777, exist_ok=True)
    old = _stat(place)
    if place.startswith(_DESCRIPTORS) or (old is not None and not stat.S_ISREG(old.st_mode)):
        _write_into(place, data)
        return
    draft = os.path.join(os.path.dirname(place), f".conductor-{os.urandom(6).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if secret else 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        if old is not None:
            _make_alike(draft, old, secret=secret)
        os.replace(draft, place)
    except BaseException as error:
        os.unlink(draft)
        if not (isinstance(error, OSError) and error.errno == errno.EBUSY):
            raise
        _write_into(place, data)  # it is mounted


def _target(path: str) -> str:
    """Where PATH leads to, which need not exist; a descriptor is not followed further."""
    place = os.path.abspath(path)
    for _ in range(_MOST_LINKS):
        if place.startswith(_DESCRIPTORS) or not os.path.islink(place):
            return place
        place = os.path.normpath(os.path.join(os.path.realpath(os.path.dirname(place)), os.readlink(place)))
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))


def _stat(place: str) -> os.stat_result | None:
    try:
        return os.stat(place)
    except FileNotFoundError:
        return None


def open_pipe(path: str, flags: int, mode: int = 0o666) -> int:
    """Open what may be a pipe; a pipe that no process reads is an error, because we would wait without end."""
    patience = _READER_SECONDS
    while True:
        try:
            descriptor = os.open(path, flags | posix.OPEN_AT_ONCE, mode)
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(os.stat(path).st_mode):
                raise
            if patience <= 0:
                raise OSError(errno.ENXIO, "it is a pipe that no process reads") from None
        else:
            posix.set_blocking(descriptor, blocking=True)
            return descriptor
        time.sleep(_LOOK_SECONDS)  # the reader may just be starting
        patience -= _LOOK_SECONDS


def _write_into(place: str, data: bytes) -> None:
    with open(place, "wb", buffering=0, opener=open_pipe) as file:
        rest = memoryview(data)
        while rest:
            rest = rest[file.write(rest) :]


def _make_alike(draft: str, old: os.stat_result, *, secret: bool) -> None:
    posix.give_to(draft, old.st_uid, old.st_gid)
    os.chmod(draft, 0o600 if secret else stat.S_IMODE(old.st_mode))
