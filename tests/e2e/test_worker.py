"""The process for work that may take too long: killed in time, started again, gone with us."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from itertools import count

import pytest

from mcp_conductor.bounded.worker import OutOfBoundsError, at_once, call, checkpoint, without_blocking


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


async def test_the_event_loop_turns_while_it_works():
    waiting = asyncio.create_task(without_blocking(lambda: call("time:sleep", 0.3, seconds=5)))
    turns = 0
    while not waiting.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert turns > 5


async def test_what_needs_no_waiting_is_done_in_the_thread_of_the_loop():
    assert await without_blocking(threading.get_ident) == threading.get_ident()
    assert await without_blocking(threading.get_ident, now=False) != threading.get_ident()


async def test_what_needs_waiting_is_done_again_from_its_start_in_a_thread():
    begun = []

    def work():
        begun.append(threading.get_ident())
        checkpoint()
        return "done"

    assert await without_blocking(work) == "done"
    assert len(begun) == 2
    assert len(set(begun)) == 2
    assert at_once(work, otherwise="later") == "later"


async def test_what_one_job_calls_shares_its_time_and_the_next_job_has_its_own():
    def many():
        for _ in range(100):
            with pytest.raises(OutOfBoundsError):
                call("time:sleep", 60, seconds=1)

    began = time.monotonic()
    await without_blocking(many)
    assert time.monotonic() - began < 6
    assert await without_blocking(lambda: call("operator:add", 1, 2, seconds=1)) == 3


@pytest.mark.parametrize("work", [lambda: call("time:sleep", 60, seconds=60), lambda: [checkpoint() for _ in count()]])
async def test_a_job_that_is_cancelled_ends_and_does_not_disturb_the_next(work):
    task = asyncio.create_task(without_blocking(work))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    began = time.monotonic()
    assert call("operator:add", 1, 2, seconds=5) == 3
    await asyncio.get_running_loop().shutdown_default_executor()
    assert time.monotonic() - began < 5


@pytest.mark.skipif(sys.platform == "win32", reason="alarms are of POSIX")
@pytest.mark.parametrize(
    "ending",
    ["", "os.kill(os.getpid(), 9)", "raise SystemExit(3)", "threading.Timer(.2, os._exit, [0]).start(); sleep()"],
)
def test_it_ends_with_its_parent_however_that_ends(ending):
    script = (
        "import os, threading\nfrom mcp_conductor.bounded.worker import call\n"
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
