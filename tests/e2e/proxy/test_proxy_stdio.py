"""`conductor proxy --faults -- COMMAND`: each fault, as the client and the server on stdio see it."""

import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests import prefork
from tests.e2e.proxy.web import fault
from tests.e2e.proxy.wire import CONDUCTOR, SOON, Pair

ASK = {"jsonrpc": "2.0", "method": "roots/list/ask"}
ANSWERS = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    result = {opened!r} if message["method"] == "initialize" else {{"content": []}}
    if "id" in message:
        print(json.dumps({{"jsonrpc": "2.0", "id": message["id"], "result": result}}), flush=True)
"""
ROOTS = {"jsonrpc": "2.0", "id": "q1", "result": {"roots": []}}


def ended(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


def test_what_no_fault_is_for_passes_byte_for_byte(pair):
    server = "import os\nwhile data := os.read(0, 99_999): os.write(1, data)\n"
    between = pair(fault("wrong_id", {"name": "never"}), server=server)
    rnd = random.Random(7)
    data = bytes(rnd.choice(b'{}[]",:\n\r \xff\x00abc') for _ in range(30_000))
    data += b'{"jsonrpc": "2.0",  "id": 1.0, "method":"tools/call"}\r\n[{"a": 1e400}]\n\n  \n{"no": "end"'
    between.send(data)
    code, out, err = between.end()
    assert (code, out) == (0, data)
    assert err == "fault wrong_id (tools/call 'never'): never struck: no such requests came\n"


@pytest.mark.parametrize(
    ("name", "params", "lines"),
    [
        ("wrong_id", {}, [b'{"jsonrpc":"2.0","id":"not-1","result":{"method":"tools/call","a":"\xc3\xa9"}}\n']),
        ("malformed_json", {}, [b'{"jsonrpc": "2.0", "id": 1, "result": {"method": "tools/call", "a": "\\u00e9"}\n']),
        (
            "answer_twice",
            {},
            [b'{"jsonrpc": "2.0", "id": 1, "result": {"method": "tools/call", "a": "\\u00e9"}}\n'] * 2,
        ),
        ("drop_field", {"path": "result.a"}, [b'{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call"}}\n']),
        ("break_schema", {"path": "result.a"}, [b'{"jsonrpc":"2.0","id":1,"result":{"method":"tools/call","a":0}}\n']),
        (
            "stdout_noise",
            {"text": "hé", "lines": 2},
            ["hé\n".encode()] * 2
            + [b'{"jsonrpc": "2.0", "id": 1, "result": {"method": "tools/call", "a": "\\u00e9"}}\n'],
        ),
    ],
)
def test_a_reply_is_spoiled_and_the_next_is_not(pair, name, params, lines):
    between = pair(fault(name, {"nth": 1}, **params))
    between.ask(1, a="é")
    assert [between.line() for _ in lines] == lines
    between.ask(2, a="é")
    assert between.line() == b'{"jsonrpc": "2.0", "id": 2, "result": {"method": "tools/call", "a": "\\u00e9"}}\n'
    code, out, err = between.end()
    assert (code, out) == (0, b"")
    assert err.splitlines()[0].endswith(f" s: fault {name} strikes tools/call (id 1)")
    assert err.splitlines()[1:] == [f"fault {name} (tools/call): struck 1 of 2 such requests"]
    assert between.recorded("server")[: len(lines)] == [line.decode().rstrip("\n") for line in lines]
    assert between.recorded("note") == [f"fault {name} strikes tools/call (id 1)"]


@pytest.mark.parametrize("path", ["result.nothing", "result.method.deeper", "error.code"])
def test_a_fault_that_leaves_a_reply_as_it_was_has_not_struck(pair, path):
    between = pair(fault("drop_field", path=path))
    between.ask(1, a="é")
    assert between.line() == b'{"jsonrpc": "2.0", "id": 1, "result": {"method": "tools/call", "a": "\\u00e9"}}\n'
    code, _, err = between.end()
    assert (code, err) == (0, "fault drop_field (tools/call): never struck: 1 such request came\n")
    assert between.recorded("note") == []


def test_a_reply_can_be_larger(pair):
    between = pair(fault("oversize", bytes=300_000))
    between.ask(1)
    assert len(between.line()) > 300_000
    assert between.end()[0] == 0


def test_a_late_reply_does_not_hold_up_others(pair):
    between = pair(fault("delay", {"nth": 1}, time="700ms"))
    began = time.monotonic()
    between.ask(1)
    between.ask(2)
    between.ask(3, "ping")
    assert [between.hear()["id"] for _ in range(3)] == [2, 3, 1]
    assert time.monotonic() - began >= 0.7


def test_a_late_reply_comes_also_after_the_end_of_the_server(pair):
    between = pair(fault("delay", time="300ms"))
    between.ask(1)
    between.send({"jsonrpc": "2.0", "method": "bye", "params": {"code": 5}})
    code, out, _ = between.end()
    assert (code, json.loads(out)["id"]) == (5, 1)


def test_a_signal_ends_the_wait_for_a_late_reply(pair):
    between = pair(fault("delay", time="60s"), start=subprocess.Popen)
    between.ask(1)
    between.ask(2, "ping")
    assert between.hear()["id"] == 2
    between.process.send_signal(signal.SIGTERM)
    assert between.process.wait(SOON) == -signal.SIGTERM


def test_a_reply_that_never_comes_is_not_sent_and_others_are(pair):
    between = pair(fault("never_answer", {"nth": 1}))
    between.ask(1)
    between.ask(2)
    assert between.hear()["id"] == 2
    assert between.end()[:2] == (0, b"")
    assert len(between.recorded("server")) == 1


@pytest.mark.parametrize(("name", "sent"), [("crash", b""), ("half_a_line_then_exit", b'{"jsonrpc": "2.0", "id": 1,')])
def test_a_fault_that_ends_the_process_ends_the_server_too(pair, name, sent, survivors):
    server = (
        "import os, signal, sys\nsignal.signal(15, signal.SIG_IGN)\nos.write(2, str(os.getpid()).encode() + b'\\n')\n"
    )
    from tests.e2e.proxy.wire import SERVER

    between = pair(
        fault(name, code=9), server=server + SERVER + "\nimport time\ntime.sleep(60)", start=subprocess.Popen
    )
    pid = int(between.process.stderr.readline())
    between.ask(1)
    assert between.line()[: len(sent) or None] == sent
    assert between.process.wait(SOON) == 9
    assert ended(pid)
    assert survivors() == []
    assert between.recorded("process") == ["started", "ended by SIGKILL"]
    assert (
        between.process.stderr.read().decode().splitlines()[-1]
        == f"fault {name} (tools/call): struck 1 of 1 such request"
    )


def test_stdout_is_closed_and_the_server_lives_on_until_stdin_ends(pair):
    between = pair(fault("close_stdout"))
    between.ask(1)
    assert between.line() == b""
    between.ask(2)
    between.send({"jsonrpc": "2.0", "method": "bye", "params": {"code": 4}})
    assert between.process.wait(SOON) == 4
    assert between.recorded("server") == []
    assert between.recorded("process") == ["started", "a fault closed stdout", "exited with code 4"]


# Replies of the client.


@pytest.mark.parametrize(
    ("name", "params", "heard"),
    [
        ("wrong_id", {"id": 5}, [{"params": {"jsonrpc": "2.0", "id": 5, "result": {"roots": []}}}]),
        ("malformed_json", {}, [{"params": {"line": json.dumps(ROOTS)[:-1] + "\n"}}]),
        ("answer_twice", {}, [{"params": ROOTS}] * 2),
        ("stdout_noise", {"text": "noise"}, [{"params": {"line": "noise\n"}}, {"params": ROOTS}]),
        ("never_answer", {}, []),
        ("delay", {"time": "200ms"}, [{"params": ROOTS}]),
    ],
)
def test_a_reply_of_the_client_is_spoiled(pair, name, params, heard):
    between = pair({"fault": name, "params": params, "when": {"method": "roots/list"}})
    between.send(ASK)
    assert between.hear() == {"jsonrpc": "2.0", "id": "q1", "method": "roots/list"}
    between.send(ROOTS)
    for each in heard:
        found = between.hear()
        assert {"params": found["params"]} == each
    between.ask(1, "ping")
    assert between.hear()["id"] == 1
    _, _, err = between.end()
    assert f'fault {name} strikes roots/list (id "q1"), which the client answers' in err
    assert f"fault {name} (roots/list of the server): struck 1 of 1 such request" in err


@pytest.mark.parametrize(("name", "code"), [("crash", 6), ("close_stdout", 0)])
def test_a_client_that_goes_by_a_fault_ends_the_server(pair, name, code, survivors):
    params = {"code": 6} if name == "crash" else {}
    between = pair({"fault": name, "params": params, "when": {"method": "roots/list"}}, start=subprocess.Popen)
    between.send(ASK)
    between.hear()
    between.send(ROOTS)
    assert between.line() == b""
    assert between.process.wait(SOON) == code
    assert survivors() == []
    assert between.recorded("process")[-1] == "exited with code 0"


def test_a_ping_of_the_server_is_told_from_one_of_the_client(pair):
    server = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "ping":
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {"of": "server"}}))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "method": "ping"}))
    else:
        print(json.dumps({"jsonrpc": "2.0", "method": "notifications/answered", "params": message}))
"""
    between = pair({"fault": "wrong_id", "when": {"method": "ping", "direction": "client"}}, server=server)
    between.ask(1, "ping")
    assert [between.hear()["id"] for _ in range(2)] == [1, 1]
    between.send({"jsonrpc": "2.0", "id": 1, "result": {}})
    assert between.hear()["params"]["id"] == "not-1"


# Batches, chance, and what is said.


def test_a_reply_within_a_batch_is_taken_out_of_it(pair):
    between = pair(fault("wrong_id", {"nth": 2}))
    between.send([{"jsonrpc": "2.0", "id": number, "method": "tools/call"} for number in (1, 2, 3)])
    assert [each["id"] for each in between.hear()] == [1, 3]
    assert between.hear()["id"] == "not-2"


def test_the_same_file_and_traffic_give_the_same_faults(pair, tmp_path, environment):
    chance = [
        fault("never_answer", {"probability": 0.5}),
        fault("delay", {"probability": 0.3}, time="1ms", jitter="5ms"),
    ]

    def struck(seed):
        between = Pair(tmp_path, {"seed": seed, "faults": chance}, env=environment)
        for number in range(40):
            between.ask(number)
        between.end()
        return between.recorded("note")

    first = struck(1)
    assert len(first) > 20
    assert struck(1) == first != struck(2)


def test_quiet_tells_only_at_the_end(pair):
    between = pair(fault("wrong_id"), flags=("--quiet",))
    between.ask(1)
    between.hear()
    assert between.end()[2] == "fault wrong_id (tools/call): struck 1 of 1 such request\n"


def test_a_client_that_reads_no_stderr_holds_nothing_up(pair):
    between = pair(fault("wrong_id"))
    for number in range(3000):
        between.ask(number)
        assert between.hear()["id"] == f"not-{number}"
    code, _, err = between.end()
    assert code == 0
    assert len(err.splitlines()) <= 1001
    assert len(between.recorded("note")) == 3000


def test_without_faults_and_without_a_recording_all_passes(tmp_path, environment):
    from tests import prefork
    from tests.e2e.proxy.wire import CONDUCTOR

    done = prefork.run(
        [*CONDUCTOR, "proxy", "--", "cat"], input=b"hello", capture_output=True, timeout=SOON, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"hello", b"")
    assert os.listdir(tmp_path) == []


def test_a_fault_of_a_plugin_works_and_one_that_fails_is_told(pair, tmp_path):
    (tmp_path / "ours.py").write_text(
        "from mcp_conductor import fault\n\n\n@fault\ndef shout(spoiled, word: str):\n"
        '    """Shout."""\n    spoiled.changes.append(lambda reply: {**reply, "result": {"said": word.upper()}})\n\n\n'
        '@fault\ndef fails(spoiled):\n    """Fail."""\n    spoiled.changes.append(lambda reply: 1 / 0)\n'
    )
    between = pair(fault("shout", {"nth": 1}, word="hi"), fault("fails", {"nth": 2}), flags=("--plugin", "./ours.py"))
    between.ask(1)
    assert between.hear()["result"] == {"said": "HI"}
    between.ask(2)
    assert between.hear()["result"] == {"method": "tools/call"}
    assert "ZeroDivisionError" in between.end()[2]


def test_an_id_that_was_spoiled_is_found_in_the_recording(pair, tmp_path, environment):
    opened = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "s", "version": "1"},
    }
    between = pair(fault("wrong_id", {"method": "tools/call", "nth": 1}), server=ANSWERS.format(opened=opened))
    between.ask(
        1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "c", "version": "1"}
    )
    assert between.hear()["id"] == 1
    between.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    for identity, heard in ((2, "not-2"), (3, 3)):
        between.ask(identity, "tools/call", name="look", arguments={})
        assert between.hear()["id"] == heard
    between.end()
    words = [*CONDUCTOR, "check", "--transcript", "said.jsonl", "--side", "server", "--level", "must"]
    done = prefork.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SOON)
    assert done.returncode == 1
    assert "FAIL  base-response-id-echo-server" in done.stdout
    assert "the answer to tools/call has the id 'not-2', but the request has 2" in done.stdout
