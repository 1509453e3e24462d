"""stdio: the server is our child; one JSON message per line on its stdin and stdout.

Shutdown follows the specification: close stdin, wait, SIGTERM, wait, SIGKILL. The signals go to everything in the
child's session, so `npx`, `uvx` and `sh -c` leave nothing behind. Nothing here waits for a pipe to close: a grandchild
may hold it open for ever. Where there are no process groups (Windows) only the child itself is signalled.
"""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import cast

from mcp_conductor.errors import StdioNotSupported, TransportError
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message, decode
from mcp_conductor.protocol.server_spec import StdioSpec, supported_transports
from mcp_conductor.transport import Listener, finish

GRACE_SECONDS = 2.0  # for each step of the shutdown
DRAIN_SECONDS = 0.5  # how long a dead server's last words may take to arrive
READY_SECONDS = 30.0  # for readyPattern, where no startupTimeout is given
LONGEST_LINE = 256 * 2**20
LONGEST_STDERR_LINE = 64 * 2**10

_POLL_SECONDS = 0.01
_HAS_GROUPS = hasattr(os, "killpg")

# The servers running now, by the process id that is also their session's: for `kill_all`.
_running: set[int] = set()


@asynccontextmanager
async def open_stdio(spec: StdioSpec, listener: Listener) -> AsyncIterator["StdioTransport"]:
    """Start the server; on leaving, end it and everything it started."""
    child = StdioTransport(listener)
    await _spawn(spec, child)
    try:
        if spec.ready_pattern:
            await child.ready(spec.ready_pattern, spec.startup_timeout or READY_SECONDS)
        yield child
    finally:
        await finish(child.end())


def kill_all() -> None:
    """Kill every server at once: the user is in a hurry."""
    for leader in _running:
        _signal_session(leader, signal.SIGKILL if _HAS_GROUPS else signal.SIGTERM)


class Lines:
    """Lines out of chunks of any size, in linear time."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that DATA completes, without their newlines."""
        lines = data.split(b"\n")
        if len(lines) == 1:
            self._rest += data
            return []
        if self._rest:
            self._rest += lines[0]
            lines[0] = self.rest()
        self._rest += lines.pop()
        return lines

    def waiting(self) -> int:
        return len(self._rest)

    def rest(self) -> bytes:
        """What came after the last line end."""
        rest = bytes(self._rest)
        self._rest.clear()
        return rest


class StdioTransport(asyncio.SubprocessProtocol):
    """One child process: messages to and from it, as the event loop tells us of them, and its end."""

    cancels_by_closing = False

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._stdout = Lines()
        self._stderr = Lines()
        self._open_pipes = {1, 2}
        self._outbox: list[bytes] = []
        self._server_spoke = True
        self._exited = asyncio.Event()
        self._closing = False
        self._gone = False
        self._ready: tuple[re.Pattern[str], asyncio.Future[None]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", self._transport.get_pipe_transport(0))
        _running.add(self._transport.get_pid())
        for fd in (1, 2):
            _Pipe.take_over(self._transport.get_pipe_transport(fd), fd, self)

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._hear_stderr(data)
            return
        self._server_spoke = True
        for line in self._stdout.feed(data):
            self._hear(line)
        if self._stdout.waiting() > LONGEST_LINE:
            self._stdout.rest()
            self._tell_gone(f"the server sent a line longer than {LONGEST_LINE >> 20} MiB")

    def _hear(self, line: bytes) -> None:
        if line and not line.isspace() and not self._gone:
            self._listener.heard(decode(line.removesuffix(b"\r")))

    def _hear_stderr(self, data: bytes) -> None:
        lines = self._stderr.feed(data)
        if self._stderr.waiting() > LONGEST_STDERR_LINE:
            lines.append(self._stderr.rest())
        for line in lines:
            self._mutter(line)

    def _mutter(self, line: bytes) -> None:
        text = line.removesuffix(b"\r").decode(errors="replace")
        self._listener.muttered(text)
        if self._ready is not None and self._ready[0].search(text) and not self._ready[1].done():
            self._ready[1].set_result(None)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        if fd == 2 and (rest := self._stderr.rest()):
            self._mutter(rest)
        self._open_pipes.discard(fd)
        if fd != 0:  # a server that does not listen any longer may still answer
            self._consider_gone()

    def process_exited(self) -> None:
        self._exited.set()
        self._consider_gone()

    def _consider_gone(self) -> None:
        """The child is dead or has hung up. Its last words may still be in the pipes; we wait for them, briefly."""
        if self._closing or self._gone:
            return
        if self._exited.is_set() and not self._open_pipes:
            self._tell_gone()
        else:
            asyncio.get_running_loop().call_later(DRAIN_SECONDS, self._tell_gone)

    def _tell_gone(self, why: str | None = None) -> None:
        if self._closing or self._gone:
            return
        if rest := self._stdout.rest():
            self._hear(rest)
        self._gone = True
        reason = why or self._how_it_ended()
        if self._ready is not None and not self._ready[1].done():
            self._ready[1].set_exception(TransportError(f"{reason} before it was ready"))
        self._listener.gone(reason)

    def _how_it_ended(self) -> str:
        code = self._transport.get_returncode()
        if code is None:
            return f"the server closed its {'stdin' if 1 in self._open_pipes else 'stdout'}"
        if code >= 0:
            return f"the server exited with code {code}"
        return f"the server was killed by {_signal_name(-code)}"

    def send(self, message: Message) -> None:
        """Write at once if the server has spoken since the last time, else together with what else is written now."""
        data = message.text.encode(errors="surrogateescape") + b"\n"
        if self._stdin.is_closing():
            self._consider_gone()
        elif self._server_spoke:
            self._server_spoke = False
            self._stdin.write(data)
        else:
            if not self._outbox:
                asyncio.get_running_loop().call_soon(self._flush)
            self._outbox.append(data)

    def _flush(self) -> None:
        if self._outbox and not self._stdin.is_closing():
            self._stdin.write(b"".join(self._outbox))
        self._outbox.clear()

    def speak(self, dialect: Dialect) -> None:
        """Nothing on a pipe depends on the revision."""

    def abandon(self, request_id: Id) -> None:
        """All replies share one pipe; there is nothing to close."""

    def unsent(self) -> int:
        return self._stdin.get_write_buffer_size()

    async def ready(self, pattern: str, seconds: float) -> None:
        """Wait until a line of stderr matches PATTERN."""
        future = asyncio.get_running_loop().create_future()
        self._ready = (re.compile(pattern), future)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            raise TransportError(
                f"no line of the server's stderr matched readyPattern {pattern!r} within {seconds:g} s"
            ) from None
        finally:
            self._ready = None

    @property
    def exit_code(self) -> int | None:
        """How the server ended: its exit code, or the negative number of a signal; None while it lives."""
        return self._transport.get_returncode()

    async def hang_up(self, seconds: float) -> bool:
        """Close the server's stdin, as a client does that has no more to say: whether the server ends in time."""
        self._flush()
        self._stdin.close()
        return await self.exits(seconds)

    def left_running(self) -> list[str]:
        """What is still alive of all that the server started, by its command lines; only where there is /proc."""
        return [_command_line(process) for process in _session_members(self._transport.get_pid())]

    async def end(self) -> None:
        """Close stdin, wait, SIGTERM, wait, SIGKILL; then the same for whatever the child left behind."""
        self._closing = True
        leader = self._transport.get_pid()
        self._flush()
        self._stdin.close()
        if not await self.exits():
            _signal_session(leader, signal.SIGTERM)
            if not await self.exits() and _HAS_GROUPS:
                _signal_session(leader, signal.SIGKILL)
                await self.exits()
        await _sweep(leader)
        _running.discard(leader)
        self._transport.close()
        # Let the loop close the pipes before it may itself be closed.
        await asyncio.sleep(0)

    async def exits(self, seconds: float = GRACE_SECONDS) -> bool:
        """Whether the server ends within SECONDS."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()


class _Pipe(asyncio.Protocol):
    """Data straight from a pipe: asyncio's own way takes one more turn of the event loop for each chunk."""

    def __init__(self, fd: int, child: StdioTransport) -> None:
        self._fd = fd
        self._child = child

    @classmethod
    def take_over(cls, pipe: asyncio.BaseTransport | None, fd: int, child: StdioTransport) -> None:
        assert pipe is not None
        pipe.set_protocol(cls(fd, child))
        if hasattr(pipe, "max_size"):
            # A pipe holds 64 KiB; asking for the 256 KiB of the default costs a fresh mapping of memory each time.
            pipe.max_size = 2**16

    def data_received(self, data: bytes) -> None:
        self._child.pipe_data_received(self._fd, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._child.pipe_connection_lost(self._fd, exc)


async def _spawn(spec: StdioSpec, child: StdioTransport) -> None:
    if "stdio" not in supported_transports(sys.platform):
        raise StdioNotSupported(
            f"cannot start {spec.command[0]!r}: {sys.platform} has no processes, so stdio servers do not work there",
            hint="use a server with a url",
        )
    try:
        await asyncio.get_running_loop().subprocess_exec(
            lambda: child,
            *_resolved(spec.command),
            cwd=spec.cwd,
            env={**os.environ, **spec.env} if spec.env else None,
            start_new_session=_HAS_GROUPS,
        )
    except OSError as error:
        if spec.cwd and not os.path.isdir(spec.cwd):  # noqa: ASYNC240  # we have failed anyway
            raise TransportError(f"cannot start {spec.command[0]!r}: {spec.cwd!r} is not a directory") from error
        hint = "is it installed, and on PATH?" if isinstance(error, FileNotFoundError) else None
        raise TransportError(f"cannot start {spec.command[0]!r}: {error.strerror}", hint=hint) from error
    except ValueError as error:  # a NUL in a word
        raise TransportError(f"cannot start {spec.command[0]!r}: {error}") from error


def _resolved(command: tuple[str, ...]) -> tuple[str, ...]:
    """On Windows `npx` is `npx.cmd`, which only a search of PATH finds."""
    if os.name != "nt":
        return command
    import shutil

    return (shutil.which(command[0]) or command[0], *command[1:])


def _signal_session(leader: int, number: int) -> None:
    """Send a signal to the child's process group, and to the groups that its shells made in the same session."""
    if not _HAS_GROUPS:
        with suppress(ProcessLookupError):
            os.kill(leader, number)
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
    for process in _session_members(leader):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


async def _sweep(leader: int) -> None:
    """End what is left of the session after its leader is gone: SIGTERM, wait, SIGKILL."""
    if not _HAS_GROUPS or not _session_alive(leader):
        return
    _signal_session(leader, signal.SIGTERM)
    deadline = asyncio.get_running_loop().time() + GRACE_SECONDS
    # Poll: grandchildren are not ours to wait for.
    while _session_alive(leader) and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(_POLL_SECONDS)
    _signal_session(leader, signal.SIGKILL)


def _session_alive(leader: int) -> bool:
    if _PROC:
        return bool(_session_members(leader))
    try:
        os.killpg(leader, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


_PROC = sys.platform == "linux" and os.path.isdir("/proc/self")


def _session_members(leader: int) -> list[int]:
    """The living processes of the session that LEADER began; where there is no /proc, none are known."""
    return (
        [int(name) for name in os.listdir("/proc") if name.isdigit() and _lives_in(int(name), leader)] if _PROC else []
    )


def _lives_in(process: int, session: int) -> bool:
    try:
        # Asking for the session is a quick system call; only its members are worth opening a file for.
        if os.getsid(process) != session:
            return False
        with open(f"/proc/{process}/stat", "rb") as stat:
            # pid (command) state …; the command may hold anything, even brackets.
            return stat.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return False


def _command_line(process: int) -> str:
    try:
        with open(f"/proc/{process}/cmdline", "rb") as line:
            return line.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return f"process {process}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
