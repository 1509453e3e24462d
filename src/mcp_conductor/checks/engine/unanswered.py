"""Requests that the server did not answer, or only slowly, so that none of them is waited for again and again."""

from collections import Counter
from typing import Any

from mcp_conductor.checks.engine.evidence import SENT, Line
from mcp_conductor.client.session import Session
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Message, compact

MOST_MISSED = 2  # time-outs: a second one, because the first may come from a busy machine
BUSY_PART = 0.25  # of the time for an answer: who needs so much of it for nothing may need all of it for something
_SHORT_PART = 0.1  # of the time for an answer: what is waited for others like one that surely did not come
_SLOWER = 8.0  # how much longer than any answer of the same method, at least


class Unanswered:
    """The requests that were not answered in time: whole methods, or one request of a method that answers others.

    Only requests that are proper, in a session that is open, are counted.
    """

    told_under: str | None = None  # the requirement that tells of a request, one of several, that surely has no answer

    def __init__(self) -> None:
        self._missed: Counter[str] = Counter()
        self._answered: set[str] = set()
        self._proofs: dict[str, Line] = {}
        self._quickest: dict[str, float] = {}  # seconds, by method
        self._slowest: dict[str, float] = {}

    def is_known(self, method: str, params: Any = None) -> bool:
        """Whether a request was missed so often that it is not to be waited for any more."""
        return any(self._missed[key] >= MOST_MISSED for key in (method, _key(method, params)))

    def is_silent(self, method: str) -> bool:
        """Whether METHOD was never answered, whatever its params."""
        return self._missed[method] >= MOST_MISSED

    def seconds_for(self, method: str, params: Any, seconds: float) -> float:
        """How long an answer is waited for, at most SECONDS: not long where others like it surely have none."""
        if self.told_under is None or _key(method, params) in self._answered:
            return seconds
        return min(seconds, round(max(_SHORT_PART * seconds, _SLOWER * self._slowest.get(method, 0.0)), 2))

    def is_late(self, method: str, timeout: float) -> bool:
        """Whether METHOD is not answered, or only slowly."""
        return self.is_silent(method) or self.is_slow(method, timeout)

    def is_slow(self, method: str | None, timeout: float) -> bool:
        """Whether METHOD is answered, but needed so long each time that it may need all of TIMEOUT the next time."""
        return self._quickest.get(method or "", 0.0) > BUSY_PART * timeout

    def proof(self, method: str) -> list[str]:
        """The first request of METHOD that was not answered."""
        return [self._proofs[method]] if method in self._proofs else []

    def missed(self, session: Session, method: str, params: Any = None) -> None:
        """The request that was sent last in SESSION with METHOD was not answered in time."""
        key = _key(method, params)
        if key in self._answered:
            return
        self._missed[key if method in self._answered else method] += 1
        if method not in self._proofs:
            sent = (each for each in reversed(session.transcript.frames) if each.source == "client")
            asked = (each for each in sent if any(_asks_for(method, one) for one in each.messages()))
            frame = next(asked, None)
            if frame is not None:
                self._proofs[method] = Line(SENT + frame.text, session.began + frame.at)

    def answered(self, method: str, params: Any = None, seconds: float = 0.0) -> None:
        self._answered |= {method, _key(method, params)}
        self._missed.pop(method, None)
        self._quickest[method] = min(seconds, self._quickest.get(method, seconds))
        self._slowest[method] = max(seconds, self._slowest.get(method, 0.0))


def _asks_for(method: str, message: Message) -> bool:
    return message.kind == "request" and message.method == method


def _key(method: str, params: Any) -> str:
    """What is the same in two requests that ask for the same."""
    own: Json = {name: value for name, value in params.items() if name != "_meta"} if isinstance(params, dict) else {}
    return f"{method} {compact(own)}"
