"""The words that the tests' own HTTP servers are written in: sockets and threads, no HTTP library, every byte on purpose.

A server is a table: what to do for a JSON-RPC method, or for a verb (`GET`, `POST`, `DELETE`). What is not in the
table is answered politely.
"""

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Mapping
from typing import Any

META = "io.modelcontextprotocol/"
DISCOVER = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}},
    "ttlMs": 0,
    "cacheScope": "private",
}
PATIENCE = 30.0  # the longest time for which a thread of ours waits for anything


class Call:
    """One HTTP request, and the connection that it came on."""

    def __init__(self, server: "HttpServer", connection: socket.socket, head: bytes, body: bytes) -> None:
        first, *lines = head.decode("latin-1").split("\r\n")
        self.verb, self.path, _ = first.split(" ", 2)
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.body = body
        form = "form-urlencoded" in self.headers.get("content-type", "")
        self.message: dict[str, Any] = json.loads(body) if body and not form else {}
        self.method = self.message.get("method", "")
        self.id = self.message.get("id")
        self.server = server
        self.closed = False
        self._connection = connection

    @property
    def what(self) -> str:
        return self.method or self.verb

    # Bytes.

    def send(self, data: bytes) -> None:
        """Put exactly this on the wire."""
        self._connection.sendall(data)

    def head(self, status: int = 200, kind: str | None = None, **headers: str | int) -> None:
        """Send the head of an answer; without content_length, the end of the connection is the end of the body."""
        lines = [f"HTTP/1.1 {status} Whatever", *([f"Content-Type: {kind}"] if kind else [])]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        self.send("\r\n".join([*lines, "", ""]).encode("latin-1"))

    def reply(self, status: int = 200, body: bytes | str = b"", kind: str | None = None, **headers: str | int) -> None:
        body = body.encode() if isinstance(body, str) else body
        self.head(status, kind, content_length=len(body), **headers)
        self.send(body)

    def close(self) -> None:
        """End the connection in good order."""
        self.closed = True
        self._connection.close()

    def reset(self) -> None:
        """Tear the connection down: the other side gets RST."""
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def hold(self) -> None:
        """Say nothing more until the client goes away."""
        while self._connection.recv(4096):
            pass
        self.close()

    # Messages.

    def text(self, result: Any = None, **members: Any) -> str:
        """The answer to this request, as JSON."""
        return json.dumps({"jsonrpc": "2.0", "id": self.id, **(members or {"result": result})})

    def result(self, value: Any, **headers: str) -> None:
        self.reply(200, self.text(value), "application/json", **headers)

    def error(self, code: int, message: str, status: int = 200, **more: Any) -> None:
        self.reply(status, self.text(error={"code": code, "message": message, **more}), "application/json")

    def stream(self, *events: str | bytes, **headers: str) -> None:
        """Begin a stream of events; it ends with `close`."""
        self.head(200, "text/event-stream", **headers)
        for event in events:
            self.send(event.encode() if isinstance(event, str) else event)

    def event(self, result: Any, **fields: str | int) -> None:
        """The answer to this request, as an event."""
        self.send((_fields(fields) + f"data: {self.text(result)}\n\n").encode())

    def politely(self) -> None:
        """What a good server would answer."""
        if self.verb != "POST":
            self.reply(200 if self.verb == "DELETE" else 405)
        elif self.id is None or not self.method:
            self.reply(202)
        elif self.method == "server/discover" and self.server.modern:
            self.result(DISCOVER)
        elif self.method == "initialize" and not self.server.modern:
            info = {"name": "raw", "version": "1"}
            version = self.server.version or self.message["params"]["protocolVersion"]
            session = {"Mcp_Session_Id": self.server.session} if self.server.session else {}
            self.result({"protocolVersion": version, "capabilities": {}, "serverInfo": info}, **session)
        elif self.method == "tools/list":
            self.result({"tools": [], **({"resultType": "complete"} if self.server.modern else {})})
        else:
            self.error(-32601, "Method not found", 404 if self.server.modern else 200)


def _fields(fields: Mapping[str, str | int]) -> str:
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def event(message: Mapping[str, Any] | str = "", **fields: str | int) -> str:
    """An event with this message, or this text, as its data."""
    data = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
    return f"{_fields(fields)}data: {data}\n\n"


Manners = Mapping[str, Callable[[Call], None]]


class HttpServer:
    """A server on a free port of 127.0.0.1; `calls` is all that it was asked."""

    def __init__(
        self,
        manners: Manners,
        *,
        session: str | None = None,
        version: str | None = None,
        modern: bool = False,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.calls: list[Call] = []
        self.session = session
        self.version = version
        self.modern = modern
        self.failures: list[BaseException] = []
        self._manners = manners
        self._tls = tls
        self._connections: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.origin = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self.url = f"{self.origin}/mcp"
        self._start(self._accept)

    def asked(self, what: str) -> list[Call]:
        """The calls with this method or verb, in order."""
        return [call for call in self.calls if what in (call.method, call.verb)]

    def stop(self) -> None:
        """End everything, and complain of what went wrong in here."""
        self._listening.shutdown(socket.SHUT_RDWR)
        for connection in list(self._connections):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a thread of the server hangs"
        self._listening.close()
        if self.failures:
            raise self.failures[0]

    def _start(self, work: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            connection.settimeout(PATIENCE)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._connections.add(connection)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while (call := self._hear(connection)) is not None:
                self.calls.append(call)
                self._answer(call)
                if call.closed:
                    return
        except OSError:
            pass  # the client went away, or we are stopped
        except BaseException as failure:
            self.failures.append(failure)
        finally:
            self._connections.discard(connection)
            connection.close()

    def _answer(self, call: Call) -> None:
        for what in (call.method, call.verb):
            if what in self._manners:
                self._manners[what](call)
                return
        call.politely()

    def _hear(self, connection: socket.socket) -> Call | None:
        data = b""
        while b"\r\n\r\n" not in data:
            more = connection.recv(65536)
            if not more:
                return None
            data += more
        head, _, body = data.partition(b"\r\n\r\n")
        call = Call(self, connection, head, b"")
        while len(body) < int(call.headers.get("content-length", 0)):
            body += connection.recv(65536)
        return Call(self, connection, head, body)
