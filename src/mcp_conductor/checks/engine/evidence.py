"""What proves a finding: the request and the reply that it is about, as they crossed the wire.

A probe leaves a trail of all that it said and heard. A finding names the part of it that it is about, so that a reader
sees two messages and not two hundred; the whole trail is there for those who want it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from time import monotonic
from typing import Any, Self

from mcp_conductor.checks.engine.findings import NoAnswer
from mcp_conductor.client.session import Session
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol.message import read
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.report.model import NOTHING, Finding
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

SENT, CAME = "--> ", "<-- "
MOST_LINES = 100
_LONGEST = 20_000  # characters of a line
_LONGEST_SEARCHED = 8_000_000  # of a message in which a proof is looked for
_MOST_LAST_WORDS = 4
_MOST_WORDS = 100  # of a value that are looked at
_MOST_TELLING = 6  # of these that are looked for
_LONGEST_WORD = 200
_PLAIN = compiled_later("[0-9A-Za-z _.,:;-]+")  # which JSON writes as it is
_ESCAPE = "\\u00"  # with which it could be written, though
_MOST_PARTS = 20_000  # of a message that are compared
_TELLING = ("content-type", "www-authenticate", "location", "allow", "last-event-id", "cache-control")
_START = 100  # characters by which the body of a response is known again
_HTTP = compiled_later(r"^(?:HTTP \d{3}|[A-Z]+ https?://\S+)(?: \(.*?\)(?= |$))? ?")  # what stands before a body
_WORD = compiled_later(r"[\w/.-]+")
_ARROWS = {"client": SENT, "server": CAME}


class Line(str):
    """What was said or heard, with an arrow before it; and when, in seconds of any one clock, if that is known."""

    __slots__ = ("at",)
    at: float | None

    def __new__(cls, text: str, at: float | None = None) -> Self:
        line = str.__new__(cls, text)
        line.at = at
        return line

    @property
    def frame(self) -> Frame:
        return Frame(self.at or 0.0, "client" if self.startswith(SENT) else "server", str(self[len(SENT) :]))


def frames_of(lines: Sequence[str]) -> tuple[Frame, ...]:
    """LINES with their times, where all are known."""
    timed = [line for line in lines if isinstance(line, Line) and line.at is not None]
    return tuple(line.frame for line in timed) if len(timed) == len(lines) else ()


@dataclass(slots=True)
class Trail:
    """What a probe left behind, in all its sessions: what proves a finding, and what makes it doubtful."""

    late: list[str] = field(default_factory=list)  # what was not answered in time
    # Requests without whose answer nothing is known.
    missed: list[RequestTimeout | NoAnswer] = field(default_factory=list)
    used: list[tuple[Session, int]] = field(default_factory=list)  # the sessions, with the first frame of the probe
    ended_sessions: list[Session] = field(default_factory=list)  # those that the server has ended
    patient: bool = False  # replies are waited for beyond their time, to tell late from missing
    came_late: bool = False  # such a reply came
    cut_short: bool = False  # a reply was not waited for as long as usual, since others like it do not come
    second_hand: bool = False  # one of them was used by another probe for what not every client does
    opening: float = 0.0  # seconds that it waited for its sessions to be opened
    http: list[str] = field(default_factory=list)  # requests and responses of HTTP, of those who look at HTTP itself
    shared: list["Trail"] = field(default_factory=list)  # of the probes that made what this one looks at

    def lines(self) -> list[str]:
        """All that was said and heard: the last of it, if it is very much."""
        lines = [
            line for session, since in self.used for line in lines_of(session.transcript.since(since), session.began)
        ]
        return [*lines, *self.http][-MOST_LINES:]

    def lines_for(self, findings: Sequence[Finding]) -> list[str]:
        """The same; where FINDINGS blame a message that came before, or to another probe, all of those sessions."""
        lines = self.lines()
        said = said_in(lines)
        if all(not isinstance(each.actual, dict) or _proof(each.actual, said) for each in findings):
            return lines
        trails = (*self.shared, self)
        sessions = {id(session): session for trail in trails for session, _ in trail.used}
        earlier = [line for each in sessions.values() for line in lines_of(each.transcript.frames, each.began)]
        return [*earlier, *(line for trail in trails for line in trail.http)]

    def note_http(self, line: str) -> None:
        self.http.append(Line(line, monotonic()))


def lines_of(frames: Iterable[Frame], began: float = 0.0) -> list[str]:
    """What was said in FRAMES, whose times count from BEGAN."""
    said = (each.within(_LONGEST_SEARCHED) for each in frames if each.source in _ARROWS)
    return [Line(_ARROWS[each.source] + each.text, began + each.at) for each in said]


def http_request(method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes | None) -> str:
    """A request of HTTP in one line."""
    heads = ", ".join(f"{name}: {value}" for name, value in headers)
    return f"{method} {url} ({heads})" + (f" {body[:_LONGEST].decode(errors='replace')}" if body else "")


def http_response(status: int, headers: Mapping[str, str], body: str) -> str:
    """A response of HTTP in one line, with the headers that MCP cares about."""
    heads = ", ".join(f"{name}: {value}" for name, value in headers.items() if name in _TELLING or "mcp" in name)
    return f"HTTP {status}" + (f" ({heads})" if heads else "") + (f" {body}" if body else "")


def proven(findings: Sequence[Finding], lines: Sequence[str], *, alone: bool = True) -> list[Finding]:
    """FINDINGS, each with the place of its proof in LINES."""
    said = said_in(lines)
    found = []
    for each in findings:
        proof = _proof(each.actual, said, last=alone) or _nearest(each.message, said, last=alone)
        found.append(replace(each, said=(proof[0], proof[-1] + 1) if proof else None))
    return found


def excerpted(
    findings: Sequence[Finding], lines: Sequence[str], *, alone: bool, nearest: bool = False
) -> tuple[list[Finding], list[str]]:
    """FINDINGS with the place of their proofs, and only those of LINES that are proofs.

    ALONE: the lines are those of one probe, so that without a better proof it is the last that was said. NEAREST: the
    same of lines in which the first message that fits is the proof.
    """
    return excerpted_from(findings, said_in(lines), alone=alone, nearest=nearest)


def excerpted_from(
    findings: Sequence[Finding], said: Sequence["Said"], *, alone: bool, nearest: bool = False
) -> tuple[list[Finding], list[str]]:
    """The same for what was SAID, which is read already."""
    kept: list[str] = []
    found = []
    for each in findings:
        proof = _proof(each.actual, said, last=alone) or (
            _nearest(each.message, said, last=alone) if alone or nearest else []
        )
        found.append(replace(each, said=(len(kept), len(kept) + len(proof)) if proof else None))
        kept += [Line(cut(f"{arrow}{text}", _LONGEST), at) for arrow, _, text, at in map(said.__getitem__, proof)]
        if not proof and not nearest and isinstance(each.actual, str):  # lines that belong together
            found[-1] = replace(each, said=(len(kept), len(kept) + 1))
            kept.append(cut(CAME + each.actual, _LONGEST))
    return found, kept


Said = tuple[str, Any, str, float | None]  # the arrow, the message, its text, and when, if that is known


def said_in(lines: Iterable[str]) -> list[Said]:
    """What was said in LINES."""
    return [(line[:4], _message(line[4:]), line[4:], getattr(line, "at", None)) for line in lines]


def said_by_both(transcript: Transcript) -> list[Said]:
    """The same of a conversation, whose messages are read already."""
    return [
        (_ARROWS[source], _message(message.text) if message.raw is None else message.raw, message.text, at)
        for at, source, message in transcript.decoded()
    ]


def _proof(actual: Any, said: Sequence[Said], *, last: bool = True) -> list[int]:
    """The places of the reply that has ACTUAL in it, and of its request: the first such reply, or the LAST."""
    words = _telling_words(actual)
    for place in range(len(said) - 1, -1, -1) if last else range(len(said)):
        arrow, message, text, _ = said[place]
        if any(word not in text for word in words) and _ESCAPE not in text:
            continue
        if _holds(actual, message, text):
            if arrow == CAME:
                return [*_request_of(message, said, place), place]
            return _sent_proof(place, message, text, said)
    return []


def _sent_proof(place: int, message: Any, text: str, said: Sequence[Said]) -> list[int]:
    """The place of what was sent, with that of the question which it answers, or of its own answer."""
    identity = message.get("id") if isinstance(message, dict) else None
    if identity is None or _HTTP.match(text):
        # It was not answered, or only by what comes next.
        return [
            place,
            *(place + 1 for came, *_ in said[place + 1 : place + 2] if came == CAME and not _is_notice(message)),
        ]
    if "method" not in message:
        asked = (at for at in range(place - 1, -1, -1) if said[at][0] == CAME and _is_of(said[at][1], identity, True))
        return [*islice(asked, 1), place]
    answers = (at for at in range(place + 1, len(said)) if said[at][0] == CAME and _is_of(said[at][1], identity, False))
    return [place, *islice(answers, 1)]


def _is_of(message: Any, identity: Any, request: bool) -> bool:
    """Whether MESSAGE is the request, or the answer, with this id."""
    return isinstance(message, dict) and message.get("id") == identity and ("method" in message) == request


def _telling_words(actual: Any) -> list[str]:
    """What stands in every text that has ACTUAL in it, unless as an escape: to look for it first is far quicker."""
    if not isinstance(actual, (dict, list)) or (isinstance(actual, dict) and actual.keys() >= {"status", "body"}):
        return []
    left: list[Any] = [actual]
    words: set[str] = set()
    for part in left:  # which grows meanwhile
        if isinstance(part, str):
            words.add(max(_PLAIN.findall(part[:_LONGEST_WORD]), key=len, default=""))
        elif len(left) < _MOST_WORDS:
            left += [*part, *part.values()] if isinstance(part, dict) else part if isinstance(part, list) else ()
    return sorted(words, key=len, reverse=True)[:_MOST_TELLING]


def _nearest(told: str, said: Sequence[Said], *, last: bool) -> list[int]:
    """The last words; where TOLD names the method of other calls, the first of these, or the LAST."""
    ended, words = _last_words(said), set(_WORD.findall(told))
    named = [
        place
        for place, (arrow, message, *_) in enumerate(said)
        if arrow == SENT and isinstance(message, dict) and str(message.get("method")) in words
    ]
    if not named or not set(named).isdisjoint(ended):
        return ended
    place = named[-1 if last else 0]
    return _sent_proof(place, *said[place][1:3], said)


def _last_words(said: Sequence[Said]) -> list[int]:
    """The last request that was sent, or else the last of anything, and what came after it."""
    if not said:
        return []
    sent = [place for place, (arrow, *_) in enumerate(said) if arrow == SENT]
    asked = [place for place in sent if not _is_notice(said[place][1])]
    last = max(asked or sent, default=0)
    identity = _member(said[last][1], "id")
    came = (
        at for at in range(last + 1, len(said)) if said[at][0] == CAME and not _answers_other(said[at][1], identity)
    )
    ended = [last, *islice(came, _MOST_LAST_WORDS - 1)]
    # What is not answered may be so because of what was sent before it: a notification, or what is no message.
    before = max((place for place in sent if place < last), default=None)
    if before is None or not (_is_notice(said[before][1]) or not isinstance(said[before][1], dict)):
        return ended
    return [*_cancelled_by(said[before][1], said, before), before, *ended]


def _answers_other(message: Any, identity: Any) -> bool:
    """Whether MESSAGE answers a request with another id than IDENTITY."""
    answered = _member(message, "id")
    return answered is not None and "method" not in message and answered != identity


def _cancelled_by(notice: Any, said: Sequence[Said], end: int) -> list[int]:
    """The place of the request, before the place END, that a NOTICE cancels, if it cancels one."""
    identity = _member(_member(notice, "params"), "requestId")
    if identity is None:
        return []
    return [at for at in range(end) if said[at][0] == SENT and _is_of(said[at][1], identity, True)][-1:]


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _is_notice(message: Any) -> bool:
    """Such as that we wait no longer for an answer."""
    return isinstance(message, dict) and "method" in message and "id" not in message


def _holds(actual: Any, message: Any, text: str) -> bool:
    """Whether ACTUAL is a message, or a part of it."""
    if actual is NOTHING:
        return False
    if isinstance(actual, str):
        return actual == text
    if not isinstance(actual, (dict, list)) or not actual:
        return False
    if isinstance(actual, dict) and actual.keys() >= {"status", "body"} and text.startswith(f"HTTP {actual['status']}"):
        return _start_of(actual["body"]) in text
    left, looked = [message], 0
    while left and looked < _MOST_PARTS:
        part = left.pop()
        looked += 1
        try:
            if part == actual:
                return True
        except RecursionError:  # a part that is nested very deeply is compared in its own parts
            pass
        if isinstance(part, (dict, list)):
            left += part.values() if isinstance(part, dict) else part
    return False


def _start_of(body: Any) -> str:
    """The first words of what a check shows of a response: it may have been cut."""
    return str(body[0] if isinstance(body, list) and body else body or "")[:_START]


def _request_of(message: Any, said: Sequence[Said], end: int) -> list[int]:
    """The place of the request that MESSAGE, at the place END, answers, if it answers one."""
    # A response of HTTP belongs to the request of HTTP before it.
    if end and said[end - 1][0] == SENT and _HTTP.match(said[end - 1][2]):
        return [end - 1]
    identity = message.get("id") if isinstance(message, dict) and "method" not in message else None
    token = _member(_member(message, "params"), "progressToken")
    for place in range(end - 1, -1, -1) if identity is not None or token is not None else ():
        arrow, request, *_ = said[place]
        if arrow != SENT or not isinstance(request, dict) or "method" not in request:
            continue
        params = request.get("params")
        if identity is None and _member(_member(params, "_meta"), "progressToken") == token:
            identity = request.get("id")
        if identity is not None and request.get("id") == identity:
            after = range(place + 1, end)
            cancelled = (at for at in after if _member(_member(said[at][1], "params"), "requestId") == identity)
            return [place, *islice(cancelled, 1)]
    return []


def _message(text: str) -> Any:
    try:
        return read(_HTTP.sub("", text, count=1))
    except (ValueError, RecursionError):
        return None
