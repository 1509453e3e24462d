"""Programs as real processes that start in milliseconds: one process imports what they need, and forks for each of them.

To start an interpreter and to import one of our programs takes ten times as long as most tests of it. What is forked has
its own process, session, environment, directory and streams, and it ends as an interpreter does. It cannot show what an
import does, and `/proc/PID/environ` is not its own: tests of start-up, of signals and of the terminal use `subprocess`. So
does each run that is not known here.

A program that is to be forked has a command line of its own (`command`), which any process can start: it runs
tests/launch.py, which asks for the fork. Where this process starts it, the fork is asked for at once.
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

from tests.forkserver import CHILD, ENTRIES, MOST, encoded

LAUNCH = str(Path(__file__).with_name("launch.py"))
FORKSERVER = str(Path(__file__).with_name("forkserver.py"))
_PEERS = {
    **dict.fromkeys(("sdk_server.py", "mcp-server-time", "mcp-server-git"), "mcp"),
    **dict.fromkeys(("fastmcp_server.py", "oauth_peers.py"), "fastmcp"),
}
_FOLLOWED = {"PYTHON", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}  # a fork does as they say, too
_WITHOUT = "CONDUCTOR_TESTS_WITHOUT_FORK"  # with this, every process is a new one


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
    return subprocess.Popen(command(words) if same and not _is_customized(env) else words, **options)


def _is_customized(env: Mapping[str, str]) -> bool:
    """Whether an interpreter runs code of a test when it starts, which a fork would not."""
    return any((Path(place) / "sitecustomize.py").exists() for place in env.get("PYTHONPATH", "").split(os.pathsep))


def command(words: Sequence[str], kind: str | None = None) -> tuple[str, ...]:
    """The command line of a small program that gives its streams to a fork which does what WORDS say, and ends with it.

    A signal to it kills the fork. KIND says what to import for a script.
    """
    kind = _kind(words) or kind
    if kind is None or words[0] != sys.executable or LAUNCH in words[:4] or _WITHOUT in os.environ:
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


def _fork_or_exec(words: Sequence[str], *rest: Any) -> int:
    """Start a process for `subprocess`: the number of a child of ours. REST is as in Lib/subprocess.py of 3.11 to 3.13."""
    if LAUNCH not in words[:4]:
        return _fork_exec(words, *rest)
    cwd, env, ends = rest[3], rest[4], (rest[5], rest[8], rest[10])
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as asking:
        asking.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * MOST)
        asking.connect(f"\0{words[4]}")
        variables = [b"=".join(each) for each in os.environb.items()] if env is None else env
        request = encoded(CHILD, os.fspath(cwd or os.getcwd()), words[5:], variables)
        socket.send_fds(asking, [request], [place if end == -1 else end for place, end in enumerate(ends)])
        return int(asking.recv(64) or 0) or _fork_exec(words, *rest)


# Where `subprocess` has no such function, or it is called in another way, tests/launch.py is started.
_fork_exec = getattr(subprocess, "_fork_exec", None)
if _fork_exec is not None and sys.version_info < (3, 14):
    subprocess._fork_exec = _fork_or_exec
    subprocess._USE_POSIX_SPAWN = False  # which 3.13 prefers, and which cannot be told to fork


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
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:  # it still imports
            self._process.kill()
            self._process.wait()


_started: dict[str, _Forkserver] = {}


def _forkserver(kind: str) -> _Forkserver:
    if kind not in _started:
        _started[kind] = _Forkserver(kind)
    return _started[kind]
