"""What a probe can do: ask, say anything at all, look at HTTP itself, and begin anew with a server of its own."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_conductor.checks.record import Record
from mcp_conductor.errors import ConductorError, RequestTimeout, TransportError
from mcp_conductor.opening import NONE, connect
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.dialect import DIALECTS, Dialect
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.protocol.server_spec import HttpSpec, ServerSpec
from mcp_conductor.session import Session
from mcp_conductor.transport.http_client import HttpClient, Response

START_SECONDS = 30.0
JSON_AND_EVENTS = "application/json, text/event-stream"


@dataclass(frozen=True, slots=True)
class Answered:
    """An HTTP response as it came."""

    status: int
    headers: Mapping[str, str]  # by lower-case names
    body: str


@dataclass(slots=True)
class Found:
    """What the walk has found on a server: the things that probes try."""

    tools: list[Json] = field(default_factory=list)
    resources: list[Json] = field(default_factory=list)
    templates: list[Json] = field(default_factory=list)
    prompts: list[Json] = field(default_factory=list)


class Probe:
    """One session on the server under test, and the means to begin others."""

    def __init__(self, session: Session, spec: ServerSpec, found: Found, timeout: float) -> None:
        self.session = session
        self.spec = spec
        self.found = found
        self.timeout = timeout

    @property
    def dialect(self) -> Dialect:
        return self.session.dialect

    @property
    def transport(self) -> str:
        return transport_of(self.spec)

    def declares(self, capability: str) -> bool:
        return self.record().declares(capability)

    def record(self) -> Record:
        """What has been said so far."""
        return Record(self.session.transcript, self.dialect, self.transport, self.session.opened)

    # Saying things.

    async def ask(self, method: str, params: Json | None = None, **members: Any) -> Message:
        """The reply to a request, error or not; MEMBERS go into the request itself. Silence is RequestTimeout."""
        raw: Json = {"jsonrpc": "2.0", "id": self.session.next_id(), "method": method, **members}
        if not self.dialect.handshake:
            context = self.dialect.context(self.session.client, self.session.client_capabilities(self.dialect))
            params = self.dialect.stamp(params, context)
        if params is not None:
            raw["params"] = params
        exchange = await self.session.exchange(raw, timeout=self.timeout)
        assert exchange.reply is not None
        return exchange.reply

    async def result(self, method: str, params: Json | None = None) -> Json | None:
        """The result of a request, if it is one and an object."""
        reply = await self.ask(method, params)
        return reply.result if reply.kind == "result" and isinstance(reply.result, dict) else None

    async def say(self, text: str) -> Message | None:
        """What answers TEXT, which may be no message at all; None when nothing does in time."""
        try:
            return await self.session.say(text, timeout=self.timeout)
        except RequestTimeout:
            return None

    async def alive(self) -> bool:
        """Whether the server still answers."""
        method = "ping" if self.dialect.handshake else "server/discover"
        try:
            await self.ask(method)
        except ConductorError:
            return False
        return True

    # Other sessions.

    @asynccontextmanager
    async def anew(self, *, protocol: str | None = None, answers: Answers | None = None) -> AsyncIterator["Probe"]:
        """A session of its own, in the same revision unless PROTOCOL says otherwise; on stdio, a new process."""
        choice = protocol or self.dialect.version
        async with connect(patient(self.spec), protocol=choice, answers=answers, timeout=self.timeout) as session:
            yield Probe(session, self.spec, self.found, self.timeout)

    @asynccontextmanager
    async def unopened(self, dialect: Dialect | None = None) -> AsyncIterator["Probe"]:
        """A connection on which nothing has been said yet."""
        async with connect(self.spec, protocol=NONE, timeout=self.timeout) as session:
            session.dialect = dialect or self.dialect
            yield Probe(session, self.spec, self.found, self.timeout)

    # HTTP itself.

    async def http(self, method: str, body: Any = None, headers: Mapping[str, str | None] | None = None) -> Answered:
        """One HTTP request to the server's URL; a header whose value is None is left out."""
        assert isinstance(self.spec, HttpSpec)
        given: dict[str, str | None] = {"Accept": JSON_AND_EVENTS, **self.spec.headers}
        if body is not None:
            given["Content-Type"] = "application/json"
        given.update(headers or {})
        data = None if body is None else (body if isinstance(body, str) else compact(body)).encode()
        client = HttpClient(cafile=self.spec.cafile, verify=not self.spec.insecure)
        try:
            sent = [(name, value) for name, value in given.items() if value is not None]
            async with client.open(method, self.spec.url, sent, data) as response:
                text = await _beginning(response, self.timeout)
                return Answered(response.status, {name.lower(): value for name, value in response.headers}, text)
        finally:
            await client.aclose()


async def _beginning(response: Response, seconds: float) -> str:
    """The body of a response, or as much of it as comes in time: an event stream may never end."""
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(seconds):
            async for chunk in response.chunks():
                parts.append(chunk)
                if b"\n\n" in chunk or b"\r\n\r\n" in chunk:
                    break
    except (TimeoutError, TransportError):
        pass
    return b"".join(parts).decode(errors="replace")


def patient(spec: ServerSpec) -> ServerSpec:
    """SPEC with more time to start than to answer."""
    if isinstance(spec, HttpSpec) or spec.startup_timeout is not None:
        return spec
    return replace(spec, startup_timeout=START_SECONDS)


def transport_of(spec: ServerSpec) -> str:
    if not isinstance(spec, HttpSpec):
        return "stdio"
    return "sse" if spec.sse else "http"


HANDSHAKE_DIALECTS = [dialect for dialect in DIALECTS.values() if dialect.handshake]
