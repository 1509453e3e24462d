"""What a client's requests say: calls, reads, prompts, completions, log levels, progress tokens and cancellations."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ANYTHING, ClientRecord, meta_of, never, seen
from mcp_conductor.checks.harness.scenario import watched
from mcp_conductor.protocol.dialect import LOG_LEVELS
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.report.model import Finding

_PARAMS = ("base-params-object-client",)
_CROSSING_SECONDS = 0.5  # an answer and a cancellation may pass each other on the way


def _requests(record: ClientRecord, method: str) -> list[Message]:
    return seen(record.requests(method), never(method))


@watched("tools-client-call-shape", recorded="messages", follows=_PARAMS)
def calls_name_a_tool(record: ClientRecord) -> Iterator[Finding]:
    """Look at every tools/call: its name is a string, its arguments are an object."""
    for request in _requests(record, "tools/call"):
        if not isinstance(request.params.get("name"), str):
            yield fault("tools/call has no name", request.raw, path="params.name")
        if not isinstance(request.params.get("arguments", {}), dict):
            yield fault("the arguments of tools/call are not an object", request.raw, path="params.arguments")


@watched("resources-read-client-shape", recorded="messages", follows=_PARAMS)
def reads_name_a_resource(record: ClientRecord) -> Iterator[Finding]:
    """Look at every resources/read: its uri is a string."""
    for request in _requests(record, "resources/read"):
        if not isinstance(request.params.get("uri"), str):
            yield fault("resources/read has no uri", request.raw, path="params.uri")


@watched("prompts-get-client-shape", recorded="messages", follows=_PARAMS)
def prompts_take_strings(record: ClientRecord) -> Iterator[Finding]:
    """Look at every prompts/get: its name is a string, its arguments are an object of strings."""
    for request in _requests(record, "prompts/get"):
        if not isinstance(request.params.get("name"), str):
            yield fault("prompts/get has no name", request.raw, path="params.name")
        given = request.params.get("arguments", {})
        if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
            yield fault(
                "the arguments of prompts/get are not an object of strings", request.raw, path="params.arguments"
            )


@watched("completion-request-client", recorded="messages", follows=_PARAMS)
def completions_name_what_they_complete(record: ClientRecord) -> Iterator[Finding]:
    """Look at every completion/complete: ref is a prompt by name or a resource by uri, argument has name and value."""
    for request in _requests(record, "completion/complete"):
        ref, argument = request.params.get("ref"), request.params.get("argument")
        kind = str(ref.get("type")) if isinstance(ref, dict) else ""
        member = {"ref/prompt": "name", "ref/resource": "uri"}.get(kind)
        if member is None or not isinstance(ref, dict) or not isinstance(ref.get(member), str):
            yield fault("ref is neither a prompt nor a resource", request.raw, path="params.ref")
        for name in ("name", "value"):
            if not isinstance(argument, dict) or not isinstance(argument.get(name), str):
                yield fault(f"argument has no {name}", request.raw, path=f"params.argument.{name}")


@watched("logging-setlevel-client", recorded="messages", follows=_PARAMS)
def levels_are_known(record: ClientRecord) -> Iterator[Finding]:
    """Look at every logging/setLevel: the level is one of the eight of RFC 5424."""
    for request in _requests(record, "logging/setLevel"):
        if request.params.get("level") not in LOG_LEVELS:
            yield fault("level is not one of the eight of RFC 5424", request.raw, path="params.level")


def _token(message: Message) -> Any:
    return meta_of(message).get("progressToken")


@watched("progress-token-request", recorded="messages")
def progress_tokens_are_strings_or_integers(record: ClientRecord) -> Iterator[Finding]:
    """Look at every progressToken: it is a string or an integer."""
    found = [each for each in record.requests() if "progressToken" in meta_of(each)]
    for request in seen(found, "the client asked for no progress"):
        token = _token(request)
        if not isinstance(token, (str, int)) or isinstance(token, bool):
            yield fault(
                "a progressToken is neither a string nor an integer", request.raw, path="params._meta.progressToken"
            )


@watched("progress-token-unique-client", recorded="conversation")
def progress_tokens_are_unique(record: ClientRecord) -> Iterator[Finding]:
    """Look at every request that wants progress: no other open request has the same token."""
    for connection in record.connections:
        waiting: dict[Any, Any] = {}
        for _, source, message in connection.transcript.spoken():
            if source == "client" and message.kind == "request" and _token(message) is not None:
                key = compact(_token(message))
                if key in waiting.values():
                    yield fault(f"two open requests have the progressToken {key}", message.raw)
                waiting[message.id] = key
            elif source == "server" and message.kind in ("result", "error"):
                waiting.pop(message.id, None)
    seen([each for each in record.requests() if _token(each) is not None], "the client asked for no progress")


@watched("progress-client-sends-none-modern", "roots-modern-no-listchanged-client", recorded="messages")
def some_notifications_are_gone(record: ClientRecord) -> Iterator[Finding]:
    """Look at all notifications: none is one of progress or of changed roots, which clients no longer send."""
    if record.is_idle and not record.notifications():
        raise NotSeen(never(ANYTHING))
    for message in record.said:
        if message.kind == "notification" and message.method in (
            "notifications/progress",
            "notifications/roots/list_changed",
        ):
            yield fault(f"{message.method} was sent, but clients of this revision do not send it", message.raw)


def _cancellations(record: ClientRecord) -> list[Message]:
    return seen(record.notifications("notifications/cancelled"), "the client cancelled nothing")


@watched("cancel-notification-shape-client", recorded="conversation")
def cancellations_name_a_request(record: ClientRecord) -> Iterator[Finding]:
    """Look at every notifications/cancelled: requestId is the id of a request, of its type; a reason is a string."""
    known = {(type(each.id).__name__, str(each.id)) for each in record.requests()}
    named = {text for _, text in known}
    for message in _cancellations(record):
        identity = message.params.get("requestId")
        is_known = (type(identity).__name__, str(identity)) in known
        if not is_known and (identity is None or str(identity) in named):
            yield fault(
                "requestId is not the id of a request, with the same type", message.raw, path="params.requestId"
            )
        if not isinstance(message.params.get("reason", ""), str):
            yield fault("reason is not a string", message.raw, path="params.reason")


@watched("cancel-only-own-active-client", recorded="conversation")
def only_open_requests_are_cancelled(record: ClientRecord) -> Iterator[Finding]:
    """Look at every notifications/cancelled: its request was sent by the client, and not answered before."""
    _cancellations(record)
    for connection in record.connections:
        known: set[str] = set()
        answered: set[str] = set()
        for at, source, message in connection.transcript.spoken():
            if source == "client" and message.kind == "request":
                known.add(str(message.id))
            elif source == "server" and message.kind in ("result", "error"):
                answered.add(str(message.id))
            elif source == "client" and message.kind == "notification":
                if message.method != "notifications/cancelled":
                    continue
                identity = message.params.get("requestId")
                if identity is not None and str(identity) not in known:
                    yield fault(f"there is no request {compact(identity)} to cancel", message.raw)
                elif (
                    identity is not None and str(identity) in answered and _is_late(connection.transcript, at, identity)
                ):
                    yield fault(f"the request {compact(identity)} was answered already", message.raw)


def _is_late(transcript: Transcript, at: float, identity: Any) -> bool:
    for answered, source, message in transcript.spoken():
        if source == "server" and message.kind in ("result", "error") and str(message.id) == str(identity):
            return at - answered > _CROSSING_SECONDS
    return False


@watched("cancel-not-initialize-client", scenario=("silent-start", "silence"), recorded="conversation")
def initialize_is_not_cancelled(record: ClientRecord) -> Iterator[Finding]:
    """Do not answer initialize: the client may give up, but it does not cancel the request."""
    opened = seen(record.requests("initialize"), "the client sent no initialize")
    ids = [each.id for each in opened]
    for message in record.notifications("notifications/cancelled"):
        if message.params.get("requestId") in ids:
            yield fault("initialize was cancelled", message.raw)
    if record.notifications("notifications/cancelled"):
        return
    if record.name == "silence" or record.recorded:
        raise NotSeen("the client cancelled nothing")
    if record.exit_code is None:
        raise NotSeen(f"the client did not give up within {record.seconds:.0f} s")
