"""Answers in a recording whose id no request had, while a request has no answer: that the id was not repeated.

Where we ask ourselves, a probe looks at that. A recording may lack what would explain such an answer; then nothing is
said.
"""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged_in_recordings
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

_OPENINGS = ("initialize", "server/discover")
_CANCELLED = "notifications/cancelled"
_STAYS_OPEN = "subscriptions/listen"  # it has no answer as long as all is well
_MOST = 100  # answers that are looked at


@judged_in_recordings("base-response-id-echo-server")
def answers_have_the_ids_of_requests(record: Record) -> Iterator[Finding]:
    """Look for answers with an id that no request had, which came while a request waited that was never answered."""
    foreign = _foreign(record)
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
        if len(left) == 1:
            ids = f"the id {message.id!r}, but the request has {left[0].id!r}"
            yield fault(f"the answer to {left[0].method} has {ids}", message.raw)
        else:
            yield fault(f"an answer has the id {message.id!r}, which no request has", message.raw)
    if foreign and not explained:
        raise NotSeen("an answer has an id that no request has, but no request waited for an answer")


def _foreign(record: Record) -> list[tuple[Message, list[Message]]]:
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


def _why_unsure(record: Record) -> str | None:
    """Why an answer may be to something that is not in the recording."""
    first = next((message for _, _, message in record.transcript.spoken()), None)
    if first is None or first.kind != "request" or first.method not in _OPENINGS:
        return "the recording may begin in the middle of the conversation"
    if any(message.kind == "invalid" for message in record.sent):
        return "the client sent what is not a message"
    if any(frame.source == "http" and "\nlast-event-id:" in frame.text.lower() for frame in record.frames):
        return "a stream was resumed"
    return None
