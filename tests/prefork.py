"""Programs as real processes that start in milliseconds: one process imports what they need, and forks for each of them.

To start an interpreter and to import one of our programs takes ten times as long as most tests of it. What is forked has
its own process, session, environment, directory and streams, and it ends as an interpreter does. It cannot show what an
import does, `/proc/PID/environ` is not its own, and it has no parent that it knows: tests of start-up, of signals and of the
terminal use `subprocess`. So does each run whose coverage is measured, and each that is not known here.
"""

import atexit
import os
import socket
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.forkserver import ENTRIES, MOST, encoded

LAUNCH = str(Path(__file__).with_name("launch.py"))
FORKSERVER = str(Path(__file__).with_name("forkserver.py"))
_PEERS = {"sdk_server.py": "mcp", "fastmcp_server.py": "fastmcp", "oauth_peers.py": "fastmcp"}
_FOLLOWED = {"PYTHON", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}  # a fork does as they say, too
_WITHOUT = {"COVERAGE_PROCESS_CONFIG", "CONDUCTOR_TESTS_WITHOUT_FORK"}  # with one of these, every process is a new one


def run(
    words: Sequence[str],
    *,
    input: bytes | str | None = None,  # noqa: A002  # as there
    timeout: float,
    capture_output: bool = False,
    check: bool = False,
    **options: Any,
) -> "subprocess.CompletedProcess[Any]":
    """The same as `subprocess.run`: forked where that is possible."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} if capture_output else {}
    given = {} if input is None else {"stdin": subprocess.PIPE}
    with start(words, **pipes, **given, **options) as process:
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            raise
    done = subprocess.CompletedProcess(words, process.returncode, out, err)
    if check:
        done.check_returncode()
    return done


def start(words: Sequence[str], **options: Any) -> "subprocess.Popen[Any]":
    """The same as `subprocess.Popen`: forked where that is possible."""
    env = options.get("env") or os.environ
    read_at_start = (name for name in {*env, *os.environ} if name.startswith(("PYTHON", "LC_", "LANG")))
    same = all(env.get(name) == os.environ.get(name) for name in read_at_start if name not in _FOLLOWED)
    if _kind(words) is None or not same or _is_customized(env) or not _WITHOUT.isdisjoint(os.environ):
        return subprocess.Popen(words, **options)
    return _Forked(list(words), **options)


def _is_customized(env: Mapping[str, str]) -> bool:
    """Whether an interpreter runs code of a test when it starts, which a fork would not."""
    return any((Path(place) / "sitecustomize.py").exists() for place in env.get("PYTHONPATH", "").split(os.pathsep))


def command(words: Sequence[str], kind: str | None = None) -> tuple[str, ...]:
    """The command line of a small program that gives its streams to a fork which does what WORDS say, and ends with it.

    A signal to it kills the fork. KIND says what to import for a script.
    """
    kind = _kind(words) or kind
    if kind is None or words[0] != sys.executable or LAUNCH in words or not _WITHOUT.isdisjoint(os.environ):
        return tuple(words)
    return (sys.executable, "-I", "-S", LAUNCH, _forkserver(kind).address, *words)


def _kind(words: Sequence[str]) -> str | None:
    """What has to be imported for this program, if it is one that is known here."""
    if len(words) < 2 or words[0] != sys.executable:
        return None
    if words[1] == "-c":
        return "mcp_conductor" if words[2] in ENTRIES else None
    if words[1] == "-m":
        return words[2] if words[2] in ("mcp_conductor", "pytest") else None
    return _PEERS.get(Path(words[1]).name)


class _Forked(subprocess.Popen[Any]):
    """A process whose parent is a fork server, which tells how it ended."""

    def _execute_child(self, args: Any, *rest: Any) -> None:
        # As in Lib/subprocess.py of Python 3.11 to 3.13: what to run, then where and how, then the ends of the pipes.
        cwd, env, ends = rest[4], rest[5], rest[9:15]
        streams = [place if end == -1 else end for place, end in enumerate((ends[0], ends[3], ends[5]))]
        self._told = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._told.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MOST)
        self._told.connect(f"\0{_forkserver(str(_kind(args))).address}")
        request = encoded(os.fspath(cwd or os.getcwd()), args, dict(env or os.environ))
        socket.send_fds(self._told, [request], streams)
        self.pid = int(self._told.recv(64))
        self._child_created = True
        self._close_pipe_fds(*ends)

    def _try_wait(self, wait_flags: int) -> tuple[int, int]:
        try:
            status = self._told.recv(64, socket.MSG_DONTWAIT if wait_flags & os.WNOHANG else 0)
        except BlockingIOError:
            return 0, 0
        self._told.close()
        return self.pid, int(status)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        if self.returncode is None and self._waitpid_lock.acquire(blocking=False):
            try:
                if self.returncode is None:
                    pid, status = self._try_wait(os.WNOHANG)
                    if pid == self.pid:
                        self._handle_exitstatus(status)
            finally:
                self._waitpid_lock.release()
        return self.returncode


class _Forkserver:
    """A process that has imported everything; it ends when we do."""

    def __init__(self, kind: str) -> None:
        self.address = f"conductor-tests-{uuid.uuid4().hex}"
        self._alive, theirs = socket.socketpair()
        with theirs, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(f"\0{self.address}")
            listener.listen(64)
            descriptors = [listener.fileno(), theirs.fileno()]
            self._process = subprocess.Popen(
                [sys.executable, FORKSERVER, kind, *map(str, descriptors)],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=descriptors,
            )  # fmt: skip
        atexit.register(self._end)

    def _end(self) -> None:
        self._alive.close()
        self._process.wait(10)


_started: dict[str, _Forkserver] = {}


def _forkserver(kind: str) -> _Forkserver:
    if kind not in _started:
        _started[kind] = _Forkserver(kind)
    return _started[kind]
