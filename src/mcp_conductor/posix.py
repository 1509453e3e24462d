"""What only POSIX systems can do; each function is named after its purpose.

No other module imports fcntl, resource and similar modules, or uses what `os` and `signal` have only on POSIX. On other
systems nothing happens, or the result says so: every module of ours can be imported there.
"""

import os
import select
import signal
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, BinaryIO

# What ends a process: by asking it, and by force. Windows has only the second, under the name of the first.
TERMINATE = int(signal.SIGTERM)
KILL = int(getattr(signal, "SIGKILL", signal.SIGTERM))
STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
HAS_SESSIONS = hasattr(os, "setsid")
TIMER_SIGNAL: int | None = getattr(signal, "SIGALRM", None)  # what the timer of the process sends, if there is one

_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>


# Processes.


def how_it_ended(code: int) -> str:
    """What is said of a process that ended with CODE: its exit code, or the negative number of a signal."""
    return f"exited with code {code}" if code >= 0 else f"ended by {signal_name(-code)}"


def signal_name(number: int) -> str:
    """SIGTERM for 15, and the number of a signal without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def session_of_its_own() -> dict[str, Any]:
    """Options of Popen: signals for our session do not reach the child."""
    return {"start_new_session": True}


def group_of_its_own() -> dict[str, Any]:
    """Options of Popen: Ctrl-C does not reach the child, but it stays in our session."""
    if sys.platform == "win32":
        import subprocess

        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"process_group": 0}


def killed_with_us() -> dict[str, Any]:
    """Options of Popen: the child gets SIGKILL when this process has ended, however that was; Linux only."""
    prctl = _prctl()
    if prctl is None:
        return {}
    function, call = prctl
    return {"preexec_fn": lambda: call(function, (_SET_PDEATHSIG, KILL, 0, 0, 0))}


def signal_group(leader: int, number: int) -> None:
    """Send a signal to the process group of LEADER, if it exists and we may do that."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def group_lives(leader: int) -> bool:
    """Whether the process group of LEADER still has a process."""
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def has_ended(child: int) -> bool:
    """Whether this CHILD of ours has ended; it can still be waited for afterwards."""
    if sys.platform == "win32":
        return True  # it cannot be told without the handle
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def signal_all(pids: Iterable[int], number: int) -> None:
    """Send a signal to each of these processes that exists and that we may signal."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def session_of(pid: int) -> int | None:
    """The session that a process belongs to; 0 is this process."""
    try:
        return os.getsid(pid)
    except OSError:
        return None


def reap(pid: int) -> None:
    """Collect the exit status of a child; until then the system keeps it as a zombie."""
    with suppress(OSError):
        os.waitpid(pid, os.WNOHANG)


def descriptor_of(pid: int) -> int | None:
    """A file descriptor that becomes readable when the process ends; None on systems without such descriptors."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, an old kernel, or no file descriptor left
        return None


def become_subreaper() -> bool:
    """Make orphaned descendants children of this process from now on; returns whether that works."""
    prctl = _prctl()
    if prctl is None:
        return False
    function, call = prctl
    return bool(call(function, (_SET_CHILD_SUBREAPER, 1, 0, 0, 0)) == 0)


def _prctl() -> tuple[int, Any] | None:
    """The system call for what only Linux has, and what calls it."""
    with suppress(ImportError, OSError, AttributeError):
        # The core of ctypes: all of it would be a fiftieth of the time of a whole run of mcp-cli.
        from _ctypes import call_function, dlopen, dlsym

        return dlsym(dlopen(None, 0), "prctl"), call_function  # type: ignore[arg-type]  # None is all that is loaded
    return None


# Limits of this process.


def set_timer(seconds: float) -> None:
    """Send TIMER_SIGNAL to this process once, in so many seconds; 0 cancels it."""
    if TIMER_SIGNAL is not None:
        signal.setitimer(signal.ITIMER_REAL, seconds)


def limit_memory(size: int) -> None:
    """Limit the address space of this process to SIZE bytes."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (size, hard))


def leave_no_core() -> None:
    """Let this process leave no image of its memory behind, however it ends."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def most_open_files() -> int | None:
    """How many files this process may have open; None: no limit is known."""
    try:
        import resource
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


# Files.

OPEN_AT_ONCE = getattr(os, "O_NONBLOCK", 0)  # the flag of os.open for what may be a pipe: opening must not wait

OPEN_FILE = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)  # flags of os.open for any file


def set_blocking(descriptor: int, *, blocking: bool) -> None:
    """Set whether reading and writing wait."""
    if hasattr(os, "set_blocking"):
        os.set_blocking(descriptor, blocking)


def open_directory(path: str) -> int | None:
    """A descriptor of a directory, to be locked; None where there is none."""
    if sys.platform == "win32":
        return None
    try:
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:  # it may be written to, but not read
        return None


def lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take a file for us alone, or with others that SHARE it, as long as it is open; returns whether we have it."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def wait_for_room(stream: BinaryIO, seconds: float | None = None) -> bool:
    """Wait until STREAM accepts bytes; returns whether it does."""
    return bool(select.select([], [stream], [], seconds)[1])


def typed(terminal: int) -> bytes | None:
    """Return a line that was typed on TERMINAL, b"" at its end, or None: in the background, nothing is ours to read."""
    if not HAS_SESSIONS or not select.select([terminal], [], [], 0)[0]:
        return None
    with suppress(OSError):
        if os.tcgetpgrp(terminal) != os.getpgrp():
            return None
    try:
        return os.read(terminal, 1024)
    except OSError:  # it was closed
        return b""


def reading_check(descriptors: Iterable[int]) -> Callable[[], bool]:
    """A function that says whether one of DESCRIPTORS has something to read, or has come to its end.

    Where that cannot be told, it says that it has.
    """
    if not hasattr(select, "poll"):
        return lambda: True
    looking = select.poll()
    for each in descriptors:
        looking.register(each, select.POLLIN)
    return lambda: bool(looking.poll(0))


PIPE_BYTES = getattr(select, "PIPE_BUF", 512)  # what a pipe that is ready takes without waiting
CAN_WATCH = hasattr(select, "poll")


class Watch:
    """Which of several descriptors are ready; pipes and files too, so only where CAN_WATCH."""

    def __init__(self) -> None:
        self._poll = select.poll()

    def add(self, descriptor: int, *, read: bool = False, write: bool = False) -> None:
        """Look from now on whether DESCRIPTOR can be read or written; that its other side is closed is always told."""
        self._poll.register(descriptor, (select.POLLIN if read else 0) | (select.POLLOUT if write else 0))

    def remove(self, descriptor: int) -> None:
        """Look at DESCRIPTOR no more."""
        with suppress(KeyError):
            self._poll.unregister(descriptor)

    def ready(self, seconds: float | None) -> list[tuple[int, bool]]:
        """The descriptors that are ready, waited for up to SECONDS, and whether the other side of each is closed."""
        closed = select.POLLERR | select.POLLHUP | select.POLLNVAL
        found = self._poll.poll(None if seconds is None else seconds * 1000)
        return [(descriptor, bool(events & closed)) for descriptor, events in found]


def give_to(path: str, owner: int, group: int) -> None:
    """Let a file belong to another user, where we may do that."""
    if hasattr(os, "chown"):
        with suppress(OSError):  # only root can give a file away
            os.chown(path, owner, group)
