"""What a client answers: pings, unknown methods, and with which id."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.odd_messages import may_change
from mcp_conductor.checks.engine.replies import error_code
from mcp_conductor.checks.harness.client_record import ClientConnection, ClientRecord, seen
from mcp_conductor.checks.harness.scenario import HANDSHAKES, PLAIN, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ScriptCall, ServerScript
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.report.model import Finding

_ANSWERS = ("result", "error")
_UNKNOWN = "conductor/unknown"
_PROPER = (PLAIN, "pings", "questions")  # scenarios in which the server sends only what can be answered
_IDS = (1001, "ping-1", "1002", 2**53 - 1)  # the last is the largest integer that every reader of JSON keeps


@scenario("pings", revisions=HANDSHAKES)
class Pings(ServerScript):
    """Before its first answer the server pings several times, and sends a request with an unknown method."""

    asks = True

    async def before(self, call: ScriptCall) -> None:
        if self.count == 1:
            for method, identity in (*(("ping", each) for each in _IDS), (_UNKNOWN, "unknown-1")):
                if await call.ask(method, identity=identity) is None:
                    return


def _strange(record: ClientRecord) -> list[Message]:
    """Answers to nothing that we asked."""
    known = {_key(each.question) for connection in record.connections for each in connection.asked()}
    return [each for each in record.said if each.kind in _ANSWERS and _key(each) not in known]


def _key(message: Message) -> tuple[bool, Id | None]:
    """Equal for the same id only: 1 and "1" are two, 1 and 1.0 are one number in JSON."""
    return isinstance(message.id, str), message.id


@watched("ping-response-client", scenario="pings", recorded="conversation", follows=("base-response-id-echo-client",))
def pings_are_answered(record: ClientRecord) -> Iterator[Finding]:
    """Ping while a request is open: each ping is answered with a result. The schema allows members in it."""
    if _strange(record):
        raise NotSeen("the answer has another id")
    for question, reply in record.asked("ping"):
        if reply is None and not record.recorded:
            yield fault("a ping was not answered", question.raw)
        elif reply is None:
            continue
        elif reply.kind == "error":
            yield fault("a ping was answered with an error", reply.raw)
        elif not isinstance(reply.result, dict):
            yield fault("the result of a ping is not an object", reply.raw, path="result")


@watched("base-response-id-echo-client", recorded="conversation")
def answers_repeat_the_id(record: ClientRecord) -> Iterator[Finding]:
    """Ask with integers and with strings as ids: each question has one answer, with its id, of the same type."""
    if not record.recorded:
        record.asked()
    elif any(may_change(each) for connection in record.connections for each in connection.questions):
        raise NotSeen("the server used a number as an id that need not come back as it was")
    if record.recorded or record.name in _PROPER:
        for reply in _strange(record):
            told = f"an answer has the id {compact(reply.raw.get('id'))}, which no question has"
            yield fault(told, reply.raw, path="id")
    for connection in record.connections:
        if not _may_say_again(record, connection):
            yield from _second_answers(connection)
    seen([each for each in record.said if each.kind in _ANSWERS], "the client answered nothing")


def _may_say_again(record: ClientRecord, connection: ClientConnection) -> bool:
    """Whether an answer of the client was not taken, so that it may send it once more."""
    answers = [each for each, message in record.posts() if each.connection is connection and message.kind in _ANSWERS]
    return any(each.status >= 300 or (not each.status and not record.recorded) for each in answers)


def _second_answers(connection: ClientConnection) -> Iterator[Finding]:
    left = Counter(question.id for question in connection.questions)
    first: dict[Any, Message] = {}
    for message in connection.said:
        if message.kind in _ANSWERS and message.id in left:
            left[message.id] -= 1
            if left[message.id] < 0:
                told = f"the request {compact(message.id)} is answered a second time"
                yield fault(told, message.raw, path="id", beside=[first[message.id].raw])
                return
            first.setdefault(message.id, message)


@watched("base-method-not-found-client", scenario="pings", follows=("base-response-id-echo-client",))
def unknown_methods_are_refused(record: ClientRecord) -> Iterator[Finding]:
    """Send a request with an unknown method: the answer is the error -32601."""
    for question, reply in record.asked(_UNKNOWN):
        if reply is None:
            yield fault(f"{question.method} was not answered", question.raw)
        elif reply.kind != "error" or error_code(reply) != METHOD_NOT_FOUND:
            yield fault(f"{question.method} was not answered with {METHOD_NOT_FOUND}", reply.raw)
