"""How a composable server on stdio ends: every reply that is due comes out, and nothing keeps it from ending."""

import json
import os
import select
import signal
import socket
import subprocess
import threading
from contextlib import suppress

import pytest
from tests.e2e.server.wire import (
    PATIENCE,
    call,
    code_of,
    echo,
    initialize,
    line_of,
    modern,
    ping,
    request,
    result,
    slow,
)

FORM = {"message": "Who?", "schema": {"type": "object", "properties": {"name": {"type": "string"}}}}
SOON = 2.0  # seconds within which a server ends that has nothing to wait for


def lines_after_end(server) -> list:
    """Everything that it still says; its stdin has ended."""
    return [json.loads(line) for line in iter(server.line, b"")]


def test_requests_that_came_before_the_end_of_stdin_are_all_answered(stdio):
    server = stdio()
    server.say(initialize(), *(echo(number, f"{number}") for number in range(1, 21)))
    server.close()
    assert [reply["id"] for reply in lines_after_end(server)] == list(range(21))
    assert server.wait(SOON) == 0


def test_slow_requests_are_answered_after_the_end_of_stdin(stdio):
    server = stdio()
    server.say(initialize(), *(slow(number, 300 - number) for number in range(1, 21)), modern(slow("m", 100)))
    server.close()
    assert {reply["id"] for reply in lines_after_end(server)} == {*range(21), "m"}
    assert server.wait(SOON) == 0


def test_two_slow_requests_with_one_id_are_both_answered_after_the_end_of_stdin(stdio):
    server = stdio()
    server.say(initialize(), slow(1, 300), slow(1, 10))
    server.close()
    assert [reply["id"] for reply in lines_after_end(server)] == [0, 1, 1]


def test_tool_that_waits_for_the_client_ends_with_stdin(stdio):
    server = stdio()
    server.open(elicitation={})
    server.ask(call(1, "collect_elicitation", FORM))
    server.close()
    reply = server.hear()
    assert (reply["id"], reply["result"]["isError"]) == (1, True)
    assert server.wait(SOON) == 0


def test_tool_that_asks_after_the_end_of_stdin_is_told_that_nobody_answers(stdio):
    steps = [
        {"progress": {"progress": 1}},
        {"sleep": "100ms"},
        {"elicit": {"message": "?", "schema": {"type": "object"}}},
    ]
    server = stdio(tools=[{"name": "late", "steps": steps, "result": "done"}])
    server.open(elicitation={})
    server.say(call(1, "late", _meta={"progressToken": "t"}))
    server.hear()
    server.close()
    assert server.wait(SOON) == 0
    assert lines_after_end(server)[-1]["result"]["isError"] is True


def test_last_line_needs_no_end(stdio):
    server = stdio()
    server.write(line_of(ping(1)) + line_of(ping(2))[:-1])
    server.close()
    assert lines_after_end(server) == [result(1, {}), result(2, {})]
    assert server.wait(SOON) == 0


def test_lines_may_end_as_on_windows_and_arrive_byte_by_byte(stdio):
    server = stdio()
    for byte in line_of(ping(1)).replace(b"\n", b"\r\n"):
        server.write(bytes([byte]))
    assert server.hear() == result(1, {})


def test_several_lines_and_a_half_arrive_at_once(stdio):
    server = stdio()
    lines = line_of(ping(1)) + line_of(ping(2)) + line_of(ping(3))
    server.write(lines[:-9])
    assert [server.hear()["id"], server.hear()["id"]] == [1, 2]
    server.write(lines[-9:])
    assert server.hear()["id"] == 3


def test_stdin_may_be_a_file_and_stdout_too(stdio, tmp_path):
    asked, answered = tmp_path / "in", tmp_path / "out"
    asked.write_bytes(b"".join(map(line_of, [initialize(), echo(1), slow(2, 50), ping(3)])))
    with asked.open("rb") as source, answered.open("wb") as sink:
        server = stdio(options={"stdin": source, "stdout": sink})
        assert server.wait() == 0
    assert [json.loads(line)["id"] for line in answered.read_text().splitlines()] == [0, 1, 3, 2]


def test_stdin_may_be_a_file_while_stdout_is_a_pipe_that_fills_up(stdio, tmp_path):
    asked = tmp_path / "in"
    asked.write_bytes(line_of(initialize()) + b"".join(line_of(echo(number, "x" * 1000)) for number in range(2000)))
    with asked.open("rb") as source:
        server = stdio(options={"stdin": source})
        replies = lines_after_end(server)
    assert [reply["id"] for reply in replies[1:]] == list(range(2000))
    assert server.wait(SOON) == 0


def test_stdin_may_be_the_null_device(stdio):
    server = stdio(options={"stdin": subprocess.DEVNULL})
    assert (server.wait(), server.errors()) == (0, "")


def test_stdin_may_be_closed_from_the_beginning(stdio):
    server = stdio(options={"stdin": None, "preexec_fn": lambda: os.close(0)})
    assert (server.wait(), server.errors()) == (0, "")


def test_stderr_may_be_closed_from_the_beginning(stdio):
    server = stdio(options={"preexec_fn": lambda: os.close(2)})
    assert server.ask(ping(1)) == result(1, {})
    server.close()
    assert server.wait(SOON) == 0


def test_stdin_and_stdout_may_be_one_socket(stdio):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        server = stdio(options={"stdin": theirs, "stdout": theirs})
        theirs.close()
        ours.settimeout(PATIENCE)
        ours.sendall(line_of(initialize()) + line_of(slow(1, 100)) + line_of(ping(2)))
        ours.shutdown(socket.SHUT_WR)
        with ours.makefile("rb") as answers:
            assert [json.loads(line)["id"] for line in answers] == [0, 2, 1]
        assert server.wait(SOON) == 0


# Much.


def test_line_of_sixteen_megabytes_is_answered_with_one_as_long(stdio):
    server = stdio()
    server.open()
    words = "é" * (8 << 20)
    writing = threading.Thread(target=server.say, args=[json.dumps(echo(1, words), ensure_ascii=False).encode()])
    writing.start()
    assert server.hear(4 * PATIENCE)["result"]["content"][0]["text"] == f"Echo: {words}"
    writing.join(PATIENCE)


def test_reader_that_takes_its_time_gets_everything(stdio):
    server = stdio()
    server.open()
    many = b"".join(line_of(echo(number, "x" * 1000)) for number in range(20_000))
    writing = threading.Thread(target=server.write, args=[many])
    writing.start()
    assert [server.hear()["id"] for _ in range(20_000)] == list(range(20_000))
    writing.join(PATIENCE)
    assert server.is_quiet()


def fill(server, most: int) -> int:
    """Send requests without reading any reply, until the server takes no more or MOST bytes are sent: how many were."""
    chunk = b"".join(line_of(echo(number, "x" * 10_000)) for number in range(10))
    os.set_blocking(server.process.stdin.fileno(), False)
    sent = 0
    while sent < most and select.select([], [server.process.stdin], [], 0.5)[1]:
        with suppress(BlockingIOError):
            sent += os.write(server.process.stdin.fileno(), chunk[sent % len(chunk) :])
    return sent


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_client_that_never_reads_cannot_keep_the_server_from_ending(stdio, number):
    server = stdio()
    server.open()
    fill(server, 50 << 20)
    assert server.signal(number) == 0


def test_client_that_never_reads_is_not_listened_to_for_ever(stdio):
    server = stdio()
    server.open()
    assert fill(server, 50 << 20) < 20 << 20


def test_client_that_never_read_and_goes_away_takes_the_server_with_it(stdio):
    server = stdio()
    server.open()
    fill(server, 30 << 20)
    server.process.stdout.close()
    server.process.stdin.close()
    assert server.wait() == 0


def test_signal_ends_a_server_that_waits_for_its_reader_after_the_end_of_stdin(stdio, tmp_path):
    asked = tmp_path / "in"
    asked.write_bytes(line_of(initialize()) + b"".join(line_of(echo(number, "x" * 1000)) for number in range(500)))
    with asked.open("rb") as source:
        server = stdio(options={"stdin": source})
    server.hear()  # a file is read to its end before anything else can happen
    assert server.signal(signal.SIGTERM, 3.0) == 0


# Signals, closed pipes and exit codes.


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_signal_ends_the_server_in_good_order(stdio, number):
    server = stdio()
    server.open()
    server.say(slow(1, 30_000, "token"))
    server.hear()
    assert server.signal(number, SOON) == 0
    assert server.line() == b""
    assert server.errors() == ""


def test_signal_ends_a_server_whose_slow_request_outlived_stdin(stdio):
    server = stdio()
    server.open()
    server.say(slow(1, 30_000, "token"))
    server.hear()
    server.close()
    assert server.signal(signal.SIGTERM, SOON) == 0


def test_reader_that_closes_stdout_is_no_reason_to_crash(stdio):
    server = stdio()
    server.open()
    server.process.stdout.close()
    server.say(ping(1), echo(2), b"nonsense", slow(3, 10))
    server.close()
    assert (server.wait(), server.errors()) == (0, "")


def test_only_messages_stand_on_stdout_and_only_notes_on_stderr(stdio):
    server = stdio(tools=[{"preset": "write_to_stderr"}])
    server.open()
    server.ask(call(1, "write_to_stderr", {"message": "a note"}))
    assert code_of(server.ask(request(2, "no/such"))) == -32601
    server.close()
    assert (server.wait(SOON), server.errors(), server.line()) == (0, "a note\n", b"")
