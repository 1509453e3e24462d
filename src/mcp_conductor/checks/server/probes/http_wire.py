"""Streamable HTTP on the wire: statuses, content types, Origin, streams."""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import (
    EVENTS,
    EVIL_ORIGIN,
    VERSION,
    HttpProbe,
    HttpResponse,
    http_session,
    until_end,
)
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Finding


@probed("http-origin-validated", alone=True)
async def foreign_origins_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """POST and GET with an Origin of another site: neither is served."""
    http = HttpProbe(probe)
    seen = await http.post(http.first_request(), {"Origin": EVIL_ORIGIN})
    if not seen.refused:
        yield fault(f"a POST with Origin: {EVIL_ORIGIN} is served", seen.shown())
        return
    if probe.dialect.handshake:
        async with http_session(probe) as inside:
            with suppress(RequestTimeout):
                seen = await inside.verb("GET", {"Accept": EVENTS, "Origin": EVIL_ORIGIN})
                if not seen.refused:
                    yield fault(f"a GET with Origin: {EVIL_ORIGIN} is served", seen.shown())


@probed("http-origin-invalid-403", alone=True, follows="http-origin-validated")
async def foreign_origins_are_forbidden(probe: Probe) -> AsyncIterator[Finding]:
    """POST with an Origin of another site: the status is 403."""
    http = HttpProbe(probe)
    seen = await http.post(http.first_request(), {"Origin": EVIL_ORIGIN})
    if seen.status != 403:
        yield fault(f"a POST with Origin: {EVIL_ORIGIN} is answered with {seen.status}, not 403", seen.shown())


@probed("http-origin-valid-accepted", alone=True)
async def our_own_origin_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """POST with the server's own origin as Origin: it is served."""
    http = HttpProbe(probe)
    scheme, _, rest = http.spec.url.partition("://")
    own = f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}"
    seen = await http.post(http.first_request(), {"Origin": own})
    if seen.status == 429 or seen.status >= 500:
        raise NotSeen(f"the server is in trouble: HTTP {seen.status}")
    if seen.refused:
        yield fault(f"a POST with the server's own origin, {own}, is answered with {seen.status}", seen.shown())


@probed("http-notification-202", alone=True)
async def notifications_get_202(probe: Probe) -> AsyncIterator[Finding]:
    """POST a notification: if it is accepted, the status is 202 and there is no body."""
    http = HttpProbe(probe)
    if probe.dialect.handshake:
        _, seen = await http.open()
    else:
        raw = http.request("notifications/cancelled", {"requestId": "conductor-none"})
        seen = await http.post({name: value for name, value in raw.items() if name != "id"})
    if seen.refused:
        raise NotSeen(f"the notification was not accepted: HTTP {seen.status}")
    if seen.status != 202:
        yield fault(f"a notification is answered with {seen.status}, not 202", seen.shown())
    elif seen.body or seen.events:
        yield fault("the 202 that answers a notification has a body", seen.shown())


@probed("http-notification-rejected-4xx", alone=True, follows="http-notification-202")
async def bad_notifications_are_refused_by_status(probe: Probe) -> AsyncIterator[Finding]:
    """POST a notification whose params are a number: the status is 202, or one of 400 to 499."""
    async with http_session(probe) as http:
        raw = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": 5}
        named = {VERSION: probe.dialect.version, "Mcp-Method": "notifications/cancelled"}
        seen = await http.post(raw, {} if probe.dialect.handshake else named)
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


@probed("http-sse-contains-response", alone=True, follows=("http-sse-not-closed-early", "base-response-once-server"))
async def streams_bring_the_answer(probe: Probe) -> AsyncIterator[Finding]:
    """POST requests: a stream that is opened for one brings its answer, or an event id with which it can be resumed."""
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


async def _streams(probe: Probe) -> AsyncIterator[tuple[Json, HttpResponse]]:
    none = True
    async for raw, seen in _conversation(probe):
        if seen.streamed and not seen.refused:
            none = False
            yield raw, seen
    if none:
        raise NotSeen("no request is answered with a stream")


async def _conversation(probe: Probe) -> AsyncIterator[tuple[Json, HttpResponse]]:
    """Harmless requests with their answers, read to the end."""
    async with http_session(probe) as http:
        for method in _harmless(probe):
            raw = http.request(method)
            yield raw, await http.post(raw, until=until_end)


def _harmless(probe: Probe) -> Iterator[str]:
    yield "ping" if probe.dialect.handshake else "server/discover"
    for capability in ("tools", "resources", "prompts"):
        if probe.declares(capability):
            yield f"{capability}/list"
