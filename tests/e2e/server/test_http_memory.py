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


def test_serve_keeps_little_of_large_responses_that_were_read(tmp_path):
    transport = {"type": "streamable-http", "port": 0}
    info = {"name": "echo", "version": "1"}
    file = written(tmp_path / "s.json", {"serverInfo": info, "transport": transport, "tools": [{"preset": "echo"}]})
    with serving([*SERVE, file]) as (pid, port), closing(Client(port)) as client:
        client.echo("echo", 40 << 20, times=16)
        assert megabytes(pid) < MAX_MEGABYTES


def test_bridge_keeps_little_of_large_responses_that_were_read(tmp_path):
    info = {"name": "echo", "version": "1"}
    server = {"serverInfo": info, "transport": {"type": "stdio"}, "tools": [{"preset": "echo"}]}
    command, *args = [*SERVE, written(tmp_path / "stdio.json", server)]
    file = written(tmp_path / "mcp.json", {"mcpServers": {"one": {"command": command, "args": args}}})
    with (
        serving([*BRIDGE, file, "--transport", "streamable-http", "--port", "0"]) as (pid, port),
        ExitStack() as clients,
    ):
        for _ in range(6):
            client = clients.enter_context(closing(Client(port)))
            client.echo("one__echo", 4 << 20, times=16)
        assert megabytes(pid) < MAX_MEGABYTES
