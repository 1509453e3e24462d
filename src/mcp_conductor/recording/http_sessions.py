"""Which conversation an HTTP exchange belongs to, in a recording of several.

A session of Streamable HTTP is known by the id that the server gives it, one of HTTP+SSE by the address that its
messages go to. What names neither belongs to the conversation that began on its connection without a name, or that the
same program began; else to the last one that has no name, as all of the stateless era do.
"""

from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

from mcp_conductor.protocol.message import decode
from mcp_conductor.protocol.transcript import Frame, Source
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.writer import RecordingWriter
from mcp_conductor.text.redaction import Redactor

_MOST_NAMES = 10_000  # that are remembered, the newest
_MOST_HELD = 16  # frames of an exchange, before its conversation is known
SESSION_HEADER = "mcp-session-id"


class HttpSessions:
    """The conversations of a recording whose traffic is HTTP."""

    def __init__(self, writer: RecordingWriter) -> None:
        self.writer = writer
        self._numbers: dict[str, int] = {}  # by name
        self._nameless: int | None = None
        # Those that began without a name, by the connection and by the program that began them.
        self._of_connection: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._of_agent: dict[str, int] = {}
        self._exchanges = 0

    def exchange(self, connection: object = None) -> "RecordedExchange":
        """Another HTTP exchange, on CONNECTION."""
        self._exchanges += 1
        return RecordedExchange(self, self._exchanges, connection)

    def named(self, name: str) -> int | None:
        """The number of the conversation with NAME, if it is known."""
        return self._numbers.get(name)

    def name(self, name: str, number: int) -> None:
        """From now on, NAME is that of conversation NUMBER."""
        self._numbers[name] = number
        if len(self._numbers) > _MOST_NAMES:
            del self._numbers[next(iter(self._numbers))]

    def nameless(self, connection: object = None, agent: str | None = None) -> int:
        """The number of the conversation that what has no name belongs to, sent on CONNECTION by AGENT."""
        known = None if connection is None else self._of_connection.get(connection)
        if known is None and agent is not None:
            known = self._of_agent.get(agent)
        if known is not None:
            return known
        if self._nameless is None:
            self._nameless = self.writer.next_session()
        return self._nameless

    def begin(self) -> int:
        """The number of a conversation that begins, and has no name yet."""
        return self.writer.next_session()

    def stays_nameless(self, number: int, connection: object = None, agent: str | None = None) -> None:
        """Conversation NUMBER has begun, on CONNECTION by AGENT, and has no name."""
        self._nameless = number
        if connection is not None:
            self._of_connection[connection] = number
        if agent is not None:
            self._of_agent[agent] = number
            if len(self._of_agent) > _MOST_NAMES:
                del self._of_agent[next(iter(self._of_agent))]


class RecordedExchange:
    """One HTTP exchange: its frames are held back until it is known which conversation they belong to."""

    def __init__(self, sessions: HttpSessions, number: int, connection: object) -> None:
        self.number = number
        self._sessions = sessions
        self._connection = connection
        self._agent: str | None = None
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
            self._settle(self._nameless() if self._session is None else self._session)

    def observe(self, source: Source, text: str, *, more: bool = False) -> None:
        """Record a head of the exchange, or a message in it; MORE, which belongs to it, comes at once."""
        if self._agent is None and source == "http" and not text.startswith("HTTP "):
            self._agent = _agent_in(text)
        if source == "http" and (name := _session_in(text)) is not None:
            if text.startswith("HTTP ") and self._begins and self._session is not None:
                self._sessions.name(name, self._session)
            elif self._session is None:
                self.join(name)
        elif source == "http" and text.startswith("HTTP "):
            if self._begins and self._session is not None:
                self._sessions.stays_nameless(self._session, self._connection, self._agent)
            elif self._session is None and not self.is_open:
                self._settle(self._nameless())
        elif source == "client" and self._session is None:
            self._begins = _is_initialize(text)
            self._session = self._sessions.begin() if self._begins else self._nameless()
        if self.secrets:
            text = _redactor(self.secrets).redact(text)
        self._held.append(Frame(self._sessions.writer.now(), source, text))
        if not more:
            self.flush()

    def _nameless(self) -> int:
        return self._sessions.nameless(self._connection, self._agent)

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
            session = self._session or self._nameless()
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
    return header_of(head, SESSION_HEADER)


@lru_cache(maxsize=128)
def _agent_in(head: str) -> str | None:
    return header_of(head, "user-agent")


def header_of(head: str, name: str) -> str | None:
    """The value of header NAME in the text of a HEAD."""
    for line in head.split("\n")[1:]:
        found, _, value = line.partition(":")
        if found.strip().lower() == name:
            return value.strip()
    return None
