"""The process for work that may take too long: killed in time, started again, gone with us."""

import os
import subprocess
import sys
import time

import pytest

from mcp_conductor.worker import OutOfBoundsError, call


def test_it_is_one_process_that_is_used_again():
    first = call("os:getpid", seconds=1)
    assert first == call("os:getpid", seconds=1) != os.getpid()


@pytest.mark.parametrize("value", [None, 2**70, -1.5, "é\ud800", [1, {"a": [True, ""]}], b"\0"])
def test_values_arrive_as_they_are(value):
    assert call("copy:copy", value, seconds=1) == value


def test_what_takes_too_long_is_killed_and_the_next_call_finds_a_new_process():
    first = call("os:getpid", seconds=1)
    with pytest.raises(OutOfBoundsError) as failed:
        call("time:sleep", 60, seconds=0.2)
    assert str(failed.value) == "takes more than 0.2 s"
    assert call("os:getpid", seconds=1) != first
    assert not _exists(first)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited on Linux")
def test_what_takes_too_much_memory_or_crashes_fails_alone():
    for work in (("operator:mul", "x", 3 << 30), ("os:abort",)):
        with pytest.raises(OutOfBoundsError, match="memory"):
            call(*work, seconds=2)


def test_what_fails_in_it_is_an_error_here():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        call("operator:truediv", 1, 0, seconds=1)


@pytest.mark.skipif(sys.platform == "win32", reason="alarms are of POSIX")
@pytest.mark.parametrize(
    "ending",
    ["", "os.kill(os.getpid(), 9)", "raise SystemExit(3)", "threading.Timer(.2, os._exit, [0]).start(); sleep()"],
)
def test_it_ends_with_its_parent_however_that_ends(ending):
    script = (
        "import os, threading\nfrom mcp_conductor.worker import call\n"
        "def sleep():\n    try: call('time:sleep', 60, seconds=1)\n    except Exception: pass\n"
        f"print(call('os:getpid', seconds=1), flush=True)\n{ending}"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=20, check=False)
    assert done.stderr == ""
    deadline = time.monotonic() + 5
    while _exists(int(done.stdout)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not _exists(int(done.stdout))


def _exists(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
