"""The wire between a test and a composable server on stdio: raw pipes, and nothing of ours on the client's side."""

import json
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests import prefork

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
NEWEST = HANDSHAKE[-1]
PATIENCE = 5.0  # the longest time for which a test waits for anything
SERVE = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())", "serve")
COMPOSABLE = (
    sys.executable,
    "-c",
    "import sys; from mcp_conductor.cli import server_composable; sys.exit(server_composable())",
)
CLIENT = {"name": "test", "version": "1"}


# Messages.


def request(identity: Any, method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, **({} if params is None else {"params": params})}


def notification(method: str, params: Any = None) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}


def result(identity: Any, value: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": value}


INITIALIZED = notification("notifications/initialized")


def ping(identity: Any = "ping") -> dict[str, Any]:
    return request(identity, "ping")


def initialize(version: Any = NEWEST, identity: Any = 0, **capabilities: Any) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT}
    return request(identity, "initialize", params)


def call(identity: Any, tool: str, arguments: Any = None, **params: Any) -> dict[str, Any]:
    return request(identity, "tools/call", {"name": tool, "arguments": arguments or {}, **params})


def echo(identity: Any, words: str = "hello") -> dict[str, Any]:
    return call(identity, "echo", {"message": words})


def slow(identity: Any, milliseconds: int, token: Any = None, **params: Any) -> dict[str, Any]:
    """A call that takes a while; with a TOKEN, it says at once that it has begun."""
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return call(identity, "send_progress", {"units": 2, "delayMs": milliseconds}, **meta, **params)


def modern(message: dict[str, Any], version: Any = MODERN, **capabilities: Any) -> dict[str, Any]:
    """MESSAGE as a client of the modern era sends it."""
    params = message.get("params", {})
    context = {
        f"{META}protocolVersion": version,
        f"{META}clientCapabilities": capabilities,
        f"{META}clientInfo": CLIENT,
    }
    return {**message, "params": {**params, "_meta": {**context, **params.get("_meta", {})}}}


def listen(identity: Any, **wanted: Any) -> dict[str, Any]:
    return modern(request(identity, "subscriptions/listen", {"notifications": wanted}))


def config(transport: Any = "stdio", **members: Any) -> dict[str, Any]:
    """A config with a bit of everything, in both eras; MEMBERS stand in place of what it has."""
    named = {"type": transport} if isinstance(transport, str) else transport
    return {
        "serverInfo": {"name": "wire", "version": "1"},
        "transport": named if named["type"] == "sse" else {"modern": True, **named},
        "tools": [
            *({"preset": name} for name in ("echo", "add", "collect_sample", "collect_elicitation", "send_progress")),
            *({"preset": name} for name in ("add_tool", "remove_tool", "update_resource", "list_roots")),
        ],
        "resources": [{"preset": "numbered_resources", "params": {"count": 3}}],
        "listChanged": {"tools": True},
        "subscriptions": True,
        "logging": True,
        **members,
    }


def text_of(reply: dict[str, Any]) -> str:
    return str(reply["result"]["content"][0]["text"])


def code_of(reply: dict[str, Any]) -> int:
    assert "error" in reply, reply
    return int(reply["error"]["code"])


# Processes.


class Program:
    """A server as a process of its own."""

    def __init__(self, words: list[str], directory: Path, **options: Any) -> None:
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
        self.process = prefork.start(words, cwd=directory, bufsize=0, **streams)

    def wait(self, seconds: float = PATIENCE) -> int:
        """The exit code; the process must have ended by then."""
        return self.process.wait(seconds)

    def signal(self, number: int, seconds: float = PATIENCE) -> int:
        self.process.send_signal(number)
        return self.wait(seconds)

    def dispose(self) -> None:
        """Leave nothing behind, whatever the test did."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(PATIENCE)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


class Pipe(Program):
    """A server on stdio: whole lines in, whole lines out."""

    def __init__(self, words: list[str], directory: Path, **options: Any) -> None:
        super().__init__(words, directory, **options)
        self._received = b""

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        view = memoryview(data)
        while view:
            view = view[self.process.stdin.write(view) :]

    def say(self, *messages: Any) -> None:
        """Send messages; bytes are lines as they are."""
        self.write(b"".join(line_of(message) for message in messages))

    def line(self, seconds: float = PATIENCE) -> bytes:
        """The next line on stdout; empty at its end."""
        deadline = time.monotonic() + seconds
        assert self.process.stdout is not None
        while b"\n" not in self._received:
            left = deadline - time.monotonic()
            if not select.select([self.process.stdout], [], [], max(left, 0))[0]:
                raise TimeoutError(f"nothing on stdout for {seconds} s, after {self._received[-200:]!r}")
            chunk = self.process.stdout.read(1 << 20)
            if not chunk:
                return b""
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line

    def hear(self, seconds: float = PATIENCE) -> Any:
        line = self.line(seconds)
        assert line, f"stdout has ended; stderr: {self.errors()}"
        return json.loads(line)

    def ask(self, message: Any) -> Any:
        self.say(message)
        return self.hear()

    def open(self, version: str = NEWEST, **capabilities: Any) -> Any:
        """Shake hands."""
        reply = self.ask(initialize(version, **capabilities))
        self.say(INITIALIZED)
        return reply["result"]

    def is_quiet(self) -> bool:
        """Whether a ping is all that it has to answer."""
        return bool(self.ask(ping("are you there")) == result("are you there", {}))

    def close(self) -> None:
        """End its stdin."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def errors(self) -> str:
        """All of its stderr; the process must have ended."""
        self.process.wait(PATIENCE)
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()


def line_of(message: Any) -> bytes:
    return (message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n"
