"""Streamable HTTP on the wire: statuses, content types, Origin, streams."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, NamedTuple

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import (
    EVENTS,
    EVIL_ORIGIN,
    SESSION,
    VERSION,
    HttpProbe,
    HttpResponse,
    http_session,
    until_end,
)
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.timing import eventually
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later


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


SETTLING_SECONDS = 0.2  # for what a server sends on another stream than the one that we read
MANY_SESSIONS = 8
SHORTEST_ID = 16
_VISIBLE = compiled_later(r"[\x21-\x7e]+")
_NUMBER = compiled_later(r"\d+")


# Sessions.


@probed("session-id-visible-ascii", alone=True)
async def session_ids_are_visible(probe: Probe) -> AsyncIterator[Finding]:
    """Open a session: its id has only visible ASCII characters."""
    async with _in_session(probe) as http:
        if not _VISIBLE.fullmatch(http.session or ""):
            told = "the session id has characters that are not visible ASCII"
            yield fault(told, http.session, beside=_openings([http]))


@probed("session-id-secure", alone=True)
async def session_ids_cannot_be_guessed(probe: Probe) -> AsyncIterator[Finding]:
    """Open several sessions: their ids are all different, long enough, and do not count up."""
    opened = []
    for _ in range(MANY_SESSIONS):
        async with _in_session(probe) as http:
            opened.append(http)
    ids = [http.session or "" for http in opened]
    told = None
    if len(set(ids)) < len(ids):
        told = "two sessions have the same id"
    elif min(map(len, ids)) < SHORTEST_ID:
        told = f"session ids are shorter than {SHORTEST_ID} characters"
    elif _counts(ids):
        told = "session ids count up"
    if told is not None:
        yield fault(told, ids, beside=_openings(opened[-2:]))


def _openings(sessions: list[HttpProbe]) -> list[Json]:
    """What gave SESSIONS their ids."""
    return [http.hello.shown() for http in sessions if http.hello is not None]


def _counts(ids: list[str]) -> bool:
    """Whether the ids differ in one number only, which grows."""
    if len({_NUMBER.sub("#", each) for each in ids}) > 1:
        return False
    columns = list(zip(*(map(int, _NUMBER.findall(each)) for each in ids), strict=True))
    moving = [column for column in columns if len(set(column)) > 1]
    return len(moving) == 1 and all(
        0 < after - before < 1000 for before, after in zip(moving[0], moving[0][1:], strict=False)
    )


@probed("session-id-missing-400", alone=True)
async def requests_without_the_session_get_400(probe: Probe) -> AsyncIterator[Finding]:
    """POST ping without the session id: if it is refused, then with the status 400."""
    async with _in_session(probe) as http:
        seen = await http.post(http.anything(), {SESSION: None})
        if seen.refused and seen.status != 400:
            yield fault(f"a request without session id is answered with {seen.status}, not 400", seen.shown())


@probed("session-unknown-404", alone=True)
async def sessions_that_are_over_get_404(probe: Probe) -> AsyncIterator[Finding]:
    """End a session with DELETE and POST in it: the status is 404. A made-up id is not served either."""
    async with _in_session(probe) as http:
        ended = await http.verb("DELETE")
        if not ended.refused:
            seen = await http.post(http.anything())
            if seen.status != 404:
                yield fault(
                    f"a request in a session that was ended is answered with {seen.status}, not 404", seen.shown()
                )
            return
        seen = await http.post(http.anything(), {SESSION: "conductor-no-such-session"})
        if not seen.refused:
            yield fault("a request in a session that never existed is served", seen.shown())


@probed("session-not-authentication", "auths-token-every-request", alone=True)
async def a_session_is_no_credential(probe: Probe) -> AsyncIterator[Finding]:
    """POST in a session without the credentials that opened it: the request is refused."""
    async with http_session(probe) as http:
        names = [name for name in http.spec.headers if name.lower() == "authorization"]
        if not names:
            raise NotSeen("the server is used without credentials")
        without = dict.fromkeys(names)
        stranger = HttpProbe(probe)
        if not (await stranger.post(stranger.initialize(), without)).refused:
            raise NotSeen("the server wants no credentials")
        seen = await http.post(http.anything(), without)
        if not seen.refused:
            yield fault("a request with a session id, but without credentials, is served", seen.shown())


@asynccontextmanager
async def _in_session(probe: Probe) -> AsyncIterator[HttpProbe]:
    """A session with a server that gives out session ids."""
    async with http_session(probe) as http:
        if http.session is None:
            raise NotSeen("the server gives out no session ids")
        yield http


# The version header.


@probed("http-version-header-invalid-400", alone=True)
async def unknown_versions_get_400(probe: Probe) -> AsyncIterator[Finding]:
    """POST in a session with a version header that means nothing: the status is 400."""
    async with http_session(probe) as http:
        for version in ("1999-01-01", "conductor"):
            seen = await http.post(http.anything(), {VERSION: version})
            if seen.status != 400:
                yield fault(f"{VERSION}: {version} is answered with {seen.status}, not 400", seen.shown())


@probed("http-version-header-missing-default", alone=True)
async def a_missing_version_is_assumed(probe: Probe) -> AsyncIterator[Finding]:
    """POST in a session without the version header: the request is served."""
    async with http_session(probe) as http:
        seen = await http.post(http.anything(), {VERSION: None})
        if seen.refused:
            yield fault(f"a request without {VERSION} is answered with {seen.status}", seen.shown())


# The GET stream.


@probed("http-single-endpoint", "http-get-stream-or-405", alone=True)
async def get_is_a_stream_or_405(probe: Probe) -> AsyncIterator[Finding]:
    """GET the URL in a session: the answer is an event stream, or 405."""
    async with http_session(probe) as http:
        try:
            seen = await http.verb("GET", {"Accept": EVENTS})
        except RequestTimeout:
            raise NotSeen("the GET was not answered in time") from None
        if seen.status != 405 and not (seen.status == 200 and seen.streamed):
            yield fault(f"GET is answered with {seen.status}, neither a stream of events nor 405", seen.shown())


@probed("http-get-no-responses", alone=True)
async def get_streams_bring_no_answers(probe: Probe) -> AsyncIterator[Finding]:
    """Hold a GET stream open while requests are posted: no response comes on it."""
    async with http_session(probe) as http, AsyncExitStack() as stack:
        stream = await _listening(http, stack)
        for _ in range(2):
            await http.post(http.anything())
        await asyncio.sleep(SETTLING_SECONDS)
        for message in stream.messages:
            if isinstance(message, dict) and "method" not in message:
                yield fault("a response comes on the GET stream", message, beside=[stream.request])


@probed("http-get-unrelated-only", alone=True)
async def get_streams_bring_no_progress(probe: Probe) -> AsyncIterator[Finding]:
    """Hold a GET stream open while a tool reports progress: it comes with the answer, not on the GET stream."""
    lively = _lively(probe)
    async with http_session(probe) as http, AsyncExitStack() as stack:
        stream = await _listening(http, stack)
        await http.post(_call(http, lively, "conductor-get"))
        await asyncio.sleep(SETTLING_SECONDS)
        for message in stream.messages:
            if _token(message) == "conductor-get":
                told = "the progress of a request comes on the GET stream"
                yield fault(told, message, beside=[stream.request])


@probed("http-no-broadcast", alone=True)
async def messages_come_once(probe: Probe) -> AsyncIterator[Finding]:
    """Hold GET streams open while a tool reports something: each message comes on one of the streams only."""
    lively = _lively(probe)
    async with http_session(probe) as http, AsyncExitStack() as stack:
        streams = [await _listening(http, stack)]
        with suppress(NotSeen):
            streams.append(await _listening(http, stack))
        streams.append(await http.post(_call(http, lively, "conductor-once")))
        await asyncio.sleep(SETTLING_SECONDS)
        counted = Counter(compact(message) for stream in streams for message in _unique_progress(stream))
        for text, times in counted.items():
            if times > 1:
                told = f"the same message comes on {times} streams"
                yield fault(told, text, beside=[stream.shown() for stream in streams])


def _unique_progress(stream: HttpResponse) -> Iterator[Json]:
    """Progress, which never repeats itself; of anything else two alike may be meant to be two."""
    return (message for message in stream.messages if _token(message) == "conductor-once")


@probed("http-sse-related-only", "http-sse-related-only-modern", alone=True)
async def streams_keep_to_their_request(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool that reports progress twice at the same time: each stream has the progress of its own call only."""
    lively = _lively(probe)
    async with http_session(probe) as http:
        tokens = ("conductor-one", "conductor-two")
        seen = await asyncio.gather(*(http.post(_call(http, lively, token)) for token in tokens))
        if not any(each.streamed for each in seen):
            raise NotSeen("no request is answered with a stream")
        for token, each in zip(tokens, seen, strict=True):
            for message in each.messages:
                if _token(message) not in (None, token):
                    yield fault(
                        f"the stream of the call with the token {token} has the progress of another call", message
                    )


async def _listening(http: HttpProbe, stack: AsyncExitStack) -> HttpResponse:
    try:
        stream = await stack.enter_async_context(http.listening())
    except RequestTimeout:
        raise NotSeen("the GET was not answered in time") from None
    if stream.status != 200 or not stream.streamed:
        raise NotSeen("the server offers no GET stream")
    return stream


def _lively(probe: Probe) -> Json:
    """The params of a tool call that reported progress before."""
    for exchange in probe.record().exchanges:
        if exchange.request.method == "tools/call" and exchange.reply is not None and exchange.notices:
            return exchange.request.params
    raise NotSeen("no tool that may be called reports progress")


def _call(http: HttpProbe, params: Json, token: str) -> Json:
    return http.request("tools/call", {**params, "_meta": {"progressToken": token}})


def _token(message: Any) -> Any:
    params = message.get("params") if isinstance(message, dict) else None
    return params.get("progressToken") if isinstance(params, dict) else None


# Coming back.


@probed("resume-event-id-unique", alone=True)
async def event_ids_are_unique(probe: Probe) -> AsyncIterator[Finding]:
    """POST requests in one session: no event id comes twice, on any stream."""
    async with http_session(probe) as http:
        seen = [await http.post(http.anything()) for _ in range(3)]
        ids = [event.id for each in seen for event in each.events if event.id]
        if not ids:
            raise NotSeen("the server gives its events no ids")
        for each, times in Counter(ids).items():
            if times > 1:
                told = f"the event id {each!r} comes {times} times in one session"
                yield fault(told, ids, beside=[answer.shown() for answer in seen])


@probed("resume-no-cross-stream-replay", "resume-event-id-identifies-stream", alone=True)
async def only_the_same_stream_is_resumed(probe: Probe) -> AsyncIterator[Finding]:
    """POST two requests and resume the first stream with its first event id: nothing of the second comes."""
    async with http_session(probe) as http:
        first = await _with_event_id(http)
        other = http.anything()
        answer = await http.post(other)
        try:
            resumed = await http.verb("GET", {"Accept": EVENTS, "Last-Event-ID": first.id})
        except RequestTimeout:
            raise NotSeen("the GET was not answered in time") from None
        if resumed.refused:
            raise NotSeen(f"the server does not resume streams: HTTP {resumed.status}")
        if resumed.reply(other["id"]) is not None:
            told = f"resuming the stream of request {first.raw['id']} brings the answer to {other['id']}"
            yield fault(told, resumed.shown(), beside=[first.answer.shown(), answer.shown()])


@probed("resume-via-get-only", alone=True)
async def streams_of_posts_are_resumed_by_get(probe: Probe) -> AsyncIterator[Finding]:
    """Where GET is offered and events have ids: GET with the id of an event of a POST is not refused."""
    async with http_session(probe) as http:
        first = await _with_event_id(http)
        with suppress(RequestTimeout):
            if (await http.verb("GET", {"Accept": EVENTS})).refused:
                raise NotSeen("the server offers no GET stream")
            seen = await http.verb("GET", {"Accept": EVENTS, "Last-Event-ID": first.id})
            if seen.refused:
                told = f"GET with Last-Event-ID: {first.id} is answered with {seen.status}"
                yield fault(told, seen.shown(), beside=[first.answer.shown()])


@probed("resume-priming-event", alone=True)
async def streams_begin_with_an_id(probe: Probe) -> AsyncIterator[Finding]:
    """POST a request: if a stream answers it, its first event has an id and no data."""
    async with http_session(probe) as http:
        seen = await http.post(http.anything())
        if not seen.streamed or not seen.events:
            raise NotSeen("no request is answered with a stream")
        first = seen.events[0]
        if not first.id or first.data:
            told = "the first event of a stream does not have an id and empty data"
            yield fault(told, {"id": first.id, "data": first.data}, beside=[seen.shown()])


@probed("resume-retry-before-close", alone=True)
async def a_stream_that_ends_early_has_retry(probe: Probe) -> AsyncIterator[Finding]:
    """Where a stream ends before its answer: an event before that has retry."""
    async with http_session(probe) as http:
        raw = http.anything()
        seen = await http.post(raw)
        if not seen.streamed or not seen.ended or seen.reply(raw["id"]) is not None:
            raise NotSeen("no stream ended before its answer")
        if all(event.retry is None for event in seen.events):
            yield fault("the stream ends before its answer, but no event has retry", seen.shown())


@probed("http-disconnect-not-cancellation", alone=True)
async def a_lost_connection_cancels_nothing(probe: Probe) -> AsyncIterator[Finding]:
    """Drop the stream of a call that reports progress, and resume it: the answer is there."""
    lively = _lively(probe)
    async with http_session(probe) as http:
        raw = _call(http, lively, "conductor-drop")
        seen = await http.post(raw, until=lambda seen: bool(seen.events))
        ids = [event.id for event in seen.events if event.id]
        if not ids or seen.reply(raw["id"]) is not None:
            raise NotSeen("the stream could not be dropped before its answer, and resumed")
        async with http.listening({"Last-Event-ID": ids[-1]}) as resumed:
            if resumed.refused:
                raise NotSeen(f"the server does not resume streams: HTTP {resumed.status}")
            await eventually(lambda: resumed.ended or resumed.reply(raw["id"]) is not None, probe.timeout, probe.trail)
        answer = resumed.reply(raw["id"])
        if answer is None:
            told = "the answer to a request whose connection was lost never comes"
            yield fault(told, resumed.shown(), beside=[seen.shown()])


class _Resumable(NamedTuple):
    """A request that was answered with a stream, and the id of its first event."""

    raw: Json
    answer: HttpResponse
    id: str


async def _with_event_id(http: HttpProbe) -> _Resumable:
    raw = http.anything()
    answer = await http.post(raw)
    ids = [event.id for event in answer.events if event.id]
    if not ids:
        raise NotSeen("the server gives its events no ids")
    return _Resumable(raw, answer, ids[0])
