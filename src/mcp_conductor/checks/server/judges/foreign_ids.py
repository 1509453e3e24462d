"""Answers whose id no request had, while a request has no answer: that the id was not repeated.

A recording may lack what would explain such an answer; then nothing is said. Where we ask ourselves, our own odd
messages may explain it.
"""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.check import judged_everywhere, judged_in_recordings
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.odd_messages import foreign_answers, invented_ids, may_change
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

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
