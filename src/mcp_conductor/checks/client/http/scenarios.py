"""A client's end of Streamable HTTP: what its requests say in their headers, and how it reads the answers."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ANYTHING, ClientRecord, HttpRequest, excerpt, seen
from mcp_conductor.checks.harness.http_server import WebHost
from mcp_conductor.checks.harness.scenario import HTTP, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol.dialect import HANDSHAKE, versions_with
from mcp_conductor.protocol.message import Message, compact, decode
from mcp_conductor.report.model import Finding
from mcp_conductor.server.http.exchange import HttpExchange

SESSIONS = versions_with(lambda each: each.http_session)
_PRIMED = versions_with(lambda each: each.priming_event)
_OLDER, _NEWEST = HANDSHAKE[-2:]
_JSON, _EVENTS = "application/json", "text/event-stream"
_RETRY_MILLISECONDS = 1200


@scenario("events", transports=HTTP)
class Events(ServerScript):
    """Every answer is an event stream, with comments, lines that end in CR LF, and data in several lines."""

    events = True

    def event(self, text: str) -> bytes:
        self.did("streamed")
        lines = text.replace(",", ",\n", 1).split("\n")
        data = "".join(f"data: {line}\r\n" for line in lines)
        return f": still here\r\n\r\nevent: message\r\n{data}\r\n".encode()


@scenario("lost-session", revisions=SESSIONS, transports=HTTP, needs=ANYTHING)
class LostSession(ServerScript):
    """The server forgets the session, and answers the next request with 404."""

    async def web(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> bool:
        asks = b'"id"' in request.body and b'"initialize"' not in request.body and request.method == "POST"
        if not asks or "lost" in self.record.moments or request.header("mcp-session-id") is None:
            return False
        self.did("lost")
        await host.reply(exchange, request, 404)
        return True


@scenario("primed", revisions=_PRIMED, transports=HTTP, needs=ANYTHING)
class Primed(ServerScript):
    """Every stream opens with an event that has an id and no data."""

    events = True
    opening = b"id: primed-1\ndata:\n\n"

    def event(self, text: str) -> bytes:
        self.did("primed")
        return self.opening + super().event(text)


@scenario("broken-stream", revisions=SESSIONS, transports=HTTP, seconds=6.0, needs=ANYTHING)
class BrokenStream(ServerScript):
    """The first stream ends after one event; a GET with Last-Event-ID brings the rest."""

    def __init__(self, record: ClientRecord, version: str | None) -> None:
        super().__init__(record, version)
        self.kept: Message | None = None

    async def web(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> bool:
        wants = request.method == "POST" and b'"id"' in request.body and b'"initialize"' not in request.body
        if wants and "broken" not in self.record.moments and b'"method"' in request.body:
            await self._break(host, exchange, request)
            return True
        if request.method == "GET" and request.header("last-event-id") and self.kept is not None:
            self.did("resumed")
            connection = host.connection_of(request, self.kept)
            answer = await self.reply(ScriptCall(self.record, self.kept, connection, _NoChannel()))
            text = compact(answer)
            host.state.note(connection, "server", text)
            request.status = 200
            exchange.begin()
            await exchange.write(b"id: kept-2\n" + self.event(text), more=False)
            return True
        return False

    async def _break(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> None:
        self.did("broken")
        message = request.message = self.kept = decode(request.body)
        connection = request.connection = host.connection_of(request, message)
        host.state.note(connection, "client", message.text)
        request.status = 200
        exchange.begin()
        retry = f"retry: {_RETRY_MILLISECONDS}\n".encode() if self.version in _PRIMED else b""
        await exchange.write(b"id: kept-1\n" + retry + b"data:\n\n", more=False)


class _NoChannel:
    """A stream that was resumed: the answer is all that is left to say on it."""

    async def say(self, text: str) -> None: ...

    async def write_stderr(self, text: str) -> None: ...

    async def ask(self, raw: Any, seconds: float) -> None: ...


def _posts(record: ClientRecord) -> list[tuple[HttpRequest, Message]]:
    found = [pair for pair in record.posts() if pair[0].path == record.endpoint]
    return seen(found, "the client POSTed nothing")


def _types(request: HttpRequest, name: str) -> list[str]:
    joined = ",".join(request.headers.get(name, []))
    return [part.split(";")[0].strip().lower() for part in joined.split(",")]


@watched("http-post-per-message-client", scenario="plain", recorded="messages")
def messages_are_posted(record: ClientRecord) -> Iterator[Finding]:
    """Look at all requests to the endpoint: every message is a POST of its own."""
    for _, message in _posts(record):
        if message.kind == "invalid" and message.raw is None:
            yield fault("the body of a POST is not one message", excerpt(message.text))
    for request in record.http:
        if request.path == record.endpoint and request.method not in ("POST", "GET", "DELETE") and request.body:
            yield fault(f"a message was sent by {request.method}", str(request), beside=[request])


@watched("http-accept-header-client", recorded="messages")
def both_kinds_of_answers_are_accepted(record: ClientRecord) -> Iterator[Finding]:
    """Look at every POST: its Accept header lists application/json and text/event-stream."""
    for request, _ in _posts(record):
        missing = [kind for kind in (_JSON, _EVENTS) if kind not in _types(request, "accept")]
        if missing:
            yield fault(
                f"the Accept header of {request} does not list {' and '.join(missing)}",
                request.header("accept"),
                beside=[request],
            )


@watched("http-content-type-client", recorded="messages")
def bodies_are_json(record: ClientRecord) -> Iterator[Finding]:
    """Look at every POST: its Content-Type is application/json."""
    for request, _ in _posts(record):
        if _types(request, "content-type") != [_JSON]:
            yield fault(
                f"the Content-Type of {request} is not {_JSON}", request.header("content-type"), beside=[request]
            )


def _gets(record: ClientRecord) -> list[HttpRequest]:
    # Before its first POST a client may look what is there, and want no stream.
    began = next((each.at for each in record.http if each.method == "POST"), 0.0)
    gets = [each for each in record.http if each.method == "GET" and each.path == record.endpoint]
    found = [each for each in gets if each.at > began or each.takes_events]
    return seen(found, "the client sent no GET")


@watched("http-get-accept-client", recorded="messages")
def streams_are_accepted(record: ClientRecord) -> Iterator[Finding]:
    """Look at every GET: its Accept header lists text/event-stream."""
    for request in _gets(record):
        if _EVENTS not in _types(request, "accept"):
            yield fault(
                f"the Accept header of {request} does not list {_EVENTS}", request.header("accept"), beside=[request]
            )


@watched("http-get-405-tolerated-client", scenario="plain")
def there_need_be_no_stream(record: ClientRecord) -> Iterator[Finding]:
    """Answer GET with 405: the client goes on by POST."""
    at = _gets(record)[0].at
    if any(each.at > at for each, _ in _posts(record)):
        return
    if record.exit_code is None:
        raise NotSeen("the client sent nothing after its GET, and does not end by itself")
    if record.exit_code != 0:
        yield fault("the client gave up after 405 for its GET", record.last_words())


@watched("http-both-response-kinds-client", "httpm-sse-comments-client", scenario="events")
def event_streams_are_taken(record: ClientRecord) -> Iterator[Finding]:
    """Answer with event streams, with comments and data in several lines: the client behaves as it does with JSON."""
    yield from record.survived("answers as event streams", "streamed")


def _after_opening(record: ClientRecord) -> list[HttpRequest]:
    """What was sent to the endpoint as part of a session, or in an agreed revision."""
    found: list[HttpRequest] = []
    opened = False
    for request in record.http:
        if request.path != record.endpoint:
            continue
        first = request.message is not None and _method(request.message) in ("initialize", "server/discover")
        if first and request.message is not None and _method(request.message) == "initialize":
            opened = request.status == 200
        elif opened and not first:
            found.append(request)
    return seen(found, "the client sent nothing after initialize")


def _method(message: Message) -> Any:
    return message.raw.get("method") if isinstance(message.raw, dict) else None


@watched("http-version-header-client", scenario=("plain", "sparse", "older-version"), recorded="conversation")
def the_revision_is_named(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request after initialize, of any method: it has the header MCP-Protocol-Version."""
    if record.dialect is None or not record.dialect.version_header:
        raise NotSeen("the revision has no such header")
    for request in _after_opening(record):
        if request.header("mcp-protocol-version") is None:
            yield fault(f"{request} has no MCP-Protocol-Version", dict(request.headers), beside=[request])


@scenario("older-version", revisions=(_NEWEST,), transports=HTTP)
class OlderVersion(ServerScript):
    """The server answers initialize with an older revision than the client asked for."""

    def chosen_version(self, asked: Any, usual: str) -> str:
        del asked, usual
        return _OLDER


@watched("http-version-header-negotiated-client", scenario=("plain", "older-version"), recorded="conversation")
def the_agreed_revision_is_named(record: ClientRecord) -> Iterator[Finding]:
    """Answer initialize with an older revision: MCP-Protocol-Version is that one, not the one asked for."""
    version = record.connection.dialect.version if record.connection.dialect else None
    found = [each for each in _after_opening(record) if each.header("mcp-protocol-version") is not None]
    for request in seen(found, "the client sent no MCP-Protocol-Version"):
        said = request.header("mcp-protocol-version")
        if said != version:
            yield fault(f"{request}: MCP-Protocol-Version is {said}, but {version} was agreed", beside=[request])


@watched("session-id-sent-client", scenario=("plain", "pages", "sparse"))
def the_session_is_named(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request after initialize, of any method: it has the session id that the server gave."""
    known = {connection.session for connection in record.connections if connection.session is not None}
    seen(list(known), "there was no session")
    for request in _after_opening(record):
        said = request.header("mcp-session-id")
        if said not in known:
            yield fault(
                f"{request} {'has no Mcp-Session-Id' if said is None else 'has the Mcp-Session-Id of another session'}",
                beside=[request],
            )


@watched("session-delete-client", scenario="plain")
def sessions_are_ended(record: ClientRecord) -> Iterator[Finding]:
    """Look at the end: the client deletes its session."""
    seen([connection for connection in record.connections if connection.session is not None], "there was no session")
    if record.exit_code is None:
        raise NotSeen("the client does not end by itself")
    if not any(each.method == "DELETE" for each in record.http):
        yield fault("the client ended, but did not DELETE its session")


@watched("session-404-reinitialize-client", scenario="lost-session")
def lost_sessions_begin_again(record: ClientRecord) -> Iterator[Finding]:
    """Answer a request of a session with 404: the client sends initialize again, without a session id."""
    if "lost" not in record.moments:
        raise NotSeen("the client sent no session id")
    lost = next(each for each in record.http if each.status == 404 and each.header("mcp-session-id"))
    later = [each for each in record.http if each.at > lost.at]
    again = [each for each in later if each.message is not None and _method(each.message) == "initialize"]
    if not again:
        yield fault("the client did not send initialize again after 404", record.last_words() or str(lost))
    elif again[0].header("mcp-session-id") is not None:
        yield fault("initialize was sent with the id of the lost session", dict(again[0].headers), beside=again[:1])


@watched("resume-priming-event-client", scenario="primed")
def events_may_be_empty(record: ClientRecord) -> Iterator[Finding]:
    """Begin every stream with an event that has an id and no data: the client behaves as it does without that."""
    yield from record.survived("an event without data", "primed")


def _resumption(record: ClientRecord) -> tuple[float, HttpRequest]:
    """When the stream ended, and the GET that followed."""
    if "broken" not in record.moments:
        raise NotSeen("the client made no request")
    posted = next(each for each, message in _posts(record) if each.status == 200 and _method(message) != "initialize")
    found = [
        each for each in record.http if each.method == "GET" and each.at > posted.at and each.header("last-event-id")
    ]
    if not found:
        raise NotSeen("the client did not resume the stream")
    return posted.at, found[0]


@watched("resume-last-event-id-client", "resume-poll-client", scenario="broken-stream")
def streams_are_resumed(record: ClientRecord) -> Iterator[Finding]:
    """End a stream after its first event: the client sends GET with Last-Event-ID, and reads the rest."""
    if "broken" not in record.moments:
        raise NotSeen("the client made no request")
    try:
        _, request = _resumption(record)
    except NotSeen:
        yield fault("the client did not resume a stream with Last-Event-ID", record.last_words())
        return
    if request.header("last-event-id") != "kept-1":
        yield fault("Last-Event-ID is not the id of the last event", request.header("last-event-id"), beside=[request])


@watched("resume-retry-respected-client", scenario="broken-stream")
def retry_is_waited_for(record: ClientRecord) -> Iterator[Finding]:
    """End a stream with a retry of 1.2 s: the client does not reconnect sooner."""
    at, request = _resumption(record)
    waited = (request.at - at) * 1000
    if waited < _RETRY_MILLISECONDS * 0.9:
        yield fault(
            f"the client reconnected after {waited:.0f} ms, but retry is {_RETRY_MILLISECONDS} ms", beside=[request]
        )
