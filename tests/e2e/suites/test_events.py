"""`--report events` tells what happens while it happens, and in the end the same as every other report."""

import json
import signal
import subprocess
import time

import pytest
from tests.e2e.suites.conftest import CONDUCTOR
from tests.e2e.suites.test_red_is_red import FAILING, SLOW, WAITS


def events_of(text):
    return [json.loads(line) for line in text.splitlines()]


def outcomes_of(events):
    """What was told last of each test, as a reader would keep it."""
    told = {each["outcome"]["id"]: each["outcome"] for each in events if each["event"] == "case-finished"}
    return list(told.values())


def test_the_events_of_a_run_in_their_order(check, tmp_path):
    done = check(FAILING, "--report", "events:out/events.jsonl")
    events = events_of((tmp_path / "out/events.jsonl").read_text())
    assert [each["event"] for each in events] == [
        "run-started", "file-started", "case-started", "server-started", "case-finished", "case-started",
        "case-finished", "file-finished", "run-finished",
    ]  # fmt: skip
    assert {each["v"] for each in events} == {1}
    assert outcomes_of(events) == done.report["outcomes"]
    assert events[-1]["summary"] == done.report["summary"]


def test_what_only_the_whole_run_shows_is_told_at_its_end(check, tmp_path):
    passes = "- {it: passes, call: motto, expect: {ok: true}}"
    done = check(passes, "--strict", "--report", "events:events.jsonl", head="ignore: [result]")
    events = events_of((tmp_path / "events.jsonl").read_text())
    assert done.code == 1
    assert [each["outcome"]["status"] for each in events if each["event"] == "case-finished"] == ["passed", "failed"]
    assert outcomes_of(events) == done.report["outcomes"]


def test_a_warning_that_is_a_failure_of_a_test_is_told_with_it(check, tmp_path):
    done = check("- {it: checks nothing, call: motto}", "--strict", "--report", "events:events.jsonl")
    told = [each for each in events_of((tmp_path / "events.jsonl").read_text()) if each["event"] == "case-finished"]
    assert [each["outcome"]["status"] for each in told] == ["failed"]
    assert outcomes_of(told) == done.report["outcomes"]


def test_they_are_written_while_it_happens_also_by_a_run_that_is_interrupted(suite, serve, tmp_path, surroundings):
    suite(SLOW)
    words = [*CONDUCTOR, "test", "--report", "events", "--", *serve(WAITS)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=surroundings) as run:
        seen = []
        while not seen or seen[-1].get("title") != "slow":
            seen.append(json.loads(run.stdout.readline()))
        deadline = time.monotonic() + 20
        while not (tmp_path / "waiting").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        run.send_signal(signal.SIGTERM)
        out, _ = run.communicate(timeout=20)
    seen += events_of(out.decode())
    assert run.returncode == 143
    assert [each["status"] for each in outcomes_of(seen)] == ["passed", "not-run", "not-run"]
    assert (seen[-1]["event"], seen[-1]["stopped"]) == ("run-finished", "interrupted")


def test_no_secret_is_in_them(check, tmp_path):
    case = "- {it: 'says hunter22-secret', call: {tool: echo, args: {message: hunter22-secret}}, expect: {ok: false}}"
    check(case, "--secret", "word=hunter22-secret", "--report", "events:events.jsonl")
    text = (tmp_path / "events.jsonl").read_text()
    assert "hunter22" not in text
    assert outcomes_of(events_of(text))


@pytest.mark.parametrize("file", ["/dev/full", "a.test.mcp.yml/events"])
def test_where_they_cannot_be_written_the_run_says_so(conductor, suite, book, file):
    suite(FAILING)
    done = conductor("test", "--report", f"events:{file}", "--", *book)
    assert done.code == 2
    assert f"error: cannot write the report to {file}: " in done.err
