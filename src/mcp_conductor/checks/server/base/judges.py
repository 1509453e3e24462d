"""The base protocol as a server speaks it: envelopes, ids, results, errors, notifications."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mcp_conductor.checks.engine.check import Judge, judged, judged_everywhere, judged_in_recordings
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.judging import polite
from mcp_conductor.checks.engine.odd_messages import (
    foreign_answers,
    invented_ids,
    is_id,
    is_unreadable,
    may_change,
    without_excused,
)
from mcp_conductor.checks.engine.openings import VERSION
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import RETIRED_CODES, sent_codes
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.dialect import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN_CODES,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
)
from mcp_conductor.protocol.message import Message, kind_of, render
from mcp_conductor.protocol.meta_keys import KEY, TRACE, is_reserved, labels_of
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

_LONGEST_MESSAGE = 300
_NOTIFICATIONS = "notifications/"
_WITH = {"result": "a result", "error": "an error"}


def _judged_in_any_session(name: str) -> Callable[[Judge], Judge]:
    """Register a function that judges the form of messages, which depends on what we said only where that was odd."""

    def register(judge: Judge) -> Judge:
        @judged_everywhere(name)
        @functools.wraps(judge)
        def in_any_session(record: Record) -> Iterator[Finding]:
            if record.transport != "stdio":
                raise NotSeen("over HTTP, what refuses odd requests need not speak JSON-RPC")
            yield from judge(without_excused(record))

        return judge

    return register


@_judged_in_any_session("base-jsonrpc-envelope-server")
@judged("base-jsonrpc-envelope-server", follows="stdio-newline-framing-server")
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
    return None if raw.get("id") is None or is_id(raw["id"]) else f"the id is {kind_of(raw['id'])}"


def _call_problem(raw: Json) -> str | None:
    if "result" in raw or "error" in raw:
        return "a message has both a method and a result or error"
    if "id" in raw and not isinstance(raw.get("params", {}), dict):
        return f"params is {kind_of(raw['params'])}, not an object"
    return None


def _requests(record: Record) -> list[Json]:
    """Requests of the server, good and bad. What is called notifications/… is a notification, even with an id."""
    return [raw for raw in _objects(record) if "method" in raw and "id" in raw and not _is_notification(raw)]


def _is_notification(raw: Json) -> bool:
    return "method" in raw and ("id" not in raw or str(raw["method"]).startswith(_NOTIFICATIONS))


def _objects(record: Record) -> Iterator[Json]:
    return (message.raw for message in record.heard if isinstance(message.raw, dict))


@_judged_in_any_session("base-request-id-type-server")
@judged("base-request-id-type-server")
def request_ids_are_strings_or_integers(record: Record) -> Iterator[Finding]:
    """Look at the id of every request of the server: a string or an integer, never null."""
    for raw in _some(_requests(record), "the server asked nothing"):
        if not is_id(raw["id"]):
            yield fault(f"the id of a request is {kind_of(raw['id'])}", raw)


@judged("base-request-id-unique-session-server")
def request_ids_are_not_used_twice(record: Record) -> Iterator[Finding]:
    """Compare the ids of all requests of the server: none comes twice in a session."""
    if record.transport == "http" and not any("mcp-session-id" in frame.text.lower() for frame in record.frames):
        raise NotSeen("the server has no sessions")
    used: dict[tuple[bool, Any], Message] = {}
    asked = 0
    for _, source, message in record.transcript.spoken():
        if source == "client" and message.kind == "request" and message.method == "initialize":
            used.clear()  # a new session
        if source != "server" or message.kind != "request" or _is_notification(message.raw):
            continue
        asked += 1
        key = (isinstance(message.id, str), message.id)
        # The very same text is the same request: a stream that was resumed may repeat it.
        first = used.setdefault(key, message)
        if first.text != message.text:
            yield fault(f"the id {message.id!r} is used twice", message.raw, beside=[first.raw])
    if asked < 2:
        raise NotSeen("the server asked less than twice")


@_judged_in_any_session("base-request-method-string-server")
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


@judged(
    "base-response-once-server",
    follows=("sse-message-events", "http-request-content-type", "base-notification-no-response-server"),
)
def requests_are_answered_once(record: Record) -> Iterator[Finding]:
    """Look at every response: its id is that of something we sent, and no response before had it."""
    if not record.whole:
        raise NotSeen("part of the conversation was forgotten: --max-transcript-size keeps more")
    sent = (message for message in record.sent if message.kind not in _WITH)  # our own answers have ids of the server
    left = Counter(message.id for message in sent if message.id is not None)
    if not left:
        raise NotSeen("nothing was asked")
    strays, second = [], []
    first: dict[Id, Message] = {}
    for message in record.heard:
        if message.kind not in ("result", "error") or message.id is None:
            continue
        if message.id not in left:
            strays.append(message)
        elif not left[message.id]:
            second.append(_second_answer(first[message.id], message))
        else:
            left[message.id] -= 1
            first.setdefault(message.id, message)
    if (strays or second) and any(left[each.id] for each in record.sent if each.id is not None and may_change(each)):
        raise NotSeen("a number that need not come back as it was is the id of a request without an answer")
    if strays and left.total() >= len(strays):
        raise NotSeen("answers do not have the ids of their requests, which is another fault")
    yield from second
    for message in strays:
        yield fault(f"no request has the id {message.id!r} of this response", message.raw)


def _second_answer(first: Message, second: Message) -> Finding:
    kinds = f"with {_WITH[first.kind]}, and now with {_WITH[second.kind]}"
    told = f"the request {second.id!r} is answered a second time: first {kinds}"
    return fault(told, second.raw, beside=[first.raw])


@judged_everywhere("base-response-once-server")
def no_second_answers(record: Record) -> Iterator[Finding]:
    """Look for answers with an id that an answer before had, or that stands in nothing that we said.

    What says that something could not be read may have any id, and a number may come back in place of a string: both
    are another fault. A number that need not come back as it was may come back as any other.
    """
    if any(frame.source == "http" and "\nlast-event-id:" in frame.text.lower() for frame in record.frames):
        raise NotSeen("a stream was resumed, which may repeat what was said")
    said = Transcript.of(polite(record.frames, record.dialect, record.capabilities))
    inexact = {each.id for each in record.sent if may_change(each)}
    asked: Counter[Id] = Counter()
    first: dict[Id, Message] = {}
    for _, source, message in said.spoken():
        if message.id is None:
            continue
        if source == "client":
            asked[message.id] += message.kind not in _WITH
        elif message.kind in _WITH and asked[message.id]:
            asked[message.id] -= 1
            first.setdefault(message.id, message)
        elif message.kind in _WITH and message.id in first and not is_unreadable(message):
            if any(asked[each] and (str(each) == str(message.id) or each in inexact) for each in asked):
                continue
            yield _second_answer(first[message.id], message)
            return  # a probe may send many requests alike
    for message, waiting in invented_ids(record):
        if not waiting:  # else it is the answer to one of these, which has not the right id
            yield fault(f"no request has the id {message.id!r} of this response", message.raw)
            return
    if not first:
        raise NotSeen("nothing was answered")


@_judged_in_any_session("base-response-result-xor-error-server")
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


@_judged_in_any_session("base-result-is-object-server")
@judged("base-result-is-object-server")
def results_are_objects(record: Record) -> Iterator[Finding]:
    """Look at the result of every response: it is an object."""
    found = [message for message in record.heard if message.kind == "result"]
    if not found:
        raise NotSeen("no result was sent")
    for message in found:
        if not isinstance(message.result, dict):
            yield fault(f"the result is {kind_of(message.result)}, not an object", message.raw)


@_judged_in_any_session("base-error-shape-server")
@judged("base-error-shape-server")
def errors_have_a_code_and_a_message(record: Record) -> Iterator[Finding]:
    """Look at every error: its code is an integer, its message a string."""
    for raw in _errors(record):
        error = raw["error"]
        if not isinstance(error, dict):
            yield fault(f"the error is {kind_of(error)}, not an object", raw)
        elif isinstance(error.get("code"), str) or not is_id(error.get("code")):
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


@_judged_in_any_session("base-notification-shape-server")
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


_OPENINGS = ("initialize", "server/discover")


@judged_in_recordings("base-response-id-echo-server")
def answers_have_the_ids_of_requests(record: Record) -> Iterator[Finding]:
    """Look for answers with an id that no request had, which came while a request waited that was never answered."""
    foreign = foreign_answers(record)
    if not foreign and all(exchange.reply is None for exchange in record.exchanges):
        raise NotSeen("nothing was answered")
    unsure = _why_unsure(record) if foreign else None
    if unsure is not None:
        raise NotSeen(unsure)
    explained: set[Any] = set()
    for message, waiting in foreign:
        left = [each for each in waiting if each.id not in explained]
        if not left:
            continue
        explained.add(left[0].id)
        yield _other_id(message, left)
    if foreign and not explained:
        raise NotSeen("an answer has an id that no request has, but no request waited for an answer")


def _other_id(message: Message, waiting: list[Message]) -> Finding:
    if len(waiting) > 1:
        return fault(f"an answer has the id {message.id!r}, which no request has", message.raw)
    ids = f"the id {message.id!r}, but the request has {waiting[0].id!r}"
    return fault(f"the answer to {waiting[0].method} has {ids}", message.raw)


@judged_everywhere("base-response-id-echo-server")
def answers_in_every_session_have_the_ids_of_requests(record: Record) -> Iterator[Finding]:
    """Look for answers with an id that stands in nothing that we said, while a request waited in vain."""
    for message, waiting in invented_ids(record):
        if waiting:
            yield _other_id(message, waiting)
            return


def _why_unsure(record: Record) -> str | None:
    """Why an answer may be to something that is not in the recording."""
    first = next((message for _, _, message in record.transcript.spoken()), None)
    if first is None or first.kind != "request" or first.method not in _OPENINGS:
        return "the recording may begin in the middle of the conversation"
    if any(message.kind == "invalid" for message in record.sent):
        return "the client sent what is not a message"
    if any(map(may_change, record.sent)):
        return "the client used a number as an id that need not come back as it was"
    if any(frame.source == "http" and "\nlast-event-id:" in frame.text.lower() for frame in record.frames):
        return "a stream was resumed"
    return None


_TOP_LEVELS = ("com", "org", "net", "io", "dev", "ai", "app")
# What stands below these is data or a schema, in which `_meta` may be a name like any other.
_NOT_OURS = frozenset(
    {"arguments", "content", "data", "experimental", "inputSchema", "metadata", "outputSchema", "requestedSchema"}
    | {"input", "structuredContent", "extensions"}
)


class _Entry(NamedTuple):
    key: str
    value: Any
    path: str
    message: Message


def _entries(record: Record) -> list[_Entry]:
    """Every member of every `_meta` of the server."""
    found = [
        _Entry(key, value, path, message)
        for path, meta, message in _sent(record)
        if isinstance(meta, dict)
        for key, value in meta.items()
    ]
    if not found:
        raise NotSeen("the server sent no _meta")
    return found


def _sent(record: Record) -> Iterator[tuple[str, Any, Message]]:
    """Every `_meta` of the server, of whatever type: its path, itself, and the message that has it."""
    for message in record.heard:
        if "_meta" in message.text or "\\u" in message.text:  # which is quicker to see than that it is not there
            for path, meta in _metas(message.raw, ""):
                yield path, meta, message


def _metas(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _metas(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, member in value.items():
            below = f"{path}.{key}" if path else key
            if key == "_meta":
                yield below, member
            elif key not in _NOT_OURS or (key == "content" and _is_content(member)):
                yield from _metas(member, below)


def _is_content(value: Any) -> bool:
    """Content blocks have a type; the answer to a form, which is also called content, has none."""
    blocks = value if isinstance(value, list) else [value]
    return all(isinstance(block, dict) and "type" in block for block in blocks)


@judged("base-meta-key-format-server")
def meta_keys_follow_the_grammar(record: Record) -> Iterator[Finding]:
    """Look at every `_meta`: an object. Its keys: an optional prefix of labels with dots and a slash, then a name."""
    flawed = [each for each in _sent(record) if not isinstance(each[1], dict)]
    for path, meta, message in flawed:
        yield fault(f"_meta is {kind_of(meta)}, not an object", message.raw, path=path)
    for entry in [] if flawed else _entries(record):
        if not KEY.fullmatch(entry.key):
            yield fault(f"{entry.key!r} is not a key for _meta", entry.message.raw, path=entry.path)


@judged("base-meta-reserved-prefix-server")
def reserved_prefixes_are_left_alone(record: Record) -> Iterator[Finding]:
    """Look at every key in `_meta` whose prefix is reserved for MCP: it is one that MCP defines."""
    for entry in _entries(record):
        if is_reserved(entry.key, record.dialect):
            yield fault(f"the prefix of {entry.key!r} is reserved for MCP", entry.message.raw, path=entry.path)


@judged("base-meta-reverse-dns")
def prefixes_are_reversed_domains(record: Record) -> Iterator[Finding]:
    """Look at every prefix in `_meta`: none is a domain name that is not reversed, such as example.com/."""
    for entry in _entries(record):
        labels = labels_of(entry.key)
        if len(labels) > 1 and labels[-1] in _TOP_LEVELS and labels[0] not in _TOP_LEVELS:
            yield fault(
                f"the prefix of {entry.key!r} is not a domain name in reverse order", entry.message.raw, path=entry.path
            )


@judged("meta-trace-context-format-server")
def trace_context_has_its_format(record: Record) -> Iterator[Finding]:
    """Look at traceparent, tracestate and baggage in `_meta`: they have the formats of the W3C."""
    entries = [entry for entry in _entries(record) if entry.key in TRACE]
    if not entries:
        raise NotSeen("no trace context was sent")
    for entry in entries:
        if not isinstance(entry.value, str) or not TRACE[entry.key].fullmatch(entry.value):
            path = f"{entry.path}.{entry.key}"
            yield fault(
                f"{entry.key} does not have the format of W3C", entry.value, path=path, beside=[entry.message.raw]
            )


_OF_JSON_RPC = (PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR)
_OF_MCP = range(-32099, -32019)
_LEGACY = range(-32019, -31999)
_RESERVED = range(-32768, -32099)  # what JSON-RPC keeps for itself, below the codes of servers
# Only what is a failure of the server beyond doubt, in any programming language.
_FAILURE = compiled_later(
    r"^\W*(unexpected |unhandled )?internal (server )?error\b|\bunhandled exception\b"
    r"|^Traceback \(most recent call last\)|\bNullPointerException\b|^panic: |\bpanicked at\b",
    re.IGNORECASE,
)
_MOST_SEARCHED = 10_000  # characters of a message


@judged("errors-reserved-range-server")
def codes_of_mcp_are_used_as_defined(record: Record) -> Iterator[Finding]:
    """Look at every error code from -32020 to -32099: it is one of the three that MCP defines, in its meaning."""
    for code, exchange, raw in sent_codes(record):
        meta = exchange.request.params.get("_meta")
        asked = meta.get(VERSION) if isinstance(meta, dict) else None
        if code in RETIRED_CODES or code not in _OF_MCP:
            continue
        if code not in MODERN_CODES:
            yield fault(f"error code {code} is reserved for MCP", raw)
        elif code == UNSUPPORTED_VERSION and asked == record.dialect.version:
            yield fault(f"error code {code} means an unsupported version, but {asked} is supported", raw)
        elif code == HEADER_MISMATCH and record.transport == "stdio":
            yield fault(f"error code {code} is about HTTP headers, but stdio has none", raw)


@judged("base-internal-error-server")
def failures_of_the_server_have_their_code(record: Record) -> Iterator[Finding]:
    """Look at every error that calls itself an internal one, or shows an exception: its code is -32603."""
    seen = False
    for exchange, error in record.errors():
        code, said = error.get("code"), str(error.get("message"))[:_MOST_SEARCHED]
        failure = _FAILURE.search(said) is not None
        seen = seen or failure or code == INTERNAL_ERROR
        if failure and code != INTERNAL_ERROR:
            what = (
                f"the server failed at {exchange.request.method}, and the code is {render(code)}, not {INTERNAL_ERROR}"
            )
            yield fault(what, exchange.reply and exchange.reply.raw)
    if not seen:
        raise NotSeen("no request made the server fail")


@judged("errors-legacy-range-server")
def legacy_codes_are_not_used(record: Record) -> Iterator[Finding]:
    """Look at every error code: none is in -32000 to -32019."""
    for code, _, raw in sent_codes(record):
        if code in _LEGACY and code not in RETIRED_CODES:
            yield fault(f"error code {code} is in the range of older implementations", raw)


@judged("errors-application-codes")
def application_codes_are_outside_of_the_reserved_range(record: Record) -> Iterator[Finding]:
    """Look at every error code from -32100 to -32768: it is one of JSON-RPC itself."""
    for code, _, raw in sent_codes(record):
        if code in _RESERVED and code not in _OF_JSON_RPC:
            yield fault(f"error code {code} is reserved by JSON-RPC", raw)
