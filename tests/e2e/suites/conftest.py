"""`conductor test` as a real process, on test files that stand in the tests, against servers that stand there too."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

import pytest
from tests import prefork

collect_ignore = ["two_ways"]  # what a test runs in two ways
CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
# What would change how a run goes, wherever these tests are run.
_MEDDLERS = ("CI", "NO_COLOR", "COLUMNS", "TERM", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "GITHUB_WORKSPACE")

# A server that has a tool for most things.
BOOK = """
serverInfo: {name: book, version: 1.0.0}
transport: {type: stdio, modern: true}
logging: true
listChanged: {resources: true}
maxPageSize: {tools: 3}
tools:
  - preset: echo
  - name: add
    inputSchema: {type: object, properties: {a: {type: integer}, b: {type: integer}}}
    outputSchema: {type: object, properties: {a: {type: integer}, b: {type: integer}}, required: [a, b]}
    result:
      content: [{type: text, text: '{"a": {{ arguments.a }}, "b": {{ arguments.b }}}'}]
      structuredContent: {a: "{{ arguments.a }}", b: "{{ arguments.b }}"}
  - {name: lose, steps: [{fail: The book is lost.}]}
  - {name: burn, steps: [{fail: {code: -32050, message: the book is on fire, data: {page: 7}}}]}
  - {name: loud, steps: [{log: first}, {log: {level: warning, data: second}}], result: said}
  - {name: slow, steps: [{sleep: 300ms}], result: at last}
  - {name: crash, result: never}
  - {name: motto, result: Nobody is a stranger twice.}
resources:
  - {uri: "people://ada", name: Ada, mimeType: text/plain, text: Ada lives in London}
prompts:
  - name: letter
    arguments: [{name: to, required: true, complete: [Ada, Alan]}]
    text: Write to {{ arguments.to }}.
faults:
  - {fault: crash, when: {method: tools/call, name: crash}, params: {code: 70}}
"""


@dataclass(frozen=True)
class Run:
    """What became of one run of `conductor`."""

    code: int
    out: str
    err: str
    seconds: float
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def all(self) -> str:
        return self.out + self.err

    @property
    def statuses(self) -> dict[str, str]:
        return {title: outcome["status"] for title, outcome in self.outcomes.items()}

    @property
    def outcomes(self) -> dict[str, Any]:
        return {outcome["title"]: outcome for outcome in self.report["outcomes"]}

    def findings(self, title: str) -> str:
        """Everything that is said of one test."""
        return "\n".join(finding["message"] for finding in self.outcomes[title]["findings"])


@pytest.fixture
def surroundings(environment: dict[str, str]) -> dict[str, str]:
    """The environment of a run, without what differs from machine to machine."""
    return {key: value for key, value in environment.items() if key not in _MEDDLERS}


@pytest.fixture
def conductor(
    tmp_path: Path, surroundings: dict[str, str], survivors: Callable[[], list[str]]
) -> Iterator[Callable[..., Run]]:
    """Run conductor as a process of its own, and make sure that it leaves none behind."""

    def run(*words: str, limit: float = 30, **extra: str) -> Run:
        began = time.perf_counter()
        done = prefork.run(
            [*CONDUCTOR, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=limit,
            cwd=tmp_path,
            env={**surroundings, **extra},
            check=False,
        )
        took = time.perf_counter() - began
        report = tmp_path / "report.json"
        found = json.loads(report.read_text()) if report.exists() else {}
        result = Run(done.returncode, done.stdout.decode(), done.stderr.decode(), took, found)
        assert "mcp_conductor/cli/__init__.py" not in result.all, result.all  # a traceback of ours
        assert survivors() == [], "processes were left behind"
        return result

    yield run
    assert survivors() == []


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write a file into the directory of the test."""

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
        write(
            name,
            f"description: about it\n{dedent(head).strip()}\ntests:\n" + indent(dedent(tests).strip(), "  ") + "\n",
        )
        return name

    return write_suite


@pytest.fixture
def book(write: Callable[[str, str], Path]) -> tuple[str, ...]:
    """The words that start the server of these tests."""
    return prefork.command((*CONDUCTOR, "serve", str(write("book.yaml", BOOK))))


@pytest.fixture
def check(conductor: Callable[..., Run], suite: Callable[..., str], book: tuple[str, ...]) -> Callable[..., Run]:
    """Run TESTS against a server, the book's if no other is given."""

    def run(tests: str, *words: str, head: str = "", server: tuple[str, ...] | None = None, **more: Any) -> Run:
        file = suite(tests, head=head)
        return conductor("test", file, "--report", "json:report.json", *words, "--", *(server or book), **more)

    return run
