"""Hostile servers, on stdio and over HTTP, through mcp-cli, `conductor test` and `conductor check`.

The program must end in time with one of its exit codes, stay within its memory, and show nothing raw.
"""

import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.soaking.hostile_http import SECRET, WAYS as HTTP_WAYS
from benchmarks.soaking.hostile_stdio import WAYS as STDIO_WAYS
from benchmarks.soaking.judging import Case, Limits, Result, judged
from benchmarks.soaking.programs import SUITE, SUITE_FILE, Words
from benchmarks.soaking.watch import CONDUCTOR, HERE, MCP_CLI, run

TIMEOUT = 3  # seconds
# Beyond its own time-out: the ladder, and a busy machine.
END_SECONDS = 8.0
# A check has its time-out for each answer, and starts many servers.
CHECK_SECONDS = 60.0
MEGABYTES = 700
FLAGS = {
    "mcp-cli": (*MCP_CLI, "--method", "tools/list", "--timeout", f"{TIMEOUT}s"),
    "mcp-cli --output-schema-validate": (
        *MCP_CLI, "--method", "tools/call", "--tool-name", "look", "--output-schema-validate",
        "--timeout", f"{TIMEOUT}s",
    ),
    "test": (*CONDUCTOR, "test", SUITE_FILE, "--timeout", f"{TIMEOUT}s", "--step-timeout", "2s"),
    "check": (*CONDUCTOR, "check", "--timeout", "300ms", "--only", "tools", "--only", "lifecycle"),
}  # fmt: skip
CODES = {"mcp-cli": {0, 1, 2, 124}, "test": {0, 1, 2, 3, 124}, "check": {0, 1, 2, 3}}
STDIO, HTTP = "stdio", "HTTP"
# Every server through each of the three programs, and those with evil schemas through a validation besides.
ALL = tuple(
    (kind, way, program)
    for kind, ways in ((STDIO, STDIO_WAYS), (HTTP, HTTP_WAYS))
    for way in ways
    for program in FLAGS
    if way.startswith("schema") or program in CODES
)
RUNS = len(ALL)


@contextmanager
def http_server(way: str) -> Iterator[tuple[str, list[str]]]:
    """Its URL, and what it told by the time the context is left."""
    words = (sys.executable, str(HERE / "hostile_http.py"), way)
    told: list[str] = []
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/mcp", told
        finally:
            process.kill()
            told += process.stdout.read().splitlines()


def on_stdio(name: str, way: str, program: str) -> Result:
    return _result(name, program, (sys.executable, str(HERE / "hostile_stdio.py"), way), ())


def over_http(name: str, way: str, program: str) -> Result:
    with http_server(way) as (url, told):
        result = _result(name, program, (url,), ("--token", SECRET))
    for line in told:
        result.complain("leaked", line)
    return result


def _result(name: str, program: str, server: Words, flags: Words) -> Result:
    limit = CHECK_SECONDS if program == "check" else TIMEOUT + END_SECONDS
    ended = run((*FLAGS[program], *flags, "--", *server), limit + 5, files={SUITE_FILE: SUITE})
    # The result of mcp-cli is data; everything else is for people and for logs.
    shown = ended.err if program.startswith("mcp-cli") else ended.out + b"\n" + ended.err
    result = judged(name, ended, CODES[program.split(maxsplit=1)[0]], Limits(limit, MEGABYTES), shown=shown)
    if SECRET.encode() in ended.out + ended.err:
        result.complain("leaked", "the token is in the output")
    return result


def cases(runs: int, seed: int) -> list[Case]:
    chosen = ALL if runs >= len(ALL) else random.Random(seed).sample(ALL, runs)
    return [_case(number, *each) for number, each in enumerate(chosen)]


def _case(number: int, kind: str, way: str, program: str) -> Case:
    name = f"{number}: {program}, {kind} server: {way}"
    meet = on_stdio if kind == STDIO else over_http
    return Case(name, lambda: meet(name, way, program))
