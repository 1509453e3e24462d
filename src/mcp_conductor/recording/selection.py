"""Which frames of a recording are shown: by method, name, outcome, source and time.

Method, name and outcome are those of an exchange: a request with its reply, its progress, its cancellation, questions
that came because of it, what its subscription was told, and its HTTP heads. Frames come one by one, so that a recording
can be followed while it is written; what is not decided yet is held back, the rest is known at once.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import field
from fnmatch import fnmatchcase

from mcp_conductor.protocol.ledger import id_key, progress_token, subscription_key
from mcp_conductor.protocol.message import Message
from mcp_conductor.recording.format import CLIENT_LEFT, Entry
from mcp_conductor.values import dataclass

_MOST_OPEN = 10_000  # requests, and HTTP exchanges, of a session that are remembered while a recording is followed
_MOST_SESSIONS = 1_000
_MOST_HELD = 64_000_000  # characters of frames that are held back meanwhile
_STAYS_OPEN = "subscriptions/listen"  # it has no reply as long as all is well
_GOOD_ENDS = ("started", CLIENT_LEFT, "exited with code 0")
_MAY_BE_REFUSED = ("GET ", "DELETE ")  # a server that has no such stream or session answers with 405


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be shown; by default all of it."""

    methods: tuple[str, ...] = ()  # patterns with * and ?, one of which must fit
    names: tuple[str, ...] = ()  # the same for the tool, the prompt or the URI
    errors: bool = False  # only what went wrong
    sources: tuple[str, ...] = ()
    since: float = -math.inf
    until: float = math.inf
    session: int | None = None

    @property
    def of_exchanges(self) -> bool:
        return bool(self.methods or self.names or self.errors)

    def fits(self, message: Message) -> bool:
        """Whether a request or a notification has a method and a name that are wanted."""
        return (not self.methods or _matches(message.method, self.methods)) and (
            not self.names or any(_matches(name, self.names) for name in _names(message))
        )

    def has(self, entry: Entry) -> bool:
        """Whether ENTRY itself has the source and the time that are wanted."""
        frame = entry.frame
        return (not self.sources or frame.source in self.sources) and self.since <= frame.at <= self.until


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _names(message: Message) -> Iterator[str]:
    """What a message is about: a tool, a prompt or a resource."""
    ref = message.params.get("ref")
    for members in (message.params, ref if isinstance(ref, dict) else {}):
        for value in (members.get("name"), members.get("uri")):
            if isinstance(value, str):
                yield value


def select(entries: Iterable[Entry], wanted: Wanted) -> list[Entry]:
    """Those of ENTRIES that are wanted, in their order."""
    selection = Selection(wanted, bounded=False)
    found = [line for entry in entries for line in selection.take(entry)] + selection.end()
    return [line.entry for line in sorted(found, key=lambda line: line.number)]


@dataclass(slots=True, eq=False)
class Line:
    """A frame, and its place in the recording."""

    number: int
    entry: Entry
    is_out: bool = False  # it has been given out


@dataclass(slots=True, eq=False)
class _Exchange:
    """A request, or a notification, and what belongs to it."""

    wanted: bool | None  # None: it is not known yet
    parent: "_Exchange | None" = None
    cancelled: bool = False
    token: object = None  # by which its progress is known
    lines: list[Line] = field(default_factory=list)  # that are held back


@dataclass(slots=True, eq=False)
class _HttpExchange:
    """An HTTP request with its answer; its heads belong to what its body is about."""

    head: str = ""
    lines: list[Line] = field(default_factory=list)  # that came before the body
    about: list[_Exchange] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class _Session:
    """What is under way in one conversation."""

    open: dict[tuple[str, object], _Exchange] = field(default_factory=dict)  # by side and id
    listening: dict[tuple[str, object], _Exchange] = field(default_factory=dict)  # subscriptions, in the same way
    tokens: dict[object, _Exchange] = field(default_factory=dict)
    http: dict[int, _HttpExchange] = field(default_factory=dict)

    def posted(self, number: int | None) -> _Exchange | None:
        """What the HTTP exchange with this number is about, if its body says so: the streams of GET have none."""
        http = None if number is None else self.http.get(number)
        return http.about[0] if http is not None and http.about else None

    def asking(self, number: int | None) -> _Exchange | None:
        """The request because of which the server asks something: that of the HTTP exchange, or the only open one."""
        waiting = [each for (side, _), each in self.open.items() if side == "client"]
        return self.posted(number) or (waiting[0] if len(waiting) == 1 else None)


class Selection:
    """Frames in, those that are wanted out, as soon as that is known."""

    def __init__(self, wanted: Wanted, *, bounded: bool) -> None:
        self._wanted = wanted
        self._bounded = bounded  # memory for what is under way
        self._sessions: dict[int, _Session] = {}
        self._out: list[Line] = []
        self._held = 0
        self.seen = 0  # frames of the session that is wanted
        self.shown = 0  # of these

    def take(self, entry: Entry) -> list[Line]:
        """What is known to be wanted now that ENTRY has come."""
        if self._wanted.session not in (None, entry.session):
            return []
        line = Line(self.seen, entry)
        self.seen += 1
        if not self._wanted.of_exchanges:
            self._give(line)
        else:
            session = self._sessions.setdefault(entry.session, _Session())
            if entry.frame.source == "http":
                self._head(line, session)
            elif entry.frame.source == "process":
                if self._wants_faults and entry.frame.text not in _GOOD_ENDS:
                    self._give(line)
            else:
                for message in entry.frame.messages():
                    self._said(message, line, session)
            if self._bounded:
                self._forget(session)
        return self._taken()

    def end(self) -> list[Line]:
        """What is wanted because nothing more comes: requests that were never answered."""
        for session in self._sessions.values():
            for exchange in session.open.values():
                if not exchange.cancelled:
                    self._decide(exchange, wanted=True)
        return self._taken()

    @property
    def _wants_faults(self) -> bool:
        """Whether also faults are wanted that belong to no method."""
        return self._wanted.errors and not self._wanted.methods and not self._wanted.names

    def _taken(self) -> list[Line]:
        out, self._out = self._out, []
        self.shown += len(out)
        return out

    def _give(self, line: Line) -> None:
        if not line.is_out and self._wanted.has(line.entry):
            line.is_out = True
            self._out.append(line)

    def _attach(self, line: Line, exchange: _Exchange | None) -> None:
        while exchange is not None:
            if exchange.wanted:
                self._give(line)
            elif exchange.wanted is None:
                exchange.lines.append(line)
                self._held += len(line.entry.frame.text)
            exchange = exchange.parent

    def _decide(self, exchange: _Exchange, *, wanted: bool) -> None:
        if exchange.wanted is None:
            exchange.wanted = wanted
            lines, exchange.lines = exchange.lines, []
            self._held -= sum(len(line.entry.frame.text) for line in lines)
            for line in lines if wanted else ():
                self._give(line)

    def _said(self, message: Message, line: Line, session: _Session) -> None:
        """Find out what MESSAGE belongs to."""
        side, other = ("client", "server") if line.entry.frame.source == "client" else ("server", "client")
        if message.kind == "request":
            exchange = self._request(message, line, session, side)
        elif message.kind == "notification":
            exchange = self._notification(message, line, session, side)
        else:
            exchange = self._reply(message, line, session, other)
        number = line.entry.exchange
        if side == "client" and number is not None:
            http = session.http.setdefault(number, _HttpExchange())
            http.about.append(exchange)
            held, http.lines = http.lines, []
            for head in held:
                self._attach(head, exchange)

    def _request(self, message: Message, line: Line, session: _Session, side: str) -> _Exchange:
        wanted = self._wanted.fits(message)
        undecided = wanted and self._wanted.errors and message.problem is None
        parent = session.asking(line.entry.exchange) if side == "server" else None
        exchange = _Exchange(None if undecided else wanted, parent)
        self._attach(line, exchange)
        known = session.listening if message.method == _STAYS_OPEN else session.open
        known[side, id_key(message.id)] = exchange
        if (token := progress_token(message.raw)) is not None:
            exchange.token = side, id_key(token)
            session.tokens[exchange.token] = exchange
        return exchange

    def _notification(self, message: Message, line: Line, session: _Session, side: str) -> _Exchange:
        wanted = self._wanted.fits(message) and (not self._wanted.errors or message.problem is not None)
        other = "server" if side == "client" else "client"
        known: _Exchange | None = None
        if message.method == "notifications/cancelled":
            key = side, id_key(message.params.get("requestId"))
            known = session.open.get(key) or session.listening.get(key)
            if known is not None:
                known.cancelled = True
        elif message.method == "notifications/progress":
            known = session.tokens.get((other, id_key(message.params.get("progressToken"))))
        elif side == "server":
            known = session.listening.get((other, subscription_key(message))) or session.posted(line.entry.exchange)
        exchange = _Exchange(wanted, known)
        self._attach(line, exchange)
        return exchange

    def _reply(self, message: Message, line: Line, session: _Session, asked: str) -> _Exchange:
        """MESSAGE answers a request of the side ASKED, or it is not a message at all."""
        key = asked, id_key(message.id)
        exchange = session.open.pop(key, None) or session.listening.pop(key, None)
        if exchange is None:
            exchange = _Exchange(self._wants_faults and message.problem is not None)
            self._attach(line, exchange)
            return exchange
        self._attach(line, exchange)
        self._decide(exchange, wanted=_is_wrong(message))
        if session.tokens.get(exchange.token) is exchange:
            del session.tokens[exchange.token]
        return exchange

    def _head(self, line: Line, session: _Session) -> None:
        """The head of an HTTP request or answer."""
        text, number = line.entry.frame.text, line.entry.exchange
        http = _HttpExchange() if number is None else session.http.setdefault(number, _HttpExchange())
        is_answer = text.startswith("HTTP ")
        refused = is_answer and _is_refusal(text, http.head)
        http.head = http.head if is_answer else text
        for exchange in http.about:
            self._attach(line, exchange)
            if refused and exchange.wanted is None:
                self._decide(exchange, wanted=True)
        if not http.about:
            http.lines.append(line)
            if refused and self._wants_faults:
                for each in http.lines:
                    self._give(each)

    def _forget(self, session: _Session) -> None:
        """Keep the memory for what is under way within its bounds: the oldest is forgotten."""
        while len(session.open) > _MOST_OPEN:
            self._decide(session.open.pop(next(iter(session.open))), wanted=False)
        while len(session.listening) > _MOST_OPEN:
            self._decide(session.listening.pop(next(iter(session.listening))), wanted=False)
        while len(session.tokens) > _MOST_OPEN:
            del session.tokens[next(iter(session.tokens))]
        while len(session.http) > _MOST_OPEN:
            del session.http[next(iter(session.http))]
        while len(self._sessions) > _MOST_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        if self._held > _MOST_HELD:
            known = self._sessions.values()
            for exchange in [each for one in known for each in (*one.open.values(), *one.listening.values())]:
                self._held -= sum(len(line.entry.frame.text) for line in exchange.lines[1:])
                del exchange.lines[1:]


def _is_wrong(reply: Message) -> bool:
    if reply.problem is not None or reply.kind != "result":
        return True
    return isinstance(reply.result, dict) and reply.result.get("isError") is True


def _is_refusal(head: str, request: str) -> bool:
    """Whether the HEAD of an answer says that its REQUEST has failed."""
    status = head.split("\n", 1)[0].split()[1:2]
    if not status or not status[0].isdecimal() or int(status[0]) < 400:
        return False
    return status[0] != "405" or not (request == "" or request.startswith(_MAY_BE_REFUSED))
