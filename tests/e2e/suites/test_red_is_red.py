"""A run that is red looks red: by its exit code, on the console and in every report, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET

import pytest
from tests.e2e.suites.conftest import CONDUCTOR

FAILING = """
    - {it: good, call: motto, expect: {ok: true}}
    - {it: bad, call: lose, expect: {ok: true}}
"""
SLOW = """
    - {it: quick, call: motto, expect: {ok: true}}
    - {it: slow, call: wait, expect: {ok: true}}
    - {it: never, call: motto, expect: {ok: true}}
"""
WAITS = """
    hello(tools={})
    def call(params):
        if params["name"] == "wait":
            open("waiting", "w").close()
            time.sleep(60)
        return {"content": []}
    serve({"tools/call": call})
"""
REPORTS = ("--report", "json:report.json", "--report", "junit:report.xml", "--report", "tap:report.tap")
KINDS = {"junit": "xml", "tap": "tap", "github": "txt", "markdown": "md"}
EVERY_REPORT = tuple(word for kind, end in KINDS.items() for word in ("--report", f"{kind}:report.{end}"))


def test_a_closed_stdout_changes_neither_the_verdict_nor_the_reports(suite, book, tmp_path, surroundings):
    suite(FAILING)
    read, write = os.pipe()
    os.close(read)
    with open(write, "wb") as closed:
        words = [*CONDUCTOR, "test", "-v", *REPORTS, "--", *book]
        done = subprocess.run(
            words, stdout=closed, stderr=subprocess.PIPE, cwd=tmp_path, env=surroundings, timeout=30, check=False
        )
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads((tmp_path / "report.json").read_text())["summary"]["failed"] == 1
    assert ET.parse(tmp_path / "report.xml").getroot().get("failures") == "1"
    assert "not ok 2" in (tmp_path / "report.tap").read_text()


def test_a_run_that_takes_too_long_reports_what_was_not_run(check, serve, tmp_path):
    done = check(SLOW, "--timeout", "2s", *REPORTS[2:], server=tuple(serve(WAITS)))
    assert done.code == 124
    assert done.statuses == {"quick": "passed", "slow": "not-run", "never": "not-run"}
    assert done.report["stopped"] == "timeout"
    assert done.report["summary"]["notRun"] == 2
    assert "2 not run, 1 passed" in done.out
    root = ET.parse(tmp_path / "report.xml").getroot()
    assert (root.get("tests"), root.get("errors")) == ("3", "2")
    assert {each.get("type") for each in root.iter("error")} == {"not-run"}
    assert (tmp_path / "report.tap").read_text().count("not ok") == 2


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_run_that_is_interrupted_reports_what_was_not_run(
    suite, serve, tmp_path, surroundings, survivors, number, code
):
    suite(SLOW)
    words = [*CONDUCTOR, "test", *REPORTS, "--", *serve(WAITS)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=surroundings) as run:
        deadline = time.monotonic() + 20
        while not (tmp_path / "waiting").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        run.send_signal(number)
        out, _ = run.communicate(timeout=20)
    assert run.returncode == code
    report = json.loads((tmp_path / "report.json").read_text())
    assert [each["status"] for each in report["outcomes"]] == ["passed", "not-run", "not-run"]
    assert [each.get("reason") for each in report["outcomes"]] == [
        None, "the run was interrupted while it ran", "the run was interrupted",
    ]  # fmt: skip
    assert report["stopped"] == "interrupted"
    assert b"2 not run, 1 passed" in out
    assert survivors() == []


def test_tests_of_the_same_name_are_outcomes_of_their_own(check):
    done = check("""
        - {it: same, call: motto, expect: {ok: true}}
        - {it: same, call: lose, expect: {ok: true}}
    """)
    assert done.code == 1
    assert [(each["id"], each["status"]) for each in done.report["outcomes"]] == [
        ("a.test.mcp.yml::same", "passed"), ("a.test.mcp.yml::same (2)", "failed"),
    ]  # fmt: skip
    assert "again: conductor test a.test.mcp.yml:5 --" in done.out


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("conductor", ["test"]),
        ("mcp_cli", ["true", "--method", "ping"]),
        ("server_composable", ["x.json"]),
    ],
)
def test_a_bug_of_ours_is_one_line_and_a_code_of_its_own(program, words, tmp_path, surroundings):
    code = f"""
import sys
from importlib import import_module
from mcp_conductor.cli import {program}
test, cli, serve = (import_module(f"mcp_conductor.cli.commands.{{name}}") for name in ("test.run", "mcp_cli.run", "serve.run"))
test.run = cli.plan = serve._config = lambda *_: 1 / 0
sys.exit({program}())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=surroundings,
        timeout=30,
        check=False,
    )
    assert done.returncode == 70
    name = program.replace("_", "-")
    assert done.stderr == (
        "internal error: ZeroDivisionError: division by zero\n"
        f"  hint: this is a bug in {name}; report it with what --verbose shows\n"
    )


ONLY = """
    - {it: one, only: true, call: motto, expect: {ok: true}}
    - {it: two, call: motto, expect: {ok: true}}
    - {it: three, call: motto, expect: {ok: true}}
"""


@pytest.mark.parametrize("flags", [(), ("--quiet",), ("--strict", "--allow-only")])
def test_what_only_leaves_out_is_always_said(check, tmp_path, flags):
    done = check(ONLY, *flags, *EVERY_REPORT)
    assert (done.code, done.statuses) == (0, {"one": "passed"})
    said = [
        text for text in (done.out, done.err) if "warning: a.test.mcp.yml:4:5: `only: true` leaves out 2 tests" in text
    ]
    assert len(said) == 1
    assert "1 passed, 2 deselected" in done.out
    for file in ("report.xml", "report.tap", "report.txt", "report.md"):
        assert "leaves out 2 tests" in (tmp_path / file).read_text()
    assert [each["message"] for each in done.report["warnings"]] == ["`only: true` leaves out 2 tests"]
    assert done.report["summary"]["deselected"] == 2


@pytest.mark.parametrize(("flags", "extra"), [(("--strict",), {}), ((), {"CI": "true"}), ((), {"CI": "1"})])
def test_where_others_rely_on_a_run_nothing_is_left_out_by_only(check, flags, extra):
    done = check(ONLY, *flags, **extra)
    assert (done.code, done.report["summary"]["passed"]) == (2, 0)
    assert "`only: true` would leave out 2 tests" in done.err
    assert check(ONLY, *flags, "--allow-only", **extra).code == 0


def outcomes_of_every_report(folder):
    """How many bad outcomes each report has."""
    root = ET.parse(folder / "report.xml").getroot()
    events = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    return {
        "junit": int(root.get("errors")),
        "tap": (folder / "report.tap").read_text().count("\nnot ok "),
        "github": (folder / "report.txt").read_text().count("::error "),
        "markdown": int((folder / "report.md").read_text().count("| errored |")) - 1,  # one is the head of a table
        "json": json.loads((folder / "report.json").read_text())["summary"]["errored"],
        "events": sum(each["event"] == "case-finished" for each in events),
    }


def test_where_a_file_has_mistakes_every_report_says_so(suite, conductor, book, tmp_path):
    good = suite("- {it: good, call: motto, expect: {ok: true}}")
    reports = (*EVERY_REPORT, "--report", "json:report.json", "--report", "events:report.jsonl")
    assert conductor("test", *reports, "--", *book).code == 0
    suite("- {it: bad, cal: motto}\n- {it: worse, call: motto, expct: {ok: true}}", name="b.test.mcp.yml")
    suite("- {it: bad, cal: motto}", name="c.test.mcp.yml")
    summary = tmp_path / "summary.md"
    done = conductor("test", *reports, "--", *book, GITHUB_STEP_SUMMARY=str(summary))
    assert (done.code, done.out) == (2, "")
    assert done.err.count("error: ") == 3
    assert good not in done.report["target"]
    assert [(each["id"], each["status"], each["line"]) for each in done.report["outcomes"]] == [
        ("b.test.mcp.yml", "errored", 4), ("c.test.mcp.yml", "errored", 4),
    ]  # fmt: skip
    assert [finding["line"] for each in done.report["outcomes"] for finding in each["findings"]] == [4, 5, 4]
    found = outcomes_of_every_report(tmp_path)
    assert found == {"junit": 2, "tap": 2, "github": 3, "markdown": 2, "json": 2, "events": 2}
    assert "::error file=b.test.mcp.yml,line=5," in (tmp_path / "report.txt").read_text()
    assert summary.read_text().strip() == (tmp_path / "report.md").read_text().strip()


def test_where_only_is_refused_or_there_is_no_test_every_report_says_so(check, conductor, write, tmp_path, book):
    done = check(ONLY, *EVERY_REPORT, "--report", "events:report.jsonl", CI="true")
    assert (done.code, done.out, done.statuses) == (2, "", {"a.test.mcp.yml": "errored"})
    assert "`only: true` would leave out 2 tests" in done.findings("a.test.mcp.yml")
    assert set(outcomes_of_every_report(tmp_path).values()) == {1}
    write("a.test.mcp.yml", "description: none\ntests: []")
    done = conductor("test", "--report", "json:report.json", "--", *book)
    assert (done.code, done.findings("a.test.mcp.yml")) == (2, "no tests were found in a.test.mcp.yml")


def test_a_report_of_mistakes_that_cannot_be_written_is_told_of_too(conductor, suite):
    suite("- {it: bad, cal: motto}")
    done = conductor("test", "--report", "junit:/dev/full", "--", "true")
    assert done.code == 2
    assert "error: cannot write the report to /dev/full: " in done.err
    assert "tests[0].cal is not a known key" in done.err


@pytest.mark.parametrize("flags", [("-k", "good"), ("--filter", "good"), ("a.test.mcp.yml::good",)])
def test_how_many_were_not_chosen_is_said(conductor, suite, book, flags):
    suite(FAILING)
    done = conductor("test", *flags, "--report", "json:report.json", "--", *book)
    assert done.code == 0
    assert "1 passed, 1 deselected" in done.out
    assert done.report["summary"]["deselected"] == 1


def test_a_warning_is_in_every_report(check, tmp_path):
    done = check("- {it: looks, call: motto}", *EVERY_REPORT)
    assert done.code == 0
    assert [each["message"] for each in done.report["warnings"]] == ["'looks' checks nothing: any reply passes"]
    for end in KINDS.values():
        assert "checks nothing" in (tmp_path / f"report.{end}").read_text()
    done = check("- {it: looks, call: motto}", "--strict", *EVERY_REPORT)
    assert (done.code, done.report["summary"]["failed"]) == (1, 1)
    assert ET.parse(tmp_path / "report.xml").getroot().get("failures") == "1"


def test_with_strict_a_warning_fails_the_test_that_it_is_about(check, conductor, book, tmp_path):
    cases = "- {it: checks, call: motto, expect: {ok: true}}\n- {it: looks, call: motto}"
    done = check(cases, "--strict", *EVERY_REPORT)
    assert (done.code, done.statuses) == (1, {"checks": "passed", "looks": "failed"})
    assert done.findings("looks") == "'looks' checks nothing: any reply passes"
    assert done.report["warnings"] == []
    assert "FAIL  a.test.mcp.yml:5  looks\n" in done.out
    assert "FAIL  a.test.mcp.yml  about it  1 failed, 1 passed\n" in done.out
    assert "again: conductor test a.test.mcp.yml:5 --strict --" in done.out
    root = ET.parse(tmp_path / "report.xml").getroot()
    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert "not ok 2 - about it: looks\n" in (tmp_path / "report.tap").read_text()
    again = conductor("test", "--strict", "--lf", "--report", "json:report.json", "--", *book)
    assert (again.code, again.statuses) == (1, {"looks": "failed"})


def test_with_strict_a_warning_of_a_file_is_an_outcome_of_its_own(check):
    cases = """
        - {it: same, call: motto, expect: {ok: true}}
        - {it: same, call: motto, expect: {ok: true}}
    """
    done = check(cases, "--strict", head="ignore: [result.content]")
    assert done.code == 1
    assert [(each["id"], each["status"]) for each in done.report["outcomes"]] == [
        ("a.test.mcp.yml::same", "passed"),
        ("a.test.mcp.yml::same (2)", "failed"),
        ("a.test.mcp.yml::warning 1", "failed"),
    ]
    assert "`ignore` changes nothing" in done.findings("warning 1")


def test_with_strict_a_test_that_was_skipped_has_no_warning(check):
    done = check("- {it: looks, call: motto, skip_if: {capability: tools}}", "--strict")
    assert (done.code, done.statuses) == (0, {"looks": "skipped"})


@pytest.mark.parametrize("hook", ["setup", "before_each", "after_each", "teardown"])
@pytest.mark.parametrize(
    ("call", "message"),
    [("lose", "the tool answered with an error"), ("{tool: no such tool}", "the server answered with an error")],
)
def test_a_hook_that_expects_nothing_must_not_be_refused(check, hook, call, message):
    done = check("- {it: one, call: motto, expect: {ok: true}}", head=f"{hook}: [{{call: {call}}}]")
    assert done.code == 1
    assert f"{hook}: {message}" in done.out


def test_a_hook_may_expect_to_be_refused(check):
    done = check("- {it: one, call: motto, expect: {ok: true}}", head="setup: [{call: lose, expect: {ok: false}}]")
    assert done.code == 0, done.all


def test_a_test_that_was_run_early_keeps_its_outcome_although_the_run_stops(check):
    done = check(
        """
        - {it: gives, call: motto, expect: {ok: true}, capture: {n: result.content}}
        - {it: needs, call: {tool: lose, args: {message: "{{ n }}"}}, expect: {ok: true}}
        """,
        "--shuffle", "--seed", "3", "-x",
    )  # fmt: skip
    assert list(done.statuses.items()) == [("needs", "failed"), ("gives", "passed")]


@pytest.mark.parametrize("hook", ["before_each", "after_each"])
@pytest.mark.parametrize("mistake", ["call: lose", "call: motto, expect: {result: 'match:regex:{{ bad }}'}"])
def test_a_hook_that_fails_is_not_the_failure_that_a_test_expects(check, hook, mistake):
    done = check("""
        - {it: passes, xfail: a bug, call: motto, expect: {ok: true}}
        - {it: fails, xfail: a bug, call: lose, expect: {ok: true}}
    """, head=f"vars: {{bad: '('}}\n{hook}: [{{{mistake}}}]")  # fmt: skip
    assert (done.code, done.statuses) == (1, {"passes": "failed", "fails": "failed"}), done.all
    messages = [each["message"] for outcome in done.outcomes.values() for each in outcome["findings"]]
    assert [each.partition(":")[0] for each in messages] == [hook, hook]
