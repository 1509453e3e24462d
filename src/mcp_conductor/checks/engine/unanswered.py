"""Requests that the server did not answer, or only slowly, so that none of them is waited for again and again."""

from typing import Any

from mcp_conductor.checks.engine.evidence import SENT, Line
from mcp_conductor.client.session import Session
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Message, compact

PATIENCE = 2  # times the time for an answer: how long the second one is waited for, as the machine may be busy
BUSY_PART = 0.25  # of the time for an answer: who needs so much of it for nothing may need all of it for something
_SHORT_PART = 0.1  # of the time for an answer: what is waited for others like one that surely did not come
_SLOWER = 8.0  # how much longer than any answer of the same method, at least


class Unanswered:
    """The requests that were not answered in time: whole methods, or one request of a method that answers others.

    Over HTTP, also the methods to which something else came than an answer.

    Only requests that are proper, in a session that is open, are counted.
    """

    told_under: str | None = None  # the requirement that tells of a request, one of several, that surely has no answer

    def __init__(self) -> None:
        self._missed: set[str] = set()
        self._missed_again: set[str] = set()  # by one who waited patiently
        self._answered: set[str] = set()
        self._broken: set[str] = set()
        self._served: set[str] = set()
        self._proofs: dict[str, Line] = {}
        self._quickest: dict[str, float] = {}  # seconds, by method
        self._slowest: dict[str, float] = {}

    def is_known(self, method: str, params: Any = None) -> bool:
        """Whether it is certain that a request has no answer, so that it is not to be waited for any more."""
        return not self._missed_again.isdisjoint((method, _key(method, params)))

    def is_doubtful(self, method: str, params: Any = None) -> bool:
        """Whether a request was missed, so that it is waited for patiently: late has to be told from missing."""
        return not self._missed.isdisjoint((method, _key(method, params)))

    def has_answered(self, method: str | None) -> bool:
        """Whether METHOD was answered at all."""
        return method in self._answered

    def is_silent(self, method: str) -> bool:
        """Whether METHOD was never answered, whatever its params."""
        return method in self._missed_again or method in self._broken

    def is_any_broken(self) -> bool:
        """Whether there is a method to which something else came over HTTP than an answer."""
        return bool(self._broken)

    def seconds_for(self, method: str, params: Any, seconds: float) -> float:
        """How long an answer is waited for, usually SECONDS: not long where others like it surely have none."""
        if self.told_under is None or _key(method, params) in self._answered:
            return seconds * PATIENCE if self.is_doubtful(method, params) else seconds
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

    def missed(self, session: Session, method: str, params: Any = None, *, patiently: bool = False) -> None:
        """The request that was sent last in SESSION with METHOD was not answered, although one waited PATIENTLY."""
        key = _key(method, params)
        if key in self._answered:
            return
        missed = self._missed_again if patiently else self._missed
        missed.add(key if method in self._answered else method)
        self._prove(session, method)

    def broken(self, session: Session, method: str) -> None:
        """To the request that was sent last in SESSION, as any client sends it, something else came than an answer."""
        if method not in self._served:
            self._broken.add(method)
            self._prove(session, method)

    def _prove(self, session: Session, method: str) -> None:
        if method not in self._proofs:
            sent = (each for each in reversed(session.transcript.frames) if each.source == "client")
            asked = (each for each in sent if any(_asks_for(method, one) for one in each.messages()))
            frame = next(asked, None)
            if frame is not None:
                self._proofs[method] = Line(SENT + frame.text, session.began + frame.at)

    def answered(self, method: str, params: Any = None, seconds: float = 0.0) -> None:
        self._answered |= {method, _key(method, params)}
        self._missed.discard(method)
        self._missed_again.discard(method)
        self._quickest[method] = min(seconds, self._quickest.get(method, seconds))
        self._slowest[method] = max(seconds, self._slowest.get(method, 0.0))

    def served(self, method: str) -> None:
        """METHOD was answered with a result, so that it is not METHOD that has no answer."""
        self._served.add(method)
        self._broken.discard(method)


def _asks_for(method: str, message: Message) -> bool:
    return message.kind == "request" and message.method == method


def _key(method: str, params: Any) -> str:
    """What is the same in two requests that ask for the same."""
    own: Json = {name: value for name, value in params.items() if name != "_meta"} if isinstance(params, dict) else {}
    return f"{method} {compact(own)}"
