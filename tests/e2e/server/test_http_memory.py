"""Memory of servers over HTTP after large responses that were read to the end, in real processes."""

import http.client
import json
import re
import subprocess
import sys
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest
from tests.e2e.server.http_wire import BOTH
from tests.e2e.server.wire import INITIALIZED, NEWEST, SERVE, call, initialize

MAX_MEGABYTES = 100
SECONDS = 120
BRIDGE = (*SERVE[:-1], "bridge")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc"),
]


@contextmanager
def serving(words):
    """Start a server: its process id and its port."""
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield process.pid, int(re.search(r"http://127.0.0.1:(\d+)", process.stderr.readline())[1])
    finally:
        process.terminate()
        process.wait(SECONDS)
        process.stderr.close()


def megabytes(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) * 1024 / 10**6


class Client:
    """A session on one connection."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        self.headers = {"Accept": BOTH, "Content-Type": "application/json", "MCP-Protocol-Version": NEWEST}
        response, _ = self.post(initialize())
        self.headers["Mcp-Session-Id"] = response.headers["mcp-session-id"]
        self.post(INITIALIZED)

    def post(self, message):
        self.connection.request("POST", "/mcp", json.dumps(message).encode(), self.headers)
        response = self.connection.getresponse()
        return response, response.read()

    def close(self):
        self.connection.close()

    def echo(self, tool, size, *, times):
        for number in range(times):
            response, body = self.post(call(number, tool, {"message": "x" * size}))
            assert (response.status, len(body) > size) == (200, True)


def written(path, value):
    path.write_text(json.dumps(value))
    return str(path)


LOADS = pytest.mark.parametrize(("clients", "size"), [(1, 40 << 20), (6, 4 << 20)])


@contextmanager
def loaded(port, tool, clients, size):
    """Keep clients connected, each of which has read 16 large responses."""
    with ExitStack() as connected:
        for _ in range(clients):
            connected.enter_context(closing(Client(port))).echo(tool, size, times=16)
        yield


@LOADS
def test_serve_keeps_little_of_large_responses_that_were_read(tmp_path, clients, size):
    transport = {"type": "streamable-http", "port": 0}
    info = {"name": "echo", "version": "1"}
    file = written(tmp_path / "s.json", {"serverInfo": info, "transport": transport, "tools": [{"preset": "echo"}]})
    with serving([*SERVE, file]) as (pid, port), loaded(port, "echo", clients, size):
        assert megabytes(pid) < MAX_MEGABYTES


@LOADS
def test_bridge_keeps_little_of_large_responses_that_were_read(tmp_path, clients, size):
    info = {"name": "echo", "version": "1"}
    server = {"serverInfo": info, "transport": {"type": "stdio"}, "tools": [{"preset": "echo"}]}
    command, *args = [*SERVE, written(tmp_path / "stdio.json", server)]
    file = written(tmp_path / "mcp.json", {"mcpServers": {"one": {"command": command, "args": args}}})
    words = [*BRIDGE, file, "--transport", "streamable-http", "--port", "0"]
    with serving(words) as (pid, port), loaded(port, "one__echo", clients, size):
        assert megabytes(pid) < MAX_MEGABYTES


def test_replay_keeps_little_beside_its_recording_of_large_responses_that_were_read(tmp_path):
    size = 4 << 20
    answer = {"content": [{"type": "text", "text": "x" * (size + 100)}]}
    opening = {"protocolVersion": NEWEST, "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}
    said = [
        ("client", initialize(0)),
        ("server", {"jsonrpc": "2.0", "id": 0, "result": opening}),
        ("client", INITIALIZED),
        ("client", call(1, "echo", {"message": "x"})),
        ("server", {"jsonrpc": "2.0", "id": 1, "result": answer}),
    ]
    lines = [{"at": 0.0, "source": source, "text": json.dumps(message)} for source, message in said]
    file = tmp_path / "said.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in ({"recording": 1}, *lines)))
    words = [*SERVE[:-1], "replay", str(file), "--transport", "http", "--port", "0", "--ignore", "params.arguments"]
    with serving(words) as (pid, port), loaded(port, "echo", 6, size):
        assert megabytes(pid) < MAX_MEGABYTES
