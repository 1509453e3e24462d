"""Log messages and progress, as they come."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged, judged_everywhere
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.log_messages import (
    misshapen_log_messages,
    secrets_in_log_messages,
    undeclared_log_messages,
)
from mcp_conductor.checks.engine.progress import needed_reports, reports
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import is_notification, is_number
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.ledger import progress_token
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.report.model import Finding

# Logging.


judged_everywhere("logging-capability-declared")(undeclared_log_messages)
judged_everywhere("logging-message-shape")(misshapen_log_messages)
judged_everywhere("logging-no-secrets")(secrets_in_log_messages)


@judged("logging-modern-opt-in")
def log_messages_are_asked_for(record: Record) -> Iterator[Finding]:
    """Look at every log message: a request that is open asked for messages by its logLevel."""
    asked: set[Any] = set()
    called = False
    for _, source, message in record.transcript.spoken():
        if source == "client" and message.kind == "request":
            called = called or message.method == "tools/call"
            if f"{META}logLevel" in (_meta(message) or {}):
                asked.add(message.id)
        elif source == "server" and message.kind in ("result", "error"):
            asked.discard(message.id)
        elif source == "server" and is_notification(message, "notifications/message") and not asked:
            yield fault("a log message is sent, but no open request asked for it", message.raw)
    if not called:
        raise NotSeen("no tool was called")


def _meta(message: Message) -> Json | None:
    meta = message.params.get("_meta")
    return meta if isinstance(meta, dict) else None


# Progress.


@judged("progress-total-optional")
def totals_are_numbers(record: Record) -> Iterator[Finding]:
    """Look at every progress notification: total is a number, if it is given."""
    for message, _ in needed_reports(record):
        if "total" in message.params and not is_number(message.params["total"]):
            yield fault("total is not a number", message.raw)


@judged("progress-token-unique-server")
def tokens_of_the_server_are_its_own(record: Record) -> Iterator[Finding]:
    """Compare the progress tokens of the server's requests: none is that of another one that is not answered yet."""
    waiting: dict[Any, Any] = {}  # token by id
    seen = False
    for _, source, message in record.transcript.spoken():
        if source == "client" and message.kind in ("result", "error"):
            waiting.pop(message.id, None)
        elif source == "server" and message.kind == "request":
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
    for message, _ in needed_reports(record):
        if "message" in message.params and not isinstance(message.params["message"], str):
            yield fault("message is not a string", message.raw)


@judged("progress-increases")
def progress_increases(record: Record) -> Iterator[Finding]:
    """Compare the progress notifications of each request: every one reports more than the one before."""
    needed_reports(record)
    last: dict[str, Message | None] = {}
    for _, source, message in record.transcript.spoken():
        if source == "client" and message.kind == "request":
            last[str(progress_token(message.raw))] = None
        elif source == "server" and is_notification(message, "notifications/progress"):
            token, progress = str(message.params.get("progressToken")), message.params.get("progress")
            if progress is not None and is_number(progress) and token in last:
                before = last[token]
                if before is not None and progress <= before.params["progress"]:
                    told = f"progress is {progress} after {before.params['progress']}"
                    yield fault(told, message.raw, beside=[before.raw])
                last[token] = message


@judged("progress-stops-after-completion")
def progress_ends_with_the_response(record: Record) -> Iterator[Finding]:
    """Look at the order of messages: no progress is reported on a request that has been answered."""
    for message, state in needed_reports(record):
        if state == "answered":
            yield fault("progress is reported on a request that has been answered", message.raw)


@judged_everywhere("progress-only-active")
def tokens_of_progress_were_given(record: Record) -> Iterator[Finding]:
    """Look for progress under a token that nothing had that the client sent, not even in what is no request."""
    if any(frame.source == "http" and "\nlast-event-id:" in frame.text.lower() for frame in record.frames):
        raise NotSeen("a stream was resumed, which may repeat what was said")
    given = {str(_token(message)) for message in record.sent}
    unread = [message.text for message in record.sent if message.raw is None]
    needed_reports(record)
    for message, state in reports(record):
        token = str(message.params.get("progressToken"))
        if state == "unknown" and token not in given and not any(token in text for text in unread):
            yield fault("progress is reported under a token that no request gave", message.raw)
            return


def _token(message: Message) -> Any:
    params = message.raw.get("params") if isinstance(message.raw, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get("progressToken", "") if isinstance(meta, dict) else ""
