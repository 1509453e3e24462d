"""The process that tests/prefork.py starts: it imports what programs need, then forks one for each that is asked for.

A fork for the process that started us is made a child of it, so that it sees the end of the fork as of any other child.
A fork for another process (tests/launch.py) is a child of ours, and we tell how it ended.
"""

import atexit
import ctypes
import gc
import importlib
import os
import pkgutil
import runpy
import select
import signal
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, NoReturn

_ENTRY = "import sys; from mcp_conductor.cli import {0}; sys.exit({0}())"
ENTRIES = {_ENTRY.format(name): name for name in ("mcp_cli", "conductor", "server_composable")}
MOST = 1 << 17  # bytes of one request
CHILD, APART = "child", "apart"  # of the process that started us, or not
_CLONE3, _CLONE_PARENT = 435, 0x8000  # the same for all processors
# What is imported beforehand. Not our own package for pytest, which rewrites the assertions of what it imports.
_IMPORTED = {
    "mcp_conductor": ("mcp_conductor", "mcp_conductor.cli"),
    "pytest": ("pytest", "_pytest.pytester", "asyncio", "yaml", "ssl", "unittest.mock", "json.tool"),
    "mcp": ("mcp", "mcp.server.mcpserver", "mcp.client.streamable_http", "uvicorn"),
    "fastmcp": ("fastmcp", "fastmcp.server.auth.providers.in_memory", "mcp.server.mcpserver", "uvicorn"),
    "script": (
        *("json", "re", "signal", "subprocess", "base64", "http.client", "http.server", "tempfile", "textwrap"),
        *("secrets", "urllib.request"),
    ),
}


class Request(NamedTuple):
    """A program, and where it runs."""

    whose: str
    cwd: str
    words: list[str]
    env: dict[str, str]


def encoded(whose: str, cwd: str, words: Sequence[str], env: Sequence[bytes]) -> bytes:
    parts = [*map(os.fsencode, (whose, cwd, str(len(words)), *words)), *env]
    data = b"\0".join(parts)
    assert len(data) <= MOST, "too many words"
    return data


def decoded(data: bytes) -> Request:
    whose, cwd, count, *parts = (os.fsdecode(part) for part in data.split(b"\0"))
    pairs = (part.partition("=") for part in parts[int(count) :])
    return Request(whose, cwd, parts[: int(count)], {name: value for name, _, value in pairs})


def serve(listener: socket.socket, alive: socket.socket) -> Request | None:
    """Fork for each request, and return it in the new process; return None when nothing more can come."""
    running: dict[socket.socket, tuple[int, int]] = {}  # who asked; the process, and its descriptor
    while True:
        descriptors = {descriptor: asked for asked, (_, descriptor) in running.items()}
        ready, _, _ = select.select([listener, alive, *running, *descriptors], [], [])
        if alive in ready:
            for pid, _ in running.values():
                os.killpg(pid, signal.SIGKILL)
            return None
        for ended in descriptors.keys() & set(ready):
            asked = descriptors[ended]
            _tell(asked, os.waitpid(running.pop(asked)[0], 0)[1])
            asked.close()
            os.close(ended)
        for asked in running.keys() & set(ready):  # who asked is gone
            with suppress(ProcessLookupError):
                os.killpg(running[asked][0], signal.SIGKILL)
        if listener in ready:
            asked, _ = listener.accept()
            data, streams, _, _ = socket.recv_fds(asked, MOST, 3)
            if data:
                request = decoded(data)
                pid = _FORKS.get(request.whose, lambda: -1)()
                if pid == 0:
                    os.setsid()
                    _tell(asked, os.getpid())  # now a signal to its group reaches it
                    _take(streams, [listener, alive, asked, *running], [each for _, each in running.values()])
                    return request
                if request.whose == APART:
                    running[asked] = pid, os.pidfd_open(pid)
                else:
                    if pid < 0:
                        _tell(asked, 0)
                    asked.close()
            for stream in streams:
                os.close(stream)


def fork_a_sibling() -> int:
    """The same as `os.fork`, but the new process is a child of our parent; -1 where that is impossible."""
    python, system = ctypes.pythonapi, ctypes.PyDLL(None)
    system.syscall.restype = ctypes.c_long
    words = (ctypes.c_uint64 * 8)(_CLONE_PARENT)
    python.PyOS_BeforeFork()
    pid: int = system.syscall(ctypes.c_long(_CLONE3), words, ctypes.c_size_t(ctypes.sizeof(words)))
    (python.PyOS_AfterFork_Child if pid == 0 else python.PyOS_AfterFork_Parent)()
    return pid


_FORKS = {CHILD: fork_a_sibling, APART: os.fork}


def _tell(asked: socket.socket, number: int) -> None:
    with suppress(OSError):  # who asked may be gone
        asked.send(str(number).encode())


def _take(streams: list[int], sockets: list[socket.socket], descriptors: list[int]) -> None:
    """Make STREAMS those of this process, and leave nothing else open."""
    for each in sockets:
        each.close()
    for descriptor in descriptors:
        os.close(descriptor)
    for place, stream in enumerate(streams):
        os.dup2(stream, place)
        os.close(stream)


def play(asked: Request) -> None:
    """Do what a new interpreter would do with these words."""
    os.chdir(asked.cwd)
    path = [each for each in asked.env.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.path[:] = ["", *path, *(each for each in sys.path[1:] if each not in path)]
    os.environ.clear()
    os.environ.update(asked.env)
    sys.dont_write_bytecode = bool(asked.env.get("PYTHONDONTWRITEBYTECODE"))
    _, what, *rest = asked.words
    if what == "-c":
        sys.argv = ["-c", *rest[1:]]
        sys.exit(getattr(importlib.import_module("mcp_conductor.cli"), ENTRIES[rest[0]])())
    if what == "-m":
        sys.path[0] = os.getcwd()
        sys.argv = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = os.path.dirname(os.path.abspath(what))
        sys.argv = [what, *rest]
        runpy.run_path(what, run_name="__main__")


def end(code: object) -> NoReturn:
    """End as an interpreter does, but without taking apart all that was imported, which takes longer than most runs."""
    threading._shutdown()
    atexit._run_exitfuncs()
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:
        print(f"Exception ignored in: {sys.stdout!r}\n{error!r}", file=sys.stderr)
        code = 120
    sys.stderr.flush()
    os._exit(int(code or 0) & 0xFF)


def import_for(kind: str) -> None:
    modules = [importlib.import_module(name) for name in _IMPORTED[kind]]
    if kind != "mcp_conductor":
        return
    package, cli = modules
    entries = {name: getattr(cli, name) for name in ENTRIES.values()}
    for each in pkgutil.walk_packages(package.__path__, "mcp_conductor."):
        if not each.name.endswith("__main__") and ".pytest_plugin" not in each.name:
            importlib.import_module(each.name)
    for name, entry in entries.items():  # two of them are called as the modules that do their work
        setattr(cli, name, entry)


def measure_forks_alone() -> None:
    """Where coverage is measured: what is imported here is run by no test. In each fork, measuring begins again."""
    coverage = sys.modules.get("coverage")
    if coverage is not None and (measured := coverage.Coverage.current()) is not None:
        measured.stop()


if __name__ == "__main__":
    measure_forks_alone()
    import_for(sys.argv[1])
    gc.collect()
    gc.freeze()
    _asked = serve(*(socket.socket(fileno=int(each)) for each in sys.argv[2:]))
    if _asked is not None:
        try:
            play(_asked)
        except SystemExit as _end:
            end(_end.code)
        end(0)
