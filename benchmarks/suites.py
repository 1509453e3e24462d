"""Whole runs of `conductor test`, and of others on the same files, which are written for it.

The files are such as people write: requests as they go over the wire, and replies in which some values are matchers.
All tests pass, on the trivial server.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from one_shot import HERE, SERVER, Runs, node, timed

CONDUCTOR = os.path.join(os.path.dirname(sys.executable), "conductor")
AEGIS = os.path.realpath(os.path.join(HERE, "..", "tests", "peers", "node_modules", "mcp-aegis", "bin", "aegis.js"))
AEGIS_IS_THERE = os.path.exists(AEGIS)
SETTINGS = "aegis.config.json"
ENDING = ".test.mcp.yml"
LATENCY = 100  # milliseconds
TESTS_PER_FILE = 4  # of the files for the server with latency
# -S -E: the runner is to be measured, not how long Python takes to look for packages that the server does not need.
SLOW_SERVER = (sys.executable, "-S", "-E", os.path.join(HERE, "slow_server.py"), str(LATENCY))

HEAD = """\
description: "How the weather is"
tests:
"""
TEST = """\
  - it: "should tell the weather of town {number}"
    request:
      jsonrpc: "2.0"
      id: "call-{number}"
      method: "tools/call"
      params:
        name: "tool_0"
        arguments:
          place: "Town {number}"
          days: {days}
    expect:
      response:
        jsonrpc: "2.0"
        id: "call-{number}"
        result:
{result}
      stderr: "toBeEmpty"

"""
RESULTS = (
    """\
          content:
            - type: "text"
              text: "match:contains:21 degrees"
          isError: false""",
    """\
          match:partial:
            content:
              - type: "match:type:string"
                text: "match:startsWith:Sunny"
            isError: "match:type:boolean\"""",
    """\
          content: "match:arrayLength:1"
          isError: false""",
    """\
          content:
            - match:partial:
                text: "match:regex:\\\\d+ degrees, (light|strong) wind"
          isError: "match:type:boolean\"""",
    """\
          content:
            match:arrayElements:
              type: "text"
              text: "match:endsWith:from the west"
          isError: false""",
)


@dataclass
class SuiteRuns(Runs):
    """A command, and what it must print every time."""

    says: str = ""

    def once(self) -> None:
        with tempfile.TemporaryFile() as out:
            took = timed(self.command, out, self.directory)
            out.seek(0)
            printed = out.read().decode()
        if self.says not in printed:
            raise SystemExit(f"{' '.join(self.command)} did not print {self.says!r}:\n{printed[-500:]}")
        self.took(took)

    def prove(self) -> None:
        """Every run proves itself."""


@dataclass
class OneFile:
    """One test file, and who runs it: `conductor test`, and the others that are there."""

    ours: SuiteRuns = field(init=False)
    bare: SuiteRuns | None = None
    aegis: SuiteRuns | None = None

    def write(self, directory: str, tests: int, *, bare: bool) -> None:
        """Write the file, of so many TESTS; BARE: the bare script runs it too."""
        name = write(directory, str(tests), tests)
        self.ours, self.aegis = ours(directory, name, tests), aegis(directory, name, tests)
        self.bare = bare_script(directory, name, tests) if bare else None

    def runs(self) -> list[SuiteRuns]:
        return [runs for runs in (self.ours, self.bare, self.aegis) if runs is not None]


@contextmanager
def folder(server: tuple[str, ...]) -> Iterator[str]:
    """A directory for test files, in which the settings say what the server is."""
    with tempfile.TemporaryDirectory(prefix="conductor-suites-") as directory:
        command, *args = server
        with open(os.path.join(directory, SETTINGS), "w", encoding="utf-8") as file:
            json.dump({"name": "Trivial", "command": command, "args": args}, file)
        yield directory


def write(directory: str, name: str, tests: int) -> str:
    """Write a file of so many TESTS: its name again."""
    results = [RESULTS[number % len(RESULTS)] for number in range(tests)]
    with open(os.path.join(directory, name + ENDING), "w", encoding="utf-8") as file:
        file.write(HEAD)
        file.writelines(
            TEST.format(number=number, days=number % 8, result=result) for number, result in enumerate(results)
        )
    return name


def ours(directory: str, name: str, tests: int) -> SuiteRuns:
    command = (CONDUCTOR, "test", name + ENDING, "--", *SERVER)
    return SuiteRuns(command, directory=directory, says=f"{tests} passed")


def ours_at_once(directory: str, files: int, jobs: int) -> SuiteRuns:
    """All files of a directory, so many at the same time, each on a server of its own."""
    command = (CONDUCTOR, "test", "-j", str(jobs), "--", *SLOW_SERVER)
    return SuiteRuns(command, directory=directory, says=f"{files * TESTS_PER_FILE} passed")


def check_of_a_bare_server() -> SuiteRuns:
    """`conductor check` on a server of a few lines, which breaks nothing."""
    command = (CONDUCTOR, "check", "--protocol", "2025-11-25", "--", *bare_server(sys.executable))
    return SuiteRuns(command, says=" passed")


def bare_server(python: str, kind: str = "Plain") -> tuple[str, ...]:
    """The command of a server of the tests, Plain or Modern, started with as little of Python as can be."""
    folder = os.path.realpath(os.path.join(HERE, "..", "tests", "servers"))
    return (python, "-S", "-E", "-c", f"import sys; sys.path[:0] = [{folder!r}]; import plain; plain.{kind}().run()")


def bare_script(directory: str, name: str, tests: int) -> SuiteRuns:
    command = (sys.executable, os.path.join(HERE, "bare_suite.py"), name + ENDING, *SERVER)
    return SuiteRuns(command, directory=directory, says=f"{tests} answered")


def aegis(directory: str, names: str, tests: int) -> SuiteRuns | None:
    """mcp-aegis, started by `node` itself: all files on one server. None where it is not installed."""
    program = node()
    if program is None or not AEGIS_IS_THERE:
        return None
    command = (program, AEGIS, names + ENDING, "--config", SETTINGS)
    return SuiteRuns(command, directory=directory, says=f"{tests} passed")
