"""Our child processes: how they are started, which of them live, and how all that they started gets a signal.

A start has no moment at which it waits, so it cannot be cancelled halfway. Nothing here needs an event loop: a program
can start its server before it has one, and an alarm or a signal can kill what was started.
Signals go to everything in a child's session, to what left the session but not its parents, and, in our programs, to
what lost its parents: Linux then makes it a child of ours (`adopt_orphans`).
"""

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from subprocess import PIPE, Popen, TimeoutExpired
from time import monotonic, sleep

from mcp_conductor import posix
from mcp_conductor.transport.process_tree import (
    PROC,
    Command,
    Member,
    adopted,
    commands_with_stdin_of,
    descendants,
    reap,
    session_members,
)

_KILLED_SECONDS = 0.5  # for the system to remove what got SIGKILL
_LOOK_AGAIN_SECONDS = 0.001

_running: dict[int, "Child"] = {}  # by the process id, which is also that of the session
_starting = 0  # a process that is being started is not among them yet
_ahead: dict[tuple[object, ...], "Child"] = {}  # by what they were started with
_next: list[Callable[[], object]] = []  # what to do when it is
_wants_orphans = False
_gets_orphans = False


class Child:
    """One child process, and what it started."""

    def __init__(self, popen: "Popen[bytes]") -> None:
        self.popen = popen
        self.pid = popen.pid
        self.started = monotonic()
        self._kin: set[Member] = set()  # what it started, as far as that was seen while it lived

    def see_kin(self) -> None:
        """Remember what it has started: when it has ended, nothing leads any more to what left its session."""
        self._kin |= descendants([self.pid])

    def signal(self, number: int, others: Iterable[Member] = ()) -> None:
        """Send a signal to the process, to all in its session, to what it was seen to start, and to OTHERS."""
        posix.signal_group(self.pid, number)
        posix.signal_all((each.pid for each in self._known_alive() | set(others)), number)

    def left_running(self) -> set[Member]:
        """What is still alive of all that the process started, itself included."""
        left = self._known_alive()
        if all(other.popen.returncode is not None for other in _running.values()):
            # No other process runs that orphans could belong to.
            left |= _orphans()
        return left | descendants({self.pid, *(each.pid for each in left)})

    def _known_alive(self) -> set[Member]:
        return session_members(self.pid) | {each for each in self._kin if each.alive()}

    def anything_left(self) -> bool:
        """Whether anything is still alive of all that the process started."""
        return bool(self.left_running()) if PROC else posix.group_lives(self.pid)

    def forget(self) -> None:
        """It has ended, and so has all that it started."""
        if _gets_orphans:
            reap(_running)
        _running.pop(self.pid, None)


def start(command: tuple[str, ...], *, cwd: str | None, env: Mapping[str, str]) -> Child:
    """Start COMMAND in a session of its own, with ENV in addition to our environment; or take what was started ahead.

    Raises OSError, or ValueError for words that no command line can hold.
    """
    started = _ahead.pop(_key(command, cwd, env), None)
    return _start(command, cwd, env) if started is None else started


def start_ahead(command: tuple[str, ...], *, cwd: str | None, env: Mapping[str, str]) -> None:
    """Start what `start` will be asked for: it gets ready while we do.

    If it cannot be started, nothing happens: `start` will try again, and say why.
    """
    if posix.HAS_SESSIONS:
        adopt_orphans()
        with suppress(OSError, ValueError):
            _ahead[_key(command, cwd, env)] = _start(command, cwd, env)


def kill_unused() -> None:
    """Kill what was started ahead and not asked for."""
    while _ahead:
        _, child = _ahead.popitem()
        child.signal(posix.KILL, child.left_running())
        for pipe in (child.popen.stdin, child.popen.stdout, child.popen.stderr):
            if pipe is not None:
                pipe.close()
        with suppress(TimeoutExpired):
            child.popen.wait(_KILLED_SECONDS)
        child.forget()


def _key(command: tuple[str, ...], cwd: str | None, env: Mapping[str, str]) -> tuple[object, ...]:
    return (command, cwd, *env.items())


def _start(command: tuple[str, ...], cwd: str | None, env: Mapping[str, str]) -> Child:
    global _starting, _wants_orphans, _gets_orphans  # noqa: PLW0603  # of this process, of which there is one
    _starting += 1
    try:
        if _wants_orphans and not _gets_orphans:
            _wants_orphans = False
            _gets_orphans = posix.become_subreaper()
        environment, apart = {**os.environ, **env} if env else None, posix.session_of_its_own()
        popen = Popen(command, stdin=PIPE, stdout=PIPE, stderr=PIPE, bufsize=0, cwd=cwd, env=environment, **apart)
        child = Child(popen)
        _running[child.pid] = child
    finally:
        _starting -= 1
        while _next and not _starting:
            _next.pop()()
    return child


def running_commands() -> list[Command]:
    """The commands of the servers that run, and of what speaks for them: npx and uv start the server itself."""
    return [each for child in list(_running.values()) for each in commands_with_stdin_of(child.pid)]


def adopt_orphans() -> None:
    """From the first start on, what loses its parents becomes our child, so that it can be ended too.

    For programs of our own: in the process of another program it would be a surprise.
    """
    global _wants_orphans  # noqa: PLW0603
    _wants_orphans = PROC


def _orphans() -> set[Member]:
    return adopted(_running) if _gets_orphans else set()


def kill_all() -> None:
    """Kill all our child processes at once, without waiting for them."""
    if (worker := sys.modules.get("mcp_conductor.bounded.worker")) is not None:  # most runs never load it
        worker.kill_worker()
    for child in list(_running.values()):
        child.signal(posix.KILL, child.left_running())
    posix.signal_all((each.pid for each in _orphans()), posix.KILL)


def end_all() -> None:
    """Kill all our child processes, and wait a moment for their end: who starts us must find none of them."""
    kill_all()
    until = monotonic() + _KILLED_SECONDS
    while not all(map(posix.has_ended, list(_running))) and monotonic() < until:
        sleep(_LOOK_AGAIN_SECONDS)


def when_started(then: Callable[[], object]) -> None:
    """Call THEN; if a process is being started at this moment, which `kill_all` would miss, as soon as it has been."""
    if _starting:
        _next.append(then)
    else:
        then()
