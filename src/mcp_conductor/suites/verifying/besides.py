"""What a server says and does besides its answers, and did not in the recording: a difference as any other.

Only what the recording must show counts. Over HTTP, what belongs to no request may come or not, and errors without an
id answer what is no request; a recording that was cut does not tell how the server ends.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from mcp_conductor.protocol import Id
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.dialogue import Asked, Dialogue, shown_request
from mcp_conductor.recording.format import CLIENT_LEFT
from mcp_conductor.report.model import Finding
from mcp_conductor.suites.matching.differences import shown

_MAX_LINES = 10  # that are no messages, and are told; those that are alike are told once
_PROGRESS = "notifications/progress"
_EXITED = "exited with code"


class Ending(NamedTuple):
    """How the process of a server ended, as far as frames tell."""

    over_http: bool
    is_known: bool  # an end by itself, after its stdin was closed
    how: str | None  # None: well, or we ended it

    @classmethod
    def of(cls, frames: Iterable[Frame]) -> Self:
        told: list[str] = []
        over_http = False
        for frame in frames:
            over_http = over_http or frame.source == "http"
            if frame.source == "process":
                told.append(frame.text)
        how = told[-1] if told else None
        # Without "started", sessions of ours tell only a bad end by itself.
        known = "started" not in told or (CLIENT_LEFT in told and how is not None and how.startswith(_EXITED))
        return cls(over_http, known, how if known and how != f"{_EXITED} 0" else None)


def besides(
    recorded: Dialogue, before: Ending, now: Dialogue, frames: Sequence[Frame], ignored: Collection[str]
) -> Iterator[Finding]:
    """What NOW came besides the answers, and is neither in the dialogue that was RECORDED nor IGNORED."""
    after = Ending.of(frames)
    apart = before.over_http or after.over_http
    known, strays = set(_by_kind(recorded)), _by_kind(now)
    if "second" not in known:
        for message in strays.get("second", ()):
            asked = _answered(now)[message.id]
            if not after.over_http or (asked.reply is not None and asked.reply.text != message.text):
                what = f"{shown_request(asked.method, asked.request.params)} ({asked.number})"
                yield Finding(message=f"a second answer to {what} came", actual=message.raw)
    if apart:
        return
    if "unknown" not in known:
        for message in strays.get("unknown", ()):
            yield Finding(message="an answer came that belongs to no request", actual=message.raw)
    if "unreadable" not in known and "stdout" not in ignored:
        lines = Counter(message.text for message in strays.get("unreadable", ()))
        for text, count in list(lines.items())[:_MAX_LINES]:
            times = f" ({count} times)" if count > 1 else ""
            yield Finding(message=f"the server wrote a line that is not a message: {shown(text)}{times}", actual=text)
    if "notifications" not in ignored and _all_answered(recorded) and _all_answered(now):
        methods = {each.method for each in recorded.notices}
        for message in _last_notices(frames):
            if message.method not in methods:
                text = f"{message.method} came after the last answer, and is not in the recording"
                yield Finding(message=text, actual=message.params)
    if before.is_known and after.how not in (None, before.how) and "exit" not in ignored:
        then = "" if before.how is None else f"; in the recording it {before.how}"
        yield Finding(message=f"the server {after.how}{then}")


def _by_kind(dialogue: Dialogue) -> dict[str, list[Message]]:
    """The strays of DIALOGUE: second answers, answers to nothing, and what is no message."""
    found: dict[str, list[Message]] = {}
    answered = _answered(dialogue) if dialogue.strays else {}
    for message in dialogue.strays:
        kind = "second" if message.id in answered else "unreadable" if message.kind == "invalid" else "unknown"
        found.setdefault(kind, []).append(message)
    return found


def _answered(dialogue: Dialogue) -> dict[Id | None, Asked]:
    return {asked.request.id: asked for asked in dialogue.asked if asked.reply is not None}


def _all_answered(dialogue: Dialogue) -> bool:
    """Whether the server had no request left to work on at the end."""
    return all(asked.awaited for asked in dialogue.asked)


def _last_notices(frames: Sequence[Frame]) -> list[Message]:
    """The notifications after the last answer, without progress."""
    found: list[Message] = []
    for frame in reversed(frames):
        if frame.source != "server":
            continue
        for message in reversed(list(frame.messages())):
            if message.kind in ("result", "error"):
                return found[::-1]
            if message.kind == "notification" and message.method != _PROGRESS:
                found.append(message)
    return found[::-1]
