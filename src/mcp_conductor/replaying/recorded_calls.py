"""What a recorded client asked, and all that the server said because of it, in order: what a replay plays.

A reply belongs to its request by id, progress by its token, and over HTTP all that came in the answer to a request
belongs to that. What names no request belongs to the newest that was open, or else to what the client said last.
Texts are kept, not messages: a recording may be long, and few of it is played at once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import Any, Literal, NamedTuple

from mcp_conductor.protocol.ledger import id_key, progress_token, subscription_key
from mcp_conductor.protocol.message import Message
from mcp_conductor.recording.format import CLIENT_LEFT, FIRST_SESSION, Entry
from mcp_conductor.values import dataclass

LISTEN = "subscriptions/listen"
_CANCELLED = "notifications/cancelled"
_PROGRESS = "notifications/progress"
# What a client says by the way: nothing follows from it that a replay should wait for.
_NO_CAUSE = (_CANCELLED, _PROGRESS)

Kind = Literal["say", "progress", "ask", "answered", "withdraw", "reply", "hold", "end"]


class Step(NamedTuple):
    """One thing that a server did, or waited for.

    `say` a notification, `progress` of this call, `ask` the client; the client has `answered`, or the question is
    `withdrawn`; the `reply`; `hold` until the client cancels the request; `end` a subscription.
    """

    kind: Kind
    text: str  # the message
    pause: float  # seconds since what was before it
    question: int = 0  # which one is asked, answered or withdrawn
    listening: "RecordedCall | None" = None  # the subscription that the message belongs to


@dataclass(slots=True, eq=False)
class RecordedCall:
    """A request or a notification of a client, and what the server did about it."""

    text: str
    method: str
    at: float
    is_request: bool
    steps: list[Step] = field(default_factory=list)
    replied: bool = False
    succeeded: bool = False  # with a result
    cancelled: bool = False  # before the reply
    questions: int = 0
    session: int = FIRST_SESSION

    @property
    def unanswered(self) -> bool:
        """Whether the recording ends, or the client or the server left, before the reply to a request came."""
        return self.is_request and not (self.replied or self.cancelled or self.method == LISTEN)

    def add(self, kind: Kind, message: Message | None, at: float, *, question: int = 0, listening: Any = None) -> None:
        text = "" if message is None else message.text
        self.steps.append(Step(kind, text, max(0.0, at - self.at), question, listening))
        self.at = at


def calls_of_sessions(entries: Iterable[Entry], session: int | None = None) -> Iterator[RecordedCall]:
    """The calls of all conversations in ENTRIES, one after another; or those of one SESSION."""
    by_session: dict[int, list[Entry]] = {}
    for entry in entries:
        if session in (None, entry.session):
            by_session.setdefault(entry.session, []).append(entry)
    for number, of_one in by_session.items():
        for call in recorded_calls(of_one):
            call.session = number
            yield call


def recorded_calls(entries: Iterable[Entry]) -> list[RecordedCall]:
    """The calls in ENTRIES, which are those of one conversation."""
    spoken = [entry for entry in entries if entry.frame.source in ("client", "server") or _leaves(entry)]
    # Messages are read twice rather than kept: parsed, they take many times the memory of their texts.
    said = _Said({id_key(each.id) for entry in spoken for each in entry.frame.messages() if _is_reply(entry, each)})
    for entry in spoken:
        said.over |= _leaves(entry)
        for message in entry.frame.messages():
            if entry.frame.source == "client":
                said.by_client(message, entry)
            else:
                said.by_server(message, entry)
    return said.calls


class _Said:
    """What is under way while a conversation is read."""

    def __init__(self, answered: set[object]) -> None:
        self.calls: list[RecordedCall] = []
        self.over = False  # the client has left, and hears only the rest of what it waits for, if that
        self._answered = answered  # ids of requests that have an answer at some time
        self._waiting: dict[object, RecordedCall] = {}  # for a reply or a cancellation, by id
        self._open: dict[object, RecordedCall] = {}  # those of them that have an answer, and were not cancelled
        self._by_token: dict[object, RecordedCall] = {}
        self._by_exchange: dict[int, tuple[object, RecordedCall]] = {}  # of HTTP, with the id
        self._listening: dict[object, RecordedCall] = {}
        self._asked: dict[object, tuple[RecordedCall, int]] = {}  # questions that are open
        self._last: RecordedCall | None = None  # what was finished last, or needs no answer
        self._early: list[tuple[Message, float]] = []  # notifications before the client said anything

    def by_client(self, message: Message, entry: Entry) -> None:
        at = entry.frame.at
        if message.kind == "request":
            self._begin(message, entry)
        elif message.kind == "notification" and message.method == _CANCELLED:
            key = id_key(message.params.get("requestId"))
            self._open.pop(key, None)
            if (call := self._waiting.get(key)) is not None:
                call.cancelled = True
                call.add("hold", None, at)
        elif message.kind == "notification" and message.method not in _NO_CAUSE:
            self._last = RecordedCall(message.text, message.method, at, is_request=False)
            self.calls.append(self._last)
        elif message.kind in ("result", "error") and (known := self._asked.pop(id_key(message.id), None)):
            known[0].add("answered", None, at, question=known[1])

    def _begin(self, message: Message, entry: Entry) -> None:
        call = RecordedCall(message.text, message.method, entry.frame.at, is_request=True)
        self.calls.append(call)
        key = id_key(message.id)
        for early, _ in self._early:
            call.add("say", early, call.at)
        self._early.clear()
        if message.method == LISTEN:
            self._listening[key] = self._last = call
        else:
            self._waiting[key] = call
            if key in self._answered:
                self._open[key] = call
        if entry.exchange is not None:
            self._by_exchange[entry.exchange] = key, call
        if (token := progress_token(message.raw)) is not None:
            self._by_token[id_key(token)] = call

    def by_server(self, message: Message, entry: Entry) -> None:
        at = entry.frame.at
        if message.kind == "request":
            self._ask(message, entry)
        elif message.kind != "notification":
            self._reply(message, entry)
        elif message.method == _PROGRESS:
            call = self._by_token.get(id_key(message.params.get("progressToken")))
            if call is not None:
                call.add("progress", message, at)
        elif message.method == _CANCELLED:
            known = self._asked.pop(id_key(message.params.get("requestId")), None)
            if known is not None:
                known[0].add("withdraw", None, at, question=known[1])
        elif (owner := self._owner(entry)) is not None:
            owner.add("say", message, at, listening=self._listening.get(subscription_key(message)))
        else:
            self._early.append((message, at))

    def _ask(self, message: Message, entry: Entry) -> None:
        owner = self._owner(entry)
        if owner is None or self.over or message.problem is not None:  # the client has said nothing yet, or has left
            return
        owner.questions += 1
        self._asked[id_key(message.id)] = owner, owner.questions
        owner.add("ask", message, entry.frame.at, question=owner.questions)

    def _reply(self, message: Message, entry: Entry) -> None:
        key: object = id_key(message.id)
        at = entry.frame.at
        if key is None and entry.exchange is not None:  # HTTP tells what an error without an id is about
            key = self._by_exchange.get(entry.exchange, (None,))[0]
        if key in self._listening:
            listening = self._listening.pop(key)
            owner = self._owner(entry) or listening
            if message.kind == "result":
                owner.add("end", message, at, listening=listening)
                listening.succeeded = True
            else:
                listening.add("reply", message, at)
                listening.replied = True
        elif (call := self._waiting.pop(key, None)) is not None:
            self._open.pop(key, None)
            call.add("reply", message, at)
            call.replied, call.succeeded = True, message.kind == "result"
            self._last = call

    def _owner(self, entry: Entry) -> RecordedCall | None:
        """What the server does this for."""
        if entry.exchange is not None:
            _, call = self._by_exchange.get(entry.exchange, (None, None))
            if call is not None and call.method != LISTEN:
                return call
        return next(reversed(self._open.values()), None if self.over else self._last)


def _leaves(entry: Entry) -> bool:
    return entry.frame.source == "process" and entry.frame.text == CLIENT_LEFT


def _is_reply(entry: Entry, message: Message) -> bool:
    return entry.frame.source == "server" and message.kind in ("result", "error", "invalid")
