"""`conductor replay --miss upstream`: the server is asked what the recording does not have, and the recording grows."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from tests import prefork
from tests.conftest import ROOT
from tests.e2e.recordings.conftest import NOTES
from tests.e2e.suites.conftest import CONDUCTOR

from mcp_conductor import read_recording
from mcp_conductor.protocol.dialect import NEWEST_MODERN

SOON = 30.0
EMPTY = '{"recording":1}\n'
OPENING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "c", "version": "1"},
}


class Talk:
    """A client of a replay on stdio."""

    def __init__(self, process):
        self.process, self.events, self.last = process, [], 0

    def send(self, **members):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **members}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        """The reply to a request; what comes before is kept, and elicitations are answered."""
        self.last += 1
        self.send(id=self.last, method=method, params=params)
        while (heard := json.loads(self.process.stdout.readline())).get("id") != self.last or "method" in heard:
            self.events.append(heard["method"])
            if heard["method"] == "elicitation/create":
                self.send(id=heard["id"], result={"action": "accept", "content": {"name": "Ada"}})
        return heard

    def open(self):
        reply = self.ask("initialize", **OPENING)
        self.send(method="notifications/initialized")
        return reply

    def call(self, name, meta=None, **arguments):
        more = {} if meta is None else {"_meta": meta}
        return self.ask("tools/call", name=name, arguments=arguments, **more)

    def end(self):
        _, err = self.process.communicate(timeout=SOON)
        return err


@pytest.fixture
def extend(tmp_path, environment, survivors):
    """Start a replay of said.jsonl that asks SERVER."""
    (tmp_path / "server.py").write_text(NOTES)
    started = []

    def start(text=None, *, server=(sys.executable, "server.py"), flags=("--miss", "upstream"), before=(), **extra):
        if text is not None:
            (tmp_path / "said.jsonl").write_text(text)
        words = [*before, *CONDUCTOR, "replay", "said.jsonl", *flags, *(("--", *server) if server else ())]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        started.append(prefork.start(words, cwd=tmp_path, env={**environment, **extra}, text=True, **pipes))
        return Talk(started[-1])

    yield start
    for process in started:
        process.kill()
        process.communicate()
    until = time.monotonic() + SOON
    while survivors():  # a server whose replay was killed ends with its stdin
        assert time.monotonic() < until, survivors()
        time.sleep(0.01)


def only_replay(extend):
    return extend(server=None, flags=())


def test_what_is_new_is_asked_of_the_server_and_played_the_next_time(extend, said, tmp_path):
    client = extend(said)
    client.open()
    first = client.call("add", text="bread")["result"]
    assert client.call("get", id=first["structuredContent"]["id"])["result"]["content"][0]["text"] == "bread"
    assert client.end() == "2 requests were answered by the server, and added to said.jsonl\n"
    assert os.stat(tmp_path / "said.jsonl").st_mode & 0o777 == 0o600
    assert read_recording(str(tmp_path / "said.jsonl")).sessions() == [1, 2]
    again = only_replay(extend)
    again.open()
    assert again.call("add", text="bread")["result"] == first
    assert again.call("get", id=first["structuredContent"]["id"])["result"]["content"][0]["text"] == "bread"
    assert again.end() == ""


def test_an_empty_recording_becomes_one_with_all_that_was_said(extend, tmp_path):
    client = extend(EMPTY)
    opened = client.open()
    assert opened["result"]["serverInfo"]["name"] == "notes"
    client.call("add", text="x")
    client.call("count", meta={"progressToken": "mine"})
    assert client.call("rename")["result"]["content"][0]["text"] == "Ada"
    heard = client.events
    assert heard == ["notifications/message", *["notifications/progress"] * 3, "elicitation/create"]
    client.end()
    again = only_replay(extend)
    assert again.open() == opened
    again.call("add", text="x")
    again.call("count", meta={"progressToken": "other"})
    assert again.call("rename")["result"]["content"][0]["text"] == "Ada"
    assert again.events == heard


def test_what_was_not_there_is_asked_each_time(extend):
    client = extend(EMPTY)
    client.open()
    ids = {client.call("add", text="x")["result"]["structuredContent"]["id"] for _ in range(3)}
    assert len(ids) == 3
    client.end()
    again = only_replay(extend)
    again.open()
    assert {again.call("add", text="x")["result"]["structuredContent"]["id"] for _ in range(3)} == ids


def test_what_was_said_is_in_the_file_also_if_the_replay_is_killed(extend, tmp_path):
    client = extend(EMPTY)
    client.open()
    added = client.call("add", text="x")["result"]
    client.process.send_signal(signal.SIGKILL)
    client.process.wait(SOON)
    texts = [entry.frame.text for entry in read_recording(str(tmp_path / "said.jsonl")).entries]
    assert any(added["structuredContent"]["id"] in text for text in texts)


def test_a_recording_that_was_cut_goes_on_after_its_last_whole_line(extend, said, tmp_path):
    client = extend(said + '{"at":1,"sou')
    client.open()
    client.call("add", text="x")
    assert "is not whole" in client.end()
    assert read_recording(str(tmp_path / "said.jsonl")).warning is None


def test_what_was_recorded_without_an_answer_is_asked_again_and_played_with_it_the_next_time(extend):
    asked = [
        {"id": 1, "method": "initialize", "params": OPENING},
        {"id": 2, "method": "tools/call", "params": {"name": "add", "arguments": {"text": "x"}}},
    ]
    frames = [{"at": 0.1, "source": "client", "text": json.dumps({"jsonrpc": "2.0", **each})} for each in asked]
    client = extend(EMPTY + "".join(f"{json.dumps(frame)}\n" for frame in frames))
    opened = client.open()
    assert opened["result"]["serverInfo"]["name"] == "notes"
    added = client.call("add", text="x")["result"]
    assert client.end() == "2 requests were answered by the server, and added to said.jsonl\n"
    again = only_replay(extend)
    assert again.open() == opened
    assert again.call("add", text="x")["result"] == added


@pytest.mark.skipif(os.name != "posix", reason="needs a limit for the size of files")
def test_what_could_not_be_written_is_not_said_to_be_added(extend, tmp_path):
    client = extend(EMPTY, before=("sh", "-c", 'ulimit -f 4 && exec "$@"', "sh"))
    client.open()
    for _ in range(2):
        assert client.call("add", text="x" * 6000)["result"]["structuredContent"]["id"]
    assert client.end() == (
        "warning: the recording ends here: File too large\n"
        "1 request was answered by the server, and added to said.jsonl\n"
        "2 requests were answered by the server, but could not be added to said.jsonl\n"
    )
    assert read_recording(str(tmp_path / "said.jsonl")).warning is not None


@pytest.mark.parametrize("replaced", [False, True])
def test_what_went_into_a_file_that_was_removed_is_not_said_to_be_added(extend, said, replaced, tmp_path):
    client = extend(said)
    client.open()
    client.call("add", text="bread")
    file = tmp_path / "said.jsonl"
    file.unlink()
    if replaced:
        file.write_text(said)
    assert client.call("add", text="milk")["result"]["content"]
    assert client.end() == (
        "warning: said.jsonl was removed or replaced while it was played\n"
        "2 requests were answered by the server, but could not be added to said.jsonl\n"
    )


def test_while_another_program_adds_to_the_file_the_server_is_asked_all_the_same(extend, tmp_path):
    first = extend(EMPTY)
    first.open()
    second = extend()
    assert "result" in second.open()
    assert second.call("add", text="x")["result"]["content"]
    assert second.end() == (
        "warning: cannot write said.jsonl: another program adds to it; answers of the server are not added\n"
        "1 request was answered by the server, but could not be added to said.jsonl\n"
    )
    assert first.end() == "1 request was answered by the server, and added to said.jsonl\n"
    assert read_recording(str(tmp_path / "said.jsonl")).sessions() == [1]


def test_secrets_of_the_server_are_not_in_the_recording(extend, tmp_path):
    leaking = NOTES.replace(
        "notes[note] = arguments", "import os; note += os.environ['API_KEY']; notes[note] = arguments"
    )
    (tmp_path / "leaking.py").write_text(leaking)
    client = extend(EMPTY, server=(sys.executable, "leaking.py"), API_KEY="sesame-4711-xyz")
    client.open()
    assert "sesame-4711-xyz" in json.dumps(client.call("add", text="x"))
    client.end()
    text = (tmp_path / "said.jsonl").read_text()
    assert "sesame" not in text
    assert "[redacted]" in text


def test_a_server_that_cannot_be_started_is_named_and_what_is_recorded_goes_on(extend, said):
    client = extend(said, server=("no-such-program-4711",))
    client.open()
    for _ in range(2):
        error = client.call("add", text="x")["error"]
        assert "not in the recording: tools/call add; the server could not be asked: " in error["message"]
        assert "no-such-program-4711" in error["message"]
    assert "tools" in client.ask("tools/list")["result"]
    assert client.end().splitlines()[-1] == "2 requests were not in the recording"


def test_a_server_that_went_away_is_started_again_for_the_next_request(extend, tmp_path):
    dying = NOTES.replace("def get(arguments, meta):", "def get(arguments, meta):\n    sys.exit(3)")
    (tmp_path / "dying.py").write_text(dying)
    client = extend(EMPTY, server=(sys.executable, "dying.py"))
    client.open()
    assert "exited with code 3" in client.call("get", id="x")["error"]["message"]
    assert "structuredContent" in client.call("add", text="x")["result"]
    client.end()


def test_requests_at_the_same_time_start_one_server_also_after_it_went_away(extend, tmp_path):
    counting = NOTES.replace("def get(arguments, meta):", "def get(arguments, meta):\n    sys.exit(3)")
    (tmp_path / "counting.py").write_text("open('starts', 'a').write('x')\n" + counting)
    client = extend(EMPTY, server=(sys.executable, "counting.py"))
    client.open()
    client.call("get", id="x")
    for n in range(5):
        client.send(id=f"at-once-{n}", method="tools/call", params={"name": "add", "arguments": {"text": str(n)}})
    heard = [json.loads(client.process.stdout.readline()) for _ in range(10)]
    assert sum("result" in each for each in heard) == 5
    client.end()
    assert (tmp_path / "starts").read_text() == "xx"


META = "io.modelcontextprotocol/"
MODERN = {f"{META}protocolVersion": NEWEST_MODERN.version, f"{META}clientCapabilities": {}}


def hear_of_an_update(client):
    """Listen to a resource, and change it: what is heard, but for serverInfo."""
    uri = "test://resource_1"
    wanted = {"resourceSubscriptions": [uri]}
    client.send(id="listen", method="subscriptions/listen", params={"notifications": wanted, "_meta": MODERN})
    heard = [json.loads(client.process.stdout.readline())]
    arguments = {"uri": uri, "text": "new"}
    params = {"name": "update_resource", "arguments": arguments, "_meta": MODERN}
    client.send(id="call", method="tools/call", params=params)
    heard += [json.loads(client.process.stdout.readline()) for _ in range(2)]
    return sorted(each.get("method", "reply") for each in heard), {
        each["params"]["_meta"][f"{META}subscriptionId"] for each in heard if "method" in each
    }


def test_a_server_at_a_url_is_asked_too_and_its_subscriptions_reach_the_client(extend, tmp_path, environment):
    words = [*CONDUCTOR, "serve", str(ROOT / "examples" / "servers" / "subscriptions.yaml"), "--port", "0"]
    words += ["--transport", "streamable-http"]
    server = prefork.start(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        client = extend(EMPTY, server=(server.stderr.readline().split()[-1],))
        heard = hear_of_an_update(client)
        assert heard == (
            ["notifications/resources/updated", "notifications/subscriptions/acknowledged", "reply"], {"listen"}
        )  # fmt: skip
        assert "answered by the server" in client.end()
    finally:
        server.terminate()
        server.communicate(timeout=SOON)
    assert hear_of_an_update(only_replay(extend)) == heard


@pytest.fixture
def weather(tmp_path, environment):
    """The URL of a server of the modern era with a tool that wants its argument in a header."""
    config = {
        "serverInfo": {"name": "weather", "version": "1"},
        "tools": [{"preset": "get_weather"}],
        "transport": {"type": "streamable-http", "modern": True},
    }
    (tmp_path / "weather.json").write_text(json.dumps(config))
    words = [*CONDUCTOR, "serve", "weather.json", "--port", "0"]
    server = prefork.start(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    yield server.stderr.readline().split()[-1]
    server.terminate()
    server.communicate(timeout=SOON)


def test_an_argument_that_a_recorded_tool_wants_in_a_header_is_sent_so(extend, weather):
    """The server is not asked for its tools: the client has them from the recording."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": NEWEST_MODERN.version,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    first = extend(EMPTY, server=(weather,))
    assert first.ask("tools/list", _meta=meta)["result"]["tools"][0]["name"] == "get_weather"
    first.end()
    client = extend(server=(weather,))
    assert client.ask("tools/list", _meta=meta)["result"]["tools"]
    reply = client.call("get_weather", meta=meta, city="Zürich")
    assert reply["result"]["content"][0]["text"] == "Weather in Zürich: sunny, 24°C"
    assert client.end() == "1 request was answered by the server, and added to said.jsonl\n"
