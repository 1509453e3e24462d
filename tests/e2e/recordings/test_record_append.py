"""`conductor record --append`: a client that starts its server for each call has one recording, which can be played."""

import json
import subprocess
import sys

import pytest
from tests import prefork
from tests.conftest import MCP_CLI
from tests.e2e.suites.conftest import CONDUCTOR

from mcp_conductor import read_recording

SERVER = """
import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "echo", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}}}]}
    elif message["method"] == "tools/call":
        result = {"content": [{"type": "text", "text": message["params"]["arguments"]["text"] * 1000}]}
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
RECORD = (*CONDUCTOR, "record", "-o", "said.jsonl")


@pytest.fixture
def call(tmp_path, environment):
    """A client that starts SERVER, calls one tool, and ends: what it printed."""
    (tmp_path / "server.py").write_text(SERVER)

    def words(text, server):
        return [*MCP_CLI, "--method", "tools/call", "--tool-name", "echo", "--tool-arg", f"text={text}", "--", *server]

    def call(text, *server):
        done = prefork.run(
            words(text, server), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["content"][0]["text"][:5]

    call.words, call.environment = words, environment
    return call


def recorded(*flags):
    return (*RECORD, *flags, sys.executable, "server.py")


def called(tmp_path):
    """What was called in each conversation of the recording."""
    recording = read_recording(str(tmp_path / "said.jsonl"))
    assert recording.warning is None
    calls = {}
    for session in recording.sessions():
        exchanges = recording.transcript(session).exchanges()
        assert exchanges[0].request.method == "initialize"
        assert all(each.reply is not None for each in exchanges)
        asked = [each.request.params["arguments"] for each in exchanges if each.request.method == "tools/call"]
        calls[session] = [each["text"] for each in asked]
    return calls


def test_each_start_is_a_conversation_of_the_file_which_replays_all_calls(call, tmp_path):
    for text in ("a", "b", "c"):
        call(text, *recorded("--append"))
    assert called(tmp_path) == {1: ["a"], 2: ["b"], 3: ["c"]}
    for text in ("c", "a", "b"):
        assert call(text, *CONDUCTOR, "replay", "said.jsonl") == text * 5
    recording = read_recording(str(tmp_path / "said.jsonl"))
    assert recording.server(3) == recording.server(1) == {"command": [sys.executable, "server.py"]}
    times = [entry.frame.at for entry in recording.entries]
    assert times == sorted(times)


def test_several_starts_at_once_share_the_file(call, tmp_path):
    texts = [f"{number}" for number in range(6)]
    options = {"cwd": tmp_path, "env": call.environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    clients = [prefork.start(call.words(text, recorded("--append")), text=True, **options) for text in texts]
    for client in clients:
        _, told = client.communicate(timeout=60)
        assert client.returncode == 0, told
    calls = called(tmp_path)
    assert sorted(calls) == [1, 2, 3, 4, 5, 6]
    assert sorted(calls.values()) == [[text] for text in texts]
    assert sorted(each.name for each in tmp_path.glob("*.jsonl")) == ["said.jsonl"]


def start(tmp_path, environment, *flags):
    """A recording that goes on until its stdin is closed."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return prefork.start(list(recorded(*flags)), cwd=tmp_path, env=environment, text=True, **pipes)


PING = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}\n'


@pytest.mark.parametrize(("first", "second"), [((), ("--append",)), (("--append",), ())])
def test_what_would_replace_it_and_what_adds_to_it_do_not_meet(call, tmp_path, environment, first, second):
    holder = start(tmp_path, environment, *first)
    holder.stdin.write(PING)
    holder.stdin.flush()
    assert holder.stdout.readline()
    other = start(tmp_path, environment, *second)
    _, told = other.communicate(PING, timeout=30)
    holder.communicate(timeout=30)
    assert "warning: another program is writing said.jsonl: this recording is said-" in told
    files = sorted(tmp_path.glob("*.jsonl"))
    assert [len(read_recording(str(each)).transcript().exchanges()) for each in files] == [1, 1]


def test_a_recording_that_is_replaced_is_told_with_what_helps(call, tmp_path):
    call("a", *recorded())
    call("b", *recorded())
    assert called(tmp_path) == {1: ["b"]}
    process = start(tmp_path, call.environment)
    _, told = process.communicate("", timeout=30)
    assert told == (
        "note: said.jsonl is replaced; --append adds to it, and {pid} or {time} in its name gives each start a file\n"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello\n", "nothing can be added to said.jsonl: line 1 of the recording is not a frame: hello"),
        ('{"recording": 7}\n', "nothing can be added to said.jsonl: the recording has version 7"),
    ],
)
def test_nothing_is_added_to_what_is_no_recording(call, tmp_path, environment, text, message):
    (tmp_path / "said.jsonl").write_text(text)
    process = start(tmp_path, environment, "--append")
    _, told = process.communicate("", timeout=30)
    assert process.returncode == 2
    assert message in told
    assert (tmp_path / "said.jsonl").read_text() == text


def test_a_line_that_was_cut_is_removed_before_something_is_added(call, tmp_path):
    call("a", *recorded("--append"))
    with (tmp_path / "said.jsonl").open("a") as file:
        file.write('{"at":1,"source":"serv')
    call("b", *recorded("--append"))
    assert called(tmp_path) == {1: ["a"], 2: ["b"]}
