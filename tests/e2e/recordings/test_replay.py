"""`conductor replay`: a recording as a server, for clients that speak for themselves."""

import json
import signal
import subprocess
import sys
import time

import pytest
from tests import prefork
from tests.conftest import MCP_CLI
from tests.e2e.recordings.conftest import CALLS, talk
from tests.e2e.suites.conftest import CONDUCTOR

REPLAY = (*CONDUCTOR, "replay", "said.jsonl")
SOON = 30.0


@pytest.fixture
def replay(tmp_path, environment, said):
    """Start a replay of what a client and the server of notes said."""
    (tmp_path / "said.jsonl").write_text(said)
    started = []

    def start(*flags, **options):
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        started.append(prefork.start([*REPLAY, *flags], cwd=tmp_path, env=environment, text=True, **pipes, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def spoken(said, source):
    """The messages of SOURCE in a recording, in order."""
    frames = [json.loads(line) for line in said.splitlines()[1:]]
    return [json.loads(frame["text"]) for frame in frames if frame["source"] == source]


def results(messages):
    return [each["result"] for each in messages if "result" in each]


def test_the_same_client_hears_the_same_messages_in_the_same_order(replay, said, tmp_path, environment):
    """The client is recorded once more, now with the replay: both recordings say the same."""
    client = [*CONDUCTOR, "record", "-o", "again.jsonl", "--", *REPLAY]
    (tmp_path / "said.jsonl").write_text(said)
    pipes = dict.fromkeys(("stdin", "stdout"), subprocess.PIPE)
    talk(
        prefork.start(client, cwd=tmp_path, env=environment, text=True, **pipes),
        CALLS,
        capabilities={"elicitation": {}},
    )
    heard = spoken((tmp_path / "again.jsonl").read_text(), "server")
    assert [{**each, "id": 0} for each in heard] == [{**each, "id": 0} for each in spoken(said, "server")]
    assert [each["id"] for each in heard if "result" in each] == list(range(len(CALLS) + 1))


def test_a_client_of_another_make_hears_the_same_results(replay, said, tmp_path, environment):
    calls = [each for each in spoken(said, "client") if each.get("method") == "tools/call"]
    lines = "".join(json.dumps({"method": each["method"], "params": each["params"]}) + "\n" for each in calls)
    words = [*MCP_CLI, "--script", "-", "--handle-elicitation", '{"name": "Bob"}', "--", *REPLAY]
    done = prefork.run(words, input=lines, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    recorded = [each for each in results(spoken(said, "server")) if "content" in each]
    assert results(each for each in answers if "event" not in each) == recorded


def test_it_ends_with_its_stdin_and_a_signal_ends_it_in_good_order(replay):
    assert replay().communicate("", SOON) == ("", "")
    process = replay()
    process.stdin.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()
    assert json.loads(process.stdout.readline()) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    process.send_signal(signal.SIGTERM)
    assert process.wait(SOON) == 0


def test_lines_that_are_no_messages_are_answered_and_the_rest_goes_on(replay):
    out, err = replay().communicate(
        '{\n[]\n{"jsonrpc":"2.0","id":1,"method":5}\n{"jsonrpc":"2.0","id":2,"method":"ping"}\n', SOON
    )
    assert [("error" in each, each["id"]) for each in map(json.loads, out.splitlines())] == [
        (True, None), (True, None), (True, None), (False, 2),
    ]  # fmt: skip
    assert err == ""


def test_a_path_that_is_ignored_may_differ(replay, tmp_path, environment):
    call = ("--method", "tools/call", "--tool-name", "add", "--tool-arg", "text=other")

    def run(*flags):
        words = [*MCP_CLI, *call, "--", *REPLAY, *flags]
        return prefork.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60)

    assert run().returncode == 2
    done = run("--ignore", "params.arguments.text")
    assert done.returncode == 0, done.stdout
    assert "Saved as note-" in done.stdout


def test_in_real_time_it_takes_as_long_as_it_took(tmp_path, environment):
    frames = [
        {"at": 0, "source": "client", "text": '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'},
        {"at": 0.7, "source": "server", "text": '{"jsonrpc":"2.0","id":1,"result":{}}'},
    ]
    (tmp_path / "said.jsonl").write_text("".join(json.dumps(frame) + "\n" for frame in frames))
    words = [*REPLAY, "--timing", "real"]
    script = "import subprocess, sys, time; began = time.monotonic(); subprocess.run(sys.argv[1:], check=True); print(time.monotonic() - began)"
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        input='{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n',
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SOON, check=True,
    )  # fmt: skip
    reply, seconds = done.stdout.splitlines()
    assert json.loads(reply)["result"] == {}
    assert float(seconds) >= 0.7


@pytest.fixture
def waiting(replay, tmp_path):
    """A replay in which a client has begun to wait for two hours."""
    request = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
    frames = [(0, "client", request), (7200, "server", '{"jsonrpc":"2.0","id":1,"result":{}}')]
    lines = [json.dumps({"at": at, "source": source, "text": text}) for at, source, text in frames]
    (tmp_path / "said.jsonl").write_text("\n".join(lines))
    process = replay("--timing", "real")
    process.stdin.write(request + "\n")
    process.stdin.flush()
    assert process.stderr.readline() == "tools/list waits 300 s, and not 7200 s as in the recording\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_long_pause(waiting, number):
    waiting.send_signal(number)
    assert waiting.wait(SOON) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere, the other end of a pipe cannot be watched")
def test_a_client_that_goes_away_ends_a_long_pause(waiting):
    """Not only its stdin ends, after which requests that are open have ten seconds for their answers."""
    waiting.stdin.close()
    waiting.stdout.close()
    waiting.stdin = waiting.stdout = None
    began = time.monotonic()
    assert waiting.wait(SOON) == 0
    assert time.monotonic() - began < 8


@pytest.mark.slow
def test_a_recording_of_100000_exchanges_is_played_and_a_miss_in_it_told_at_once(tmp_path, environment):
    def frame(source, **raw):
        return json.dumps({"at": 1, "source": source, "text": json.dumps({"jsonrpc": "2.0", **raw})}) + "\n"

    with (tmp_path / "said.jsonl").open("w") as file:
        file.write('{"recording": 1}\n')
        for n in range(100_000):
            params = {"name": "t", "arguments": {"n": n, "key": "[redacted]" if n % 2 else "k"}}
            file.write(frame("client", id=n, method="tools/call", params=params))
            file.write(frame("server", id=n, result={"content": [{"type": "text", "text": str(n)}]}))
    asked = [{"n": n, "key": key} for n, key in ((7, "any"), (99_998, "k"), (99_998, "other"), (100_001, "k"))]
    lines = "".join(
        json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "t", "arguments": each}})
        + "\n"
        for n, each in enumerate(asked)
    )
    script = "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    done = subprocess.run(
        [sys.executable, "-c", script, *REPLAY],
        input=lines, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    *replies, kilobytes = done.stdout.splitlines()
    texts = [each.get("result", each.get("error")) for each in map(json.loads, replies)]
    assert [text.get("content", [{}])[0].get("text") for text in texts] == ["7", "99998", None, None]
    assert texts[2]["message"].startswith("not in the recording")
    assert int(kilobytes) < 400_000
