"""The wire between a test and a composable server on HTTP: sockets and the plainest client there is."""

import http.client
import json
import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.server.wire import INITIALIZED, META, MODERN, NEWEST, PATIENCE, Program, code_of, initialize

EVENTS = "text/event-stream"
BOTH = f"application/json, {EVENTS}"


@dataclass(frozen=True)
class Event:
    """One event of a stream, as it was written."""

    id: str | None = None
    kind: str | None = None
    retry: str | None = None
    data: str = ""

    @property
    def message(self) -> Any:
        return json.loads(self.data)


@dataclass(frozen=True)
class Answer:
    """An HTTP response that is complete."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json", (self.status, self.headers["content-type"])
        return json.loads(self.body)

    @property
    def code(self) -> int:
        return code_of(self.json)

    @property
    def events(self) -> list[Event]:
        assert self.headers["content-type"] == EVENTS, (self.status, self.body)
        return list(events_in(iter(self.body.splitlines(keepends=True))))

    @property
    def messages(self) -> list[Any]:
        return [event.message for event in self.events if event.data]


def events_in(lines: Iterator[bytes]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line == b"\n":
            yield Event(**fields)
            fields = {}
        else:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            assert name in ("id", "event", "retry", "data"), line
            fields["kind" if name == "event" else name] = value
    assert not fields, "an event without its end"


class Stream:
    """An HTTP response that is read event by event."""

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self._connection = connection
        self._response = response
        self._events = events_in(iter(response.readline, b""))

    def next(self) -> Event:
        """The next event; StopIteration at the end of the stream."""
        return next(self._events)

    def hear(self) -> Any:
        """The next message."""
        while not (event := self.next()).data:
            pass
        return event.message

    def rest(self) -> list[Event]:
        """Everything up to the end of the stream."""
        return list(self._events)

    def close(self) -> None:
        """Go away."""
        self._response.close()
        self._connection.close()


class Web(Program):
    """A server on HTTP."""

    def __init__(self, words: list[str], directory: Path, **options: Any) -> None:
        super().__init__(words, directory, stdin=subprocess.DEVNULL, **options)
        assert self.process.stderr is not None
        if not select.select([self.process.stderr], [], [], PATIENCE)[0]:
            raise TimeoutError("the server does not say where it listens")
        self.start_line = self.process.stderr.readline().decode().rstrip("\n")
        address = self.start_line.rpartition("http://127.0.0.1:")[2]
        port, slash, path = address.partition("/")
        self.port, self.path = int(port), slash + path
        self._errors: list[bytes] = []
        self._reader = threading.Thread(target=self._read_errors, daemon=True)
        self._reader.start()
        self._streams: list[Stream] = []

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        with suppress(OSError, ValueError):  # the stream was closed while it was read, after the program had ended
            for line in iter(self.process.stderr.readline, b""):
                self._errors.append(line)

    @property
    def errors(self) -> str:
        """What it said on stderr after its start line; the process must have ended."""
        self._reader.join(PATIENCE)
        return b"".join(self._errors).decode()

    def socket(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def begin(self, verb: str, message: Any = None, headers: Any = None, path: str | None = None) -> Stream:
        """Send a request, and wait for the head of the response."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        body = message if message is None or isinstance(message, bytes) else json.dumps(message).encode()
        usual = {"Accept": EVENTS if verb == "GET" else BOTH, "Content-Type": "application/json"}
        connection.putrequest(verb, path or self.path, skip_accept_encoding=True, skip_host="Host" in (headers or {}))
        for name, value in {**usual, **(headers or {})}.items():
            for each in value if isinstance(value, list) else [] if value is None else [value]:
                connection.putheader(name, each)
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        self._streams.append(Stream(connection, connection.getresponse()))
        return self._streams[-1]

    def send(self, verb: str, message: Any = None, headers: Any = None, path: str | None = None) -> Answer:
        """Send a request, and wait for all of the response."""
        stream = self.begin(verb, message, headers, path)
        body = stream._response.read()
        stream.close()
        return Answer(stream.status, stream.headers, body)

    def post(self, message: Any, **headers: Any) -> Answer:
        return self.send("POST", message, spelled(headers))

    def modern(self, message: Any, **headers: Any) -> Answer:
        return self.send("POST", message, {**routing(message), **spelled(headers)})

    def begin_modern(self, message: Any, **headers: Any) -> Stream:
        return self.begin("POST", message, {**routing(message), **spelled(headers)})

    def session(self, version: str = NEWEST, **capabilities: Any) -> "Session":
        return Session(self, version, capabilities)

    def dispose(self) -> None:
        for stream in self._streams:
            stream.close()
        super().dispose()
        self._reader.join(PATIENCE)


def spelled(headers: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def routing(message: Any) -> dict[str, str]:
    """The headers that repeat what MESSAGE says."""
    params = message["params"]
    named = params.get("uri" if message["method"] == "resources/read" else "name")
    version = params.get("_meta", {}).get(f"{META}protocolVersion", MODERN)
    return {"MCP-Protocol-Version": version, "Mcp-Method": message["method"], **({"Mcp-Name": named} if named else {})}


class Session:
    """A session of the handshake era over HTTP."""

    def __init__(self, web: Web, version: str, capabilities: dict[str, Any]) -> None:
        self._web = web
        self.opening = web.post(initialize(version, **capabilities))
        assert self.opening.status == 200, self.opening
        self.id = self.opening.headers["mcp-session-id"]
        self.headers = {"Mcp-Session-Id": self.id, "MCP-Protocol-Version": version}
        assert self.post(INITIALIZED).status == 202

    def post(self, message: Any, **headers: Any) -> Answer:
        return self._web.send("POST", message, {**self.headers, **spelled(headers)})

    def begin(self, message: Any, **headers: Any) -> Stream:
        return self._web.begin("POST", message, {**self.headers, **spelled(headers)})

    def ask(self, message: Any) -> Any:
        """The only message of the response."""
        answer = self.post(message)
        assert answer.status == 200, answer
        (reply,) = [answer.json] if answer.headers["content-type"] == "application/json" else answer.messages
        return reply

    def get(self, last: str | None = None) -> Stream:
        return self._web.begin("GET", None, {**self.headers, **({} if last is None else {"Last-Event-ID": last})})

    def delete(self) -> Answer:
        return self._web.send("DELETE", None, self.headers)
