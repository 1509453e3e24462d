"""Messages of a client: JSON-RPC, ids, `_meta`, and one at a time."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ClientRecord, seen
from mcp_conductor.checks.harness.scenario import scenario, watched
from mcp_conductor.checks.harness.scripted_server import ServerScript
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.report.model import Finding


@scenario("plain")
class PlainServer(ServerScript):
    """A server that does everything right, in the revision that the client wants."""


def _replies(record: ClientRecord) -> list[Message]:
    found = [each for each in record.said if each.kind in ("result", "error") or _is_double(each)]
    return seen(found, "the client answered nothing")


def _is_double(message: Message) -> bool:
    return isinstance(message.raw, dict) and "result" in message.raw and "error" in message.raw


# What other requirements are about, each of which names its own trouble.
_OTHERS = ("id", "params", "method", "batch", "both result", "error.", "error must", "not UTF-8")


@watched("base-jsonrpc-envelope-client", recorded="messages")
def messages_are_jsonrpc(record: ClientRecord) -> Iterator[Finding]:
    """Look at every message of the client: it is a JSON object with jsonrpc "2.0", of one of the known kinds."""
    for message in seen(record.said, "the client said nothing"):
        problem = message.problem
        told_elsewhere = record.connections[0].transport == "stdio" and message.raw is None
        if problem is not None and not told_elsewhere and not any(word in problem for word in _OTHERS):
            yield fault(f"a message is not valid: {problem}", message.raw if message.raw is not None else message.text)


@watched("base-utf8-client", recorded="messages")
def messages_are_utf8(record: ClientRecord) -> Iterator[Finding]:
    """Look at the bytes of every message of the client: they are UTF-8."""
    for message in seen(record.said, "the client said nothing"):
        if message.problem is not None and message.problem.startswith("not UTF-8"):
            yield fault(
                message.problem, message.text.encode(errors="surrogateescape").decode(errors="backslashreplace")
            )


def _calls(record: ClientRecord) -> list[Any]:
    found = [each.raw for each in record.said if isinstance(each.raw, dict) and "method" in each.raw]
    return seen(found, "the client sent no request")


@watched("base-request-id-type-client", recorded="messages")
def ids_are_strings_or_integers(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request: its id is a string or an integer."""
    for raw in _calls(record):
        if "id" in raw and (not isinstance(raw["id"], (str, int)) or isinstance(raw["id"], bool)):
            yield fault(f"a request has the id {compact(raw['id'])}", raw, path="id")


@watched("base-request-id-unique-session-client", recorded="conversation")
def ids_are_never_used_again(record: ClientRecord) -> Iterator[Finding]:
    """Look at all requests of a session: no two have the same id."""
    for connection in record.connections:
        # Without a count: the same mistake in another scenario is the same finding.
        for message in connection.reused_ids:
            first = next(each.raw for each in connection.requests() if each.id == message.id)
            told = f"several requests of one session have the id {compact(message.id)}"
            yield fault(told, message.raw, path="id", beside=[first])
    seen(record.requests(), "the client sent no request")


@watched("base-request-id-unique-inflight-client", recorded="conversation")
def ids_differ_from_those_that_wait(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request: no other open request has its id."""
    for connection in record.connections:
        waiting: dict[Any, Message] = {}
        for _, source, message in connection.transcript.spoken():
            key = (type(message.id).__name__, message.id)
            if source == "client" and message.kind == "request":
                if key in waiting:
                    told = f"two open requests have the id {compact(message.id)}"
                    yield fault(told, message.raw, path="id", beside=[waiting[key].raw])
                waiting[key] = message
            elif source == "server" and message.kind in ("result", "error"):
                waiting.pop(key, None)
    seen(record.requests(), "the client sent no request")


@watched("base-request-method-string-client", recorded="messages")
def methods_are_strings(record: ClientRecord) -> Iterator[Finding]:
    """Look at every message with an id and no answer in it: its method is a string, and not empty."""
    for message in seen(record.said, "the client said nothing"):
        raw = message.raw
        if not isinstance(raw, dict) or "result" in raw or "error" in raw or "id" not in raw:
            continue
        method = raw.get("method")
        if not isinstance(method, str) or not method:
            yield fault("a request has no method" if method is None else "method is not a string", raw, path="method")


@watched("base-params-object-client", recorded="messages")
def params_are_objects(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request and notification: params, if there are any, are an object."""
    for raw in _calls(record):
        if "params" in raw and not isinstance(raw["params"], dict):
            yield fault("params are not an object", raw, path="params")


@watched("base-notification-shape-client", recorded="messages")
def notifications_have_no_id(record: ClientRecord) -> Iterator[Finding]:
    """Look at every message whose method begins with notifications/: it has no id, and its params are an object."""
    found = [raw for raw in _calls(record) if str(raw["method"]).startswith("notifications/")]
    for raw in seen(found, "the client sent no notification"):
        if "id" in raw:
            yield fault(f"{raw['method']} has an id", raw, path="id")
        if "params" in raw and not isinstance(raw["params"], dict):
            yield fault(f"the params of {raw['method']} are not an object", raw, path="params")


@watched("base-response-result-xor-error-client", recorded="messages")
def answers_have_a_result_or_an_error(record: ClientRecord) -> Iterator[Finding]:
    """Look at every answer of the client: it has a result or an error, not both."""
    for message in _replies(record):
        if _is_double(message):
            yield fault("an answer has both result and error", message.raw)


@watched("base-error-shape-client", recorded="messages")
def errors_have_code_and_message(record: ClientRecord) -> Iterator[Finding]:
    """Look at every error of the client: its code is an integer, its message a string."""
    found = [each for each in record.said if each.kind == "error"]
    for message in seen(found, "the client answered with no error"):
        error = message.error if isinstance(message.error, dict) else {}
        code = error.get("code")
        if not isinstance(code, int) or isinstance(code, bool):
            yield fault("error.code is not an integer", message.raw, path="error.code")
        if not isinstance(error.get("message"), str):
            yield fault("error.message is not a string", message.raw, path="error.message")


@watched("batch-removed-client", "http-single-message-body-client", recorded="messages")
def no_batches(record: ClientRecord) -> Iterator[Finding]:
    """Look at every line or body: it is one message, not an array of them."""
    for text, batch in _texts(record):
        if batch:
            yield fault("several messages were sent at once, as an array", text)


@watched("batch-initialize-excluded-client", recorded="messages")
def initialize_stands_alone(record: ClientRecord) -> Iterator[Finding]:
    """Look at the first line or body: initialize is not in an array."""
    for text, batch in _texts(record):
        if batch and '"initialize"' in text:
            yield fault("initialize was sent in a batch", text)


def _texts(record: ClientRecord) -> Iterator[tuple[str, bool]]:
    seen = False
    for connection in record.connections:
        for _, source, message in connection.transcript.decoded():
            if source == "client":
                seen = True
                yield message.text, message.kind == "batch"
    if not seen:
        raise NotSeen("the client said nothing")
