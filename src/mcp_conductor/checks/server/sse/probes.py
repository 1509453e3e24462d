"""HTTP+SSE, the transport of 2024-11-05, as it is; and how far a local server can be reached."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import EVIL_ORIGIN, Headers, HttpProbe, HttpResponse
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.timing import eventually
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.server_spec import ServerSpec, origin
from mcp_conductor.report.model import Finding

_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@probed("sse-two-endpoints", alone=True)
async def there_are_two_endpoints(probe: Probe) -> AsyncIterator[Finding]:
    """GET the URL: a stream of events comes. POST initialize where its first event says: the status is 200 to 299."""
    http = HttpProbe(probe)
    async with http.listening() as stream:
        if stream.refused:  # our own conversation has one, so there is such an endpoint
            raise NotSeen(f"another stream was refused: HTTP {stream.status}")
        if not stream.streamed:
            yield fault("GET is not answered with a stream of events", stream.shown())
            return
        endpoint = await _endpoint(http, stream)
        if endpoint is None:
            raise NotSeen("the stream does not say where to post")
        seen = await _post(http, endpoint, http.initialize())
        if not 200 <= seen.status < 300:
            yield fault(f"a POST to {endpoint} is answered with {seen.status}", seen.shown())


@probed("sse-endpoint-event", alone=True)
async def the_stream_says_where_to_post(probe: Probe) -> AsyncIterator[Finding]:
    """GET the URL: the first event is an endpoint, and its data a URI."""
    http = HttpProbe(probe)
    async with _stream(http) as stream:
        await eventually(lambda: bool(stream.events), http.timeout, http.trail)
        if not stream.events:
            yield fault(f"no endpoint event is sent within {http.timeout:g} s")
            return
        first = stream.events[0]
        if first.kind != "endpoint" or not _is_uri(first.data):
            yield fault("the first event is not an endpoint with a URI", {"event": first.kind, "data": first.data})


def _is_uri(text: str) -> bool:
    if not text or any(letter.isspace() for letter in text):
        return False
    try:
        return urlsplit(text).scheme in ("", "http", "https")
    except ValueError:
        return False


@probed("sse-message-events", alone=True)
async def messages_are_message_events(probe: Probe) -> AsyncIterator[Finding]:
    """POST initialize: the answer comes on the stream, as an event of the type message."""
    http = HttpProbe(probe)
    async with _open_stream(http) as (stream, endpoint):
        raw = http.initialize()
        posted = await _post(http, endpoint, raw)
        if posted.refused:
            raise NotSeen(f"initialize was refused: HTTP {posted.status}")
        if posted.reply(raw["id"]) is not None:
            yield fault("the answer to initialize comes in the response to its POST, not on the stream", posted.shown())
        elif not await eventually(lambda: stream.reply(raw["id"]) is not None, http.timeout, http.trail):
            yield fault("the answer to initialize does not come on the stream", posted.shown())
        for event in stream.events:
            if event.kind not in ("endpoint", "message") and event.data.startswith("{") and "jsonrpc" in event.data:
                yield fault(f"a message comes as an event of the type {event.kind}", event.data)


@probed("sse-origin-validation", alone=True)
async def foreign_origins_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """GET and POST with an Origin of another site: neither is served."""
    http = HttpProbe(probe)
    async with http.listening({"Origin": EVIL_ORIGIN}) as stream:
        if not stream.refused:
            yield fault(f"a GET with Origin: {EVIL_ORIGIN} is served", stream.shown())
            return
    async with _open_stream(http) as (_, endpoint):
        seen = await _post(http, endpoint, http.initialize(), {"Origin": EVIL_ORIGIN})
        if not seen.refused:
            yield fault(f"a POST with Origin: {EVIL_ORIGIN} is served", seen.shown())


@asynccontextmanager
async def _open_stream(http: HttpProbe) -> AsyncIterator[tuple[HttpResponse, str]]:
    """A stream, and where to post."""
    async with _stream(http) as stream:
        endpoint = await _endpoint(http, stream)
        if endpoint is None:
            raise NotSeen("the stream does not say where to post")
        yield stream, endpoint


@asynccontextmanager
async def _stream(http: HttpProbe) -> AsyncIterator[HttpResponse]:
    async with http.listening() as stream:
        if stream.refused or not stream.streamed:
            raise NotSeen(f"another stream was refused: HTTP {stream.status}")
        yield stream


async def _endpoint(http: HttpProbe, stream: HttpResponse) -> str | None:
    def told() -> list[str]:
        return [event.data for event in stream.events if event.kind == "endpoint"]

    if not await eventually(lambda: bool(told()), http.timeout, http.trail):
        return None
    url = urljoin(http.spec.url, told()[0].strip())
    # Our credentials go with the POST: nowhere else than where the user sent them.
    return url if origin(url) == origin(http.spec.url) else None


async def _post(http: HttpProbe, endpoint: str, raw: Json, headers: Headers | None = None) -> HttpResponse:
    given: Headers = {"Content-Type": "application/json", **(headers or {})}
    async with http.opened("POST", given, compact(raw).encode(), endpoint) as (seen, chunks):
        if seen.media_type == "application/json":  # perhaps the answer, which should come on the stream
            await http.read_glance(seen, chunks)
        return seen


# Who can come in.


@probed("http-bind-localhost", "sse-bind-localhost", alone=True)
async def a_local_server_listens_locally(probe: Probe) -> AsyncIterator[Finding]:
    """Connect to the port of a server on this machine by another address of the machine: the connection is refused."""
    spec = probe.spec.as_http()
    if spec is None or not local(spec):
        raise NotSeen("the server is not on this machine")
    address, port = _outer_address(), origin(spec.url)[2]
    if address is None:
        raise NotSeen("this machine has no other address")
    try:
        async with asyncio.timeout(probe.timeout):
            _, writer = await asyncio.open_connection(address, port)
    except (OSError, TimeoutError):
        return
    writer.close()
    yield fault(f"the server can be reached from outside, at {address}:{port}", hint="bind it to 127.0.0.1")


def _outer_address() -> str | None:
    """An address of this machine that others can see. Nothing is sent: connecting UDP only chooses a route."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(("192.0.2.1", 9))
            address = str(probe.getsockname()[0])
    except OSError:
        return None
    return None if address.startswith(("127.", "0.")) else address


@probed("http-authentication", "sse-authentication", alone=True)
async def other_origins_are_not_served(probe: Probe) -> AsyncIterator[Finding]:
    """Use a server on another machine without credentials: it does not serve."""
    if local(probe.spec):
        raise NotSeen("the server is on this machine")
    http = HttpProbe(probe)
    without: Headers = {name: None for name in http.spec.headers if name.lower() == "authorization"}
    if http.spec.sse:
        async with http.listening(without) as seen:
            pass
    else:
        seen = await http.post(http.first_request(), without)
    if not seen.refused:
        yield fault("a client without credentials is served", {"status": seen.status})


def local(spec: ServerSpec) -> bool:
    at_url = spec.as_http()
    return at_url is not None and origin(at_url.url)[1] in _LOOPBACK
