"""`scripts/test golden --update` writes what the programs say now into the cases; read the diff before you believe it."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests import prefork
from tests.conftest import Run
from tests.terminal import run_on_terminal

# What the installed programs call.
ENTRY_POINTS = {"mcp-cli": "mcp_cli", "conductor": "conductor", "server-composable": "server_composable"}
LIMIT_SECONDS = 30
collect_ignore_glob = ["*.test.mcp.yml", "*.test.mcp.yaml"]  # what the cases are about, and no tests of pytest's
# What would change what a run of tests says, wherever these tests are run.
MEDDLERS = ("CI", "COLUMNS", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE", "NO_COLOR", "TERM")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite the expected files of the golden cases")


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
    """Run one of our programs as a process of its own, and make sure that it leaves none behind."""

    def run(name: str, *words: str, stdin: str = "", columns: int | None = None, **extra: str) -> Run:
        assert name in ENTRY_POINTS, f"cmd must begin with one of {', '.join(ENTRY_POINTS)}, not {name!r}"
        code = "import sys; from mcp_conductor.cli import {0}; sys.exit({0}())".format(ENTRY_POINTS[name])
        surroundings = {**{name: value for name, value in environment.items() if name not in MEDDLERS}, **extra}
        began = time.perf_counter()
        if columns is not None:
            started = [sys.executable, "-c", code, *words]
            ended, shown = run_on_terminal(started, columns, cwd=tmp_path, env={**surroundings, "TERM": "xterm"})
            return Run(ended, shown, "", time.perf_counter() - began)
        done = prefork.run(
            [sys.executable, "-c", code, *words],
            input=stdin.encode(),
            capture_output=True,
            timeout=LIMIT_SECONDS,
            cwd=tmp_path,
            env=surroundings,
            check=False,
        )
        result = Run(done.returncode, done.stdout.decode(), done.stderr.decode(), time.perf_counter() - began)
        assert "Traceback" not in result.err or "stderr:" in result.err, result.err
        assert survivors() == [], "processes were left behind"
        return result

    yield run
    assert survivors() == []
