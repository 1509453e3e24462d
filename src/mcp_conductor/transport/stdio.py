"""stdio: the server is our child; one JSON message per line on its stdin and stdout.

How the process is started and ended is told in `processes`. A server that floods us is read in small portions, so that
timers and signals have their turn in between.
"""

import asyncio
import os
import sys
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING

from mcp_conductor import posix
from mcp_conductor.errors import StdioNotSupported, TransportError, way
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.budgets import DEFAULT, Budgets
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.line_splitter import LineSplitter
from mcp_conductor.protocol.message import Message, decode
from mcp_conductor.protocol.server_spec import StdioSpec, supported_transports
from mcp_conductor.transport import Authorize, Listener, finish, opens, processes
from mcp_conductor.transport.processes import GRACE_SECONDS, Process

if TYPE_CHECKING:
    from mcp_conductor.transport.asyncio_process import AsyncioProcess

DRAIN_SECONDS = 0.5  # how long the last output of a server that has exited may take to arrive
READY_SECONDS = 30.0  # for readyPattern, where no startupTimeout is given
LONGEST_STDERR_LINE = 64 * 2**10
MOST_UNSENT = 256 * 2**20  # bytes that the server has not read; then it is as good as gone

_RETURN = ord("\r")
_TURN_SECONDS = 0.02  # of work on what a server said, before others have their turn


@opens("stdio")
@asynccontextmanager
async def open_stdio(
    spec: StdioSpec, listener: Listener, _: Authorize | None = None
) -> AsyncIterator["StdioTransport"]:
    """Start the server; on leaving, end it and everything it started."""
    child = StdioTransport(listener, spec.budgets)
    await child.start(spec)
    try:
        if spec.ready_pattern:
            await child.ready(spec.ready_pattern, spec.startup_timeout or READY_SECONDS)
        yield child
    finally:
        await finish(child.end())


class StdioTransport:
    """One child process: messages to and from it, as the event loop tells us of them, and its end."""

    cancels_by_closing = False
    head_start = 0.0  # seconds for which the server had been getting ready when we began to talk to it

    def __init__(self, listener: Listener, budgets: Budgets = DEFAULT) -> None:
        self._listener = listener
        self._budgets = budgets
        self._loop = asyncio.get_running_loop()
        self._stdout = LineSplitter()
        self._stderr = LineSplitter()
        self._open_pipes = {1, 2}
        self._closed_pipes: set[int] = set()  # not read to the end yet
        # Lines that wait for the next turn, by pipe; the pipe is not read meanwhile.
        self._waiting: dict[int, deque[bytes]] = {1: deque(), 2: deque()}
        self._outbox: list[str] = []
        self._server_spoke = True
        self._closing = False
        self._gone = False
        # The lines of stderr, while they are to tell that the server is ready, and the end of it.
        self._signs: asyncio.Queue[str | TransportError] | None = None

    async def start(self, spec: StdioSpec) -> None:
        """Start the server; where there are sessions, without a moment at which we could be cancelled."""
        name = spec.command[0]
        if "stdio" not in supported_transports(sys.platform):
            raise StdioNotSupported(
                f"cannot start {name!r}: {sys.platform} has no processes, so stdio servers do not work there",
                hint="use a server with a url",
            )
        try:
            self._process = await self._started(spec)
            self.head_start = self._process.age
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and spec.cwd and not os.path.isdir(spec.cwd):  # noqa: ASYNC240  # we have failed anyway
                raise TransportError(f"cannot start {name!r}: {spec.cwd!r} is not a directory") from error
            from mcp_conductor.transport.start_hints import start_error

            raise start_error(spec, error) from error

    async def _started(self, spec: StdioSpec) -> "Process | AsyncioProcess":
        if posix.HAS_SESSIONS:
            return processes.start(spec.command, cwd=spec.cwd, env=spec.env, owner=self)
        from mcp_conductor.transport.asyncio_process import AsyncioProcess

        env = {**os.environ, **spec.env} if spec.env else None
        return await AsyncioProcess.start(_found_on_path(spec.command), cwd=spec.cwd, env=env, owner=self)

    # What the process tells us.

    def received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._server_spoke = True
            lines = self._stdout.feed(data)
        else:
            lines = self._stderr.feed(data)
            if self._stderr.waiting() > LONGEST_STDERR_LINE:
                lines.append(self._stderr.rest())
        if len(lines) == 1 and not self._waiting[fd] and not self._listener.busy:
            (self._mutter if fd == 2 else self._hear)(lines[0])
        elif lines:
            self._waiting[fd].extend(lines)
            self._take_some(fd)
        if self._stdout.waiting() > self._budgets.message_bytes:
            from mcp_conductor.protocol.size import size_text

            self._stdout.clear()
            longest = size_text(self._budgets.message_bytes)
            limit = way("--max-message-size", "Budgets(message_bytes=…)")
            self._tell_gone(f"the server sent a line longer than {longest} ({limit})")

    def _take_some(self, fd: int) -> None:
        """Take the lines that wait, for one turn of the loop."""
        waiting, enough = self._waiting[fd], monotonic() + _TURN_SECONDS
        take, listener = self._mutter if fd == 2 else self._hear, self._listener
        while waiting and not listener.busy:
            take(waiting.popleft())
            if monotonic() > enough:
                break
        if waiting:
            self._process.pause(fd)
            self._loop.call_soon(self._take_more, fd)

    def _take_more(self, fd: int) -> None:
        self._take_some(fd)
        if not self._waiting[fd]:
            if fd in self._closed_pipes:
                self._read_to_the_end(fd)
            else:
                self._process.resume(fd)

    def hear_no_more(self) -> None:
        """Close the server's stdout: if it goes on writing, that fails."""
        self._gone = True
        self._waiting[1].clear()
        self._process.close(1)

    def _hear(self, line: bytes) -> None:
        if line and not line.isspace() and not self._gone:
            self._listener.heard(decode(line[:-1] if line[-1] == _RETURN else line, self._budgets))

    def _mutter(self, line: bytes) -> None:
        text = line.removesuffix(b"\r").decode(errors="replace")
        self._listener.on_stderr(text)
        if self._signs is not None:
            self._signs.put_nowait(text)

    def pipe_closed(self, fd: int) -> None:
        if fd == 0:
            self._consider_gone()
        elif self._waiting[fd]:
            self._closed_pipes.add(fd)
        else:
            self._read_to_the_end(fd)

    def _read_to_the_end(self, fd: int) -> None:
        if fd == 2 and (rest := self._stderr.rest()):
            self._mutter(rest)
        self._open_pipes.discard(fd)
        self._consider_gone()

    def exited(self) -> None:
        self._consider_gone()

    def _consider_gone(self) -> None:
        """The child has exited or closed a pipe. Its last output may still be in the pipes; we wait for it, briefly."""
        if self._closing or self._gone:
            return
        if self._process.returncode is not None and not self._open_pipes:
            self._tell_gone()
        else:
            self._loop.call_later(DRAIN_SECONDS, self._tell_gone)

    def _tell_gone(self, why: str | None = None) -> None:
        if self._closing or self._gone:
            return
        if self._waiting[1]:  # its last output has arrived, and is being read
            self._loop.call_soon(self._tell_gone, why)
            return
        if rest := self._stdout.rest():
            self._hear(rest)
        self._gone = True
        reason = why or self._how_it_ended()
        if self._signs is not None:
            self._signs.put_nowait(TransportError(f"{reason} before it was ready"))
        self._listener.gone(reason)

    def _how_it_ended(self) -> str:
        code = self._process.returncode
        if code is None:
            return f"the server closed its {'stdin' if 1 in self._open_pipes else 'stdout'}"
        if code >= 0:
            return f"the server exited with code {code}"
        return f"the server was killed by {posix.signal_name(-code)}"

    def _tell_bad_end(self) -> None:
        """Tell how the server ended by itself, unless it ended well."""
        code = self._process.returncode
        if code and not self._process.was_signalled:
            self._listener.ended(posix.how_it_ended(code))

    # What we tell it.

    def send(self, message: Message) -> None:
        """Write at once if the server has spoken since the last time, else together with what else is written now."""
        if self._outbox:
            self._outbox.append(message.text)
        elif not self._process.reads:
            self._consider_gone()
        elif self._server_spoke:
            self._server_spoke = False
            self._process.write(f"{message.text}\n".encode(errors="surrogateescape"))
        else:
            self._loop.call_soon(self._flush)
            self._outbox.append(message.text)

    def _flush(self) -> None:
        if self._outbox:
            lines = "\n".join([*self._outbox, ""])
            self._process.write(lines.encode(errors="surrogateescape"))
            self._outbox.clear()
        if self._process.unsent() > MOST_UNSENT:
            self._tell_gone(f"the server does not read its stdin: more than {MOST_UNSENT >> 20} MiB wait to be read")

    def speak(self, dialect: Dialect) -> None:
        """Nothing on a pipe depends on the revision."""

    def abandon(self, request_id: Id) -> None:
        """All replies share one pipe; there is nothing to close."""

    def unsent(self) -> int:
        return self._process.unsent()

    async def ready(self, pattern: str, seconds: float) -> None:
        """Wait until a line of stderr matches PATTERN."""
        self._signs = asyncio.Queue()
        try:
            async with asyncio.timeout(seconds):
                await _first_match(pattern, self._signs)
        except TimeoutError:
            raise TransportError(
                f"no line of the server's stderr matched readyPattern {pattern!r} within {seconds:g} s"
            ) from None
        finally:
            self._signs = None

    # Its end.

    @property
    def exit_code(self) -> int | None:
        """How the server ended: its exit code, or the negative number of a signal; None while it lives."""
        return self._process.returncode

    @property
    def age(self) -> float:
        """How many seconds ago the server was started; 0 where that is unknown."""
        return self._process.age if isinstance(self._process, Process) else 0.0

    async def exits(self, seconds: float = GRACE_SECONDS) -> bool:
        """Whether the server ends within SECONDS."""
        return await self._process.exits(seconds)

    def is_quiet(self) -> bool:
        """Whether all that the server has written so far has been heard, as far as that can be told at once."""
        waiting = self._waiting[1] or self._waiting[2] or self._listener.busy
        return not waiting and isinstance(self._process, Process) and self._process.says_nothing()

    async def hang_up(self, seconds: float) -> bool:
        """Close the server's stdin, as a client does that has no more to say: whether the server ends in time."""
        self._flush()
        self._process.close_stdin()
        return await self.exits(seconds)

    def left_running(self) -> list[str]:
        """What is still alive of all that the server started, by its command lines; only where there is /proc."""
        return sorted(map(str, self._process.left_running()))

    async def end(self) -> None:
        """End the server and everything it started."""
        self._closing = True
        self._flush()
        left = await self._process.end()
        self._tell_bad_end()
        if left:
            names = ", ".join(f"{each} ({each.pid})" for each in sorted(left))
            self._listener.note(f"processes of the server could not be ended: {names}")


async def _first_match(pattern: str, lines: "asyncio.Queue[str | TransportError]") -> None:
    """Wait for a line that matches PATTERN; raises an error that comes instead of a line."""
    from mcp_conductor.bounded.regex import compile_regex
    from mcp_conductor.bounded.worker import TooSlowError, without_blocking

    regex = compile_regex(pattern)
    try:
        while not isinstance(line := await lines.get(), TransportError):
            if await without_blocking(regex.search, line):
                return
    except TooSlowError as error:
        raise TransportError(f"readyPattern: {error.message}", hint=error.hint) from None
    raise line


def _found_on_path(command: tuple[str, ...]) -> tuple[str, ...]:
    """On Windows `npx` is `npx.cmd`, which only a search of PATH finds."""
    import shutil

    return (shutil.which(command[0]) or command[0], *command[1:])
