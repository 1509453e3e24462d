"""The events of a stream that passes a proxy with faults: what is sent in place of each."""

from collections.abc import Callable

from mcp_conductor.protocol.event_stream import Event, EventStream
from mcp_conductor.protocol.message import Message, compact, decode
from mcp_conductor.proxy.fault_file import FROM_CLIENTS_OVER_HTTP
from mcp_conductor.proxy.spoiling import PlannedFault, Scope, Spoiling, parts_of, spoiled_text
from mcp_conductor.server.http.exchange import HttpExchange
from mcp_conductor.server.http.streams import ending
from mcp_conductor.server.spoiled_reply import SpoiledReply
from mcp_conductor.values import dataclass


@dataclass(slots=True)
class Sent:
    """What is sent in place of an event."""

    data: bytes
    said: tuple[str, ...] = ()  # the messages in it
    end: Callable[[HttpExchange], None] | None = None  # what happens then


class FaultyEvents:
    """The faults of one stream. PLANS are those of the request that it answers, if it answers one."""

    def __init__(self, spoiling: Spoiling, plans: list[PlannedFault], note: Callable[[str], None]) -> None:
        self._spoiling = spoiling
        self._note = note
        self._cutter = next((plan for plan in plans if plan.spoiled.cut_stream is not None), None)
        self._left = None if self._cutter is None else self._cutter.spoiled.cut_stream
        self.is_silent = False  # a reply was kept back
        self.last_id: str | None = None  # of the events that were sent
        self.is_forgotten = False  # the stream cannot be resumed

    def take(self, piece: bytes, event: Event | None, replies: Scope, questions: Scope) -> Sent:
        """What is sent in place of PIECE, which is EVENT, in a conversation with these scopes."""
        if event is None or event.kind != "message" or not event.data:
            self._remember(event)
            return Sent(piece)
        if self._left == 0:
            return self._cut(Sent(b""))
        self._remember(event)
        sent = self._message(piece, event, replies, questions)
        if self._left is not None and sent.end is None:
            self._left -= 1
            return sent if self._left else self._cut(sent)
        return sent

    def _remember(self, event: Event | None) -> None:
        if event is not None and event.id is not None:
            self.last_id = event.id

    def _cut(self, sent: Sent) -> Sent:
        """Break off after SENT."""
        assert self._cutter is not None
        spoiled = self._spoiling.strike(self._cutter, self._note)
        self.is_forgotten = spoiled.forget_events
        spoiled.cut_stream = None  # what is left of the stream may be fetched
        return Sent(sent.data, sent.said, HttpExchange.cut)

    def _message(self, piece: bytes, event: Event, replies: Scope, questions: Scope) -> Sent:
        message = decode(event.data.encode(errors="surrogatepass"))
        others, affected = [], []
        for part in parts_of(message):
            if part.kind == "request":
                self._spoiling.asked(part, "server", FROM_CLIENTS_OVER_HTTP, questions)
            plan = self._spoiling.replied(part, "server", replies)
            others.append(part.raw) if plan is None else affected.append((part, plan))
        if not affected:
            return Sent(piece, (event.data,))
        sent = Sent(b"")
        if others:
            sent = _said(event, [compact(others).encode()], whole=True)
        for part, plan in affected:
            text = compact(part.raw) if message.kind == "batch" else event.data
            more = self._reply(event, part, text.encode(errors="surrogatepass"), plan)
            sent = Sent(sent.data + more.data, (*sent.said, *more.said), more.end or sent.end)
        return sent

    def _reply(self, event: Event, reply: Message, text: bytes, plan: PlannedFault) -> Sent:
        spoiled = self._spoiling.strike(plan, self._note)
        if spoiled.silent:
            self.is_silent = True
            return Sent(b"")
        if plan is not self._cutter and spoiled.cut_stream is not None:
            return self._cut_common(event, reply, text, spoiled)
        data = spoiled_text(spoiled, reply.raw, text)
        sent = _said(event, [data] * spoiled.copies if data else [], whole=not spoiled.truncates)
        return Sent(sent.data, sent.said, ending(spoiled))

    def _cut_common(self, event: Event, reply: Message, text: bytes, spoiled: SpoiledReply) -> Sent:
        """Break off a stream that is for all requests (HTTP+SSE): what it has said before does not count."""
        said = [spoiled_text(spoiled, reply.raw, text)] * spoiled.copies if spoiled.cut_stream else []
        sent = _said(event, said, whole=True)
        return Sent(sent.data, sent.said, HttpExchange.cut)


def event_in(piece: bytes) -> Event | None:
    """The event that PIECE of a stream is, if it is one."""
    events = EventStream().feed(piece)
    return events[0] if events else None


def _said(event: Event, texts: list[bytes], *, whole: bool) -> Sent:
    """TEXTS as events like EVENT; the id is that of the first."""
    end = b"\n\n" if whole else b""
    data = b""
    for number, text in enumerate(texts):
        identity = b"" if event.id is None or number else f"id: {event.id}\n".encode(errors="replace")
        lines = b"\n".join(b"data: " + line for line in text.split(b"\n"))
        data += identity + b"event: message\n" + lines + end
    return Sent(data, tuple(text.decode(errors="surrogateescape") for text in texts))
