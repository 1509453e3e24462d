"""pytest as a real process, in a directory with a server, its settings and the files that a test writes there."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from textwrap import dedent, indent

import pytest
from tests import prefork

# It leaves a line in `starts` every time that it is started, and one in `ends` when it was asked to end.
SERVER = """
import sys
from mcp_conductor.cli import conductor
open("starts", "a").write("started\\n")
code = conductor()
open("ends", "a").write("ended\\n")
sys.exit(code)
"""
BOOK = """
serverInfo: {name: book, version: 1.0.0}
transport: {type: stdio, modern: true}
tools:
  - preset: echo
  - {name: lose, steps: [{fail: The book is lost.}]}
  - {name: motto, result: Nobody is a stranger twice.}
  - {name: crash, result: never}
faults:
  - {fault: crash, when: {method: tools/call, name: crash}, params: {code: 70}}
"""
# Without judges, whose import would be half of what most of these runs take.
INI = "[pytest]\nasyncio_default_fixture_loop_scope = function\naddopts = --strict-markers --strict-config -W error --conductor-no-judge\n"
_STATUS = re.compile(r"^(PASSED|FAILED|ERROR|XFAIL|XPASS) (.*?)(?: - (.*))?$", re.MULTILINE)
# What would change how a run goes, wherever these tests are run.
_MEDDLERS = (
    "CI",
    "NO_COLOR",
    "COLUMNS",
    "TERM",
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_WORKSPACE",
    "PYTEST_ADDOPTS",
    "FORCE_COLOR",
    "PY_COLORS",
)


@dataclass(frozen=True)
class Run:
    """What became of one run of pytest."""

    code: int
    out: str

    @property
    def statuses(self) -> dict[str, str]:
        """What the last lines say, by test; without the file, if there was one."""
        return {name.partition("::")[2] or name: status for status, name, _ in _STATUS.findall(self.out)}

    @property
    def text(self) -> str:
        """What is shown of failures and errors; the width of lines across the page is pytest's business."""
        shown = "===" + self.out.partition("\n===")[2]
        return re.sub(r"([=_!])\1{3,}", r"\1\1\1", re.sub(r"in \d+\.\d+s", "in 0s", shown))


@pytest.fixture
def surroundings(environment: dict[str, str]) -> dict[str, str]:
    # pytest keeps what it has compiled of our modules, as it does for every user.
    without = (*_MEDDLERS, "PYTHONDONTWRITEBYTECODE")
    kept = {key: value for key, value in environment.items() if key not in without}
    return {key: value for key, value in kept.items() if not key.startswith("PYTEST_XDIST")} | {"COLUMNS": "100"}


@pytest.fixture
def project(tmp_path: Path, write: Callable[[str, str], Path]) -> Path:
    """A directory with a server that the tests in it are about."""
    write("pytest.ini", INI)
    write("book.yaml", BOOK)
    server = (sys.executable, str(write("book.py", SERVER)), "serve", "book.yaml")
    command, *words = prefork.command(server, kind="mcp_conductor")
    settings = {"name": "book", "command": command, "args": words}
    write("conductor.config.json", json.dumps(settings))
    return tmp_path


@pytest.fixture
def run(
    project: Path, surroundings: dict[str, str], survivors: Callable[[], list[str]]
) -> Iterator[Callable[..., Run]]:
    """Run pytest there, and make sure that no server is left behind."""
    installed = entry_points(group="pytest11", name="mcp_conductor")
    plugin = () if installed else ("-p", "mcp_conductor.pytest_plugin")

    def pytest_run(*words: str, limit: float = 60, cwd: Path = project, **extra: str) -> Run:
        done = prefork.run(
            [sys.executable, "-m", "pytest", *plugin, "-q", "-rA", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=limit,
            cwd=cwd,
            env={**surroundings, **extra},
            check=False,
        )
        assert survivors() == [], "processes were left behind"
        return Run(done.returncode, done.stdout.decode())

    yield pytest_run
    assert survivors() == []


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    def write_file(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text))
        return file

    return write_file


@pytest.fixture
def suite(write: Callable[[str, str], Path]) -> Callable[..., str]:
    """Write a test file: TESTS is what stands under `tests`, HEAD what stands above it."""

    def write_suite(tests: str, *, head: str = "", name: str = "a.test.mcp.yml") -> str:
        body = indent(dedent(tests).strip(), "  ")
        write(name, f"description: about the book\n{dedent(head).strip()}\ntests:\n{body}\n")
        return name

    return write_suite


@pytest.fixture
def starts(project: Path) -> Callable[[], int]:
    """How many servers have been started so far."""

    def count() -> int:
        file = project / "starts"
        return len(file.read_text().splitlines()) if file.exists() else 0

    return count


@pytest.fixture
def ends(project: Path) -> Callable[[], int]:
    """How many of them have ended as they should: because they were asked to."""

    def count() -> int:
        file = project / "ends"
        return len(os.fsdecode(file.read_bytes()).splitlines()) if file.exists() else 0

    return count
