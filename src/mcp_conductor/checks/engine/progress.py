"""Progress that a server reports, and what each report is on."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import is_notification
from mcp_conductor.protocol.ledger import progress_token
from mcp_conductor.protocol.message import Message

# Over HTTP, progress may travel on another stream than the response, and come in after it.
_STREAM_SECONDS = {"stdio": 0.0}
_OTHER_STREAM_SECONDS = 0.3


def reports(record: Record) -> Iterator[tuple[Message, str]]:
    """Every progress notification, and what it reports on: a request that is open, answered, a task, or unknown.

    Tokens are compared by their text here: whether 42 came back as "42" is another matter.
    """
    states: dict[str, str] = {}
    tokens: dict[Any, str] = {}
    ended: dict[str, float] = {}
    grace = _STREAM_SECONDS.get(record.transport, _OTHER_STREAM_SECONDS)
    for at, source, message in record.transcript.spoken():
        if source == "client" and message.kind == "request":
            token = progress_token(message.raw)
            if token is not None:
                tokens[message.id] = str(token)
                states[str(token)] = "open"
        elif source == "server" and message.kind in ("result", "error") and message.id in tokens:
            token_text = tokens.pop(message.id)
            ended[token_text] = at
            states[token_text] = "task" if _is_task(message) else "answered"
        elif source == "server" and is_notification(message, "notifications/progress"):
            text = str(message.params.get("progressToken"))
            state = states.get(text, "unknown")
            late = state == "answered" and at - ended[text] <= grace
            yield message, "open" if late else state


def _is_task(reply: Message) -> bool:
    result = reply.result if reply.kind == "result" else None
    return isinstance(result, dict) and ("task" in result or result.get("resultType") == "task")


def needed_reports(record: Record) -> list[tuple[Message, str]]:
    """The same as a list; `NotSeen` where there are none."""
    found = list(reports(record))
    if not found:
        raise NotSeen("no progress was reported")
    return found
