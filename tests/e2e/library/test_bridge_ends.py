"""How `conductor bridge` ends: soon, and without leaving a server behind."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.e2e.library.watching import LIMIT, wait_for_end

MORTAL = str(Path(__file__).parent / "mortal.py")
CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)"
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}


class Run:
    """A bridge with a client that has said hello."""

    def __init__(self, process):
        self.process = process
        self.ask("initialize", CLIENT)
        assert json.loads(self.process.stdout.readline())["result"]
        self.say({"method": "notifications/initialized"})

    def say(self, message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, params):
        self.say({"id": 1, "method": method, "params": params})


@pytest.fixture
def run(tmp_path, environment, survivors):
    """A bridge with two servers, of which one ignores all signals that it can ignore."""
    stubborn = (
        f"{STUBBORN}; import runpy, sys; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    servers = {
        "m": {"command": sys.executable, "args": [MORTAL, str(tmp_path / "m.log")]},
        "stubborn": {"command": sys.executable, "args": ["-c", stubborn, MORTAL, str(tmp_path / "s.log")]},
    }
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    streams = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    with subprocess.Popen(
        [*CONDUCTOR, "bridge", str(file)], **streams, stderr=subprocess.DEVNULL, env=environment, text=True
    ) as process:
        try:
            yield Run(process)
        finally:
            process.kill()
    assert survivors() == []


def hang(run, server, log):
    run.ask("tools/call", {"name": f"{server}__write", "arguments": {"hang": True}})
    deadline = time.monotonic() + LIMIT
    while "write" not in log.read_text():
        assert time.monotonic() < deadline


@pytest.mark.parametrize(("number", "code"), [(signal.SIGHUP, 0), (signal.SIGTERM, 0), (signal.SIGINT, 0)])
def test_a_signal_ends_it_and_all_servers(run, survivors, number, code):
    run.process.send_signal(number)
    assert run.process.wait(LIMIT) == code
    assert survivors() == []


@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGINT), (signal.SIGHUP, signal.SIGTERM)])
def test_a_second_signal_ends_it_at_once_with_all_servers(run, survivors, tmp_path, numbers):
    run.ask("tools/call", {"name": "m__pid"})
    other = int(json.loads(run.process.stdout.readline())["result"]["content"][0]["text"])
    hang(run, "stubborn", tmp_path / "s.log")
    run.process.send_signal(numbers[0])
    wait_for_end(other)  # so the first is being obeyed
    began = time.monotonic()
    run.process.send_signal(numbers[1])
    run.process.wait(LIMIT)
    assert time.monotonic() - began < 3
    assert survivors() == []


def test_it_ends_soon_after_its_stdin_although_a_call_is_open(run, survivors, tmp_path):
    hang(run, "m", tmp_path / "m.log")
    began = time.monotonic()
    run.process.stdin.close()
    assert run.process.wait(LIMIT) == 0
    assert time.monotonic() - began < 6  # a second for the call, and what it takes to end the stubborn server
    assert survivors() == []


def test_calls_that_are_answered_soon_after_the_end_of_stdin_get_their_answers(run):
    run.ask("tools/call", {"name": "m__pid"})
    run.process.stdin.close()
    assert json.loads(run.process.stdout.readline())["result"]["content"][0]["text"].isdigit()
    assert run.process.wait(LIMIT) == 0
