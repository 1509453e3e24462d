"""Which conversation an HTTP exchange belongs to, in a recording of several.

A session of Streamable HTTP is known by the id that the server gives it, one of HTTP+SSE by the address that its
messages go to. What names neither belongs to the last conversation that has no name, as all of the stateless era do.
"""

from functools import lru_cache

from mcp_conductor.protocol.message import decode
from mcp_conductor.protocol.transcript import Frame, Source
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.writer import RecordingWriter
from mcp_conductor.text.redaction import Redactor

_MOST_NAMES = 10_000  # that are remembered, the newest
_MOST_HELD = 16  # frames of an exchange, before its conversation is known
_SESSION_HEADER = "mcp-session-id"


class HttpSessions:
    """The conversations of a recording whose traffic is HTTP."""

    def __init__(self, writer: RecordingWriter) -> None:
        self.writer = writer
        self._numbers: dict[str, int] = {}  # by name
        self._nameless: int | None = None
        self._exchanges = 0

    def exchange(self) -> "RecordedExchange":
        """Another HTTP exchange."""
        self._exchanges += 1
        return RecordedExchange(self, self._exchanges)

    def named(self, name: str) -> int | None:
        """The number of the conversation with NAME, if it is known."""
        return self._numbers.get(name)

    def name(self, name: str, number: int) -> None:
        """From now on, NAME is that of conversation NUMBER."""
        self._numbers[name] = number
        if len(self._numbers) > _MOST_NAMES:
            del self._numbers[next(iter(self._numbers))]

    def nameless(self) -> int:
        """The number of the conversation that what has no name belongs to."""
        if self._nameless is None:
            self._nameless = self.writer.next_session()
        return self._nameless

    def begin(self) -> int:
        """The number of a conversation that begins, and has no name yet."""
        return self.writer.next_session()

    def stays_nameless(self, number: int) -> None:
        """Conversation NUMBER has begun, and has no name."""
        self._nameless = number


class RecordedExchange:
    """One HTTP exchange: its frames are held back until it is known which conversation they belong to."""

    def __init__(self, sessions: HttpSessions, number: int) -> None:
        self.number = number
        self._sessions = sessions
        self._session: int | None = None
        self.is_open = False  # the answer may still tell which conversation it is
        self.secrets: tuple[str, ...] = ()  # that must not be kept of it
        self._begins = False
        self._held: list[Frame] = []

    def join(self, name: str) -> None:
        """It belongs to the conversation with NAME, which may be new."""
        known = self._sessions.named(name)
        if known is None:
            known = self._sessions.begin() if self._session is None else self._session
            self._sessions.name(name, known)
        self._settle(known)

    def settle(self) -> None:
        """Nothing more tells which conversation it belongs to."""
        if self._held:
            self._settle(self._sessions.nameless() if self._session is None else self._session)

    def observe(self, source: Source, text: str, *, more: bool = False) -> None:
        """Record a head of the exchange, or a message in it; MORE, which belongs to it, comes at once."""
        if source == "http" and (name := _session_in(text)) is not None:
            if text.startswith("HTTP ") and self._begins and self._session is not None:
                self._sessions.name(name, self._session)
            elif self._session is None:
                self.join(name)
        elif source == "http" and text.startswith("HTTP "):
            if self._begins and self._session is not None:
                self._sessions.stays_nameless(self._session)
            elif self._session is None and not self.is_open:
                self._settle(self._sessions.nameless())
        elif source == "client" and self._session is None:
            self._begins = _is_initialize(text)
            self._session = self._sessions.begin() if self._begins else self._sessions.nameless()
        if self.secrets:
            text = _redactor(self.secrets).redact(text)
        self._held.append(Frame(self._sessions.writer.now(), source, text))
        if not more:
            self.flush()

    def flush(self) -> None:
        """No more comes at once that belongs to what was told."""
        if self._session is not None or len(self._held) > _MOST_HELD:
            self._write()

    def _settle(self, session: int) -> None:
        self._session = session
        self._write()

    def _write(self) -> None:
        """Write what is held. What came together is written at once, which is quicker."""
        held, self._held = self._held, []
        if held:
            session = self._session or self._sessions.nameless()
            self._sessions.writer.write_all([Entry(frame, session, self.number) for frame in held])


@lru_cache(maxsize=64)
def _redactor(secrets: tuple[str, ...]) -> Redactor:
    return Redactor(secrets)


def _is_initialize(text: str) -> bool:
    """Whether TEXT is a request that begins a session. Few are: the rest need not be decoded."""
    if "initialize" not in text and "\\u" not in text:  # which could spell it in another way
        return False
    message = decode(text.encode(errors="surrogateescape"))
    return message.kind == "request" and message.method == "initialize"


@lru_cache(maxsize=128)  # heads are the same again and again
def _session_in(head: str) -> str | None:
    return header_of(head, _SESSION_HEADER)


def header_of(head: str, name: str) -> str | None:
    """The value of header NAME in the text of a HEAD."""
    for line in head.split("\n")[1:]:
        found, _, value = line.partition(":")
        if found.strip().lower() == name:
            return value.strip()
    return None
