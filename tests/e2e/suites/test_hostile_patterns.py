"""Regular expressions that never end: a finding in a second, never a pass, and signals and time-outs hold."""

import signal
import subprocess
import time

import pytest
from tests.e2e.suites.conftest import CONDUCTOR
from tests.e2e.suites.test_running import wait_for

A = "a" * 60 + "!"
EXPECTED = {
    "a pattern": "{result: {content: [{type: text, text: 'match:regex:(a|aa)+$'}]}}",
    "what must not be": "{result: {'match:not': {content: [{type: text, text: 'match:not:regex:(a|aa)+$'}]}}}",
    "an assertion": "{asserts: ['result.content[0].text not matches (a|aa)+$']}",
}


def echoed(name: str, expected: str) -> str:
    return f"- it: {name}\n  call: {{tool: echo, args: {{message: {A}}}}}\n  expect: {expected}\n"


def test_it_is_a_finding_wherever_it_stands_and_never_a_pass(check):
    done = check("".join(echoed(*each) for each in EXPECTED.items()))
    assert done.code == 1
    assert set(done.statuses.values()) == {"failed"}
    for name in EXPECTED:
        assert "the regular expression '(a|aa)+$' takes more than 1 s for a text of 67 characters" in done.findings(
            name
        )


def test_a_capture_that_never_ends_is_a_finding_and_what_needs_it_is_skipped(check):
    done = check(f"""
        - it: takes
          call: {{tool: echo, args: {{message: {A}}}}}
          expect: {{ok: true}}
          capture: {{word: {{from: "result.content[0].text", regex: "(a|aa)+$"}}}}
        - it: needs it
          call: {{tool: echo, args: {{message: "{{{{ word }}}}"}}}}
          expect: {{ok: true}}
    """)
    assert done.statuses == {"takes": "failed", "needs it": "skipped"}
    assert "capture 'word': the regular expression" in done.findings("takes")


@pytest.fixture
def running(suite, book, tmp_path, surroundings, survivors):
    """A run of a hundred tests, each with a pattern that never ends."""
    name = suite("".join(echoed(f"test {number}", EXPECTED["a pattern"]) for number in range(100)))

    def start(*words: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*CONDUCTOR, "test", name, *words, "--", *book],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=surroundings,
            text=True,
        )

    yield start
    # The worker that matches patterns has an alarm of its own, which ends it a little later than a run that is killed.
    wait_for(lambda: survivors() == [], seconds=5)


def test_the_time_of_a_run_holds(running):
    began = time.monotonic()
    process = running("--timeout", "2s")
    process.communicate(timeout=30)
    assert process.returncode == 124
    assert time.monotonic() - began < 15


def test_a_signal_is_heard(running):
    process = running("-v")
    assert process.stdout is not None
    while "test 0" not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - began < 10
