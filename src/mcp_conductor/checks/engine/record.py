"""A conversation, as judges see it: who said what, in order, and what answered what."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from mcp_conductor.checks.engine.evidence import Said, said_by_both
from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META, Dialect
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message, is_cut_off
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.values import dataclass

MOST_BYTES = 8_000_000  # of what a server said that are judged; of answers to requests, as many again
SMALL = 200_000  # bytes; a conversation of less is always judged as a whole
_NOTES = 1_000_000  # bytes of what is not a message
_HEAD = 4096
_MESSAGE_BYTES = 300  # of memory for a message, however short


def judged_part(frames: list[Frame]) -> list[Frame]:
    """FRAMES without what a server says that never stops: a judge reads all of them in one turn of the event loop.

    Answers count apart: if they were missing, a server that gave them would be said not to have done so.
    """
    room, room_for_answers, room_for_notes = MOST_BYTES, MOST_BYTES, _NOTES
    kept = []
    for frame in frames:
        if frame.source == "server":
            batch = frame.text.startswith("[")
            # Each message of a batch takes as long to read as one that comes by itself.
            cost = frame.size + (_MESSAGE_BYTES * frame.text.count("{") if batch else 0)
            if room > (cost if batch else 0):
                room -= cost
            elif '"method"' not in frame.text[:_HEAD] and room_for_answers > (cost if batch else 0):
                room_for_answers -= cost
            else:
                continue
        elif frame.source != "client":  # each member of a batch may have its note
            if room_for_notes < 0:
                continue
            room_for_notes -= frame.size
        kept.append(frame)
    return kept


@dataclass(frozen=True, slots=True)
class Traits:
    """What a server declares, and was seen to use."""

    transport: str  # stdio, http or sse
    capabilities: Json
    asked: tuple[str, ...] = ()  # the methods of its own requests
    session: bool = False  # over HTTP: whether it gave a session id

    def declares(self, capability: str) -> bool:
        return _is_declared(self.capabilities, capability)


class Record:
    """What was recorded of one conversation."""

    def __init__(
        self, transcript: Transcript, dialect: Dialect, transport: str, opened: Json, *, whole: bool = True
    ) -> None:
        self.transcript = transcript
        self.dialect = dialect
        self.transport = transport  # stdio, http or sse
        self.whole = whole  # whether nothing of it was forgotten
        self.opened = opened  # the result of initialize or server/discover
        capabilities = opened.get("capabilities")
        self.capabilities: Json = capabilities if isinstance(capabilities, dict) else {}

    @property
    def server(self) -> Json:
        """Who the server says it is."""
        meta = self.opened.get("_meta")
        info = self.opened.get("serverInfo") or (meta.get(f"{META}serverInfo") if isinstance(meta, dict) else None)
        return info if isinstance(info, dict) else {}

    @cached_property
    def offered(self) -> Json:
        """The capabilities that the client declared in its first request."""
        for message in (each for each in self.sent if each.kind == "request"):
            meta = message.params.get("_meta")
            capabilities = message.params.get("capabilities") if message.method == "initialize" else None
            if capabilities is None and isinstance(meta, dict):
                capabilities = meta.get(f"{META}clientCapabilities")
            if isinstance(capabilities, dict):
                return capabilities
        return {}

    @property
    def opening(self) -> list[Json]:
        """The requests that opened a session, in which a client of the handshake era says what it can do."""
        return [message.raw for message in self.sent if message.kind == "request" and message.method == "initialize"]

    @property
    def traits(self) -> Traits:
        asked = dict.fromkeys(question.method for question in self.questions() if question.method is not None)
        return Traits(self.transport, self.capabilities, tuple(asked), self._gives_sessions())

    def _gives_sessions(self) -> bool:
        replies = (frame.text.lower() for frame in self.frames if frame.source == "http")
        return any(text.startswith("http ") and "\nmcp-session-id: " in text for text in replies)

    @property
    def frames(self) -> list[Frame]:
        return self.transcript.since(0)

    @cached_property
    def said(self) -> list[Said]:
        """What both sides said, as proofs are looked for in it."""
        return said_by_both(self.transcript)

    @cached_property
    def sent(self) -> list[Message]:
        """What the client said."""
        return list(self.transcript.messages("client"))

    @cached_property
    def heard(self) -> list[Message]:
        """What the server said, usable or not; but for messages that we did not read, because of their size."""
        return [message for message in self.transcript.messages("server") if not is_cut_off(message.text)]

    @cached_property
    def exchanges(self) -> list[Exchange]:
        return self.transcript.exchanges()

    def notifications(self, method: str | None = None) -> Iterator[Message]:
        """Notifications of the server."""
        for message in self._heard_by_kind.get("notification", ()):
            if method in (None, message.method):
                yield message

    def questions(self, method: str | None = None) -> Iterator[Message]:
        """Requests of the server."""
        for message in self._heard_by_kind.get("request", ()):
            if method in (None, message.method):
                yield message

    def results(self, *methods: str) -> Iterator[tuple[Exchange, Json]]:
        """Requests that were answered with a result, which is an object; all of them, or those of METHODS."""
        known = [method for method in methods if method in self._results_by_method]
        if not methods:
            yield from self._results
        elif len(known) == 1:
            yield from self._results_by_method[known[0]]
        elif known:
            yield from (pair for pair in self._results if pair[0].request.method in known)

    def some_results(self, *methods: str) -> list[tuple[Exchange, Json]]:
        """The same; NotSeen if there are none."""
        found = list(self.results(*methods))
        if not found:
            none = f"no {' or '.join(methods)} was" if methods else "nothing was"
            raise NotSeen(f"{none} answered with a result")
        return found

    @cached_property
    def _heard_by_kind(self) -> dict[str, list[Message]]:
        found: dict[str, list[Message]] = {}
        for message in self.heard:
            found.setdefault(message.kind, []).append(message)
        return found

    @cached_property
    def _results(self) -> list[tuple[Exchange, Json]]:
        return [
            (each, each.reply.result)
            for each in self.exchanges
            if each.reply is not None and each.reply.kind == "result" and isinstance(each.reply.result, dict)
        ]

    @cached_property
    def _results_by_method(self) -> dict[str, list[tuple[Exchange, Json]]]:
        """Most judges ask for the results of one method, which often was never used."""
        found: dict[str, list[tuple[Exchange, Json]]] = {}
        for pair in self._results:
            found.setdefault(pair[0].request.method, []).append(pair)
        return found

    def complete(self, *methods: str) -> Iterator[tuple[Exchange, Json]]:
        """The same, without results that are questions or tasks in place of an answer."""
        for exchange, result in self.results(*methods):
            if result.get("resultType", "complete") == "complete" and "task" not in result:
                yield exchange, result

    def errors(self, *methods: str) -> Iterator[tuple[Exchange, Json]]:
        """Requests that were answered with an error, which is an object."""
        for exchange in self.exchanges:
            reply = exchange.reply
            if reply is None or reply.kind != "error" or not isinstance(reply.error, dict):
                continue
            if not methods or exchange.request.method in methods:
                yield exchange, reply.error

    def items(self, method: str, member: str) -> Iterator[tuple[str, Any]]:
        """The items of a list in all its pages, each with its path: tools[0]."""
        for _, result in self.complete(method):
            listed = result.get(member)
            for index, item in enumerate(listed if isinstance(listed, list) else []):
                yield f"{member}[{index}]", item

    def declares(self, capability: str) -> bool:
        """Whether the server declares a capability: tools, resources.subscribe, or extensions.example.com/one."""
        return _is_declared(self.capabilities, capability)


def _is_declared(found: Any, name: str) -> bool:
    if not isinstance(found, dict):
        return False
    if name in found:
        return found[name] is not False
    # The names of extensions have dots in them.
    return any(_is_declared(found[key], name[len(key) + 1 :]) for key in found if name.startswith(f"{key}."))


def transport_of(spec: ServerSpec) -> str:
    return spec.kind
