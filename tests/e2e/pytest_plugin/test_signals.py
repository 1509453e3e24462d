"""What is left of a run of pytest that a signal ends: pytest's own matter, but for the servers that we started."""

import os
import signal
import subprocess
import sys
from select import select

import pytest

# The test below holds the other end of `alive` open for as long as the server lives.
SERVER = """
import os, sys
alive = os.open("alive", os.O_WRONLY)
from mcp_conductor.cli import conductor
sys.exit(conductor())
"""
TESTS = """
    import sys

    def test_it(mcp_server):
        assert mcp_server.request("ping") == {}
        print("ready", flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.slow)])
def test_a_server_that_ends_with_its_stdin_does_not_outlive_pytest(project, write, surroundings, number):
    write("server.py", SERVER)
    write("test_python.py", TESTS)
    os.mkfifo(project / "alive")
    command = f"--conductor-command={sys.executable} server.py serve book.yaml"
    alive = os.open(project / "alive", os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=project,
        env=surroundings,
        text=True,
    )
    try:
        assert any(line == "ready\n" for line in process.stdout)
        process.send_signal(number)
        assert process.wait(20) == -number
        assert select([alive], [], [], 20)[0] == [alive]
        assert os.read(alive, 1) == b""  # no process has it open any more
    finally:
        os.close(alive)
        process.kill()
        process.communicate()
