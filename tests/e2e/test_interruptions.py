"""Signals and closed pipes, at any moment: the right exit code, quickly, quietly, and nothing left running."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest
from tests.conftest import MCP_CLI

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
STUBBORN = """
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", "60"])
    hello()
    hear()
    sys.stderr.write("called\\n")
    sys.stderr.flush()
    while True:
        signal.pause()
"""
POLITE = """
    hello()
    hear()
    sys.stderr.write("called\\n")
    sys.stderr.flush()
    assert hear()["method"] == "notifications/cancelled"
    sys.stderr.write("cancelled\\n")
    sys.stderr.flush()
    hear()
"""


@pytest.fixture
def start(environment, tmp_path, survivors):
    """mcp-cli in the background, with its pipes in our hands."""

    @contextmanager
    def run(*words, **options):
        process = subprocess.Popen(
            [*MCP_CLI, *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=environment,
            text=True,
            **options,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate(timeout=10)

    yield run
    assert survivors() == []


def wait_for_line(stream, text):
    for line in stream:
        if text in line:
            return
    raise AssertionError(f"{text!r} never came")


def ended(process, seconds=10):
    out, err = process.communicate(timeout=seconds)
    assert "Traceback" not in err
    return process.returncode, out, err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_call_cancels_the_request_and_cleans_up(start, serve, number, code):
    with start(*serve(POLITE), "--method", "tools/list", "--verbose") as process:
        wait_for_line(process.stderr, "called")
        process.send_signal(number)
        returned, out, err = ended(process)
    assert (returned, out) == (code, "")
    assert "notifications/cancelled" in err
    assert "stderr: cancelled" in err


def test_a_second_signal_does_not_wait_for_a_stubborn_server(start, serve):
    with start(*serve(STUBBORN), "--method", "tools/list", "--verbose") as process:
        wait_for_line(process.stderr, "called")
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        wait_for_line(process.stderr, "notifications/cancelled")
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 130
        assert time.monotonic() - began < 1.9


def test_a_stubborn_server_is_killed_after_one_signal(start, serve):
    with start(*serve(STUBBORN), "--method", "tools/list", "--verbose") as process:
        wait_for_line(process.stderr, "called")
        process.send_signal(signal.SIGTERM)
        assert ended(process)[0] == 143


def test_a_signal_during_the_handshake_ends_it_without_cancelling_initialize(start, serve):
    with start(
        *serve("hear(); sys.stderr.write('asked\\n'); sys.stderr.flush(); hear()"), "--method", "ping", "-v"
    ) as process:
        wait_for_line(process.stderr, "asked")
        process.send_signal(signal.SIGINT)
        code, _, err = ended(process)
    assert code == 130
    assert "cancelled" not in err


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12])
def test_a_signal_while_starting_up_is_no_traceback(start, serve, delay):
    with start(*serve(STUBBORN), "--method", "tools/list", "--timeout", "3s") as process:
        # Not a wait for something: the moment is the test.
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=10)
    # Before Python itself is up, the signal is its own affair; while it looks at site-packages it even loses it (124).
    assert process.returncode in (130, -signal.SIGINT, 1, 124), err
    assert "mcp_conductor/" not in err


def test_head_gets_its_line_and_the_stream_ends_quietly(start, serve):
    server = serve("""
        hello()
        while True:
            notify("notifications/message", level="info", data="x" * 1000)
    """)
    with start(*server, "--follow") as process:
        assert json.loads(process.stdout.readline())["event"] == "notification"
        process.stdout.close()
        assert process.wait(timeout=10) == 0
        assert process.stderr.read() == ""


def test_a_closed_stdout_ends_a_silent_stream_too(start, serve):
    with start(*serve("hello(); answer(hear(), {'ping': {}}); hear()"), "--method", "ping", "--follow") as process:
        assert process.stdout.readline() == "{}\n"
        assert process.stdout.readline() == "\n"
        process.stdout.close()
        assert process.wait(timeout=10) == 0
        assert process.stderr.read() == ""


def test_a_result_that_is_not_read_is_not_an_error(start, serve, tmp_path):
    os.mkfifo(tmp_path / "go")
    server = serve("""
        hello()
        request = hear()
        sys.stderr.write("up\\n")
        sys.stderr.flush()
        open("go").read()
        result(request, {"tools": ["x" * 1000]})
        hear()
    """)
    with start(*server, "--method", "tools/list", "-v") as process:
        wait_for_line(process.stderr, "up")
        process.stdout.close()
        (tmp_path / "go").write_text("now")
        assert process.wait(timeout=10) == 0
        assert "Traceback" not in process.stderr.read()


def test_a_stdout_that_was_never_open_is_no_traceback(environment, serve, tmp_path, survivors):
    server = serve("hello(); serve({'ping': {}})")
    shell = f"{sys.executable} -c '{MCP_CLI[2]}' {' '.join(server)} --method ping >&-"
    done = subprocess.run(
        ["sh", "-c", shell], stderr=subprocess.PIPE, cwd=tmp_path, env=environment, timeout=20, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert survivors() == []


def test_following_ends_with_the_timeout_and_that_is_success(start, serve):
    server = serve(
        "hello(); answer(hear(), {'ping': {}}); notify('notifications/message', level='info', data=1); hear()"
    )
    with start(*server, "--method", "ping", "--follow", "--timeout", "700ms") as process:
        code, out, err = ended(process)
    assert (code, err) == (0, "")
    assert out == '{}\n\n{"event":"notification","method":"notifications/message","params":{"level":"info","data":1}}\n'


def test_following_ends_with_an_error_when_the_server_goes_away(start, serve):
    server = serve(
        "hello(); notify('notifications/message', level='info', data=1); sys.stderr.write('crash\\n'); sys.exit(4)"
    )
    with start(*server, "--follow") as process:
        code, out, err = ended(process)
    assert code == 1
    assert json.loads(out)["params"]["data"] == 1
    assert "the server exited with code 4" in err
    assert "    | crash" in err


def test_following_goes_on_after_the_default_timeout_is_set_aside(start, serve):
    server = serve("""
        hello()
        answer(hear(), {"ping": {}})
        sys.stderr.write("answered\\n")
        sys.stderr.flush()
        hear()
    """)
    with start(*server, "--method", "ping", "--follow", "-v") as process:
        wait_for_line(process.stderr, "answered")
        process.send_signal(signal.SIGINT)
        assert ended(process)[0] == 130


def test_a_task_that_does_not_end_in_time_is_printed_as_it_is(start, serve):
    server = serve("""
        hello(tasks={})
        task = {"taskId": "t1", "status": "working", "statusMessage": "halfway", "pollInterval": 50, "ttl": None}
        serve({"tools/call": {"task": task}, "tasks/get": task})
    """)
    with start(
        *server, "--method", "tools/call", "--tool-name", "x", "--run-as-task", "--poll", "--timeout", "500ms"
    ) as process:
        code, out, err = ended(process)
    assert code == 124
    assert json.loads(out) == {"taskId": "t1", "status": "working", "statusMessage": "halfway"}
    assert "no result within 0.5 s" in err


def test_a_check_that_is_stopped_while_it_says_odd_things_says_nothing_of_them(serve, environment, tmp_path):
    server = serve("""
        hello()
        while True:
            request = json.loads(sys.stdin.readline())
            if not isinstance(request, dict) or "method" not in request:
                os.kill(os.getppid(), signal.SIGTERM)
                break
            if "id" in request:
                result(request, {})
        sys.stdin.read()
    """)
    words = [*CONDUCTOR, "check", "--only", "base", "--timeout", "20s", "--", *server]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment, check=False)
    told = "interrupted: a check that did not end has no result, and no report is written\n"
    assert (done.returncode, done.stderr) == (143, told)


IN_PYTHON = {
    "an interrupt when a program has ended is no traceback": """
from mcp_conductor import cli
def interrupted(): raise KeyboardInterrupt
cli.conductor = interrupted
cli.conductor_script()
""",
    "what fails after the second signal is the interruption": """
import os, signal, sys
from mcp_conductor.cli.process.interruptible import run_interruptibly
from mcp_conductor.cli.output.terminal import Interrupted
from mcp_conductor.errors import ProtocolError
async def work():
    for _ in range(2):
        os.kill(os.getpid(), signal.SIGINT)
    raise ProtocolError("the client ended with exit code -9")
try:
    run_interruptibly(work())
except Interrupted as interrupted:
    sys.exit(interrupted.exit_code)
""",
}


@pytest.mark.parametrize("code", IN_PYTHON.values(), ids=IN_PYTHON)
def test_at_moments_that_are_hard_to_meet(code, environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (130, "")
