"""`conductor replay` over HTTP: the same recording, whichever transport it was made on."""

import json
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from tests import prefork
from tests.conftest import MCP_CLI
from tests.e2e.recordings.test_replay import REPLAY, SOON, results, spoken

from mcp_conductor.protocol.dialect import META, NEWEST_MODERN

SERVED = ("streamable-http", "sse")


@pytest.fixture
def served(tmp_path, environment):
    """Serve a recording over HTTP: its URL."""
    started = []

    def start(text, *flags):
        (tmp_path / "said.jsonl").write_text(text)
        words = [*REPLAY, "--port", "0", *flags]
        started.append(prefork.start(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True))
        return started[-1].stderr.readline().split()[-1]

    yield start
    for process in started:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=SOON)
        assert process.returncode == 0, err


@pytest.fixture
def client(tmp_path, environment):
    def run(url, *words, stdin=""):
        done = prefork.run(
            [*MCP_CLI, url, *words],
            input=stdin,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return (
            [json.loads(line) for line in done.stdout.splitlines()]
            if stdin
            else (done.returncode, done.stdout, done.stderr)
        )

    return run


@pytest.mark.parametrize("transport", SERVED)
def test_every_client_hears_what_was_recorded_on_stdio(served, client, said, transport):
    calls = [each for each in spoken(said, "client") if each.get("method") == "tools/call"]
    lines = "".join(json.dumps({"method": each["method"], "params": each["params"]}) + "\n" for each in calls)
    recorded = [each for each in results(spoken(said, "server")) if "content" in each]
    url = served(said, "--transport", transport)
    for _ in range(2):  # each begins at the start
        answers = client(url, "--script", "-", "--handle-elicitation", '{"name": "Bob"}', stdin=lines)
        assert results(each for each in answers if "event" not in each) == recorded


def frames(*said):
    return "".join(
        json.dumps({"at": at, "source": source, "text": json.dumps(raw)}) + "\n"
        for at, (source, raw) in enumerate(said)
    )


MODERN = {
    f"{META}protocolVersion": NEWEST_MODERN.version,
    f"{META}clientCapabilities": {},
    f"{META}clientInfo": {"name": "c", "version": "1"},
}
DISCOVERED = {"resultType": "complete", "supportedVersions": [NEWEST_MODERN.version], "capabilities": {"tools": {}}}


def request(identity, method, **params):
    return "client", {"jsonrpc": "2.0", "id": identity, "method": method, "params": {**params, "_meta": MODERN}}


def result(identity, **value):
    return "server", {"jsonrpc": "2.0", "id": identity, "result": {"resultType": "complete", **value}}


COUNTED = frames(
    request(1, "server/discover"), result(1, **DISCOVERED),
    request(2, "tools/list"), result(2, tools=[]),
    request(3, "tools/call", name="count", arguments={}), result(3, content=[{"type": "text", "text": "1"}]),
    request(4, "tools/call", name="count", arguments={}), result(4, content=[{"type": "text", "text": "2"}]),
)  # fmt: skip


def test_in_the_modern_era_requests_of_one_client_are_answered_in_order(served, client):
    url = served(COUNTED, "--transport", "streamable-http")
    lines = '{"method": "tools/call", "params": {"name": "count", "arguments": {}}}\n' * 2
    for _ in range(2):
        answers = client(url, "--protocol", "auto", "--script", "-", stdin=lines)
        assert [each["result"]["content"][0]["text"] for each in answers] == ["1", "2"]


def test_a_client_of_the_other_era_is_told_so(served, client, said):
    code, out, err = client(
        served(said, "--transport", "streamable-http"), "--protocol", "modern", "--method", "tools/list"
    )
    assert code != 0
    assert "it begins with initialize, and this client speaks the modern era" in out + err
    url = served(COUNTED, "--transport", "streamable-http")
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
    answer = post(url, body)
    assert answer["error"]["message"].endswith("it is of the modern era, which has no initialize, and this client speaks the handshake era")  # fmt: skip


def post(url, body, **headers):
    accept = "application/json, text/event-stream"
    sent = urllib.request.Request(
        url, json.dumps(body).encode(), {"Content-Type": "application/json", "Accept": accept, **headers}
    )
    try:
        with urllib.request.urlopen(sent, timeout=SOON) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as refused:
        with refused:
            return json.loads(refused.read())


def test_a_token_is_wanted_of_clients_where_one_is_given(served, client, said):
    url = served(said, "--transport", "streamable-http", "--token", "open-sesame-4711")
    assert client(url, "--method", "server/info")[0] != 0
    code, out, _ = client(url, "--token", "open-sesame-4711", "--method", "server/info")
    assert (code, '"notes"' in out) == (0, True)


def test_what_was_not_in_the_recording_is_counted_for_all_clients(served, client, said, tmp_path, environment):
    words = [*REPLAY, "--port", "0", "--transport", "streamable-http"]
    (tmp_path / "said.jsonl").write_text(said)
    process = prefork.start(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    url = process.stderr.readline().split()[-1]
    for _ in range(2):
        assert client(url, "--method", "prompts/list")[0] == 2
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=SOON)
    assert err.splitlines()[-1] == "2 requests were not in the recording"
    assert process.returncode == 0
