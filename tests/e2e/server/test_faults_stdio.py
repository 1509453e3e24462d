"""Every fault on raw pipes: the bytes that a client sees, and what becomes of the server."""

import itertools
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests import prefork

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "servers"
CODE = "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())"
META = "io.modelcontextprotocol/"
SECONDS = 20.0  # far more than is needed
ERAS = ("2025-11-25", "2026-07-28")
TOOLS = "[{preset: echo}, {preset: get_temp}, {preset: write_to_stderr}]"


class Server:
    """A server behind two pipes, and a client that writes and reads lines."""

    def __init__(self, file: Path, errors: Path) -> None:
        self._errors = errors
        with errors.open("wb") as stderr:
            words = [sys.executable, "-c", CODE, "serve", str(file)]
            self.process = prefork.start(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._stdin, self._stdout = self.process.stdin, self.process.stdout
        self._heard = b""
        self._ids = itertools.count(1)
        self._version = ERAS[0]

    def send(self, *messages: object) -> None:
        """Write messages, all of them at once."""
        self._stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        self._stdin.flush()

    def request(self, method: str, **params: object) -> dict:
        if self._version == ERAS[1]:
            params["_meta"] = {f"{META}protocolVersion": ERAS[1], f"{META}clientCapabilities": {}}
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    def ask(self, method: str, **params: object) -> int:
        request = self.request(method, **params)
        self.send(request)
        return request["id"]

    def call(self, name: str = "echo", **arguments: object) -> int:
        return self.ask("tools/call", name=name, arguments=arguments or {"message": "hi"})

    def open(self, version: str = ERAS[0]) -> "Server":
        self._version = version
        if version != ERAS[1]:
            self.ask("initialize", protocolVersion=version, capabilities={}, clientInfo={"name": "raw", "version": "1"})
            assert self.reply()["result"]["protocolVersion"] == version
            self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def line(self) -> bytes:
        """The next line with its end, or what there is before the end of stdout."""
        deadline = time.monotonic() + SECONDS
        while b"\n" not in self._heard:
            ready, _, _ = select.select([self._stdout], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"nothing came within {SECONDS} s"
            chunk = os.read(self._stdout.fileno(), 1 << 20)
            if not chunk:
                rest, self._heard = self._heard, b""
                return rest
            self._heard += chunk
        line, end, self._heard = self._heard.partition(b"\n")
        return line + end

    def reply(self) -> dict:
        return json.loads(self.line())

    def lives(self) -> bool:
        """Whether the server answers still."""
        identity = self.ask("tools/list")
        return len(self.reply()["result"]["tools"]) == 3 and identity > 0

    def end(self) -> int:
        """Close stdin: the exit code."""
        self._stdin.close()
        return self.process.wait(SECONDS)

    def errors(self) -> str:
        return self._errors.read_text()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        self._stdout.close()
        with suppress(BrokenPipeError):
            self._stdin.close()
        assert "Traceback" not in self.errors(), self.errors()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start a server with these faults, each a line of YAML."""
    started: list[Server] = []

    def run(*faults: str, seed: int = 0) -> Server:
        file = tmp_path / f"server{len(started)}.yaml"
        listed = "".join(f"  - {fault}\n" for fault in faults) or "  []\n"
        head = f"serverInfo: {{name: faulty, version: '1'}}\ntransport: {{type: stdio, modern: true}}\nseed: {seed}\ntools: {TOOLS}\n"
        file.write_text(f"{head}faults:\n{listed}")
        started.append(Server(file, tmp_path / f"stderr{len(started)}"))
        return started[-1]

    yield run
    for server in started:
        server.stop()


def text_of(reply: dict) -> str:
    return reply["result"]["content"][0]["text"]


@pytest.mark.parametrize("era", ERAS)
def test_without_a_match_every_byte_is_the_same(start, era):
    faulty = start(
        "{fault: crash, when: {name: write_to_stderr}}",
        "{fault: wrong_id, when: {method: prompts/list}}",
        "{fault: malformed_json, when: {method: tools/call, nth: 99}}",
    )
    spoken = []
    for server in (start(), faulty):
        server.open(era).call()
        server.call("get_temp", city="Rome", units="C")
        server.ask("tools/list")
        spoken.append([server.line() for _ in range(3)])
        assert server.end() == 0
    assert spoken[0] == spoken[1]


# When the reply comes, and whether.


@pytest.mark.parametrize("era", ERAS)
def test_a_delayed_reply_comes_no_earlier_and_holds_nobody_up(start, era):
    server = start("{fault: delay, when: {name: echo}, params: {time: 300ms, jitter: 50ms}}").open(era)
    began = time.monotonic()
    late = server.call()
    soon = server.ask("tools/list")
    assert [server.reply()["id"], server.reply()["id"]] == [soon, late]
    assert time.monotonic() - began >= 0.3


@pytest.mark.parametrize("era", ERAS)
def test_a_request_that_is_never_answered_is_not_answered_at_the_end_either(start, era):
    server = start("{fault: never_answer, when: {name: echo, nth: 1}}").open(era)
    server.call()
    answered = server.call()
    assert server.reply()["id"] == answered
    assert server.end() == 0
    assert server.line() == b""


def test_what_is_never_answered_is_done_all_the_same(start):
    server = start("{fault: never_answer, when: {name: write_to_stderr}}").open()
    server.call("write_to_stderr", message="done")
    assert server.lives()
    assert "done\n" in server.errors()


# What the reply says.


@pytest.mark.parametrize("era", ERAS)
def test_an_answer_comes_as_often_as_the_fault_says(start, era):
    server = start(
        "{fault: answer_twice, when: {name: echo, nth: 1}}",
        "{fault: answer_twice, when: {name: echo, nth: 2}, params: {times: 3}}",
    )
    server.open(era)
    for times in (2, 3):
        server.call()
        lines = {server.line() for _ in range(times)}
        assert len(lines) == 1
    assert server.lives()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("params", "wrong"), [("{}", "not-{}"), ("{id: 4711}", 4711), ("{id: '1'}", "1")])
def test_an_answer_comes_under_a_wrong_id(start, era, params, wrong):
    server = start(f"{{fault: wrong_id, when: {{name: echo}}, params: {params}}}").open(era)
    identity = server.call()
    reply = server.reply()
    assert reply["id"] == (wrong.format(identity) if isinstance(wrong, str) else wrong)
    assert text_of(reply) == "Echo: hi"
    assert server.lives()


@pytest.mark.parametrize("era", ERAS)
def test_malformed_json_is_a_line_without_its_last_character(start, era):
    server = start("{fault: malformed_json, when: {name: echo, nth: 1}}").open(era)
    identity = server.call()
    line = server.line()
    with pytest.raises(ValueError, match="delimiter"):
        json.loads(line)
    assert json.loads(line.rstrip(b"\n") + b"}")["id"] == identity
    assert server.lives()


@pytest.mark.parametrize("era", ERAS)
def test_a_dropped_field_is_missing_and_nothing_else_is(start, era):
    server = start("{fault: drop_field, when: {name: echo, nth: 1}, params: {path: 'result.content[0].text'}}").open(
        era
    )
    server.call()
    server.call()
    bent, right = server.reply()["result"], server.reply()["result"]
    del right["content"][0]["text"]
    assert bent == right


@pytest.mark.parametrize("era", ERAS)
def test_structured_content_breaks_the_schema_of_its_own_tool(start, era):
    server = start("{fault: break_schema, when: {name: get_temp}}").open(era)
    server.call("get_temp", city="Rome", units="C")
    assert server.reply()["result"]["structuredContent"] == {"temperature": "broken", "unit": "C", "city": "Rome"}


@pytest.mark.parametrize("era", ERAS)
def test_an_oversize_reply_is_one_long_line(start, era):
    server = start("{fault: oversize, when: {name: echo}, params: {bytes: 5000000}}").open(era)
    server.call()
    line = server.line()
    assert len(line) > 5_000_000
    assert text_of(json.loads(line)) == "Echo: hi"
    assert server.lives()


# What happens to stdout, and to the process.


@pytest.mark.parametrize("era", ERAS)
def test_noise_comes_before_the_reply(start, era):
    server = start("{fault: stdout_noise, when: {name: echo}, params: {text: starting …, lines: 2}}").open(era)
    server.call()
    assert [server.line(), server.line()] == ["starting …\n".encode()] * 2
    assert text_of(server.reply()) == "Echo: hi"
    assert server.lives()


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("code", [0, 3, 255])
def test_half_a_line_is_the_first_half_and_then_the_process_ends_with_its_code(start, era, code):
    server = start(f"{{fault: half_a_line_then_exit, when: {{name: echo, nth: 2}}, params: {{code: {code}}}}}").open(
        era
    )
    first, second = server.call(), server.call()
    whole = server.line().rstrip(b"\n").replace(f'"id":{first}'.encode(), f'"id":{second}'.encode(), 1)
    assert server.line() == whole[: len(whole) // 2]
    assert server.process.wait(SECONDS) == code


@pytest.mark.parametrize("era", ERAS)
def test_a_crash_leaves_nothing_but_its_exit_code(start, era):
    server = start("{fault: crash, when: {name: echo}, params: {code: 70}}").open(era)
    server.call()
    assert server.line() == b""
    assert server.process.wait(SECONDS) == 70


def test_what_was_answered_before_a_crash_still_arrives(start):
    server = start("{fault: crash, when: {name: echo}}").open()
    requests = [server.request("tools/list"), server.request("tools/call", name="echo", arguments={"message": "hi"})]
    server.send(*requests)
    assert server.reply()["id"] == requests[0]["id"]
    assert server.line() == b""


@pytest.mark.parametrize("era", ERAS)
def test_a_server_that_closes_its_stdout_lives_on(start, era):
    server = start("{fault: close_stdout, when: {name: echo}}").open(era)
    server.call()
    assert server.line() == b""
    server.call("write_to_stderr", message="still here")
    assert server.end() == 0
    assert "still here\n" in server.errors()


def test_two_faults_can_strike_one_request(start):
    server = start(
        "{fault: wrong_id, when: {name: echo}, params: {id: 9}}", "{fault: answer_twice, when: {name: echo}}"
    )
    server.open().call()
    assert [server.reply()["id"], server.reply()["id"]] == [9, 9]


def test_a_fault_can_strike_how_a_conversation_begins(start):
    server = start("{fault: drop_field, when: {method: initialize}, params: {path: result.protocolVersion}}")
    server.ask("initialize", protocolVersion=ERAS[0], capabilities={}, clientInfo={"name": "raw", "version": "1"})
    assert list(server.reply()["result"]) == ["capabilities", "serverInfo"]


def test_a_fault_strikes_one_request_of_a_batch_and_spares_the_others(start):
    server = start("{fault: wrong_id, when: {name: echo}}", "{fault: never_answer, when: {name: get_temp}}").open(
        "2025-03-26"
    )
    requests = [server.request("tools/call", name=name, arguments={"message": "hi"}) for name in ("echo", "get_temp")]
    server.send([requests[0], server.request("ping"), requests[1], server.request("ping")])
    assert server.reply()["id"] == f"not-{requests[0]['id']}"
    assert [each["result"] for each in server.reply()] == [{}, {}]


# Which requests.


def wrong(server: Server, count: int = 8) -> list[int]:
    """Which of COUNT calls are answered under a wrong id."""
    for _ in range(count):
        server.call()
    return [number for number in range(1, count + 1) if isinstance(server.reply()["id"], str)]


@pytest.mark.parametrize(
    ("when", "expected"),
    [("nth: 2", [2]), ("nth: [1, 4]", [1, 4]), ("every: 3", [3, 6]), ("method: tools/call, nth: 8", [8])],
)
def test_the_requests_that_fit_are_counted_from_one(start, when, expected):
    server = start(f"{{fault: wrong_id, when: {{name: echo, {when}}}}}").open()
    assert wrong(server) == expected


def test_chance_is_the_same_in_every_run_with_the_same_seed(start):
    found = [
        wrong(start("{fault: wrong_id, when: {name: echo, probability: 0.5}}", seed=seed).open(), 40)
        for seed in (5, 5, 6)
    ]
    assert found[0] == found[1] != found[2]
    assert 5 < len(found[0]) < 35


def test_a_bad_fault_is_a_message_with_its_place_and_not_a_traceback(start):
    server = start("{fault: crash, params: {code: 300}}")
    assert server.process.wait(SECONDS) == 2
    assert ":6:29" in server.errors()
    assert "must be from 0 to 255, not 300" in server.errors()


# How mcp-cli takes it.


@pytest.mark.parametrize(
    ("file", "words", "code", "told"),
    [
        ("timing", "echo message=hi", 0, ""),
        ("timing", "tool_1 message=hi", 0, ""),
        ("timing", "add a=1 b=2", 124, "no result within 2 s: tools/call was not answered"),
        ("messages", "tool_1 message=hi", 0, "the server sent a second answer to the request"),
        ("messages", "tool_2 message=hi", 124, "an answer with id 4711, which no request has"),
        ("messages", "tool_3 message=hi", 1, "the answer to tools/call cannot be used: not JSON"),
        ("messages", "tool_4 message=hi", 0, ""),
        ("messages", "tool_5 message=hi", 0, ""),
        ("messages", "tool_6 message=hi", 0, ""),
        ("messages", "get_temp city=Rome units=C", 0, ""),
        ("stdio", "tool_1 message=hi", 0, 'the server wrote a line that is not a message: "Listening on port 8080"'),
        ("stdio", "tool_2 message=hi", 1, "the answer to tools/call cannot be used: not JSON"),
        ("stdio", "tool_3 message=hi", 1, "the server exited with code 70 before it answered tools/call"),
        ("stdio", "tool_4 message=hi", 1, "the server closed its stdout before it answered tools/call"),
    ],
)
@pytest.mark.parametrize("protocol", ["handshake", "modern"])
def test_mcp_cli_survives_every_example_with_a_clear_message(cli, file, words, code, told, protocol):
    name, *arguments = words.split()
    limit = "2s" if code == 124 else "20s"
    server = prefork.command((sys.executable, "-c", CODE, "serve", str(EXAMPLES / f"faults-{file}.yaml")))
    given = [word for argument in arguments for word in ("--tool-arg", argument)]
    flags = ("--method", "tools/call", "--tool-name", name, *given, "--timeout", limit, "--protocol", protocol)
    run = cli(*flags, "--", *server)
    assert run.code == code, run
    assert told in run.err, run
    assert "internal error" not in run.err
    assert bool(run.out) == (code == 0)
