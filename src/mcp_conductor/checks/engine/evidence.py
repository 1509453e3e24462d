"""What proves a finding: the request and the reply that it is about, as they crossed the wire.

A probe leaves a trail of all that it said and heard. A finding names the part of it that it is about, so that a reader
sees two messages and not two hundred; the whole trail is there for those who want it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from itertools import islice
from time import monotonic
from typing import Any, Self

from mcp_conductor.checks.engine.findings import NoAnswer
from mcp_conductor.client.session import Session
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol.dialect import META
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
_MOST_ALIKE = 20  # messages among which the very one that a finding blames is looked for
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
    answered: list[tuple[Any, Any]] = field(default_factory=list)  # requests, each with its reply

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
        blamed = [value for each in findings for value in (*each.beside, each.actual) if isinstance(value, dict)]
        if all(_proof(each, said) for each in blamed):
            return lines
        trails = (*self.shared, self)
        sessions = {id(session): session for trail in trails for session, _ in trail.used}
        earlier = [line for each in sessions.values() for line in lines_of(each.transcript.frames, each.began)]
        return [*earlier, *(line for trail in trails for line in trail.http)]

    def with_requests(self, findings: Sequence[Finding]) -> list[Finding]:
        """FINDINGS; those that blame a reply, with its request: replies to others may say the same."""
        asked = {id(reply): request for trail in (*self.shared, self) for request, reply in trail.answered}
        found = []
        for each in findings:
            requests = [asked[id(reply)] for reply in (*each.beside, each.actual) if id(reply) in asked]
            found.append(replace(each, beside=(*requests, *each.beside)) if requests else each)
        return found

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
        proof = _proof_of(each, said, last=alone) or _nearest(each.message, said, last=alone)
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
        proof = _proof_of(each, said, last=alone) or (
            _nearest(each.message, said, last=alone) if alone or nearest else []
        )
        found.append(replace(each, said=(len(kept), len(kept) + len(proof)) if proof else None))
        kept += [Line(cut(f"{arrow}{text}", _LONGEST), at) for arrow, _, text, at in map(said.__getitem__, proof)]
        # What is no message, such as lines that belong together or a line of stderr, stands for itself.
        shown = nearest or (alone and proof) or each.path is not None or _has_text(proof, said, each.actual)
        if isinstance(each.actual, str) and not shown:
            kept.append(cut(CAME + each.actual, _LONGEST))
            found[-1] = replace(each, said=(len(kept) - 1 - len(proof), len(kept)))
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


def _proof_of(finding: Finding, said: Sequence[Said], *, last: bool) -> list[int]:
    """The places of all that proves FINDING."""
    found: set[int] = set()
    shown: list[Any] = []
    for value in (*finding.beside, finding.actual):
        if isinstance(value, str) and "\n" in value and finding.path is None:
            found.update(_lines_with(value, said))
            continue
        again = any(_same(value, each) for each in shown)  # then it is another message, which says the same
        if again or not any(_holds(value, *said[place][1:3]) for place in found):
            found.update(_proof(value, said, last=last, taken=found if again else ()))
        shown.append(value)
    return sorted(found)


def _lines_with(text: str, said: Sequence[Said]) -> list[int]:
    """The places of the lines that have TEXT, which goes on over several of them."""
    came = [place for place, (arrow, *_) in enumerate(said) if arrow == CAME]
    number = text.count("\n") + 1
    for start in range(len(came) - number + 1):
        places = came[start : start + number]
        if text in "\n".join(said[place][2] for place in places):
            return places
    return []


def _has_text(proof: Sequence[int], said: Sequence[Said], text: Any) -> bool:
    return isinstance(text, str) and text in "\n".join(said[place][2] for place in proof)


def _proof(actual: Any, said: Sequence[Said], *, last: bool = True, taken: Collection[int] = ()) -> list[int]:
    """The places of the reply that has ACTUAL in it, and of its request: the first such reply, or the LAST.

    Those that are TAKEN are others.
    """
    words = _telling_words(actual)
    alike: list[int] = []
    for place in range(len(said) - 1, -1, -1) if last else range(len(said)):
        _, message, text, _ = said[place]
        if place in taken or (any(word not in text for word in words) and _ESCAPE not in text):
            continue
        part = _part(actual, message, text)
        if part is not NOTHING:
            alike.append(place)
            if part is actual:  # others only say the same
                alike = [place]
                break
            if len(alike) == _MOST_ALIKE:
                break
    if not alike:
        return []
    arrow, message, text, _ = said[alike[0]]
    if arrow == CAME:
        return [*_request_of(message, said, alike[0]), alike[0]]
    return _sent_proof(alike[0], message, text, said)


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
        before = [at for at in range(place - 1, -1, -1) if said[at][0] == CAME]
        asked = [at for at in before if _is_of(said[at][1], identity, True)]
        # With another id, it answers the last that could be taken for a question.
        asked = asked or [at for at in before if "method" in (said[at][1] if isinstance(said[at][1], dict) else ())]
        return [*asked[:1], place]
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
    return _part(actual, message, text) is not NOTHING


def _part(actual: Any, message: Any, text: str) -> Any:
    """The part of MESSAGE that is as ACTUAL, or NOTHING."""
    if isinstance(actual, str):
        return text if actual == text else NOTHING
    if not isinstance(actual, (dict, list)) or not actual:
        return NOTHING
    if isinstance(actual, dict) and actual.keys() >= {"status", "body"} and text.startswith(f"HTTP {actual['status']}"):
        return text if _start_of(actual["body"]) in text else NOTHING
    left, looked = [message], 0
    while left and looked < _MOST_PARTS:
        part = left.pop()
        looked += 1
        if _same(part, actual):
            return part
        if isinstance(part, (dict, list)):
            left += part.values() if isinstance(part, dict) else part
    return NOTHING


def _same(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except RecursionError:  # what is nested very deeply is compared in its own parts
        return False


def _start_of(body: Any) -> str:
    """The first words of what a check shows of a response: it may have been cut."""
    return ("\n".join(body) if isinstance(body, list) else str(body or ""))[:_START]


def _request_of(message: Any, said: Sequence[Said], end: int) -> list[int]:
    """The places of the request that MESSAGE, at the place END, answers or is about, and of what was done with it."""
    # A response of HTTP belongs to the request of HTTP before it.
    if end and said[end - 1][0] == SENT and _HTTP.match(said[end - 1][2]):
        return [end - 1]
    if isinstance(message, list):
        return sorted({place for each in message for place in _request_of(each, said, end)})
    if not isinstance(message, dict):
        return []
    params = message.get("params")
    token = _member(params, "progressToken")
    subscription = _member(_member(params, "_meta"), f"{META}subscriptionId")
    identity = subscription if "method" in message else message.get("id")
    unasked = _open_request(said, end) if "method" in message else []
    for place in range(end - 1, -1, -1) if identity is not None or token is not None else ():
        arrow, request, *_ = said[place]
        if arrow != SENT or not isinstance(request, dict) or _is_answer(request):
            continue
        if identity is None and _member(_member(request.get("params"), "_meta"), "progressToken") == token:
            identity = request.get("id")
        if identity is not None and request.get("id") == identity:
            after = range(place + 1, end)
            answered = [at for at in after if said[at][0] == CAME and _is_of(said[at][1], identity, False)]
            cancelled = [at for at in after if _member(_member(said[at][1], "params"), "requestId") == identity]
            # Another answer with its id may answer what could not be read.
            unread = [at for at in after if answered and said[at][0] == SENT and said[at][1] is None]
            about = unasked if subscription is not None else []
            return unread[-1:] or sorted({place, *answered[:1], *cancelled[:1], *about})
    return unasked if "method" in message else _without_answer(said, end)


def _open_request(said: Sequence[Said], end: int) -> list[int]:
    """The place of the last request that had no answer at the place END: what comes unasked may come because of it."""
    answered: list[Any] = []
    for place in range(end - 1, -1, -1):
        arrow, message, *_ = said[place]
        identity = _member(message, "id")
        if arrow == CAME and identity is not None and "method" not in message:
            answered.append(identity)
        elif arrow == SENT and identity is not None and "method" in message and identity not in answered:
            return [place]
    return []


def _without_answer(said: Sequence[Said], end: int) -> list[int]:
    """The places of what was sent last before the place END and has no answer: what names no request answers it."""
    answered = [_member(message, "id") for arrow, message, *_ in said if arrow == CAME]
    found: list[int] = []
    for place in range(end - 1, -1, -1):
        arrow, sent, *_ = said[place]
        if arrow == CAME and found:
            break
        if arrow == SENT and not _is_answer(sent) and (_member(sent, "id") is None or sent["id"] not in answered):
            found.insert(0, place)
    # A notification is not to be answered, so that it is rather what is odd.
    return [place for place in found if not _is_notice(said[place][1])][-1:] or found[-_MOST_LAST_WORDS:]


def _is_answer(message: Any) -> bool:
    return isinstance(message, dict) and not message.keys().isdisjoint(("result", "error"))


def _message(text: str) -> Any:
    body = _HTTP.sub("", text, count=1)
    try:
        return read(body)
    except (ValueError, RecursionError):
        # The events of a stream are shown as lines.
        return [_message(line) for line in body.split("\n")] if body != text and "\n" in body.strip("\n") else None
