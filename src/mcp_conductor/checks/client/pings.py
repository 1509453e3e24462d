"""What a client answers: pings, unknown methods, and with which id."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.replies import error_code
from mcp_conductor.checks.harness.client_record import ClientRecord, seen
from mcp_conductor.checks.harness.scenario import HANDSHAKES, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol.dialect import METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.report.model import Finding

_UNKNOWN = "conductor/unknown"


@scenario("pings", revisions=HANDSHAKES)
class Pings(ServerScript):
    """Before its first answer the server pings twice, and sends a request with an unknown method."""

    asks = True

    async def before(self, call: ScriptCall) -> None:
        if self.count == 1:
            for method, identity in (("ping", 1001), ("ping", "ping-1"), (_UNKNOWN, "unknown-1")):
                if await call.ask(method, identity=identity) is None:
                    return


def _strange(record: ClientRecord) -> list[Message]:
    """Answers to nothing that we asked."""
    known = {
        (type(each.question.id), each.question.id) for connection in record.connections for each in connection.asked()
    }
    return [each for each in record.said if each.kind in ("result", "error") and (type(each.id), each.id) not in known]


@watched("ping-response-client", scenario="pings", recorded="conversation")
def pings_are_answered(record: ClientRecord) -> Iterator[Finding]:
    """Ping while a request is open: each ping is answered, with an empty result."""
    if _strange(record):
        raise NotSeen("the answer has another id")
    for question, reply in record.asked("ping"):
        if reply is None and not record.recorded:
            yield fault("a ping was not answered", question.raw)
        elif reply is None:
            continue
        elif reply.kind == "error":
            yield fault("a ping was answered with an error", reply.raw)
        elif not isinstance(reply.result, dict) or set(reply.result) - {"_meta"}:
            yield fault("the answer to a ping is not an empty result", reply.raw, path="result")


@watched("base-response-id-echo-client", scenario=("pings", "questions"), recorded="conversation")
def answers_repeat_the_id(record: ClientRecord) -> Iterator[Finding]:
    """Ask with integers and with strings as ids: each answer has the id of its question, of the same type."""
    if not record.recorded:
        record.asked()
    for reply in _strange(record):
        yield fault(f"an answer has the id {compact(reply.raw.get('id'))}, which no question has", reply.raw, path="id")
    seen([each for each in record.said if each.kind in ("result", "error")], "the client answered nothing")


@watched("base-method-not-found-client", scenario="pings")
def unknown_methods_are_refused(record: ClientRecord) -> Iterator[Finding]:
    """Send a request with an unknown method: the answer is the error -32601."""
    for question, reply in record.asked(_UNKNOWN):
        if reply is None:
            yield fault(f"{question.method} was not answered", question.raw)
        elif reply.kind != "error" or error_code(reply) != METHOD_NOT_FOUND:
            yield fault(f"{question.method} was not answered with {METHOD_NOT_FOUND}", reply.raw)
