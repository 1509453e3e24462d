"""Child processes on an event loop: started so that no cancel can lose one, and ended with all that they started.

`children` starts them without a moment at which we could be cancelled; asyncio's own start has one, and then waits for
pipes that another process may hold open. The end follows the specification: close stdin, wait, SIGTERM, wait, SIGKILL.
Nothing here waits for a pipe to close.
"""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread
from time import monotonic
from typing import Protocol

from mcp_conductor import posix
from mcp_conductor.transport import children
from mcp_conductor.transport.children import Child
from mcp_conductor.transport.process_tree import Member

GRACE_SECONDS = 2.0  # for each step of the end

# A pipe holds 64 KiB; asking for more costs a fresh mapping of memory each time.
_CHUNK = 2**16
_MOST_LEFT = 17  # chunks in a pipe that was made as large as Linux allows, and one more
_POLL_SECONDS = 0.01
_KILLED_SECONDS = 0.5  # for the system to remove what got SIGKILL


class Owner(Protocol):
    """Receives what happens to a process; called from the event loop."""

    def received(self, fd: int, data: bytes) -> None:
        """The process wrote DATA to its stdout (1) or stderr (2)."""

    def pipe_closed(self, fd: int) -> None:
        """Nothing more will come from this pipe, or (0) the process has closed its stdin."""

    def exited(self) -> None:
        """The process has ended."""


def start(command: tuple[str, ...], *, cwd: str | None, env: Mapping[str, str], owner: Owner) -> "Process":
    """Start COMMAND, as `children.start` does, and listen to it."""
    process = Process(children.start(command, cwd=cwd, env=env), owner)
    process.listen()
    return process


async def happens(event: asyncio.Event, seconds: float) -> bool:
    """Whether EVENT has happened within so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


class Process:
    """One child process and its three pipes."""

    def __init__(self, child: Child, owner: Owner) -> None:
        pipes = (child.popen.stdin, child.popen.stdout, child.popen.stderr)
        self._child = child
        self._owner = owner
        self._loop = asyncio.get_running_loop()
        self._pipes = {fd: pipe for fd, pipe in enumerate(pipes) if pipe is not None}
        self._files = {fd: pipe.fileno() for fd, pipe in self._pipes.items()}
        self._unsent = bytearray()
        self.was_signalled = False  # by us, because it did not end by itself
        self._ending = False  # stdin is to be closed as soon as all is written
        self._exited = asyncio.Event()
        self._watched: int | None = None
        self._anything_to_read: Callable[[], bool] | None = None

    def listen(self) -> None:
        for file in self._files.values():
            posix.set_blocking(file, blocking=False)
        self.resume(1)
        self.resume(2)
        self._watch()

    # Its end, as the system tells it.

    def _watch(self) -> None:
        self._watched = posix.descriptor_of(self._child.pid)
        try:
            if self._watched is not None:
                self._loop.add_reader(self._watched, self._reap)
                return
        except OSError:
            self._stop_watching()
        Thread(target=self._wait_in_thread, daemon=True).start()

    def _wait_in_thread(self) -> None:
        self._child.popen.wait()
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._reap)

    def _reap(self) -> None:
        if self._child.popen.poll() is not None and not self._exited.is_set():
            self._stop_watching()
            self._read_the_rest()
            self._exited.set()
            self._owner.exited()

    def _stop_watching(self) -> None:
        if self._watched is not None:
            self._loop.remove_reader(self._watched)
            os.close(self._watched)
            self._watched = None

    @property
    def age(self) -> float:
        """The seconds since it was started, which may have been before anything listened to it."""
        return monotonic() - self._child.started

    @property
    def returncode(self) -> int | None:
        """Its exit code, or the negative number of the signal that ended it; None while it lives."""
        return self._child.popen.returncode

    async def exits(self, seconds: float = GRACE_SECONDS) -> bool:
        """Whether the process ends within SECONDS."""
        return await happens(self._exited, seconds)

    # What it says.

    def says_nothing(self) -> bool:
        """Whether its pipes are open, and there is nothing in them."""
        if 1 not in self._files or 2 not in self._files:
            return False
        if self._anything_to_read is None:  # once: it is asked after each test
            self._anything_to_read = posix.reading_check((self._files[1], self._files[2]))
        return not self._anything_to_read()

    def pause(self, fd: int) -> None:
        """Read nothing more from this pipe, until `resume`."""
        if fd in self._files:
            self._loop.remove_reader(self._files[fd])

    def resume(self, fd: int) -> None:
        if fd in self._files:
            self._loop.add_reader(self._files[fd], self._read, fd)

    def _read(self, fd: int) -> bool:
        """Whether there was something to read."""
        try:
            data = os.read(self._files[fd], _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data:
            self._owner.received(fd, data)
        else:
            self.close(fd)
        return bool(data)

    def _read_the_rest(self) -> None:
        """Read what a process that has ended left in its pipes; another one may still write, but not without end."""
        for fd in (1, 2):
            for _ in range(_MOST_LEFT):
                if fd not in self._files or not self._read(fd):
                    break

    def close(self, fd: int) -> None:
        """Close our end of this pipe."""
        if fd not in self._files:
            return
        file = self._files.pop(fd)
        self._loop.remove_reader(file)
        self._loop.remove_writer(file)
        self._pipes.pop(fd).close()
        if fd != 0:
            self._owner.pipe_closed(fd)

    # What it is told.

    def write(self, data: bytes) -> None:
        """Hand DATA over as soon as the process takes it; never waits. What it will never read is dropped."""
        if 0 not in self._files or self._ending:
            return
        if self._unsent:
            self._unsent += data
            return
        written = self._write(data)
        if 0 in self._files and written < len(data):
            self._unsent += memoryview(data)[written:]
            self._loop.add_writer(self._files[0], self._write_more)

    def _write(self, data: bytes | bytearray) -> int:
        try:
            return os.write(self._files[0], data)
        except (BlockingIOError, InterruptedError):
            return 0
        except OSError:  # it closed its stdin, or has ended
            self._drop_stdin()
            self._owner.pipe_closed(0)
            return 0

    def _write_more(self) -> None:
        del self._unsent[: self._write(self._unsent)]
        if not self._unsent and 0 in self._files:
            self._loop.remove_writer(self._files[0])
            if self._ending:
                self.close(0)

    def _drop_stdin(self) -> None:
        self._unsent.clear()
        self.close(0)

    def unsent(self) -> int:
        return len(self._unsent)

    @property
    def reads(self) -> bool:
        """Whether it can be told anything more."""
        return 0 in self._files and not self._ending

    def close_stdin(self) -> None:
        """Say nothing more; what was said before still goes out if the process takes it."""
        self._child.see_kin()
        self._ending = True
        if not self._unsent:
            self.close(0)

    # How we end it.

    async def end(self) -> set[Member]:
        """End the process and all that it started; returns what is still running after that."""
        self.close_stdin()
        if not await self.exits():
            self.was_signalled = True
            self._drop_stdin()
            self._child.see_kin()
            self._child.signal(posix.TERMINATE)
            if not await self.exits():
                self._child.see_kin()
                self._child.signal(posix.KILL)
                await self.exits()
        try:
            return await self._sweep()
        finally:
            self._forget()

    def _forget(self) -> None:
        self._stop_watching()
        self._read_the_rest()
        for fd in tuple(self._files):
            self.close(fd)
        self._child.forget()

    def left_running(self) -> set[Member]:
        """What is still alive of all that the process started, itself included."""
        return self._child.left_running()

    async def _sweep(self) -> set[Member]:
        """End what the process left behind: SIGTERM, wait, SIGKILL."""
        if not self._child.anything_left():
            return set()
        self._child.signal(posix.TERMINATE, self.left_running())
        if await self._gone(GRACE_SECONDS):
            return set()
        self._child.signal(posix.KILL, self.left_running())
        return set() if await self._gone(_KILLED_SECONDS) else self.left_running()

    async def _gone(self, seconds: float) -> bool:
        # Poll: grandchildren are not ours to wait for.
        deadline = self._loop.time() + seconds
        while self._child.anything_left() and self._loop.time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)
        return not self._child.anything_left()
