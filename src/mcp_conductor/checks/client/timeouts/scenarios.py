"""A server that does not answer: what a client does when it has waited long enough."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ANYTHING, ClientRecord
from mcp_conductor.checks.harness.scenario import HANDSHAKES, scenario, watched
from mcp_conductor.checks.harness.scripted_server import NoAnswer, ScriptCall, ServerScript
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

_SECONDS = 6.0  # how long we wait for the client to give up


@scenario("silent-start", revisions=HANDSHAKES, seconds=_SECONDS)
class SilentStart(ServerScript):
    """initialize is never answered."""

    async def after_opening(self, call: ScriptCall) -> None:
        if call.method == "initialize":
            raise NoAnswer


@scenario("silence", seconds=_SECONDS, needs=ANYTHING)
class Silent(ServerScript):
    """The first request, or the first call of a tool if the client makes one, is never answered."""

    async def before(self, call: ScriptCall) -> None:
        told = "unanswered" in self.record.moments
        if not told and (call.method == "tools/call" or not self.client_calls_tools):
            self.did("unanswered")
            raise NoAnswer


def _unanswered_request(record: ClientRecord) -> Message:
    """The request that was not answered, of a client that has given it up."""
    if "unanswered" not in record.moments:
        raise NotSeen("the client asked for nothing")
    connection = record.connection
    request = next((each.request for each in connection.exchanges if each.reply is None), None)
    if request is None:
        raise NotSeen("the client used the id of the request again")
    later = connection.requests()[connection.requests().index(request) + 1 :]
    if record.exit_code is None and not later and not record.notifications("notifications/cancelled"):
        raise NotSeen(f"the client did not give up within {record.seconds:.0f} s")
    return request


@watched("lifecycle-client-request-timeout", scenario="silence")
def requests_have_a_time_limit(record: ClientRecord) -> Iterator[Finding]:
    """Do not answer a request: the client gives up. A client that waits longer than the check is not judged."""
    _unanswered_request(record)
    yield from ()


@watched("lifecycle-client-timeout-cancels", "http-cancel-explicit-client", scenario="silence")
def what_is_given_up_is_cancelled(record: ClientRecord) -> Iterator[Finding]:
    """Do not answer a request: a client that gives up sends notifications/cancelled."""
    request = _unanswered_request(record)
    modern_http = record.dialect is not None and not record.dialect.handshake and record.connection.transport != "stdio"
    if modern_http:
        if not any(each.left is not None for each in record.http):
            yield fault("the client gave up, but did not close the stream of the request", request.raw)
        return
    if not _is_cancelled(record, request):
        yield fault("the client gave up, but did not cancel the request", request.raw)


def _is_cancelled(record: ClientRecord, request: Message) -> bool:
    cancelled = record.notifications("notifications/cancelled")
    return any(str(each.params.get("requestId")) == str(request.id) for each in cancelled)


@watched("stdio-cancel-notification-client", scenario="silence")
def abandoned_requests_are_cancelled(record: ClientRecord) -> Iterator[Finding]:
    """Do not answer a request: a client that usually waits for each answer cancels it before it sends the next."""
    request = _unanswered_request(record)
    assert record.plain is not None
    connection = record.connection
    later = connection.requests()[connection.requests().index(request) + 1 :]
    if _is_cancelled(record, request):
        return
    if not later or not _waits_for_each_answer(record.plain):
        raise NotSeen("the client did not go on after the request")
    yield fault(
        f"{later[0].method} was sent, but the request before it was neither answered nor cancelled", request.raw
    )


def _waits_for_each_answer(record: ClientRecord) -> bool:
    """Whether the client waits for each answer before it sends another request."""
    for connection in record.connections:
        open_ones: set[object] = set()
        for _, source, message in connection.transcript.spoken():
            if source == "client" and message.kind == "request":
                if open_ones:
                    return False
                open_ones.add(message.id)
            elif source == "server" and message.kind in ("result", "error"):
                open_ones.discard(message.id)
    return True
