"""JUnit and TAP as parsers that others wrote read them: the same numbers as in JSON, and the same verdict as the exit code."""

import json
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from junitparser import JUnitXml, SystemOut
from tests.conftest import SERVERS
from tests.e2e.suites.conftest import CONDUCTOR
from tests.e2e.suites.test_red_is_red import FAILING, ONLY, REPORTS

PEERS = Path(__file__).parents[2] / "peers/node_modules"
TAP_PARSER = PEERS / "tap-parser/bin/cmd.cjs"
SERVER = (sys.executable, "-S", str(SERVERS / "many_tools.py"))
OK = "call: echo, expect: {ok: true}"
BAD = "call: lose, expect: {ok: true}"
MIXED = f"""
    - {{it: "good \\\\ # 1", {OK}}}
    - {{it: bad <&>, {BAD}}}
    - {{it: left out, skip: not today, {OK}}}
    - {{it: known, xfail: a bug, {BAD}}}
    - {{it: no longer, xfail: a bug, {OK}}}
"""
LONG = f"""
    - {{it: quick, {OK}}}
    - {{it: slow, timeout: 60s, steps: [{{call: marks}}, {{call: hangs, expect: {{ok: true}}}}]}}
    - {{it: left out, skip: true, {OK}}}
    - {{it: never, {OK}}}
"""
HOOKS = [f"{hook}: [{{call: lose}}]" for hook in ("setup", "before_each", "after_each", "teardown")]
# What is run: the tests of each file, with what stands above them; flags; the exit code; what is in the summary.
SITUATIONS = {
    "one of each kind": ([("", MIXED)], (), 1, {"passed": 1, "failed": 2, "skipped": 2}),
    "hooks that are refused": (
        [(hook, f"- {{it: one, {OK}}}\n- {{it: two, {OK}}}") for hook in HOOKS],
        (), 1, {"passed": 2, "failed": 5, "errored": 1, "notRun": 1},
    ),
    "only": ([("", ONLY.replace("motto", "echo"))], (), 0, {"passed": 1, "deselected": 2}),
    "not chosen": ([("", FAILING.replace("motto", "echo"))], ("-k", "good"), 0, {"passed": 1, "deselected": 1}),
    "a warning": ([("", "- {it: looks, call: echo}")], (), 0, {"passed": 1}),
    "a warning with --strict": ([("", "- {it: looks, call: echo}")], ("--strict",), 1, {"failed": 1}),
    "same names": (
        [("", f"- {{it: same, {OK}}}\n- {{it: same, {BAD}}}"), ("", f"- {{it: same, {OK}}}")], (), 1, {"passed": 2, "failed": 1},
    ),
    "a server that is gone": (
        [("", f"- {{it: kills, call: dies, expect: {{ok: true}}}}\n- {{it: after, {OK}}}")], (), 3, {"failed": 1, "notRun": 1},
    ),
    "stopped early": ([("", f"- {{it: bad, {BAD}}}\n- {{it: after, {OK}}}")], ("-x",), 1, {"failed": 1, "notRun": 1}),
    "too long": ([("", LONG)], ("--timeout", "1s"), 124, {"passed": 1, "notRun": 2, "skipped": 1}),
}  # fmt: skip


@pytest.fixture
def agree(tmp_path, surroundings):
    """Read the reports of a run: they say the same as its exit code, and what is in the summary of the JSON report."""

    def read(code):
        report = json.loads((tmp_path / "report.json").read_text())
        summary = Counter(report["summary"])
        bad = summary["failed"] + summary["errored"] + summary["notRun"]
        assert (bad > 0) == (code != 0)
        told = junit(tmp_path / "report.xml")
        assert told["tests"] == len(report["outcomes"])
        assert told["failures"] == summary["failed"]
        assert told["errors"] == summary["errored"] + summary["notRun"]
        assert told["skipped"] == summary["skipped"]
        assert told["deselected"] == summary["deselected"]
        if TAP_PARSER.exists():
            assert tap(tmp_path / "report.tap", surroundings) == {
                "ok": code == 0,
                "count": len(report["outcomes"]),
                "failures": bad,
                "skip or todo": summary["skipped"],
            }
        return +summary, told["warnings"]

    return read


def junit(file):
    """What junitparser reads; the counts that are written must be those of the elements."""
    root = JUnitXml.fromfile(str(file))
    written = [(each.tests, each.failures, each.errors, each.skipped) for each in root]
    cases = [case for suite in root for case in suite]
    counts = {"tests": len(cases)}
    for name, kind in (("failures", "is_failure"), ("errors", "is_error"), ("skipped", "is_skipped")):
        counts[name] = sum(getattr(case, kind) for case in cases)
    assert tuple(map(sum, zip(*written, strict=True))) == tuple(counts.values())
    assert (root.tests, root.failures, root.errors) == tuple(counts.values())[:3]
    names = [(case.classname, case.name) for case in cases]
    assert len(set(names)) == len(names), "CI servers would take them for one test"
    left_out = [int(each.value) for suite in root for each in suite.properties() if each.name == "deselected"]
    warnings = [each.text for suite in root if suite.name == "warnings" for each in suite.iterchildren(SystemOut)]
    return {**counts, "deselected": sum(left_out), "warnings": "".join(warnings)}


def tap(file, environment):
    """What tap-parser reads; nothing is there that is not TAP, and its own exit code is its verdict."""
    with file.open() as text:
        words = [str(Path(sys.executable).parent / "node"), str(TAP_PARSER), "--json", "--strict"]
        done = subprocess.run(words, stdin=text, capture_output=True, env=environment, timeout=30, check=False)
    final = next(members[0] for event, *members in json.loads(done.stdout) if event == "complete")
    assert (done.returncode == 0) == final["ok"]
    kept = {"ok": final["ok"], "count": final["count"], "failures": len(final["failures"])}
    return {**kept, "skip or todo": final["skip"] + final["todo"]}


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_report_says_what_the_exit_code_says(conductor, suite, agree, name):
    files, flags, code, expected = SITUATIONS[name]
    for number, (head, tests) in enumerate(files):
        suite(tests, head=head, name=f"{number}.test.mcp.yml")
    done = conductor("test", "--no-judge", *flags, *REPORTS, "--", *SERVER)
    assert done.code == code, done.all
    summary, warnings = agree(done.code)
    assert summary == expected
    assert ("leaves out 2 tests" in warnings) == (name == "only")
    assert ("checks nothing" in warnings) == (name == "a warning")


@pytest.mark.parametrize("lines", [0, 2])
def test_also_where_what_is_printed_is_not_read_to_its_end(suite, tmp_path, surroundings, agree, lines):
    suite(MIXED)
    words = shlex.join([*CONDUCTOR, "test", "-v", "--no-judge", *REPORTS, "--", *SERVER])
    line = f"set -o pipefail; {words} | head -n {lines}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=surroundings, capture_output=True, timeout=30, check=False)  # fmt: skip
    assert (done.returncode, done.stderr, done.stdout.count(b"\n")) == (1, b"", lines)
    assert agree(done.returncode)[0] == {"passed": 1, "failed": 2, "skipped": 2}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_also_where_the_run_is_interrupted(suite, tmp_path, surroundings, survivors, agree, number, code):
    suite(LONG)
    words = [*CONDUCTOR, "test", "--no-judge", *REPORTS, "--", *SERVER]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=surroundings) as run:
        deadline = time.monotonic() + 20
        while not (tmp_path / "marked").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        run.send_signal(number)
        run.communicate(timeout=20)
    assert run.returncode == code
    assert agree(run.returncode)[0] == {"passed": 1, "notRun": 2, "skipped": 1}
    assert survivors() == []


BUG = """
import sys
from mcp_conductor.cli import conductor
from mcp_conductor.suites.running.file_run import FileRun

run = FileRun.run

async def broken(self, case, following):
    return await run(self, case, following) if case.title == "quick" else 1 / 0

FileRun.run = broken
sys.exit(conductor())
"""


def test_also_where_a_bug_of_ours_ends_the_run(suite, tmp_path, surroundings, survivors, agree):
    suite(LONG)
    words = [sys.executable, "-c", BUG, "test", "--no-judge", *REPORTS, "--", *SERVER]
    done = subprocess.run(words, cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
    assert done.returncode == 70
    assert done.stderr.startswith(
        "internal error: ZeroDivisionError: division by zero\n  hint: this is a bug in conductor"
    )
    assert agree(done.returncode)[0] == {"passed": 1, "notRun": 2, "skipped": 1}
    assert "2 not run, 1 passed, 1 skipped" in done.stdout
    assert survivors() == []
