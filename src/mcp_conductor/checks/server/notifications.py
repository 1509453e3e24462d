"""What a server says while it works: log messages and progress."""

import math
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any
from weakref import WeakSet

from mcp_conductor.checks.engine.check import judged, probed
from mcp_conductor.checks.engine.exploration import progress_token_of
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import acknowledges, is_notification, is_number
from mcp_conductor.checks.engine.tool_calls import MOST_CALLS, callable_again, calls
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, LOG_LEVELS, META
from mcp_conductor.protocol.ledger import progress_token
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

# Over HTTP, progress may travel on another stream than the response, and come in after it.
STREAM_SECONDS = {"stdio": 0.0}
OTHER_STREAM_SECONDS = 0.3
# Only what is a credential beyond doubt.
_SECRETS = compiled_later(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b"
    r"|\bxox[abp]-[A-Za-z0-9-]{20,}"
    r"|\bBearer [A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
)
_MOST_SEARCHED = 100_000  # characters of a message; more take longer than what is found there is worth
_loud: WeakSet[Session] = WeakSet()  # sessions in which tools have been called with the level debug


# Logging.


async def _messages(probe: Probe) -> list[Message]:
    """All log messages so far; tools are called once with the level debug, to hear more of them."""
    if probe.session not in _loud:
        _loud.add(probe.session)
        meta = {} if probe.dialect.handshake else {"_meta": {f"{META}logLevel": "debug"}}
        for params, _ in calls(probe)[:MOST_CALLS]:
            with suppress(ConductorError):
                await probe.session.request("tools/call", {**params, **meta})
    found = list(probe.record().notifications("notifications/message"))
    if not found:
        raise NotSeen("no log message came")
    return found


@probed("logging-capability-declared")
async def logging_is_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools: if log messages come, the server declares logging."""
    messages = await _messages(probe)
    if not probe.declares("logging"):
        yield fault("log messages are sent, but logging is not declared", messages[0].raw)


@probed("logging-message-shape")
async def log_messages_have_level_and_data(probe: Probe) -> AsyncIterator[Finding]:
    """Look at every log message: level is one of eight, data is there, logger is a string if it is given."""
    for message in await _messages(probe):
        params = message.params
        if params.get("level") not in LOG_LEVELS:
            yield fault(f"{render(params.get('level'))} is not a log level", message.raw)
        if "data" not in params:
            yield fault("a log message has no data", message.raw)
        if "logger" in params and not isinstance(params["logger"], str):
            yield fault("logger is not a string", message.raw)


@probed("logging-no-secrets")
async def log_messages_have_no_secrets(probe: Probe) -> AsyncIterator[Finding]:
    """Look for private keys and well-known kinds of tokens in log messages."""
    for message in await _messages(probe):
        if _SECRETS.search(message.text, 0, _MOST_SEARCHED):
            yield fault("a log message has a credential in it", message.raw)


@probed("logging-setlevel-accepted", needs="logging")
async def every_level_can_be_set(probe: Probe) -> AsyncIterator[Finding]:
    """Set each of the eight levels: none is refused."""
    for level in (*reversed(LOG_LEVELS), "debug"):
        reply = await probe.ask("logging/setLevel", {"level": level})
        if not acknowledges(probe, "logging/setLevel", reply):
            yield fault(f"logging/setLevel {level} is not answered with a result", reply.raw)


@probed("logging-invalid-level", needs="logging")
async def unknown_levels_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Set the level verbose, which does not exist: the error has the code -32602."""
    reply = await probe.ask("logging/setLevel", {"level": "verbose"})
    if reply.kind != "error" or not isinstance(reply.error, dict) or reply.error.get("code") != INVALID_PARAMS:
        yield fault(f"an unknown level is not answered with {INVALID_PARAMS}", reply.raw)


@probed("logging-level-respected", needs="logging", alone=True)
async def lower_levels_are_not_sent(probe: Probe) -> AsyncIterator[Finding]:
    """Set the level error and call tools: no message of a lower level comes."""
    wanted = callable_again(probe)
    if not any(True for _ in probe.record().notifications("notifications/message")):
        raise NotSeen("no log message came")
    async with probe.new_session(answers=probe.session.answers) as other:
        reply = await other.ask("logging/setLevel", {"level": "error"})
        mark = len(other.record().heard)
        if reply.kind != "result":
            raise NotSeen("the level cannot be set")
        for params in wanted:
            with suppress(ConductorError):
                await other.session.request("tools/call", params)
        for finding in _lower(other.record().heard[mark:], "error"):
            yield finding


def _lower(heard: list[Message], than: str) -> Iterator[Finding]:
    for message in heard:
        if not is_notification(message, "notifications/message"):
            continue
        level = message.params.get("level")
        if level in LOG_LEVELS and LOG_LEVELS.index(level) < LOG_LEVELS.index(than):
            yield fault(f"a message of level {level} is sent though only {than} and above was asked for", message.raw)


@probed("logging-modern-level")
async def the_level_of_a_request_is_kept(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools with the log level warning: no message of a lower level comes."""
    await _messages(probe)
    mark = len(probe.record().heard)
    for params in callable_again(probe):
        with suppress(ConductorError):
            await probe.session.request("tools/call", {**params, "_meta": {f"{META}logLevel": "warning"}})
    for finding in _lower(probe.record().heard[mark:], "warning"):
        yield finding


@probed("logging-modern-invalid-level", needs="logging")
async def unknown_levels_of_requests_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Send a request with the log level verbose, which does not exist: the error has the code -32602."""
    reply = await probe.ask("server/discover", {"_meta": {f"{META}logLevel": "verbose"}})
    if reply.kind != "error" or not isinstance(reply.error, dict) or reply.error.get("code") != INVALID_PARAMS:
        yield fault(f"an unknown level is not answered with {INVALID_PARAMS}", reply.raw)


@judged("logging-modern-opt-in")
def log_messages_are_asked_for(record: Record) -> Iterator[Finding]:
    """Look at every log message: a request that is open asked for messages by its logLevel."""
    asked: set[Any] = set()
    called = False
    for frame in record.frames:
        for message in frame.messages():
            if frame.source == "client" and message.kind == "request":
                called = called or message.method == "tools/call"
                if f"{META}logLevel" in (_meta(message) or {}):
                    asked.add(message.id)
            elif frame.source == "server" and message.kind in ("result", "error"):
                asked.discard(message.id)
            elif frame.source == "server" and is_notification(message, "notifications/message") and not asked:
                yield fault("a log message is sent, but no open request asked for it", message.raw)
    if not called:
        raise NotSeen("no tool was called")


def _meta(message: Message) -> Json | None:
    meta = message.params.get("_meta")
    return meta if isinstance(meta, dict) else None


# Progress.


def _reports(record: Record) -> Iterator[tuple[Message, str]]:
    """Every progress notification, and what it reports on: a request that is open, answered, a task, or unknown.

    Tokens are compared by their text here: whether 42 came back as "42" is another matter.
    """
    states: dict[str, str] = {}
    tokens: dict[Any, str] = {}
    ended: dict[str, float] = {}
    grace = STREAM_SECONDS.get(record.transport, OTHER_STREAM_SECONDS)
    for frame in record.frames:
        for message in frame.messages():
            if frame.source == "client" and message.kind == "request":
                token = progress_token(message.raw)
                if token is not None:
                    tokens[message.id] = str(token)
                    states[str(token)] = "open"
            elif frame.source == "server" and message.kind in ("result", "error") and message.id in tokens:
                token_text = tokens.pop(message.id)
                ended[token_text] = frame.at
                states[token_text] = "task" if _is_task(message) else "answered"
            elif frame.source == "server" and is_notification(message, "notifications/progress"):
                text = str(message.params.get("progressToken"))
                state = states.get(text, "unknown")
                late = state == "answered" and frame.at - ended[text] <= grace
                yield message, "open" if late else state


def _is_task(reply: Message) -> bool:
    result = reply.result if reply.kind == "result" else None
    return isinstance(result, dict) and ("task" in result or result.get("resultType") == "task")


def _needed_reports(record: Record) -> list[tuple[Message, str]]:
    found = list(_reports(record))
    if not found:
        raise NotSeen("no progress was reported")
    return found


@probed("progress-notification-shape")
async def progress_has_its_token_and_ais_number(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools that report progress with the tokens 42 and "43": the same token is sent back, with a number."""
    record = probe.record()
    _needed_reports(record)
    # A token that is in use must not be given again, and a task uses it for as long as it runs.
    talkative = {str(message.params.get("progressToken")) for message, state in _reports(record) if state != "task"}
    for params in (each for each, _ in calls(probe) if progress_token_of(each) in talkative and "task" not in each):
        for token in (42, "43"):
            mark = len(probe.record().heard)
            with suppress(ConductorError):
                await probe.session.request("tools/call", {**params, "_meta": {"progressToken": token}})
            for message in probe.record().heard[mark:]:
                given = (
                    message.params.get("progressToken") if is_notification(message, "notifications/progress") else token
                )
                if str(given) == str(token) and type(given) is not type(token):
                    yield fault(f"the progress token {token!r} is sent back as {given!r}", message.raw)
    for message, _ in _needed_reports(probe.record()):
        if not is_number(message.params.get("progress")):
            yield fault("progress is not a number", message.raw)


@judged("progress-total-optional")
def totals_are_numbers(record: Record) -> Iterator[Finding]:
    """Look at every progress notification: total is a number, if it is given."""
    for message, _ in _needed_reports(record):
        if "total" in message.params and not is_number(message.params["total"]):
            yield fault("total is not a number", message.raw)


@judged("progress-token-unique-server")
def tokens_of_the_server_are_its_own(record: Record) -> Iterator[Finding]:
    """Compare the progress tokens of the server's requests: none is that of another one that is not answered yet."""
    waiting: dict[Any, Any] = {}  # token by id
    seen = False
    for frame in record.frames:
        for message in frame.messages():
            if frame.source == "client" and message.kind in ("result", "error"):
                waiting.pop(message.id, None)
            elif frame.source == "server" and message.kind == "request":
                token = progress_token(message.raw)
                seen = seen or token is not None
                # A stream that was resumed may repeat a request.
                if token is not None and any(token == other for at, other in waiting.items() if at != message.id):
                    yield fault(f"the progress token {render(token)} is that of another request, too", message.raw)
                if token is not None:
                    waiting[message.id] = token
    if not seen:
        raise NotSeen("the server asked for no progress")


@judged("progress-message")
def progress_texts_are_strings(record: Record) -> Iterator[Finding]:
    """Look at every progress notification: message is a string, if it is given."""
    for message, _ in _needed_reports(record):
        if "message" in message.params and not isinstance(message.params["message"], str):
            yield fault("message is not a string", message.raw)


@judged("progress-increases")
def progress_increases(record: Record) -> Iterator[Finding]:
    """Compare the progress notifications of each request: every one reports more than the one before."""
    _needed_reports(record)
    last: dict[str, float] = {}
    for frame in record.frames:
        for message in frame.messages():
            if frame.source == "client" and message.kind == "request":
                last[str(progress_token(message.raw))] = -math.inf
            elif frame.source == "server" and is_notification(message, "notifications/progress"):
                token, progress = str(message.params.get("progressToken")), message.params.get("progress", 0)
                if is_number(progress) and token in last:
                    if progress <= last[token]:
                        yield fault(f"progress is {progress} after {last[token]}", message.raw)
                    last[token] = progress


@probed("progress-only-active")
async def progress_is_asked_for(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools without a token, and look at all progress: it has the token of a request that was made."""
    for params in callable_again(probe):
        with suppress(ConductorError):
            await probe.session.request("tools/call", params)
    for message, state in _reports(probe.record()):
        if state == "unknown":
            yield fault("progress is reported under a token that no request gave", message.raw)


@judged("progress-stops-after-completion")
def progress_ends_with_the_response(record: Record) -> Iterator[Finding]:
    """Look at the order of messages: no progress is reported on a request that has been answered."""
    for message, state in _needed_reports(record):
        if state == "answered":
            yield fault("progress is reported on a request that has been answered", message.raw)
