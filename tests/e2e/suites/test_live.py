"""On a terminal a run shows what runs now, drawn again in place; nothing of it is left when the run is over."""

import asyncio
import json
import os
import pty
import re
import select
import subprocess
import time

import pytest
from tests.e2e.suites.conftest import CONDUCTOR
from tests.terminal import screen

from mcp_conductor.cli.output.live import CheckInProgress, now_and_then
from mcp_conductor.report.events import CaseFinished, CaseStarted, RunStarted
from mcp_conductor.report.model import Outcome

SLOW = """
    - {it: takes its time, call: wait, expect: {ok: true}}
    - {it: fails, call: motto, expect: {ok: false}}
"""
SERVER = """
    hello(tools={})
    def call(params):
        while params["name"] == "wait" and not __import__("os").path.exists("go on"):
            time.sleep(0.01)
        return {"content": []}
    serve({"tools/call": call})
"""


@pytest.fixture
def conductor_on_terminal(serve, tmp_path, surroundings):
    """Run conductor on a terminal, or with stdout elsewhere; GO_ON is called when WANTED has been shown."""

    def run(words, wanted, *, go_on, server=SERVER, term="xterm", stdout=None):
        ours, theirs = pty.openpty()
        words = [*CONDUCTOR, *words, "--", *serve(server)]
        environment = {**surroundings, "TERM": term}
        out = theirs if stdout is None else stdout
        with subprocess.Popen(words, stdout=out, stderr=theirs, cwd=tmp_path, env=environment) as process:
            os.close(theirs)
            seen, deadline, gone_on = b"", time.monotonic() + 20, False
            while time.monotonic() < deadline:
                if not gone_on and wanted in seen:
                    go_on(process)
                    gone_on = True
                if select.select([ours], [], [], 0.1)[0]:
                    try:
                        seen += os.read(ours, 65536)
                    except OSError:  # the other end is closed
                        break
            assert gone_on, seen
        os.close(ours)
        return process.returncode, seen.decode().replace("\r\n", "\n")

    return run


@pytest.fixture
def on_terminal(suite, conductor_on_terminal):
    """Run `conductor test` on a terminal; GO_ON is called when WANTED has been shown."""

    def run(tests, wanted, *flags, go_on, term="xterm"):
        suite(tests)
        return conductor_on_terminal(["test", *flags], wanted, go_on=go_on, term=term)

    return run


def test_what_runs_is_shown_and_then_gone(on_terminal, tmp_path):
    code, seen = on_terminal(SLOW, b"0 of 2", go_on=lambda _: (tmp_path / "go on").touch())
    assert code == 1
    assert "a.test.mcp.yml  takes its time  " in seen
    left = "\n".join(screen(seen))
    assert "takes its time" not in left
    assert " of 2" not in left
    assert left.startswith("FAIL  a.test.mcp.yml:5  fails\n")


def test_names_of_wide_characters_fit_on_one_line(on_terminal, tmp_path):
    name = "漢字" * 40
    code, seen = on_terminal(
        SLOW.replace("takes its time", name), b" of 2", go_on=lambda _: (tmp_path / "go on").touch()
    )
    text = re.sub(r"\x1b\[[\d;]*[A-Z]", "", seen)  # a line that is drawn again begins with what erases the last
    drawn = [line for line in re.split(r"[\r\n]+", text) if "漢字" in line]
    assert code == 1
    assert drawn
    assert all(sum(2 if each in name else 1 for each in line) < 80 for line in drawn)


def test_nothing_of_it_is_left_by_a_run_that_is_interrupted(on_terminal):
    code, seen = on_terminal(SLOW, b"0 of 2", go_on=lambda process: process.terminate())
    assert code == 143
    assert " of 2" not in "\n".join(screen(seen))
    assert "2 not run" in seen


@pytest.mark.parametrize(("flags", "term"), [(("--quiet",), "xterm"), ((), "dumb"), (("--json",), "xterm")])
def test_it_is_not_shown_where_it_would_disturb(on_terminal, tmp_path, flags, term):
    (tmp_path / "go on").touch()
    code, seen = on_terminal(SLOW, b"", *flags, go_on=lambda _: None, term=term)
    assert code == 1
    assert "\x1b[2K" not in seen


# `conductor discover`.

LISTING = """
    def waited():
        while not __import__("os").path.exists("go on"):
            time.sleep(0.01)
    AT_START
    tool = {"inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
    def call(params):
        IN_CALL
        return {"content": []}
    serve({"tools/list": lambda _: {"tools": [{"name": name, **tool} for name in ("one", "two")]}, "tools/call": call})
"""


@pytest.mark.parametrize(
    ("at_start", "in_call", "wanted"),
    [
        ("waited(); hello(tools={})", "pass", "connecting to the server"),
        ("hello(tools={})", "waited()", "calling tool 'one' (2 of 3)"),
    ],
)
def test_what_discover_asks_is_shown_on_stderr_and_then_gone(
    conductor_on_terminal, tmp_path, at_start, in_call, wanted
):
    server = LISTING.replace("AT_START", at_start).replace("IN_CALL", in_call)
    with (tmp_path / "out.yml").open("wb") as out:
        code, seen = conductor_on_terminal(
            ["discover"], wanted.encode(), go_on=lambda _: (tmp_path / "go on").touch(), server=server, stdout=out
        )
    assert code == 0
    assert re.search(re.escape(wanted) + r".*  \d+ s\n", seen)
    assert "".join(screen(seen)) == ""
    written = (tmp_path / "out.yml").read_text()
    assert "call: {tool: two}" in written
    assert "\x1b" not in written


def test_discover_shows_no_progress_where_no_person_looks(conductor, serve):
    server = LISTING.replace("AT_START", "time.sleep(0.5); hello(tools={})").replace("IN_CALL", "pass")
    done = conductor("discover", "--output", "b.test.mcp.yml", "--", *serve(server), TERM="xterm")
    assert done.err == "wrote b.test.mcp.yml: 3 tests\n"


# `conductor check`.

PAGED = """
    hello(tools={})
    def listed(params):
        while params and params.get("cursor") and not __import__("os").path.exists("go on"):
            time.sleep(0.01)
        return {"tools": []}
    serve({"tools/list": listed})
"""
PAGES = ("check", "--only", "pagination-invalid-cursor", "--timeout", "15s", "--protocol", "2025-11-25")
LOOKED_AT = b"  pagination-invalid-cursor"


def test_what_check_looks_at_is_shown_and_then_gone(conductor_on_terminal, tmp_path):
    code, seen = conductor_on_terminal(PAGES, LOOKED_AT, go_on=lambda _: (tmp_path / "go on").touch(), server=PAGED)
    assert code == 0
    assert "  pagination-invalid-cursor\n2025-11-25  0 of 1  " in seen
    assert screen(seen)[:3] == ["warn  pagination  1 warned", "", "WARN  pagination-invalid-cursor (SHOULD)"]
    assert "0 of 1  " not in "\n".join(screen(seen))


def test_what_check_looks_at_is_shown_on_stderr_where_a_report_is_on_stdout(conductor_on_terminal, tmp_path):
    with (tmp_path / "report.json").open("wb") as out:
        code, seen = conductor_on_terminal(
            (*PAGES, "--json"), LOOKED_AT, go_on=lambda _: (tmp_path / "go on").touch(), server=PAGED, stdout=out
        )
    assert code == 0
    assert screen(seen)[0] == "warn  pagination  1 warned"
    assert json.loads((tmp_path / "report.json").read_text())["summary"]["warned"] == 1


@pytest.mark.parametrize(("flags", "term"), [(("--quiet",), "xterm"), ((), "dumb")])
def test_check_draws_nothing_where_it_would_disturb(conductor_on_terminal, tmp_path, flags, term):
    (tmp_path / "go on").touch()
    code, seen = conductor_on_terminal((*PAGES, *flags), b"", go_on=lambda _: None, server=PAGED, term=term)
    assert code == 0
    assert "\x1b[2K" not in seen


async def test_where_no_person_looks_a_line_is_told_at_times():
    told, twice = [], asyncio.Event()

    def tell():
        told.append("now")
        if len(told) == 2:
            twice.set()

    async with now_and_then(tell, seconds=0.01):
        await asyncio.wait_for(twice.wait(), 5)


def test_the_line_of_a_check_names_the_revision_and_how_many_are_done():
    progress = CheckInProgress()
    progress.begin("2025-11-25", ["2025-06-18", "2025-11-25"])
    assert re.fullmatch(r"2025-11-25 \(2 of 2\)  0 s", progress.line())
    progress.take(RunStarted("check", 3, 0))
    for name in ("a", "b"):
        progress.take(CaseStarted(name, "It holds.", 0))
    assert progress.lines() == ["  a  and 1 more", "2025-11-25 (2 of 2)  0 of 3  0 s"]
    progress.take(CaseFinished(Outcome(id="a", title="It holds.", group="g", status="failed", level="MUST")))
    assert progress.lines() == ["  b", "2025-11-25 (2 of 2)  1 of 3  1 failed  0 s"]
