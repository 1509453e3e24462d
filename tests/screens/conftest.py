"""`scripts/test screens --update` writes what the programs say now into the pages; read the diff before you believe it."""

import faulthandler
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from unittest.mock import patch

import pytest
from tests import prefork
from tests.conftest import Run
from tests.terminal import run_on_terminal

from mcp_conductor import plugins, posix
from mcp_conductor.bounded.worker import kill_worker
from mcp_conductor.cli.commands.dispatch import main as conductor
from mcp_conductor.cli.commands.mcp_cli.run import main as mcp_cli
from mcp_conductor.cli.commands.serve.run import main as serve
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.transport import children

MAINS = {
    "mcp-cli": mcp_cli,
    "conductor": conductor,
    "server-composable": partial(serve, program="server-composable"),
}
LIMIT_SECONDS = 60
# What would change what a run of tests says, wherever these tests are run.
MEDDLERS = ("CI", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "NO_COLOR", "TERM")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite what the pages of tests/screens expect")


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    # Where the whole of tests/ is run, pytest reads this file too late to know the option.
    return bool(request.config.getoption("--update", default=False))


@pytest.fixture
def taken() -> Iterator[str]:
    """A port of 127.0.0.1 that is listened on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield str(listener.getsockname()[1])


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Serve the server.yaml of the case over HTTP: its URL."""
    started: list[subprocess.Popen[str]] = []

    def start() -> str:
        words = ("-m", "mcp_conductor", "serve", "server.yaml", "--transport", "streamable-http", "--port", "0")
        started.append(prefork.start([sys.executable, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True))
        assert started[0].stderr is not None
        return started[0].stderr.readline().split()[-1]

    yield start
    for process in started:
        process.terminate()
        process.communicate(timeout=LIMIT_SECONDS)


@pytest.fixture
def program(
    tmp_path: Path, environment: dict[str, str], survivors: Callable[[], list[str]]
) -> Iterator[Callable[..., Run]]:
    """Run one of our programs in this process or in one of its own, and make sure that it leaves nothing behind."""

    def run(
        name: str, *words: str, stdin: str = "", columns: int | None = None, process: bool = False, **extra: str
    ) -> Run:
        assert name in MAINS, f"a command must begin with one of {', '.join(MAINS)}, not {name!r}"
        surroundings = {**{name: value for name, value in environment.items() if name not in MEDDLERS}, **extra}
        began = time.perf_counter()
        if columns is not None:
            code, out = run_on_terminal(
                entry_point(name, words), columns, cwd=tmp_path, env={**surroundings, "TERM": "xterm"}
            )
            return Run(code, out, "", time.perf_counter() - began)
        if process:
            done = prefork.run(
                entry_point(name, words),
                input=stdin.encode(),
                capture_output=True,
                timeout=LIMIT_SECONDS,
                cwd=tmp_path,
                env=surroundings,
                check=False,
            )
            result = Run(done.returncode, done.stdout.decode(), done.stderr.decode(), time.perf_counter() - began)
        else:
            with this_process_in(tmp_path, surroundings):
                streams = BytesIO(), BytesIO(), BytesIO(stdin.encode())
                code = int(MAINS[name](list(words), Terminal(*streams, os.environ, str(tmp_path))))
            out, err = (stream.getvalue().decode() for stream in streams[:2])
            result = Run(code, out, err, time.perf_counter() - began)
        assert "Traceback" not in result.err or "stderr:" in result.err, result.err
        return result

    yield run
    assert survivors() == [], "processes were left behind"


def entry_point(name: str, words: tuple[str, ...]) -> list[str]:
    code = "import sys; from mcp_conductor.cli import {0}; sys.exit({0}())".format(name.replace("-", "_"))
    return [sys.executable, "-c", code, *words]


@contextmanager
def this_process_in(directory: Path, environment: dict[str, str]) -> Iterator[None]:
    """Let this process be where a program runs, and find it afterwards as it was before; what takes too long ends it."""
    streams, thresholds, before = (sys.stdin, sys.stdout, sys.stderr), gc.get_threshold(), state()
    threads = threading.enumerate()
    handlers = {number: signal.getsignal(number) for number in (*posix.STOP_SIGNALS, signal.SIGALRM)}
    # What loses its parents does not become a child of ours: this process has children that are not the program's.
    with (
        chdir(directory),
        patch.dict(os.environ, environment, clear=True),
        patch.object(posix, "become_subreaper", lambda: False),
    ):
        faulthandler.dump_traceback_later(LIMIT_SECONDS, exit=True, file=sys.__stderr__)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
            kill_worker()
            for thread in set(threading.enumerate()) - set(threads):  # nothing waits for those of the event loop
                thread.join(LIMIT_SECONDS)
            gc.unfreeze()
            gc.set_threshold(*thresholds)
            sys.stdin, sys.stdout, sys.stderr = streams
            for number, handler in handlers.items():
                signal.signal(number, handler)
    assert state() == before, "the run leaves something behind: it needs a process of its own"


def state() -> dict[str, object]:
    """What one run could change for the next."""
    return {
        "plugins": (plugins._registered, dict(plugins._files)),
        "children": list(children._running),
        "timer": signal.getitimer(signal.ITIMER_REAL)[0] > 0,
        "threads": threading.active_count(),
        "logging": (logging.root.level, list(logging.root.handlers)),
        "imports": (list(sys.path), list(sys.meta_path)),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "ignored signals": signal.getsignal(signal.SIGPIPE),
    }
