"""What our own odd messages excuse in the answers to them, and answers whose ids nothing explains."""

import re
from typing import Any

from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.dialect import INVALID_REQUEST, PARSE_ERROR
from mcp_conductor.protocol.message import SAFE_INTEGER, Message, compact
from mcp_conductor.protocol.transcript import Frame, Transcript

_CANCELLED = "notifications/cancelled"
_STAYS_OPEN = "subscriptions/listen"  # it has no answer as long as all is well
_MOST = 100  # answers that are looked at


def without_excused(record: Record) -> Record:
    """RECORD without answers to messages of ours that were not JSON-RPC 2.0, or had an id that is none."""
    odd = {compact(each.raw.get("id")) for each in record.sent if isinstance(each.raw, dict) and _is_odd(each.raw)}
    if not odd:
        return record
    frames = [frame for frame in record.frames if frame.source != "server" or not _is_excused(frame, odd)]
    return Record(Transcript.of(frames), record.dialect, record.transport, record.opened, whole=record.whole)


def _is_odd(sent: Any) -> bool:
    return sent.get("jsonrpc") != "2.0" or ("id" in sent and not is_id(sent["id"]))


def _is_excused(frame: Frame, odd: set[str]) -> bool:
    """Whether a frame answers one of the ODD ids. An error with the id null is as it should be, whatever it answers."""
    raw = frame.message.raw if frame.message is not None else None
    if not isinstance(raw, dict) or "method" in raw or compact(raw.get("id")) not in odd:
        return False
    return raw.get("id") is not None or "error" not in raw


def is_id(value: Any) -> bool:
    """A string or an integer; to JSON, 1.0 is one."""
    return (
        isinstance(value, (str, int, float))
        and not isinstance(value, bool)
        and (isinstance(value, str) or value == value // 1)
    )


def invented_ids(record: Record) -> list[tuple[Message, list[Message]]]:
    """Answers with an id that we never said, each with the requests that waited in vain then; only on stdio.

    What says that something could not be read may have any id; so may the answer to a number that is no integer, or
    one beyond 2^53.
    """
    foreign = foreign_answers(record) if record.transport == "stdio" else []
    if not foreign or any(map(may_change, record.sent)):
        return []
    said = "\n".join(frame.text for frame in record.frames if frame.source == "client")
    unreadable = any(message.kind in ("invalid", "batch") for message in record.sent)
    return [
        (message, waiting)
        for message, waiting in foreign
        if not (unreadable and is_unreadable(message))
        and not re.search(rf'"id"\s*:\s*{re.escape(compact(message.id))}(?![\w.])', said)
    ]


def may_change(sent: Message) -> bool:
    """Whether the id of what we SENT is a number that readers of JSON need not keep."""
    return isinstance(sent.id, (int, float)) and (sent.id != sent.id // 1 or abs(sent.id) > SAFE_INTEGER)


def is_unreadable(answer: Message) -> bool:
    """Whether ANSWER says that something is no JSON, or no request."""
    error = answer.error if answer.kind == "error" else None
    return isinstance(error, dict) and error.get("code") in (PARSE_ERROR, INVALID_REQUEST)


def foreign_answers(record: Record) -> list[tuple[Message, list[Message]]]:
    """Answers with an id that the client never used, with the requests that waited then, and were never answered."""
    lost = {exchange.request.id for exchange in record.exchanges if exchange.reply is None}
    used = {message.id for message in record.sent} | {None}
    # Over HTTP, what refuses a request may know nothing of it.
    kinds = ("result", "error") if record.transport == "stdio" else ("result",)
    waiting: dict[Any, Message] = {}
    found: list[tuple[Message, list[Message]]] = []
    for _, source, message in record.transcript.spoken():
        if source == "server":
            if message.kind in kinds and message.id not in used and len(found) < _MOST:
                found.append((message, list(waiting.values())))
        elif message.kind == "notification" and message.method == _CANCELLED:
            waiting.pop(_cancelled(message), None)
        elif message.kind == "request" and message.id in lost and message.method != _STAYS_OPEN:
            waiting[message.id] = message
    return found


def _cancelled(message: Message) -> str | float | None:
    found = message.params.get("requestId")
    return found if isinstance(found, (str, int, float)) else None
