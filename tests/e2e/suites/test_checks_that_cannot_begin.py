"""`conductor check` of servers with which no conversation begins, in one revision or in any."""

import signal
import subprocess
import sys

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import broken
from tests.e2e.checks.test_habits import IGNORING
from tests.e2e.suites.conftest import CONDUCTOR


def test_a_server_that_ignores_what_it_does_not_know_is_checked_in_the_revisions_that_it_speaks(tmp_path, conductor):
    server = broken(tmp_path, "Plain", IGNORING)
    run = conductor(
        "check", "--protocol", "all", "--timeout", "0.5s", "--only", "ping", "--", *server, PYTHONPATH=str(SERVERS)
    )
    assert "2026-07-28: not spoken (no answer to server/discover" in run.all
    assert "1 passed in 4 revisions" in run.all
    assert run.code == 0


def test_a_server_that_cannot_be_understood_is_reported_by_default_too(tmp_path, conductor):
    pretty = """
        def write(self, data):
            super().write(json.dumps(json.loads(data), indent=1).encode() + b"\\n")
        """
    server = broken(tmp_path, "Plain", pretty)
    run = conductor("check", "--timeout", "0.1s", "--", *server, PYTHONPATH=str(SERVERS))
    assert "FAIL  stdio-newline-framing-server (MUST)" in run.all
    assert "grade F" in run.all
    assert run.code == 1


def test_a_tool_that_is_called_and_does_not_answer_is_told_and_leaves_no_grade(tmp_path, conductor):
    mute = """
        def take(self, message):
            if not isinstance(message, dict) or message.get("params", {}).get("name") != "look":
                super().take(message)
        """
    server = broken(tmp_path, "Plain", mute)
    run = conductor("check", "--timeout", "0.5s", "--", *server, PYTHONPATH=str(SERVERS))
    assert "no grade: no tool that was called answered in time: --timeout" in run.all
    assert "1 of 1 tools that were called did not answer within 0.5 s" in run.all


def test_a_tool_to_call_that_the_server_does_not_have_is_named(tmp_path, conductor):
    run = conductor("check", "--call-tools", "loook", "--", *broken(tmp_path, "Plain"), PYTHONPATH=str(SERVERS))
    assert "--call-tools: the server has no tool 'loook'" in run.all
    assert "did you mean 'look'?" in run.all
    assert run.code == 2


def test_a_check_that_is_interrupted_says_that_it_has_no_result(tmp_path, surroundings):
    never = [sys.executable, "-c", "import sys; print('up', file=sys.stderr, flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        [*CONDUCTOR, "check", "--", *never],
        cwd=tmp_path,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as check:
        with pytest.raises(subprocess.TimeoutExpired):
            check.communicate(timeout=2)  # it waits for an answer for half a minute
        check.send_signal(signal.SIGINT)
        _, said = check.communicate(timeout=10)
    assert "interrupted: a check that did not end has no result, and no report is written" in said
    assert check.returncode == 130
