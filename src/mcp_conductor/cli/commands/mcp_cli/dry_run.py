"""`--dry-run`: what would be sent, and to whom; nothing is started, and nothing leaves this process.

The call is carried out as always, but with a server inside this process that answers everything with next to nothing.
So what is shown is what the same code would really send, down to the headers, as far as it does not depend on answers.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from io import BytesIO
from typing import Any

from mcp_conductor.cli.commands.mcp_cli.call_run import CallRun
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan
from mcp_conductor.cli.output.display import Display
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose_result
from mcp_conductor.protocol.dialect import DIALECTS, MODERN, NEWEST_HANDSHAKE
from mcp_conductor.protocol.in_process_spec import AsgiSpec, StreamsSpec
from mcp_conductor.protocol.message import read, render
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.text.redaction import REDACTED

SECONDS = 0.5  # for what waits for more than an answer
_SILENT = ("--record", "--verbose", "--output")  # flags that would write or show something

_Event = MutableMapping[str, Any]


def dry_run(call: CallPlan, terminal: Terminal) -> int:
    """Print what CALL would send, as JSON without secrets: the exit code."""
    quiet = Terminal(BytesIO(), BytesIO(), None, terminal.environ, terminal.directory)
    quiet.redactor = terminal.redactor
    values = {flag: value for flag, value in call.given.values.items() if flag not in _SILENT}
    given = call.given.with_values({**values, "--timeout": [f"{SECONDS:g}s"]})  # which ends --follow too
    stand_in = StandIn(call)
    plan = call._replace(given=given, spec=stand_in.spec, timeout=SECONDS)
    CallRun(plan, quiet, Display(given, call.spec.budgets, quiet)).run()
    notes = _notes(call)
    shown = {**_server(call.spec), "sent": stand_in.sent, **({"notes": notes} if notes else {})}
    terminal.write_report_as_it_is(terminal.redactor.redact(render(shown, 2)) + "\n")
    return OK


def _server(spec: ServerSpec) -> Json:
    """Who would be spoken to."""
    protocol = {"protocol": spec.protocol or "handshake"}
    if (process := spec.as_process()) is not None:
        cwd = {} if process.cwd is None else {"cwd": process.cwd}
        env = {"env": dict(process.env)} if process.env else {}
        return {"transport": spec.kind, "command": list(process.command), **cwd, **env, **protocol}
    return {"transport": spec.kind, "server": spec.label, **protocol}


def _notes(call: CallPlan) -> list[str]:
    """What this cannot know."""
    notes = []
    if call.typed_arguments:
        notes.append("values of --tool-arg are text here; the tool's schema, which the server has, gives them types")
    if "--oauth" in call.given:
        notes.append("if the server wants a token, requests to its authorization server come first")
    if call.follow or call.events:
        notes.append("after that, what the server says would be printed")
    return notes


class StandIn:
    """A server that answers everything with next to nothing, and keeps what it was sent."""

    def __init__(self, call: CallPlan) -> None:
        self.sent: list[Json] = []
        self._tool = call.given.one("--tool-name")
        self._answers: asyncio.Queue[bytes] = asyncio.Queue()
        at_url = call.spec.as_http()
        self._known = {"authorization", "cookie", *(map(str.lower, at_url.headers) if at_url is not None else ())}
        self.spec = self._spec(call.spec)

    def _spec(self, spec: ServerSpec) -> ServerSpec:
        """The same server as SPEC, but in this process."""
        same: dict[str, Any] = {"name": spec.name, "protocol": spec.protocol, "budgets": spec.budgets}
        at_url = spec.as_http()
        if at_url is None or at_url.sse:
            return StreamsSpec(read=self._replies(), write=self, **same)
        url, headers = at_url.url, at_url.headers
        return AsgiSpec(app=self._serve, url=url, headers=headers, lifespan=False, fall_back=False, **same)

    # As a pair of streams.

    async def _replies(self) -> AsyncIterator[bytes]:
        while True:
            yield await self._answers.get()

    def send(self, line: bytes) -> None:
        """Take a line, as a stream does."""
        text = line.decode(errors="surrogateescape").strip()
        message = _json(text)
        self.sent.append({"message": text if message is None else message})
        if (answer := self._answer(message)) is not None:
            self._answers.put_nowait(json.dumps(answer).encode() + b"\n")

    # As an application.

    async def _serve(
        self, scope: _Event, receive: Callable[[], Awaitable[_Event]], send: Callable[[_Event], Awaitable[None]]
    ) -> None:
        body = (await receive()).get("body", b"")
        text = body.decode(errors="surrogateescape")
        message = _json(text)
        query = f"?{scope['query_string'].decode()}" if scope["query_string"] else ""
        pairs = ((name.decode(), value.decode(errors="replace")) for name, value in scope["headers"])
        headers = {name: REDACTED if name in self._known else value for name, value in pairs}
        said = {"message": text if message is None else message} if body else {}
        self.sent.append({"http": f"{scope['method']} {scope['path']}{query}", "headers": headers, **said})
        answer = self._answer(message)
        data = b"" if answer is None else json.dumps(answer).encode()
        status = 405 if scope["method"] != "POST" else 202 if answer is None else 200
        kind = [(b"content-type", b"application/json")] if data else []
        await send({"type": "http.response.start", "status": status, "headers": kind})
        await send({"type": "http.response.body", "body": data})

    def _answer(self, message: Any) -> Json | None:
        if not isinstance(message, dict) or "id" not in message or "method" not in message:
            return None
        return compose_result(message["id"], self._result(message))

    def _result(self, message: Json) -> Json:
        method, params = message["method"], message.get("params")
        if method == "initialize":
            asked = params.get("protocolVersion") if isinstance(params, dict) else None
            version = asked if asked in DIALECTS else NEWEST_HANDSHAKE.version
            return {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "", "version": ""}}
        done = {"resultType": "complete"}
        if method == "server/discover":
            return {"supportedVersions": list(MODERN), "capabilities": {}, "serverInfo": {}, **done}
        if method == "tools/list" and self._tool is not None:
            return {"tools": [{"name": self._tool, "inputSchema": {"type": "object"}}], **done}
        return {LIST_MEMBERS[method]: [], **done} if method in LIST_MEMBERS else done


def _json(text: str) -> Any:
    try:
        return read(text)
    except (ValueError, RecursionError):
        return None
