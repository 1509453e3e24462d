"""`--events` prints what the server says when it says it; `--follow` keeps the result first."""

import json
import os
import signal
import threading

import pytest
from tests.conftest import MCP_CLI

LIMIT = 20
# It tells of progress, and goes on when the test has seen that.
TELLS = """
    hello(tools={}, logging={})
    request = hear()
    notify("notifications/progress", progressToken="p", progress=1)
    open("go").read()
    notify("notifications/message", level="info", data="done")
    result(request, {"content": []})
    hear()
"""
CALL = ("--method", "tools/call", "--tool-name", "any", "--progress-token", "p")
PROGRESS = {"method": "notifications/progress", "params": {"progressToken": "p", "progress": 1}}
LOG = {"method": "notifications/message", "params": {"level": "info", "data": "done"}}


@pytest.fixture
def start(in_background):
    """mcp-cli in the background; it is killed when a line that is waited for does not come."""

    def begin(*words):
        process = in_background([*MCP_CLI, *words])
        guard = threading.Timer(LIMIT, process.kill)
        guard.daemon = True
        guard.start()
        return process

    return begin


def lines(data):
    return [json.loads(line) for line in data.splitlines() if line]


def test_events_come_before_the_result_and_at_once(start, serve, tmp_path):
    os.mkfifo(tmp_path / "go")
    process = start(*serve(TELLS), *CALL, "--events")
    assert json.loads(process.stdout.readline()) == {"event": "progress", **PROGRESS}
    (tmp_path / "go").write_text("now")
    out, err = process.communicate(timeout=LIMIT)
    assert lines(out) == [{"event": "log", **LOG}, {"event": "result", "result": {"content": []}}]
    assert (process.returncode, err) == (0, b"")


def test_with_follow_progress_is_on_stderr_at_once_and_after_the_result_on_stdout(start, serve, tmp_path):
    os.mkfifo(tmp_path / "go")
    process = start(*serve(TELLS), *CALL, "--follow", "--timeout", "20s")
    assert process.stderr.readline() == b'progress: {"progressToken":"p","progress":1}\n'
    (tmp_path / "go").write_text("now")
    printed = [process.stdout.readline() for _ in range(6)]
    assert json.loads(b"".join(printed[:3])) == {"content": []}
    assert printed[3] == b"\n"
    assert [json.loads(line) for line in printed[4:]] == [{"event": "notification", **each} for each in (PROGRESS, LOG)]
    process.send_signal(signal.SIGINT)
    assert process.wait(LIMIT) == 130


def test_events_of_a_stream_that_nothing_reads_any_more_end_the_run_quietly(start, serve):
    process = start(
        *serve("hello()\nhear()\nwhile True: notify('notifications/message', level='info', data='x')"),
        *CALL,
        "--events",
    )
    assert json.loads(process.stdout.readline())["event"] == "log"
    process.stdout.close()
    assert process.wait(LIMIT) == 0
    assert process.stderr.read() == b""


def test_what_was_said_before_the_server_went_away_is_printed(cli, serve):
    run = cli(
        *serve("hello()\nhear()\nnotify('notifications/message', level='info', data=1)\nsys.exit(4)"), *CALL, "--events"
    )
    assert run.code == 1
    assert [event["event"] for event in lines(run.out)] == ["log"]
    assert "the server exited with code 4" in run.err


def test_a_server_that_has_no_stream_of_its_own_is_told_when_it_is_followed(cli, http):
    server = http({"GET": lambda call: call.reply(405)})
    words = (server.url, "--method", "tools/list", "--timeout", "1s")
    warning = (
        "warning: the server has no stream of its own (GET: 405): only what comes together with an answer is heard\n"
    )
    assert cli(*words, "--follow").err == warning
    assert cli(*words, "--follow", "--events").err == warning
    assert cli(*words, "--events").err == ""
