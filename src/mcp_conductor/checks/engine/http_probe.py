"""A plain HTTP client, for checks that look at HTTP itself, in sessions of their own.

Our transport would hide what is looked for: which header was left out, what status came, whether a stream ended.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from itertools import count
from typing import Any, Protocol

from mcp_conductor.checks.engine.evidence import CAME, SENT, Trail, http_request, http_response
from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.unanswered import Unanswered
from mcp_conductor.client.connect import CLIENT
from mcp_conductor.errors import ConductorError, RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose, compose_in, initialize_params
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.event_stream import Event, EventStream
from mcp_conductor.protocol.http_headers import Annotations, routing_headers
from mcp_conductor.protocol.message import Message, compact, parse, read
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.text.visible import cut
from mcp_conductor.transport import client_for
from mcp_conductor.values import dataclass

EVIL_ORIGIN = "http://evil.example"
EVENTS = "text/event-stream"
JSON_AND_EVENTS = f"application/json, {EVENTS}"
SESSION, VERSION = "Mcp-Session-Id", "MCP-Protocol-Version"
GLANCE_SECONDS = 0.5  # for what comes at once on a stream on which nothing was asked
LONG_SECONDS = 60.0  # longer than any check holds a stream
_EXCERPT = 300
_LARGEST = 16_000_000  # bytes of a response that are read

Headers = Mapping[str, str | None]
Admits = Callable[[str, str], None]  # raises if a host, at this address, must not be connected to


class HttpTarget(Protocol):
    """Where to look: all that a check needs that begins by itself. A Probe is one."""

    @property
    def spec(self) -> ServerSpec: ...
    @property
    def dialect(self) -> Dialect: ...
    @property
    def timeout(self) -> float: ...
    @property
    def harmless(self) -> str: ...
    @property
    def unanswered(self) -> Unanswered: ...
    @property
    def trail(self) -> Trail: ...


@dataclass(frozen=True, slots=True)
class UnopenedServer:
    """A server with which no conversation was opened, because it lets no client in."""

    spec: ServerSpec
    dialect: Dialect
    timeout: float
    trail: Trail = field(default_factory=Trail)
    unanswered: Unanswered = field(default_factory=Unanswered)

    @property
    def harmless(self) -> str:
        return "ping" if self.dialect.handshake else "server/discover"


@dataclass(slots=True)
class HttpResponse:
    """An HTTP response as far as it has been read."""

    status: int
    headers: Mapping[str, str]  # by lower-case names
    body: str = ""
    events: list[Event] = field(default_factory=list)
    ended: bool = False
    request: str = ""  # what it answers, in one line
    answered: list[tuple[Any, Any]] = field(default_factory=list)  # the requests that are known, with what is shown

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def streamed(self) -> bool:
        return self.media_type == EVENTS

    @property
    def refused(self) -> bool:
        return self.status >= 400

    @property
    def text(self) -> str:
        """What came, as text."""
        return "\n".join(event.data for event in self.events) if self.streamed else self.body

    @property
    def messages(self) -> list[Any]:
        """The JSON values that came, each by itself."""
        texts = [event.data for event in self.events if event.data] if self.streamed else [self.body]
        found = []
        for text in texts:
            with suppress(ValueError, RecursionError):
                found.append(read(text))
        return found

    @property
    def message(self) -> Message | None:
        """What came as a message, usable or not; of several events, the last."""
        if not self.streamed:
            return parse(self.body) if self.body.strip() else None
        texts = [event.data for event in self.events if event.data]
        return parse(texts[-1]) if texts else None

    def reply(self, identity: Any) -> Json | None:
        """The result or error with this id."""
        for message in self.messages:
            if isinstance(message, dict) and "method" not in message and message.get("id") == identity:
                return message
        return None

    @property
    def code(self) -> Any:
        """The code of the JSON-RPC error that came, with any id."""
        for message in self.messages:
            if isinstance(message, dict) and isinstance(message.get("error"), dict):
                return message["error"].get("code")
        return None

    def shown(self) -> Json:
        """What to show as evidence."""
        said = [event.data for event in self.events] if self.streamed else cut(self.body, _EXCERPT)
        shown = {"status": self.status, "content-type": self.headers.get("content-type"), "body": said}
        self.answered.append((self.request, shown))
        return shown


Enough = Callable[[HttpResponse], bool]


class HttpProbe:
    """A client whose every header is ours: a session of the handshake era, or requests of the modern one."""

    def __init__(self, target: HttpTarget) -> None:
        spec = target.spec.as_http()
        assert spec is not None
        self.spec = spec
        self.dialect = target.dialect
        self.timeout = target.timeout
        self.trail = target.trail
        self._harmless, self._unanswered = target.harmless, target.unanswered
        self.session: str | None = None
        self.hello: HttpResponse | None = None  # what opened it
        self.next_id = count(1).__next__
        self._settled = False

    async def open(self) -> tuple[HttpResponse, HttpResponse]:
        """Shake hands: what answered initialize, and what answered initialized."""
        first = self.initialize()
        hello = await self.post(first)
        answer = hello.reply(first["id"])
        if answer is None or "result" not in answer:
            raise NotSeen(f"another session was refused: HTTP {hello.status}")
        self.hello, self.session = hello, hello.headers.get(SESSION.lower())
        self._settled = True
        return hello, await self.post(compose("notifications/initialized"))

    def initialize(self) -> Json:
        return compose("initialize", initialize_params(self.dialect, CLIENT, {}), identity=self.next_id())

    def request(self, method: str, params: Json | None = None) -> Json:
        return compose_in(self.dialect, method, params, identity=self.next_id(), client=CLIENT, capabilities={})

    def anything(self) -> Json:
        """A request that every server answers with a result."""
        return self.request(self._harmless)

    def first_request(self) -> Json:
        """The first request of a conversation."""
        return self.initialize() if self.dialect.handshake else self.anything()

    def headers(self, raw: Any = None, annotations: Annotations | None = None) -> dict[str, str]:
        """The headers that belong on a message, or on a GET."""
        if not self.dialect.handshake:
            # A text that is not a message has no version, but the request that carries it has one.
            by_hand = {VERSION: self.dialect.version} if isinstance(raw, str) else {}
            return {**by_hand, **dict(routing_headers(raw, annotations or {}))}
        return {
            **({SESSION: self.session} if self.session is not None else {}),
            **({VERSION: self.dialect.version} if self._settled and self.dialect.version_header else {}),
        }

    async def post(self, raw: Any, headers: Headers | None = None, until: Enough | None = None) -> HttpResponse:
        """POST a message, or any text; a stream is read until its answer, or UNTIL.

        A header whose value is None is left out.
        """
        if isinstance(raw, dict) and self._unanswered.is_known(str(raw.get("method")), raw.get("params")):
            raise RequestTimeout(str(raw["method"]), self.timeout)
        body = raw if isinstance(raw, str) else compact(raw)
        given: Headers = {**self.headers(raw), "Content-Type": "application/json", **(headers or {})}
        async with self.opened("POST", given, body.encode()) as (seen, chunks):
            enough = until or (_any_message if isinstance(raw, str) else _reply_to(raw))
            await _read(seen, chunks, self.timeout, enough, self.trail)
            return seen

    async def fetch(self, url: str, headers: Headers, admits: Admits | None = None) -> HttpResponse:
        """GET something else than the server's own URL, if ADMITS raises nothing for any address of its host."""
        async with self.opened("GET", headers, url=url, admits=admits) as (seen, chunks):
            await _read(seen, chunks, self.timeout, until_end, self.trail)
            return seen

    async def verb(self, method: str, headers: Headers | None = None) -> HttpResponse:
        """GET or DELETE; of a stream, what comes in time."""
        async with self.opened(method, {**self.headers(), **(headers or {})}) as (seen, chunks):
            await self.read_glance(seen, chunks)
            return seen

    async def read_glance(self, seen: HttpResponse, chunks: AsyncIterator[bytes]) -> None:
        """Read into SEEN what comes at once."""
        await _read(seen, chunks, min(self.timeout, GLANCE_SECONDS), until_end, self.trail)

    @asynccontextmanager
    async def listening(self, headers: Headers | None = None) -> AsyncIterator[HttpResponse]:
        """A GET stream that is read while other things happen; `events` grows."""
        async with self.opened("GET", {**self.headers(), "Accept": EVENTS, **(headers or {})}) as (seen, chunks):
            reading = asyncio.ensure_future(_read(seen, chunks, LONG_SECONDS, until_end, self.trail))
            try:
                yield seen
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)

    @asynccontextmanager
    async def opened(
        self,
        method: str,
        headers: Headers,
        body: bytes | None = None,
        url: str | None = None,
        admits: Admits | None = None,
    ) -> AsyncIterator[tuple[HttpResponse, AsyncIterator[bytes]]]:
        """The head of an answer, and its body to come."""
        given = {"Accept": JSON_AND_EVENTS, **self.spec.headers, **headers}
        client = client_for(self.spec)
        sent = [(name, value) for name, value in given.items() if value is not None]
        request = http_request(method, url or self.spec.url, sent, body)
        self.trail.note_http(SENT + request)
        try:
            async with asyncio.timeout(self.timeout) as limit:
                async with client.open(method, url or self.spec.url, sent, body, admits=admits) as response:
                    limit.reschedule(None)
                    heads = {name.lower(): value for name, value in response.headers}
                    seen = HttpResponse(response.status, heads, request=request, answered=self.trail.answered)
                    try:
                        yield seen, response.chunks()
                    finally:
                        self.trail.note_http(CAME + http_response(seen.status, heads, seen.text))
        except TimeoutError:
            self.trail.late.append(method)
            raise RequestTimeout(f"the {method}", self.timeout) from None
        finally:
            await client.aclose()


def _any_message(seen: HttpResponse) -> bool:
    return bool(seen.messages)


def _reply_to(raw: Any) -> Enough:
    identity = raw.get("id") if isinstance(raw, dict) else None
    return lambda seen: seen.reply(identity) is not None


def until_end(_: HttpResponse) -> bool:
    """Read on until a stream ends."""
    return False


async def _read(seen: HttpResponse, chunks: AsyncIterator[bytes], seconds: float, enough: Enough, trail: Trail) -> None:
    """Read into SEEN until the end, for SECONDS, or until it is ENOUGH."""
    decoder = EventStream()
    parts: list[bytes] = []
    room = _LARGEST
    try:
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                room -= len(chunk)
                if room < 0:
                    return
                if not seen.streamed:
                    parts.append(chunk)
                    continue
                seen.events += decoder.feed(chunk)
                if enough(seen):
                    return
            seen.ended = True
    except TimeoutError:
        trail.late.append("the rest of a response")
    except TransportError:
        seen.ended = True
    finally:
        seen.body = b"".join(parts).decode(errors="replace")


@asynccontextmanager
async def http_session(target: HttpTarget) -> AsyncIterator[HttpProbe]:
    """A client of its own; in the handshake era with a session, which is ended on leaving."""
    probe = HttpProbe(target)
    if probe.dialect.handshake:
        await probe.open()
    try:
        yield probe
    finally:
        if probe.session is not None:
            said = len(probe.trail.http)
            with suppress(ConductorError):
                await probe.verb("DELETE")
            del probe.trail.http[said:]  # that we left proves nothing
