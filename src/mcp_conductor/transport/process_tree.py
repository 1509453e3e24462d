"""Which processes belong to a server: read from /proc, without a library. Where there is no /proc, none are known.

A process is identified by its id and the time of its start, because ids are used again.
"""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from mcp_conductor import posix

PROC = sys.platform == "linux" and os.path.isdir("/proc/self")

_MAX_PROC_BYTES = 1_000_000
_MAX_DESCRIPTORS = 1000  # of a process that are looked at
_ENDED = (b"Z", b"X")


class Member(NamedTuple):
    """One living process."""

    pid: int
    born: int

    def alive(self) -> bool:
        return member(self.pid) == self

    def __str__(self) -> str:
        try:
            with open(f"/proc/{self.pid}/cmdline", "rb") as line:
                words = line.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            words = ""
        return words or f"process {self.pid}"


class Command(NamedTuple):
    """How a process was started."""

    words: tuple[str, ...]
    cwd: str
    path: str  # where it looks for programs


def commands_with_stdin_of(leader: int) -> list[Command]:
    """The commands of LEADER and of its descendants that have its stdin open, which no server has that they use.

    Some servers read it by another descriptor, so that nothing else in the process reads it.
    """
    if not PROC:
        return []
    found = []
    with suppress(OSError):
        stdin = os.readlink(f"/proc/{leader}/fd/0")
        for pid in (leader, *(each.pid for each in descendants([leader]))):
            with suppress(OSError):
                if _has_open(pid, stdin):
                    found.append(_command(pid))
    return found


def _has_open(pid: int, file: str) -> bool:
    names = os.listdir(f"/proc/{pid}/fd")[:_MAX_DESCRIPTORS]
    return any(os.readlink(f"/proc/{pid}/fd/{name}") == file for name in names)


def _command(pid: int) -> Command:
    words, environment = (_null_separated(f"/proc/{pid}/{name}") for name in ("cmdline", "environ"))
    path = next((each[5:] for each in environment if each.startswith("PATH=")), "")
    return Command(tuple(words), os.readlink(f"/proc/{pid}/cwd"), path)


def _null_separated(file: str) -> list[str]:
    with open(file, "rb") as opened:
        return opened.read(_MAX_PROC_BYTES).decode(errors="surrogateescape").split("\0")[:-1]


def member(pid: int) -> Member | None:
    """The process with this id, if it is alive; a zombie is not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            # pid (command) state …; the command may hold anything, even brackets.
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if fields[0] in _ENDED else Member(pid, int(fields[19]))


def session_members(leader: int) -> set[Member]:
    """The living processes of the session that LEADER began."""
    if not PROC:
        return set()
    # Asking for the session is a quick system call; only its members are worth opening a file for.
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit() and posix.session_of(int(name)) == leader]
    return _members(pids)


def descendants(ancestors: Iterable[int]) -> set[Member]:
    """The living children of these processes, the children of those, and so on."""
    found: set[Member] = set()
    waiting = list(ancestors)
    while waiting:
        for child in _members(_children(waiting.pop())):
            if child not in found:
                found.add(child)
                waiting.append(child.pid)
    return found


def adopted(known: Iterable[int]) -> set[Member]:
    """The living children of ours that we did not start: processes whose parents have ended."""
    return _members(_adopted(known))


def reap(known: Iterable[int]) -> None:
    """Collect the exit status of adopted processes; until then the system keeps them as zombies."""
    for pid in _adopted(known):
        posix.reap(pid)


def _adopted(known: Iterable[int]) -> list[int]:
    """What we start besides the KNOWN processes stays in our own session; no process of a server can get in there."""
    own = (None, posix.session_of(0))
    return [pid for pid in set(_children(os.getpid())) - set(known) if posix.session_of(pid) not in own]


def _members(pids: Iterable[int]) -> set[Member]:
    return {found for pid in pids if (found := member(pid)) is not None}


def _children(pid: int) -> list[int]:
    if not PROC:
        return []
    found: list[int] = []
    with suppress(OSError):  # the process, or one of its threads, has ended meanwhile
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", "rb") as children:
                found += map(int, children.read().split())
    return found
