"""A visitor of a server with faults, over HTTP: bytes on a socket, and what has come of a response that broke off."""

import itertools
import json
import re
import socket
from dataclasses import dataclass
from typing import Any

from tests.e2e.server.http_wire import BOTH, EVENTS, Web, routing, spelled
from tests.e2e.server.wire import INITIALIZED, NEWEST, call, initialize, modern

HI, ROME = {"message": "hi"}, {"city": "Rome", "units": "C"}
TOOLS = [{"preset": name} for name in ("echo", "get_temp", "send_progress")]


@dataclass(frozen=True)
class Response:
    """What came on a connection until it was closed."""

    status: int
    headers: dict[str, str]
    body: bytes
    whole: bool  # whether the response ended before the connection did

    @property
    def events(self) -> list[dict[str, str]]:
        blocks = self.body.decode().split("\n\n")[:-1]
        return [dict(line.split(": ", 1) for line in block.split("\n") if ": " in line) for block in blocks]

    @property
    def texts(self) -> list[str]:
        """The messages, unread."""
        if self.headers["content-type"] == EVENTS:
            return [event["data"] for event in self.events if event.get("data")]
        return [self.body.decode()]

    @property
    def message(self) -> Any:
        (text,) = self.texts
        return json.loads(text)


def received(connection: socket.socket, data: bytes = b"") -> Response | None:
    """Read until the connection is closed; None when nothing came before. DATA has been read already."""
    with connection:
        data += b"".join(iter(lambda: connection.recv(1 << 20), b""))
    if not data:
        return None
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    whole = len(body) == int(headers.get("content-length", -1))
    if "chunked" in headers.get("transfer-encoding", ""):
        whole, body = body.endswith(b"0\r\n\r\n"), unchunked(body)
    return Response(int(first.split()[1]), headers, body, whole)


def unchunked(body: bytes) -> bytes:
    parts = []
    while found := re.match(rb"([0-9a-fA-F]+)\r\n", body):
        size = int(found[1], 16)
        parts.append(body[found.end() : found.end() + size])
        body = body[found.end() + size + 2 :]
    return b"".join(parts)


class Visitor:
    """A client that opens a connection for each request, and keeps every byte."""

    def __init__(self, web: Web, way: str) -> None:
        self.web = web
        self._modern = way == "modern"
        self._ids = itertools.count(1)
        self.session: dict[str, str] = {}

    def send(self, verb: str, message: Any = None, path: str | None = None, **more: str) -> socket.socket:
        """Send a request, and do not wait."""
        body = b"" if message is None else json.dumps(message).encode()
        usual = {
            "Host": f"127.0.0.1:{self.web.port}",
            "Accept": EVENTS if verb == "GET" else BOTH,
            "Connection": "close",
        }
        typed = {"Content-Type": "application/json", "Content-Length": str(len(body))} if body else {}
        headers = {**usual, **typed, **self.session, **spelled(more)}
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        connection = self.web.socket()
        connection.sendall(f"{verb} {path or self.web.path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        return connection

    def exchange(self, verb: str, message: Any = None, **more: str) -> Response:
        response = received(self.send(verb, message, **more))
        assert response is not None
        return response

    def open(self) -> "Visitor":
        """Begin a conversation."""
        if not self._modern:
            opened = self.exchange("POST", initialize())
            self.session = {"MCP-Protocol-Version": NEWEST, "Mcp-Session-Id": opened.headers["mcp-session-id"]}
            assert self.exchange("POST", INITIALIZED).status == 202
        return self

    def begin(self, tool: str = "echo", arguments: Any = None, **params: Any) -> socket.socket:
        """Call a tool, and do not wait."""
        message = call(next(self._ids), tool, arguments or HI, **params)
        return self.send("POST", modern(message), **routing(message)) if self._modern else self.send("POST", message)

    def call(self, tool: str = "echo", arguments: Any = None, **params: Any) -> Response:
        response = received(self.begin(tool, arguments, **params))
        assert response is not None
        return response

    def resume(self, after: str) -> Response:
        return self.exchange("GET", Last_Event_ID=after)

    def lives(self) -> bool:
        """Whether a tool that no fault concerns is answered still."""
        reply = self.call("get_temp", ROME).message
        return bool(reply["result"]["structuredContent"]["temperature"] == 25)


def fault(what: str, /, params: Any = None, **when: Any) -> Any:
    """A fault that strikes calls of echo, unless WHEN says otherwise."""
    return {"fault": what, "when": {"method": "tools/call", "name": "echo", **when}, "params": params or {}}
