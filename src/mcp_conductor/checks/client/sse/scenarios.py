"""HTTP as older servers speak it, and streams that break: HTTP+SSE, 404 with and without a body, re-issued requests."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ClientRecord, HttpRequest, seen
from mcp_conductor.checks.harness.http_server import MESSAGES, PATH, QUERY, WebHost
from mcp_conductor.checks.harness.scenario import HTTP, MODERNS, scenario, watched
from mcp_conductor.checks.harness.scripted_server import Disconnected, ScriptCall, ServerScript, notice
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import HANDSHAKE
from mcp_conductor.report.model import Finding
from mcp_conductor.server.http.exchange import HttpExchange

_NOT_SPOKEN = "the client does not speak HTTP+SSE"


@scenario("old-transport", transports=("http",))
class OldTransport(ServerScript):
    """The server speaks HTTP+SSE only: POST to its URL is refused, GET opens the stream of all answers."""

    old_only = True

    def __init__(self, record: ClientRecord, version: str | None) -> None:
        super().__init__(record, HANDSHAKE[0] if version in MODERNS else version)

    async def web(self, host: WebHost, exchange: HttpExchange, request: HttpRequest) -> bool:
        del host, exchange
        if request.path == PATH and (request.method != "GET" or request.takes_events):
            self.did("opened" if request.method == "GET" else "refused")
        return False


@scenario("cut-stream", revisions=MODERNS, transports=HTTP, needs="tools/call")
class CutStream(ServerScript):
    """The stream of the first call breaks before its answer."""

    async def call_tool(self, call: ScriptCall) -> Json:
        if "cut" not in self.record.moments:
            self.did("cut")
            await call.say(notice("notifications/conductor/soon"))
            raise Disconnected
        return await super().call_tool(call)


@watched("sse-compat-fallback-client", scenario="old-transport")
def old_servers_are_spoken_to(record: ClientRecord) -> Iterator[Finding]:
    """Refuse POST with 405 and open a stream for GET: a client that wants old servers speaks HTTP+SSE there."""
    if "refused" not in record.moments:
        raise NotSeen("the client did not begin with POST")
    if "opened" not in record.moments:
        raise NotSeen(_NOT_SPOKEN)
    # Some clients of Streamable HTTP open a stream to listen before they say anything.
    if record.moments["opened"] < record.moments["refused"]:
        raise NotSeen(_NOT_SPOKEN)
    if not record.connections[-1].requests("initialize"):
        yield fault("the client opened the stream of an old server, but sent nothing to it", record.last_words())


@watched("sse-client-posts-to-endpoint", scenario="old-transport")
def messages_go_to_the_endpoint(record: ClientRecord) -> Iterator[Finding]:
    """Announce a relative endpoint with a query: every message is POSTed there."""
    if "opened" not in record.moments:
        raise NotSeen(_NOT_SPOKEN)
    streams = (each for each in record.http if each.method == "GET" and each.path == PATH and each.takes_events)
    opened = next(streams).at
    posted = [each for each in record.http if each.method == "POST" and each.at > opened]
    seen(posted, "the client sent nothing")
    for request in seen([each for each in posted if not _is_streamable(each)], _NOT_SPOKEN):
        if request.path != MESSAGES or request.query != QUERY:
            yield fault(
                f"a message was sent to {request.path}?{request.query}, not to {MESSAGES}?{QUERY}", beside=[request]
            )


def _is_streamable(request: HttpRequest) -> bool:
    """Whether a POST is one of Streamable HTTP: to the URL of the server, and ready for both kinds of answers."""
    accepted = request.header("accept") or ""
    return request.path == PATH and "application/json" in accepted and "text/event-stream" in accepted


@watched("httpm-reissue-new-id-client", scenario="cut-stream")
def broken_requests_are_made_again(record: ClientRecord) -> Iterator[Finding]:
    """Cut a stream before its answer: a client that tries again does so with a new id, and without Last-Event-ID."""
    if "cut" not in record.moments:
        raise NotSeen("the client calls no tools")
    calls = [pair for pair in record.posts() if pair[1].kind == "request" and pair[1].method == "tools/call"]
    first = calls[0][1]
    again = [pair for pair in calls[1:] if pair[1].params.get("name") == first.params.get("name")]
    resumed = [each for each in record.http if each.header("last-event-id") is not None]
    for request in resumed:
        yield fault("Last-Event-ID was sent, but streams cannot be resumed", str(request), beside=[request])
    for _, message in again:
        if message.id == first.id:
            yield fault("a request was sent again with the same id", message.raw, path="id")
    if not again and not resumed:
        raise NotSeen("the client did not try again")
