"""Streamable HTTP as it is: statuses, content types, Origin; and the plain client by which HTTP checks look at it.

Our transport would hide what is looked for here: which header was left out, what status came, whether a stream ended.
So these checks post by themselves, in sessions of their own.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

from mcp_conductor.checks import NotSeen, fault, probed
from mcp_conductor.checks.probe import JSON_AND_EVENTS, Probe
from mcp_conductor.errors import ConductorError, RequestTimeout, TransportError
from mcp_conductor.opening import CLIENT
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.event_stream import Event, EventStream
from mcp_conductor.protocol.http_headers import Annotations, routing_headers
from mcp_conductor.protocol.message import compact, read
from mcp_conductor.protocol.server_spec import HttpSpec, ServerSpec
from mcp_conductor.report import Finding
from mcp_conductor.transport import client_for
from mcp_conductor.visible import cut

EVIL = "http://evil.example"
EVENTS = "text/event-stream"
SESSION, VERSION = "Mcp-Session-Id", "MCP-Protocol-Version"
GLANCE_SECONDS = 0.5  # for what comes at once on a stream that nobody has sent anything to
LONG_SECONDS = 60.0  # longer than any check holds a stream
_EXCERPT = 300
_LOOKS = 40

Headers = Mapping[str, str | None]
Admits = Callable[[str, str], None]  # raises if a host, at this address, must not be connected to


class Place(Protocol):
    """Where to look: all that a check needs that begins by itself. A Probe is one."""

    @property
    def spec(self) -> ServerSpec: ...
    @property
    def dialect(self) -> Dialect: ...
    @property
    def timeout(self) -> float: ...


@dataclass(slots=True)
class Seen:
    """An HTTP response as far as it has been read."""

    status: int
    headers: Mapping[str, str]  # by lower-case names
    body: str = ""
    events: list[Event] = field(default_factory=list)
    ended: bool = False

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
    def messages(self) -> list[Any]:
        """The JSON values that came, each by itself."""
        texts = [event.data for event in self.events if event.data] if self.streamed else [self.body]
        found = []
        for text in texts:
            with suppress(ValueError, RecursionError):
                found.append(read(text))
        return found

    def reply(self, identity: Any) -> Json | None:
        """The result or error with this id."""
        for message in self.messages:
            if isinstance(message, dict) and "method" not in message and message.get("id") == identity:
                return message
        return None

    @property
    def code(self) -> Any:
        """The code of the JSON-RPC error that came, whatever its id."""
        for message in self.messages:
            if isinstance(message, dict) and isinstance(message.get("error"), dict):
                return message["error"].get("code")
        return None

    def shown(self) -> Json:
        """What to show as evidence."""
        said = [event.data for event in self.events] if self.streamed else cut(self.body, _EXCERPT)
        return {"status": self.status, "content-type": self.headers.get("content-type"), "body": said}


Enough = Callable[[Seen], bool]


class Visit:
    """A client whose every header is ours: a session of the handshake era, or requests of the modern one."""

    def __init__(self, place: Place) -> None:
        assert isinstance(place.spec, HttpSpec)
        self.spec = place.spec
        self.dialect = place.dialect
        self.timeout = place.timeout
        self.session: str | None = None
        self.next_id = count(1).__next__
        self._settled = False

    async def open(self) -> tuple[Seen, Seen]:
        """Shake hands: what answered initialize, and what answered initialized."""
        first = self.initialize()
        hello = await self.post(first)
        answer = hello.reply(first["id"])
        if answer is None or "result" not in answer:
            raise NotSeen(f"another session was refused: HTTP {hello.status}")
        self.session = hello.headers.get(SESSION.lower())
        self._settled = True
        return hello, await self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def initialize(self) -> Json:
        params = {"protocolVersion": self.dialect.version, "capabilities": {}, "clientInfo": CLIENT}
        return {"jsonrpc": "2.0", "id": self.next_id(), "method": "initialize", "params": params}

    def request(self, method: str, params: Json | None = None) -> Json:
        stamped = self.dialect.stamp(params, self.dialect.context(CLIENT, {}))
        raw: Json = {"jsonrpc": "2.0", "id": self.next_id(), "method": method}
        return raw if stamped is None else {**raw, "params": stamped}

    def anything(self) -> Json:
        """A request that every server answers with a result."""
        return self.request("ping" if self.dialect.handshake else "server/discover")

    def headers(self, raw: Any = None, annotations: Annotations | None = None) -> dict[str, str]:
        """The headers that belong on a message, or on a GET."""
        if not self.dialect.handshake:
            return dict(routing_headers(raw, annotations or {}))
        return {
            **({SESSION: self.session} if self.session is not None else {}),
            **({VERSION: self.dialect.version} if self._settled and self.dialect.version_header else {}),
        }

    async def post(self, raw: Any, headers: Headers | None = None, until: Enough | None = None) -> Seen:
        """POST a message; a stream is read until its answer, or UNTIL. A header whose value is None is left out."""
        identity = raw.get("id") if isinstance(raw, dict) else None
        given: Headers = {**self.headers(raw), "Content-Type": "application/json", **(headers or {})}
        async with self.opened("POST", given, compact(raw).encode()) as (seen, chunks):
            await _read(seen, chunks, self.timeout, until or (lambda seen: seen.reply(identity) is not None))
            return seen

    async def fetch(self, url: str, headers: Headers, admits: Admits | None = None) -> Seen:
        """GET something else than the server's own URL, if ADMITS raises nothing for any address of its host."""
        async with self.opened("GET", headers, url=url, admits=admits) as (seen, chunks):
            await _read(seen, chunks, self.timeout, its_end)
            return seen

    async def verb(self, method: str, headers: Headers | None = None) -> Seen:
        """GET or DELETE; of a stream, what comes in time."""
        async with self.opened(method, {**self.headers(), **(headers or {})}) as (seen, chunks):
            await _read(seen, chunks, min(self.timeout, GLANCE_SECONDS), its_end)
            return seen

    @asynccontextmanager
    async def listening(self, headers: Headers | None = None) -> AsyncIterator[Seen]:
        """A GET stream that is read while other things happen; `events` grows."""
        async with self.opened("GET", {**self.headers(), "Accept": EVENTS, **(headers or {})}) as (seen, chunks):
            reading = asyncio.ensure_future(_read(seen, chunks, LONG_SECONDS, its_end))
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
    ) -> AsyncIterator[tuple[Seen, AsyncIterator[bytes]]]:
        """The head of an answer, and its body to come."""
        given = {"Accept": JSON_AND_EVENTS, **self.spec.headers, **headers}
        client = client_for(self.spec)
        sent = [(name, value) for name, value in given.items() if value is not None]
        try:
            async with asyncio.timeout(self.timeout) as limit:
                async with client.open(method, url or self.spec.url, sent, body, admits=admits) as response:
                    limit.reschedule(None)
                    heads = {name.lower(): value for name, value in response.headers}
                    yield Seen(response.status, heads), response.chunks()
        except TimeoutError:
            raise RequestTimeout(f"the {method}", self.timeout) from None
        finally:
            await client.aclose()


def its_end(_: Seen) -> bool:
    """Read on until a stream ends."""
    return False


async def _read(seen: Seen, chunks: AsyncIterator[bytes], seconds: float, enough: Enough) -> None:
    """Read into SEEN until the end, for SECONDS, or until it is ENOUGH."""
    decoder = EventStream()
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(seconds):
            async for chunk in chunks:
                if not seen.streamed:
                    parts.append(chunk)
                    continue
                seen.events += decoder.feed(chunk)
                if enough(seen):
                    return
            seen.ended = True
    except TimeoutError:
        pass
    except TransportError:
        seen.ended = True
    finally:
        seen.body = b"".join(parts).decode(errors="replace")


@asynccontextmanager
async def visiting(place: Place) -> AsyncIterator[Visit]:
    """A client of its own; in the handshake era with a session, which is ended on leaving."""
    visit = Visit(place)
    if visit.dialect.handshake:
        await visit.open()
    try:
        yield visit
    finally:
        if visit.session is not None:
            with suppress(ConductorError):
                await visit.verb("DELETE")


async def eventually(true: Callable[[], bool], seconds: float) -> bool:
    """Whether something becomes TRUE within SECONDS."""
    for _ in range(_LOOKS):
        if true():
            return True
        await asyncio.sleep(seconds / _LOOKS)
    return true()


def fresh(visit: Visit) -> Json:
    """The first request of a conversation."""
    return visit.initialize() if visit.dialect.handshake else visit.anything()


@probed("http-origin-validated", alone=True)
async def foreign_origins_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """POST and GET with an Origin of another site: neither is served."""
    visit = Visit(probe)
    seen = await visit.post(fresh(visit), {"Origin": EVIL})
    if not seen.refused:
        yield fault(f"a POST with Origin: {EVIL} is served", seen.shown())
        return
    if probe.dialect.handshake:
        async with visiting(probe) as inside:
            with suppress(RequestTimeout):
                seen = await inside.verb("GET", {"Accept": EVENTS, "Origin": EVIL})
                if not seen.refused:
                    yield fault(f"a GET with Origin: {EVIL} is served", seen.shown())


@probed("http-origin-invalid-403", alone=True)
async def foreign_origins_are_forbidden(probe: Probe) -> AsyncIterator[Finding]:
    """POST with an Origin of another site: the status is 403."""
    visit = Visit(probe)
    seen = await visit.post(fresh(visit), {"Origin": EVIL})
    if seen.status != 403:
        yield fault(f"a POST with Origin: {EVIL} is answered with {seen.status}, not 403", seen.shown())


@probed("http-origin-valid-accepted", alone=True)
async def our_own_origin_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """POST with the server's own origin as Origin: it is served."""
    visit = Visit(probe)
    scheme, _, rest = visit.spec.url.partition("://")
    own = f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"
    seen = await visit.post(fresh(visit), {"Origin": own})
    if seen.refused:
        yield fault(f"a POST with the server's own origin, {own}, is answered with {seen.status}", seen.shown())


@probed("http-notification-202", alone=True)
async def notifications_get_202(probe: Probe) -> AsyncIterator[Finding]:
    """POST a notification: if it is accepted, the status is 202 and there is no body."""
    visit = Visit(probe)
    if probe.dialect.handshake:
        _, seen = await visit.open()
    else:
        raw = visit.request("notifications/cancelled", {"requestId": "conductor-none"})
        seen = await visit.post({name: value for name, value in raw.items() if name != "id"})
    if seen.refused:
        raise NotSeen(f"the notification was not accepted: HTTP {seen.status}")
    if seen.status != 202:
        yield fault(f"a notification is answered with {seen.status}, not 202", seen.shown())
    elif seen.body or seen.events:
        yield fault("the 202 that answers a notification has a body", seen.shown())


@probed("http-notification-rejected-4xx", alone=True)
async def bad_notifications_are_refused_by_status(probe: Probe) -> AsyncIterator[Finding]:
    """POST a notification whose params are a number: the status is 202, or one of 400 to 499."""
    async with visiting(probe) as visit:
        raw = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5}
        named = {VERSION: probe.dialect.version, "Mcp-Method": "notifications/cancelled"}
        seen = await visit.post(raw, {} if probe.dialect.handshake else named)
        if seen.status != 202 and not 400 <= seen.status < 500:
            yield fault(f"a bad notification is answered with {seen.status}", seen.shown())


@probed("http-request-content-type", alone=True)
async def answers_are_json_or_events(probe: Probe) -> AsyncIterator[Finding]:
    """POST requests: each that is served is answered with application/json, one object, or with an event stream."""
    async for raw, seen in _conversation(probe):
        if seen.refused or seen.streamed:
            continue
        if seen.media_type != "application/json":
            kind = seen.headers.get("content-type", "no content type")
            yield fault(f"{raw['method']} is answered with {kind}", seen.shown())
        elif not seen.messages or not isinstance(seen.messages[0], dict):
            yield fault(f"the body that answers {raw['method']} is not one JSON object", seen.shown())


@probed("httpm-status-200-results", alone=True)
async def results_have_a_status_of_success(probe: Probe) -> AsyncIterator[Finding]:
    """POST requests: each result has a status of 200 to 299."""
    async for raw, seen in _conversation(probe):
        if seen.refused and "result" in (seen.reply(raw["id"]) or {}):
            yield fault(f"the result of {raw['method']} has the status {seen.status}", seen.shown())


@probed("http-sse-contains-response", alone=True)
async def streams_bring_the_answer(probe: Probe) -> AsyncIterator[Finding]:
    """POST requests: a stream that is opened for one brings its answer, or an event id to come back with."""
    async for raw, seen in _streams(probe):
        if seen.reply(raw["id"]) is not None:
            continue
        if not (seen.ended and probe.dialect.priming_event and any(event.id for event in seen.events)):
            yield fault(f"the stream for {raw['method']} does not bring its answer", seen.shown())


@probed("http-sse-not-closed-early", alone=True)
async def streams_do_not_end_early(probe: Probe) -> AsyncIterator[Finding]:
    """POST requests: a stream that is opened for one does not end before its answer."""
    async for raw, seen in _streams(probe):
        if seen.ended and seen.reply(raw["id"]) is None:
            yield fault(f"the stream for {raw['method']} ends without its answer", seen.shown())


@probed("http-sse-closes-after-response", alone=True)
async def streams_end_with_the_answer(probe: Probe) -> AsyncIterator[Finding]:
    """POST requests: a stream that is opened for one ends after the answer."""
    async for raw, seen in _streams(probe):
        if seen.reply(raw["id"]) is not None and not seen.ended:
            yield fault(f"the stream for {raw['method']} is still open {probe.timeout:g} s after its answer")


async def _streams(probe: Probe) -> AsyncIterator[tuple[Json, Seen]]:
    none = True
    async for raw, seen in _conversation(probe):
        if seen.streamed and not seen.refused:
            none = False
            yield raw, seen
    if none:
        raise NotSeen("no request is answered with a stream")


async def _conversation(probe: Probe) -> AsyncIterator[tuple[Json, Seen]]:
    """Harmless requests with their answers, read to the end."""
    async with visiting(probe) as visit:
        for method in _harmless(probe):
            raw = visit.request(method)
            yield raw, await visit.post(raw, until=its_end)


def _harmless(probe: Probe) -> Iterator[str]:
    yield "ping" if probe.dialect.handshake else "server/discover"
    for capability in ("tools", "resources", "prompts"):
        if probe.declares(capability):
            yield f"{capability}/list"
