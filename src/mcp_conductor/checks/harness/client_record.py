"""What a client did in one scenario, as judges see it: who said what on which connection, and how it ended."""

from collections.abc import Iterator
from dataclasses import field
from typing import Any, Literal, NamedTuple, Optional

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META, Dialect
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.report.model import NOTHING, Finding
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

# The connection was closed by the client, by its signal, without a word, or by us.
Ending = Literal["eof", "sigterm", "cut", "ours"]
# The client ended by itself, had nothing more to say, was still busy at the time limit, or said too much.
Outcome = Literal["ended", "quiet", "late", "flooded"]
ASKED_IDLE = "asked while the client waited for nothing"
UNANSWERED = "no answer to"  # and the id of our question
OPENINGS = ("initialize", "server/discover")
# What a client may do as often as it likes, or not at all: that it is missing says nothing about another scenario.
_IDLE_TALK = frozenset({"ping", "notifications/cancelled", "notifications/progress", "subscriptions/listen"})

_TOKEN = compiled_later("access_token=[^&]*")
_TELLING = ("accept", "content-type", "last-event-id")
NEVER = "the client never"  # begins every reason that a client can mend by doing more
ANYTHING = ""  # a scenario needs any request after the opening
_DOINGS = {
    ANYTHING: "made a request after it was connected",
    "tools/list": "listed tools",
    "tools/call": "called a tool",
    "resources/read": "read a resource",
    "prompts/get": "got a prompt",
    "completion/complete": "asked for a completion",
}


@dataclass(slots=True, eq=False)
class HttpRequest:
    """One request over HTTP, with what its headers said."""

    at: float
    method: str
    path: str
    query: str
    headers: dict[str, list[str]]  # by lower-case names
    body: bytes = b""
    message: Message | None = None
    connection: Optional["ClientConnection"] = None
    status: int = 0  # what it was answered with, as soon as it was
    left: float | None = None  # when the client closed the connection although it had no answer yet
    exchange: int | None = None  # its number in a recording

    def header(self, name: str) -> str | None:
        values = self.headers.get(name)
        return values[0] if values else None

    @property
    def takes_events(self) -> bool:
        """Whether a GET may want a stream; some clients only look what is there, and take JSON alone."""
        taken = self.header("accept") or "*/*"
        return "text/event-stream" in taken or "*/*" in taken

    @property
    def line(self) -> str:
        """This in one line: of the headers, those that MCP cares about; of the body, a message."""
        query = _TOKEN.sub("access_token=…", self.query)
        where = f"{self.path}?{query}" if query else self.path
        told = (name for name in self.headers if name in _TELLING or name.startswith("mcp-"))
        heads = ", ".join(f"{name}: {', '.join(self.headers[name])}" for name in told)
        secret = " (with an Authorization header)" if "authorization" in self.headers else ""
        said = f" {excerpt(self.message.text)}" if self.message is not None else ""
        return f"{self.method} {where}" + (f" ({heads})" if heads else "") + secret + said

    def __str__(self) -> str:
        said = f" ({self.message.raw['method']})" if self.message and _is_call(self.message) else ""
        return f"{self.method} {self.path}{said}"


def _is_call(message: Message) -> bool:
    return message.kind in ("request", "notification")


class Asked(NamedTuple):
    """A request of ours, and what the client answered; None when it did not."""

    question: Message
    reply: Message | None


@dataclass(slots=True, eq=False)
class ClientConnection:
    """One connection of the client: a process that it started, or a session over HTTP."""

    transport: str  # stdio, http or sse
    transcript: Transcript = field(default_factory=Transcript)
    dialect: Dialect | None = None  # as soon as it is agreed
    initialize: Json = field(default_factory=dict)  # the params of it
    declared: Json | None = None  # the server's capabilities, if they are known
    session: str | None = None
    rest: bytes = b""  # what stood after the last newline
    endings: list[tuple[float, Ending]] = field(default_factory=list)
    # All judges ask for these, and to read them each time would take minutes for a client that says much.
    _said: list[Message] = field(default_factory=list)
    _questions: list[Message] = field(default_factory=list)
    _exchanges: list[Exchange] = field(default_factory=list)
    _read: dict[str, int] = field(default_factory=dict)  # how many frames are in each of them

    @property
    def said(self) -> list[Message]:
        """What the client said, usable or not."""
        if self._is_behind("said"):
            self._said = list(self.transcript.messages("client"))
        return self._said

    @property
    def questions(self) -> list[Message]:
        """The requests of the server."""
        if self._is_behind("questions"):
            self._questions = [each for each in self.transcript.messages("server") if each.kind == "request"]
        return self._questions

    @property
    def exchanges(self) -> list[Exchange]:
        if self._is_behind("exchanges"):
            self._exchanges = self.transcript.exchanges()
        return self._exchanges

    def _is_behind(self, what: str) -> bool:
        """Whether more was said since WHAT was read; it is read now."""
        read, self._read[what] = self._read.get(what, 0), self.transcript.mark
        return read != self.transcript.mark

    def requests(self, *methods: str) -> list[Message]:
        return [each for each in self.said if each.kind == "request" and (not methods or each.method in methods)]

    def notifications(self, *methods: str) -> list[Message]:
        return [each for each in self.said if each.kind == "notification" and (not methods or each.method in methods)]

    def asked(self, *methods: str) -> list[Asked]:
        """Our requests with the client's answers."""
        questions = [each for each in self.questions if not methods or each.method in methods]
        if not questions:
            return []
        # One that has a result and an error is an answer too, though a wrong one.
        said = (each for each in self.said if each.kind != "request" and isinstance(each.raw, dict))
        replies = {each.id: each for each in said if "result" in each.raw or "error" in each.raw}
        return [Asked(question, replies.get(question.id)) for question in questions]

    @property
    def capabilities(self) -> Json:
        """What the client declared, once for all; in the modern era each request has its own."""
        found = self.initialize.get("capabilities")
        return found if isinstance(found, dict) else {}

    @property
    def reused_ids(self) -> list[Message]:
        """The first request of each id that an earlier one had."""
        used: set[object] = set()
        again: dict[object, Message] = {}
        for message in self.requests():
            key = (type(message.id).__name__, message.id)  # 1 as text is another id, and to Python 1 is true
            if key in used:
                again.setdefault(key, message)
            used.add(key)
        return list(again.values())

    @property
    def went_on(self) -> bool:
        """Whether the client said anything after the connection was opened."""
        opened = False
        for _, source, message in self.transcript.spoken():
            if opened and source == "client":
                call = message.kind in ("request", "notification")
                if call and message.method != "notifications/cancelled" and message.method not in OPENINGS:
                    return True
            answers = source == "server" and message.kind == "result"
            opened = opened or answers
        return False


@dataclass(slots=True, eq=False)
class ClientRecord:
    """One start of the client."""

    name: str  # of the scenario
    connections: list[ClientConnection] = field(default_factory=list)
    http: list[HttpRequest] = field(default_factory=list)
    out: list[str] = field(default_factory=list)  # what the client printed; the last lines of it
    err: list[str] = field(default_factory=list)
    exit_code: int | None = None  # None: it did not end by itself, and was ended
    outcome: Outcome = "ended"
    needs: str | None = None  # the method of the client that gives occasion for the scenario
    takes_time: bool = False  # whether the scenario says itself for how long the client may be silent
    confirmed: bool = False  # whether what looks slow here was seen once more, while no other client ran
    seconds: float = 0.0
    ended_at: float = 0.0  # on the clock of moments
    patience: float = 4.0  # how long the client may take to answer us
    origin: str = ""  # where our HTTP server is
    plain: Optional["ClientRecord"] = None  # the same client with a polite server
    others: dict[str, "ClientRecord"] = field(default_factory=dict)  # all starts of the same client, by scenario
    moments: dict[str, float] = field(default_factory=dict)  # what the script did, and when
    endpoint: str = "/mcp"  # the path that messages are POSTed to
    recorded: bool = False  # it was read from a recording: what comes later is not known, nor how the client ended

    @property
    def connection(self) -> ClientConnection:
        """The connection that counts: the last on which the client went on, or the last of all."""
        if not self.connections:
            raise NotSeen("the client did not connect")
        return next(
            (connection for connection in reversed(self.connections) if connection.went_on), self.connections[-1]
        )

    @property
    def dialect(self) -> Dialect | None:
        return next(
            (connection.dialect for connection in reversed(self.connections) if connection.dialect is not None), None
        )

    @property
    def said(self) -> list[Message]:
        return [message for connection in self.connections for message in connection.said]

    def requests(self, *methods: str) -> list[Message]:
        return [message for connection in self.connections for message in connection.requests(*methods)]

    def notifications(self, *methods: str) -> list[Message]:
        return [message for connection in self.connections for message in connection.notifications(*methods)]

    def posts(self) -> Iterator[tuple[HttpRequest, Message]]:
        """What the client POSTed to the endpoint, if it is a message."""
        return ((each, each.message) for each in self.http if each.method == "POST" and each.message is not None)

    def asked(self, *methods: str) -> list[Asked]:
        """Our requests in this scenario; NotSeen if there were none, or if the client had gone."""
        if not any(connection.asked(*methods) for connection in self.connections):
            nothing = "the client made no request during which it could have been asked"
            raise NotSeen("the server asked nothing of this kind" if self.recorded else nothing)
        found = [pair for connection in self.connections for pair in self.asked_on(connection, *methods)]
        ended = "was ended" if self.outcome in ("late", "flooded") else "went away"
        return seen(found, f"the client {ended} before it could answer")

    def asked_on(self, connection: ClientConnection, *methods: str) -> list[Asked]:
        """Our requests on one connection, but for those that a client need not answer before it goes."""
        found = connection.asked(*methods)
        if ASKED_IDLE in self.moments:
            return [each for each in found if each.reply is not None or self.waited_for(each.question)]
        if self.outcome in ("late", "flooded"):  # we ended it while it was busy, perhaps with its answer
            return [each for each in found if each.reply is not None]
        return found

    def waited_for(self, question: Message) -> bool:
        """Whether the client was there for as long as it had for an answer, and gave none."""
        return f"{UNANSWERED} {question.id}" in self.moments

    @property
    def asks_in_results(self) -> bool:
        """Whether questions are results, which are answered when the request is sent again."""
        return self.name == "input-rounds" or (
            self.recorded and self.dialect is not None and not self.dialect.handshake
        )

    @property
    def is_idle(self) -> bool:
        """Whether the client connected, and asked for nothing."""
        return all(each.method in OPENINGS for each in self.requests())

    def lacking(self) -> str | None:
        """What the client never does, here and with a polite server, although this scenario needs it."""
        if self.needs is None:
            return None
        both = (self, self.plain or self)
        lacks = [each.is_idle if self.needs == ANYTHING else not each.requests(self.needs) for each in both]
        return never(self.needs) if all(lacks) else None

    @property
    def hangs(self) -> bool:
        """Whether the client hangs here, although it ends with a polite server."""
        return self.exit_code is None and self.plain is not None and self.plain.exit_code is not None

    def be_sure(self) -> None:
        """Raise NotSeen for a client that seems to hang, but may only be slow because the machine is busy."""
        if self.hangs and not self.confirmed and not self.takes_time:
            raise NotSeen("the client did not end in time, and could not be tried again while no other ran")

    def doings(self) -> set[str]:
        """The methods that the client uses after the opening; of its notifications, the one that ends a handshake."""
        asked = {each.method for each in self.requests()} - _IDLE_TALK - set(OPENINGS)
        return asked | {each.method for each in self.notifications("notifications/initialized")}

    def stopped_short(self) -> str | None:
        """How the client gave up here although it did not with a polite server; None if it did not give up."""
        assert self.plain is not None
        missing = self.plain.doings() - self.doings()
        if missing:
            return f"the client did not go on to {', '.join(sorted(missing))}"
        if self.plain.exit_code == 0 and self.exit_code != 0:
            how = "did not end" if self.exit_code is None else f"ended with exit code {self.exit_code}"
            return f"the client {how}"
        return None

    def survived(self, what: str, done: str) -> Iterator[Finding]:
        """Findings if the client gave up here, where the script has DONE something to it: WHAT, in words."""
        if done not in self.moments:
            raise NotSeen("the client gave no occasion for it")
        if self.plain is not None and not self.plain.doings():
            raise NotSeen(never(ANYTHING))
        if problem := self.stopped_short():
            self.be_sure()
            yield fault(f"after {what} {problem}", self.last_words() or NOTHING)

    def printed(self, text: str) -> bool:
        """Whether the client printed TEXT, in one line or in several."""
        return "".join(text.split()) in "".join("".join(self.out + self.err).split())

    def last_words(self) -> str:
        """The end of what the client wrote to stderr, or else to stdout: it may say why it gave up."""
        return "\n".join((self.err or self.out)[-5:])


def never(method: str) -> str:
    """What to say of a client that never sent METHOD, and of which much cannot be seen for that reason."""
    return f"{NEVER} {_DOINGS.get(method) or f'sent {method}'}"


def meta_of(message: Message) -> Json:
    meta = message.params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def capabilities_in(message: Message) -> Json:
    """What a request of the modern era declares."""
    found = meta_of(message).get(f"{META}clientCapabilities")
    return found if isinstance(found, dict) else {}


def seen(things: list[Any], what: str) -> list[Any]:
    """THINGS, of which there must be some for a judgement: WHAT the client never did."""
    if not things:
        raise NotSeen(what)
    return things


def shown(value: Any) -> str:
    return cut(render(value), 80)


def excerpt(text: str) -> str:
    """Enough of what the client wrote to see what is wrong with it."""
    return cut(text, 500)
