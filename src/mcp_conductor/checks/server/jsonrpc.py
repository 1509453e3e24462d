"""The base protocol as it is spoken: envelopes, ids, results, errors, notifications. For garbage, see malformed.py."""

import re
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged, probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.openings import CAPABILITIES, context, declared_lists, first, initialize
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import code_of, result_of, unasked_replies
from mcp_conductor.errors import RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import METHOD_NOT_FOUND
from mcp_conductor.protocol.message import Message, kind_of
from mcp_conductor.report.model import Finding

_LONGEST_MESSAGE = 300
_NOTIFICATIONS = "notifications/"
# Each type of id, and those that a careless server takes for none; each is used once in a session.
_IDS_OF_RESULTS = ("conductor-id", 424_242, "424242", 0, "")
_IDS_OF_ERRORS = ("conductor-error", 434_343, "434343")
_NOT_UTF_8 = re.compile("[\udc80-\udcff]")
_FOREIGN_ID = "ключ-é-🎼"
_UNKNOWN_CAPABILITIES = {"experimental": {"x-conductor": {"a": 1}}, "x-conductor": {"b": [2]}}


@judged("base-jsonrpc-envelope-server")
def messages_are_json_rpc(record: Record) -> Iterator[Finding]:
    """Look at every message of the server: an object with jsonrpc "2.0" that is a request, response or notification."""
    for message in record.heard:
        noise = record.transport == "stdio" and not isinstance(message.raw, (dict, list, type(None)))
        problem = None if noise else _envelope_problem(message)
        if problem is not None:
            yield fault(problem, message.text if message.raw is None else message.raw)


def _envelope_problem(message: Message) -> str | None:
    """What is wrong with an envelope, except for what has a requirement of its own."""
    raw = message.raw
    if raw is None:
        # Other lines that are not JSON are noise on stdout, or parts of a message, which other checks look at.
        return message.problem if message.text.startswith("{") and '"jsonrpc"' in message.text else None
    if not isinstance(raw, dict):
        return message.problem
    if raw.get("jsonrpc") != "2.0":
        return '"jsonrpc" is not "2.0"'
    if "method" in raw:
        return _call_problem(raw)
    if "result" not in raw and "error" not in raw and "id" not in raw:
        return "a message has neither method, result nor error"
    if raw.get("id") is None and "result" in raw and "error" not in raw:
        return "a result has no id"
    return None if raw.get("id") is None or _is_id(raw["id"]) else f"the id is {kind_of(raw['id'])}"


def _call_problem(raw: Json) -> str | None:
    if "result" in raw or "error" in raw:
        return "a message has both a method and a result or error"
    if "id" in raw and not isinstance(raw.get("params", {}), dict):
        return f"params is {kind_of(raw['params'])}, not an object"
    return None


def _is_id(value: Any) -> bool:
    """A string or an integer; to JSON, 1.0 is one."""
    return (
        isinstance(value, (str, int, float))
        and not isinstance(value, bool)
        and (isinstance(value, str) or value == value // 1)
    )


def _requests(record: Record) -> list[Json]:
    """Requests of the server, good and bad. What is called notifications/… is a notification, even with an id."""
    return [raw for raw in _objects(record) if "method" in raw and "id" in raw and not _is_notification(raw)]


def _is_notification(raw: Json) -> bool:
    return "method" in raw and ("id" not in raw or str(raw["method"]).startswith(_NOTIFICATIONS))


def _objects(record: Record) -> Iterator[Json]:
    return (message.raw for message in record.heard if isinstance(message.raw, dict))


@judged("base-request-id-type-server")
def request_ids_are_strings_or_integers(record: Record) -> Iterator[Finding]:
    """Look at the id of every request of the server: a string or an integer, never null."""
    for raw in _some(_requests(record), "the server asked nothing"):
        if not _is_id(raw["id"]):
            yield fault(f"the id of a request is {kind_of(raw['id'])}", raw)


@judged("base-request-id-unique-session-server")
def request_ids_are_not_used_twice(record: Record) -> Iterator[Finding]:
    """Compare the ids of all requests of the server: none comes twice in a session."""
    if record.transport == "http" and not any("mcp-session-id" in frame.text.lower() for frame in record.frames):
        raise NotSeen("the server has no sessions")
    used: dict[tuple[bool, Any], str] = {}
    asked = 0
    for frame in record.frames:
        for message in frame.messages():
            if frame.source == "client" and message.kind == "request" and message.method == "initialize":
                used.clear()  # a new session
            if frame.source != "server" or message.kind != "request" or _is_notification(message.raw):
                continue
            asked += 1
            key = (isinstance(message.id, str), message.id)
            # The very same text is the same request: a stream that was resumed may repeat it.
            if used.setdefault(key, message.text) != message.text:
                yield fault(f"the id {message.id!r} is used twice", message.raw)
    if asked < 2:
        raise NotSeen("the server asked less than twice")


@judged("base-request-method-string-server")
def methods_are_strings(record: Record) -> Iterator[Finding]:
    """Look at every request of the server: its method is a string."""
    for raw in _some(_requests(record), "the server asked nothing"):
        if not isinstance(raw["method"], str):
            yield fault(f"the method of a request is {kind_of(raw['method'])}", raw)


def _some(found: list[Json], otherwise: str) -> list[Json]:
    if not found:
        raise NotSeen(otherwise)
    return found


@judged("base-response-once-server")
def requests_are_answered_once(record: Record) -> Iterator[Finding]:
    """Look at every response: its id is that of something we sent, and no response before had it."""
    if not record.whole:
        raise NotSeen("part of the conversation was forgotten: --max-transcript-size keeps more")
    left = Counter(message.id for message in record.sent if message.id is not None)
    if not left:
        raise NotSeen("nothing was asked")
    strays = []
    for message in record.heard:
        if message.kind not in ("result", "error") or message.id is None:
            continue
        if message.id not in left:
            strays.append(message)
        elif not left[message.id]:
            yield fault(f"the request {message.id!r} is answered a second time", message.raw)
        else:
            left[message.id] -= 1
    if strays and left.total() >= len(strays):
        raise NotSeen("answers do not have the ids of their requests, which is another fault")
    for message in strays:
        yield fault(f"no request has the id {message.id!r} of this response", message.raw)


@judged("base-response-result-xor-error-server")
def a_response_is_a_result_or_an_error(record: Record) -> Iterator[Finding]:
    """Look for responses that have both result and error, or neither."""
    for raw in _objects(record):
        if "method" not in raw and "id" in raw and ("result" in raw) == ("error" in raw):
            yield fault(
                "a response has both result and error"
                if "result" in raw
                else "a response has neither result nor error",
                raw,
            )


@judged("base-result-is-object-server")
def results_are_objects(record: Record) -> Iterator[Finding]:
    """Look at the result of every response: it is an object."""
    for message in record.heard:
        if message.kind == "result" and not isinstance(message.result, dict):
            yield fault(f"the result is {kind_of(message.result)}, not an object", message.raw)


@judged("base-error-shape-server")
def errors_have_a_code_and_a_message(record: Record) -> Iterator[Finding]:
    """Look at every error: its code is an integer, its message a string."""
    for raw in _errors(record):
        error = raw["error"]
        if not isinstance(error, dict):
            yield fault(f"the error is {kind_of(error)}, not an object", raw)
        elif isinstance(error.get("code"), str) or not _is_id(error.get("code")):
            yield fault("error.code is not an integer", raw, path="error.code")
        elif not isinstance(error.get("message"), str):
            yield fault("error.message is not a string", raw, path="error.message")


def _errors(record: Record) -> list[Json]:
    found = [raw for raw in _objects(record) if "method" not in raw and "error" in raw and "result" not in raw]
    return _some(found, "no error was sent")


@judged("base-error-message-concise")
def error_messages_are_short(record: Record) -> Iterator[Finding]:
    """Look at the message of every error: one sentence, not empty, on one line, of at most 300 characters."""
    for raw in _errors(record):
        message = raw["error"].get("message") if isinstance(raw["error"], dict) else None
        if not isinstance(message, str):
            continue
        if not message.strip():
            yield fault("error.message is empty", raw, path="error.message")
        elif "\n" in message.strip():
            yield fault("error.message has several lines", raw, path="error.message")
        elif len(message) > _LONGEST_MESSAGE:
            yield fault(f"error.message has {len(message)} characters", raw, path="error.message")


@judged("base-notification-shape-server")
def notifications_have_a_method_and_no_id(record: Record) -> Iterator[Finding]:
    """Look at every notification: its method is a string, it has no id, and params, if there, is an object."""
    for raw in _some([raw for raw in _objects(record) if _is_notification(raw)], "no notification was sent"):
        if "id" in raw:
            yield fault("a notification has an id", raw)
        elif not isinstance(raw["method"], str):
            yield fault(f"the method of a notification is {kind_of(raw['method'])}", raw)
        elif not isinstance(raw.get("params", {}), dict):
            yield fault(f"params is {kind_of(raw['params'])}, not an object", raw)


@probed("base-notification-no-response-server", alone=True)
async def notifications_are_not_answered(probe: Probe) -> AsyncIterator[Finding]:
    """Send a notification that does not exist, then two requests: nothing but these is answered."""
    async with probe.polite_session() as other:
        await other.session.notify("notifications/conductor-unknown", {})
        for _ in range(2):
            await other.ask(other.harmless)
        for message in unasked_replies(other.record()):
            yield fault("a notification was answered", message.raw)


@probed("base-params-omitted-accepted-server")
async def params_can_be_left_out(probe: Probe) -> AsyncIterator[Finding]:
    """Send ping and all declared list methods without params: they are answered as with empty params."""
    for method in ("ping", *declared_lists(probe)):
        bare = await probe.ask(method)
        if bare.kind == "error" and (await probe.ask(method, {})).kind == "result":
            yield fault(f"{method} without params is refused", bare.raw)


@probed("base-method-not-found-server")
async def unknown_methods_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Call a method that does not exist: the error has the code -32601."""
    reply = await probe.ask("conductor/no-such-method")
    if code_of(reply) != METHOD_NOT_FOUND:
        yield fault(f"an unknown method is not answered with {METHOD_NOT_FOUND}", reply.raw)


@probed("base-response-id-echo-server", alone=True)
async def ids_are_echoed(probe: Probe) -> AsyncIterator[Finding]:
    """Ask with strings and numbers as ids, for results and for errors: each reply has the id of its request."""
    ids = {probe.harmless: _IDS_OF_RESULTS, "conductor/no-such-method": _IDS_OF_ERRORS}
    async with probe.polite_session() as other:
        for method, identity in ((method, each) for method, several in ids.items() for each in several):
            problem = await _echo_problem(other, method, identity)
            if problem is not None:
                yield problem


async def _echo_problem(probe: Probe, method: str, identity: str | int) -> Finding | None:
    transcript = probe.session.transcript
    mark = transcript.mark
    try:
        reply = await probe.ask(method, id=identity)
    except (RequestTimeout, TransportError) as error:
        came = [each for frame in transcript.since(mark) if frame.source == "server" for each in frame.messages()]
        others = [each.raw for each in came if each.kind in ("result", "error")]
        if not others:  # that it is not answered at all is another fault
            return None
        return fault(f"{method} with the id {identity!r} has no reply with that id", others[-1], hint=error.message)
    echoed = reply.raw.get("id") if isinstance(reply.raw, dict) else None
    fits = echoed == identity and not isinstance(echoed, bool)
    return None if fits else fault(f"the reply to the id {identity!r} has another id", reply.raw)


@probed("ping-response-server")
async def ping_is_answered(probe: Probe) -> AsyncIterator[Finding]:
    """Send ping: the result is an empty object; only `_meta` may be in it."""
    reply = await probe.ask("ping")
    if reply.kind != "result" or not isinstance(reply.result, dict) or set(reply.result) - {"_meta"}:
        yield fault("ping is not answered with {}", reply.raw)


@probed("base-unknown-capabilities-tolerated-server", alone=True, hands_on=("polite too",))
async def unknown_capabilities_are_ignored(probe: Probe) -> AsyncIterator[Finding]:
    """Declare capabilities that do not exist, and add a member to params: everything goes on as usual."""
    async with probe.unopened(then="polite too") as fresh:
        if probe.dialect.handshake:
            reply = await initialize(fresh, probe.patience, capabilities=_UNKNOWN_CAPABILITIES, xConductor=True)
            if reply.kind == "result":
                await fresh.session.notify("notifications/initialized")
        else:
            meta = {**context(probe), CAPABILITIES: _UNKNOWN_CAPABILITIES}
            params = {"_meta": meta, "xConductor": True}
            reply = await first(fresh, "server/discover", params, probe.patience)
            fresh.session.settle(probe.dialect, result_of(reply) or {})
        if reply.kind != "result":
            yield fault("unknown capabilities are refused", reply.raw)
            return
        for method in declared_lists(probe)[:1]:
            params = {"xConductor": True, **({} if probe.dialect.handshake else {"_meta": meta})}
            again = await fresh.ask(method, params)
            if again.kind == "error" and (await probe.ask(method)).kind == "result":
                yield fault(f"{method} with an unknown member in params is refused", again.raw)


@probed("base-utf8-server", alone=True)
async def messages_are_utf_8(probe: Probe) -> AsyncIterator[Finding]:
    """Decode every message strictly as UTF-8; an id with letters of other scripts is sent back unchanged."""
    async with probe.polite_session() as other:
        problem = await _echo_problem(other, other.harmless, _FOREIGN_ID)
        for record in (probe.record(), other.record()):
            for frame in record.frames:
                # Bytes that are not UTF-8 are kept as lone surrogates.
                if frame.source == "server" and _NOT_UTF_8.search(frame.text):
                    yield fault(
                        "a message is not UTF-8", frame.text.encode(errors="surrogateescape").decode(errors="replace")
                    )
                    problem = None
        if problem is not None:
            yield problem
