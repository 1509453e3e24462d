"""`conductor serve` and the SDK's lowlevel server, each asked by the same client, which does as little as it can.

usage: servers.py SERVER WAY CORES CALLS WAVES

A server is measured from its start on: until it has answered `initialize`, until it has answered a call, then many
calls one by one, then so many in flight. What it had of memory and CPU time, the kernel says while it still runs; so
this needs Linux.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import NamedTuple

from one_shot import END_SECONDS, HERE, RUN_SECONDS

IN_FLIGHT = 16
WARM_UP = 200
CONNECT_SECONDS = 15.0
READ_BYTES = 2**16
MESSAGE = "Sunny, 21 degrees, light wind from the west"
CALL = {"name": "echo", "arguments": {"message": MESSAGE}}
META = "io.modelcontextprotocol/"
MODERN = {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {}}
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}
SERVERS = ("ours", "sdk")
POSSIBLE = sys.platform == "linux"


class Figures(NamedTuple):
    """What one run of a server gave."""

    one_by_one: float  # calls per second
    cpu_one_by_one: float  # microseconds of the server for each
    in_flight: float
    cpu_in_flight: float
    to_initialize: float  # milliseconds from its start
    to_call: float
    megabytes: float  # the most that it ever had in memory
    cpu_to_call: float  # milliseconds of the server, from its start


def measured(server: str, way: str, cores: tuple[int, int] | None, calls: int = 0, waves: int = 0) -> Figures:
    """Start a server, ask it from a process of its own, and end it. Without CALLS only its start is measured.

    WAY is stdio, or one of three over HTTP: sse and json, for how the answers of 2025-11-25 come, and modern.
    """
    words = (server, way, json.dumps(cores), str(calls), str(waves))
    command = (sys.executable, os.path.abspath(__file__), *words)
    done = subprocess.run(command, stdout=subprocess.PIPE, timeout=RUN_SECONDS, check=True)
    return Figures(*json.loads(done.stdout))


def command(server: str, way: str, port: int) -> tuple[str, ...]:
    if server == "sdk":
        script = os.path.join(HERE, "sdk_lowlevel_server.py")
        kind = "sse" if way == "modern" else way
        return (sys.executable, script, kind, *([] if way == "stdio" else [str(port)]))
    config = os.path.join(HERE, "echo-json.json" if way == "json" else "echo.json")
    over_http = () if way == "stdio" else ("--transport", "streamable-http", "--port", str(port))
    return (os.path.join(os.path.dirname(sys.executable), "conductor"), "serve", config, *over_http)


def main(server: str, way: str, cores: str, calls: str, waves: str) -> None:
    """Measure in this process, and print the figures as a JSON array."""
    client_core, server_core = json.loads(cores) or (None, None)
    if client_core is not None:
        os.sched_setaffinity(0, [client_core])
    port = 0 if way == "stdio" else free_port()
    began = time.perf_counter()
    with running(command(server, way, port)) as process:
        if server_core is not None:
            os.sched_setaffinity(process.pid, [server_core])
        client = OverPipes(process) if way == "stdio" else OverHttp(port, modern=way == "modern")
        client.begin()
        to_initialize = time.perf_counter() - began
        client.call_in_waves(1, 1)
        to_call, cpu_to_call = time.perf_counter() - began, cpu_seconds(process.pid)
        rates = [0.0] * 4
        if int(calls):
            client.call_in_waves(1, WARM_UP)
            rates = timed(client, process.pid, 1, int(calls)) + timed(client, process.pid, IN_FLIGHT, int(waves))
        memory = peak_megabytes(process.pid)
        figures = Figures(*rates, to_initialize * 1000, to_call * 1000, memory, cpu_to_call * 1000)
        client.end()
    print(json.dumps(figures))


@contextmanager
def running(command: tuple[str, ...]) -> Iterator[subprocess.Popen]:
    """A server, which must still be running when it is ended."""
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        yield process
        if process.poll() is not None and process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    finally:
        process.stdin.close()
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def timed(client: "OverPipes | OverHttp", pid: int, size: int, times: int) -> list[float]:
    """Calls per second, and CPU microseconds of the server for each."""
    cpu_began, began = cpu_seconds(pid), time.perf_counter()
    client.call_in_waves(size, times)
    seconds, cpu = time.perf_counter() - began, cpu_seconds(pid) - cpu_began
    return [size * times / seconds, cpu / (size * times) * 10**6]


def cpu_seconds(pid: int) -> float:
    """CPU time of another process, all its threads. The clock is what clock_getcpuclockid(3) gives on Linux."""
    return time.clock_gettime((~pid << 3) | 2)


def peak_megabytes(pid: int) -> float:
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        kilobytes = next(line.split()[1] for line in status if line.startswith("VmHWM:"))
    return int(kilobytes) * 1024 / 10**6


def checked(reply: dict) -> None:
    if reply["result"]["content"][0]["text"] != f"Echo: {MESSAGE}":
        raise SystemExit(f"not an echo: {reply}")


class OverPipes:
    """Blocking pipes and JSON."""

    def __init__(self, process: subprocess.Popen) -> None:
        self._process = process
        self._ids = count(1)

    def begin(self) -> None:
        self._write({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE})
        self._process.stdin.flush()
        self._read()
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call_in_waves(self, size: int, times: int) -> None:
        """SIZE requests are written, and then as many replies read, so many TIMES."""
        for _ in range(times):
            for _ in range(size):
                self._write({"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": CALL})
            self._process.stdin.flush()
            for _ in range(size):
                checked(self._read())

    def _write(self, message: dict) -> None:
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    def _read(self) -> dict:
        return json.loads(self._process.stdout.readline())

    def end(self) -> None:
        """The server ends with its stdin."""


class OverHttp:
    """Sockets, of which each is kept open and carries one call at a time, and JSON."""

    def __init__(self, port: int, *, modern: bool) -> None:
        self._port = port
        self._ids = count(1)
        self._connections: list[socket.socket] = []
        self._params = {**CALL, "_meta": MODERN} if modern else CALL
        self._modern = modern
        self._head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
            "Accept: application/json, text/event-stream\r\n"
        )

    def begin(self) -> None:
        self._connections.append(connected(self._port))
        if self._modern:
            self._head += "MCP-Protocol-Version: 2026-07-28\r\n"
            self._ask("server/discover", {"_meta": MODERN}, "Mcp-Method: server/discover\r\n")
            self._head += "Mcp-Method: tools/call\r\nMcp-Name: echo\r\n"
        else:
            head = self._ask("initialize", INITIALIZE)
            session = head.lower().partition(b"\r\nmcp-session-id: ")[2].partition(b"\r\n")[0].decode()
            self._head += f"MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: {session}\r\n"
            self._send(self._connections[0], {"jsonrpc": "2.0", "method": "notifications/initialized"})
            head, _ = response(self._connections[0])
            if not head.startswith(b"HTTP/1.1 202 "):
                raise SystemExit(f"notifications/initialized: {head.decode()}")

    def _ask(self, method: str, params: dict, headers: str = "") -> bytes:
        """The head of the answer to the one request that opens the conversation."""
        connection = self._connections[0]
        self._send(connection, {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}, headers)
        head, body = response(connection)
        if "result" not in message_in(body):
            raise SystemExit(f"{method}: {body.decode()}")
        return head

    def call_in_waves(self, size: int, times: int) -> None:
        """A request on each of SIZE connections, and then as many responses read, so many TIMES."""
        while len(self._connections) < size:
            self._connections.append(connected(self._port))
        used = self._connections[:size]
        for _ in range(times):
            for connection in used:
                request = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": self._params}
                self._send(connection, request)
            for connection in used:
                checked(message_in(response(connection)[1]))

    def _send(self, connection: socket.socket, message: dict, headers: str = "") -> None:
        body = json.dumps(message).encode()
        connection.sendall(f"{self._head}{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body)

    def end(self) -> None:
        for connection in self._connections:
            connection.close()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as door:
        return door.getsockname()[1]


def connected(port: int) -> socket.socket:
    """A connection, as soon as the server listens."""
    limit = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), RUN_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.001)
        else:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return connection


def response(connection: socket.socket) -> tuple[bytes, bytes]:
    """The head and the body of one response."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += received(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    if b"chunked" not in head:
        length = int(head.lower().partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += received(connection)
        return head, body
    while not body.endswith(b"0\r\n\r\n"):
        body += received(connection)
    return head, body


def received(connection: socket.socket) -> bytes:
    data = connection.recv(READ_BYTES)
    if not data:
        raise SystemExit("the server closed a connection")
    return data


def message_in(body: bytes) -> dict:
    """The message that is the body, or that is the last event in it, chunks and all."""
    return json.loads(body if body.startswith(b"{") else body.rpartition(b"data: ")[2].partition(b"\n")[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
