"""HTTP servers that keep the rules: a test breaks one by overriding the method that keeps it."""

import json
import re
import subprocess
import uuid
from contextlib import contextmanager
from itertools import count
from typing import Any

from tests.e2e.server.wire import SERVE, config
from tests.servers.http_raw import DISCOVER, Call, event

from mcp_conductor.checks.engine.run import Options, check
from mcp_conductor.protocol.http_headers import annotations_of, mismatch
from mcp_conductor.protocol.server_spec import HttpSpec

AREA = {
    *("stdio", "sse", "http", "http-session", "http-resume", "http-modern", "auth-server"),
    *("xmcp-server-validates", "xmcp-server-missing-header", "xmcp-server-null-no-header"),
    "xmcp-server-numeric-compare",
}
WORK = {"name": "work", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
HEADERS = {
    "name": "weather",
    "inputSchema": {
        "type": "object",
        "properties": {
            "city": {"type": "string", "x-mcp-header": "City"},
            "days": {"type": "integer", "x-mcp-header": "Days"},
            "unit": {"type": "string", "x-mcp-header": "Unit"},
        },
        "required": ["city", "days"],
    },
    "annotations": {"readOnlyHint": True},
}


async def broken(spec, version="2025-11-25", timeout=0.6) -> set[str]:
    """The ids of all that a server is found to break, in the whole area of the wire."""
    verdicts = await check(spec, version, Options(only=AREA, timeout=timeout))
    return {outcome.id for outcome in verdicts.outcomes if outcome.status in ("failed", "warned", "errored")}


async def passed(spec, version="2025-11-25") -> set[str]:
    verdicts = await check(spec, version, Options(only=AREA, timeout=0.6))
    assert [outcome for outcome in verdicts.outcomes if outcome.status not in ("passed", "skipped")] == []
    return {outcome.id for outcome in verdicts.outcomes if outcome.status == "passed"}


def manners(way):
    return {"GET": way, "POST": way, "DELETE": way}


def spec_of(server, **more) -> HttpSpec:
    return HttpSpec(url=server.url, fall_back=False, **more)


@contextmanager
def composed(directory, **transport):
    """The port of a server of our own, on HTTP."""
    file = directory / "composed.json"
    file.write_text(json.dumps(config({"type": "streamable-http", "port": 0, **transport})))
    with subprocess.Popen([*SERVE, str(file)], stderr=subprocess.PIPE, text=True) as process:
        try:
            yield int(re.search(r":(\d+)/", process.stderr.readline())[1])
        finally:
            process.terminate()


class Good:
    """A server of the handshake era, with sessions and streams that can be resumed."""

    streams = True

    def __init__(self):
        self.sessions = set()
        self.listening = []
        self.log = {}  # stream: the texts of its events
        self.stream_number = count(1)

    def __call__(self, call: Call) -> None:
        if self.foreign(call):
            call.reply(403)
        else:
            getattr(self, call.verb.lower())(call)

    def foreign(self, call):
        return call.headers.get("origin", call.server.origin) != call.server.origin

    def post(self, call):
        if call.method == "initialize":
            self.initialize(call)
        elif self.session_status(call) or self.version_status(call):
            call.reply(self.session_status(call) or self.version_status(call))
        elif call.id is None:
            self.notified(call)
        else:
            self.answer(call)

    def initialize(self, call):
        session = self.new_session()
        self.sessions.add(session)
        version = call.message["params"]["protocolVersion"]
        info = {"name": "good", "version": "1"}
        opened = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        call.result(opened, Mcp_Session_Id=session)

    def new_session(self):
        return uuid.uuid4().hex

    def session_status(self, call):
        session = call.headers.get("mcp-session-id")
        return 400 if session is None else None if session in self.sessions else 404

    def version_status(self, call):
        version = call.headers.get("mcp-protocol-version")
        return None if version is None or version.startswith("202") else 400

    def notified(self, call):
        call.reply(400 if call.message.get("params") == 5 else 202)

    def answer(self, call):
        if call.method == "tools/list":
            self.respond(call, {"tools": [WORK]})
        elif call.method == "tools/call":
            self.work(call, call.message["params"]["_meta"]["progressToken"])
        else:
            self.respond(call, {})

    def work(self, call, token):
        self.respond(call, {"content": []}, self.progress(token))

    def progress(self, token):
        params = {"progressToken": token, "progress": 1}
        return json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})

    def respond(self, call, value, *before):
        if not self.streams:
            call.result(value)
            return
        stream = next(self.stream_number)
        call.stream()
        # All of them before the first is sent: a client that hangs up then, and resumes the stream, finds the rest.
        self.log[stream] = self.events(call, value, *before)
        for number, text in enumerate(self.log[stream]):
            call.send(event(text, id=self.event_id(stream, number)).encode())
        call.close()

    def events(self, call, value, *before):
        return ["", *before, call.text(value)]

    def event_id(self, stream, number):
        return f"{stream}-{number}"

    def get(self, call):
        if self.session_status(call):
            call.reply(self.session_status(call))
            return
        call.stream(*self.replayed(call.headers.get("last-event-id")))
        self.listening.append(call)
        call.hold()
        self.listening.remove(call)

    def streams_of(self, call):
        """The GET streams of the same session."""
        session = call.headers.get("mcp-session-id")
        return [stream for stream in self.listening if stream.headers.get("mcp-session-id") == session]

    def replayed(self, last):
        if last is None:
            return []
        stream, number = map(int, last.split("-"))
        return [event(text, id=f"{stream}-{at}") for at, text in enumerate(self.log[stream]) if at > number]

    def delete(self, call):
        self.sessions.discard(call.headers.get("mcp-session-id"))
        call.reply(200)


class GoodModern(Good):
    """A server of the modern era, which compares headers with the body."""

    def post(self, call):
        problem = self.problem(call) if call.id is not None else None
        if problem is not None:
            call.error(-32020, problem, 400)
        elif call.id is None:
            self.notified(call)
        else:
            self.answer(call)

    def problem(self, call):
        return mismatch(call.message, self.seen_headers(call), self.annotations(call))

    def seen_headers(self, call):
        return {name: [value] for name, value in call.headers.items()}

    def annotations(self, call):
        weather = call.message.get("params", {}).get("name") == "weather"
        return annotations_of(HEADERS["inputSchema"]) if weather else {}

    def answer(self, call):
        known = {
            "server/discover": DISCOVER,
            "tools/list": {"tools": [WORK, HEADERS], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"},
        }
        if call.method in known:
            self.respond(call, known[call.method])
        elif call.method == "tools/call" and call.message["params"]["name"] == "work":
            self.work(call, call.message["params"]["_meta"].get("progressToken"))
        elif call.method == "tools/call":
            self.respond(call, {"content": [], "resultType": "complete"})
        else:
            call.error(-32601, "Method not found", 404)

    def work(self, call, token):
        before = [] if token is None else [self.progress(token)]
        self.respond(call, {"content": [], "resultType": "complete"}, *before)

    def respond(self, call, value: Any, *before):
        call.stream(X_Accel_Buffering="no")
        for text in (*before, call.text(value)):
            call.send(event(text).encode())
        call.close()

    def get(self, call):
        call.reply(405)

    delete = get
