"""Which recorded call answers a request: the next of those that are the same, and after the last one, that again."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.message import Message, parse
from mcp_conductor.recording.dialogue import shown_request
from mcp_conductor.recording.opening import OPENINGS
from mcp_conductor.replaying.recorded_calls import LISTEN, RecordedCall
from mcp_conductor.replaying.request_keys import Forget, Place, compared, key_of, secret_places, with_holes
from mcp_conductor.text.redaction import REDACTED

_MOST_SHAPES = 100  # sets of places with secrets, for one method
_MOST_NAMED = 1000  # things that a method is about, which a miss may tell of
_MOST_ALIKE = 50  # requests about the same thing that a miss is compared with


class Pool:
    """All calls of a recording."""

    def __init__(self, calls: Iterable[RecordedCall], forget: Forget | None = None) -> None:
        self._forget = forget
        self._same: dict[bytes, list[RecordedCall]] = {}
        self._shapes: dict[str, dict[tuple[Place, ...], None]] = {}  # where secrets stand, by method
        self.about: dict[str, dict[str, list[RecordedCall]]] = {}  # some requests, by method and what they are about
        self.handshake = self.modern = False  # the eras whose requests have results
        self.answers = self.redacted_answers = 0
        for call in calls:
            self._add(call)
        self._leave_out_refused_openings()
        self._leave_out_what_was_asked_again()

    def _add(self, call: RecordedCall) -> None:
        message = parse(call.text)
        request = compared(call.method, message.params, self._forget)
        holes = secret_places(request) if REDACTED in call.text else ()
        shapes = self._shapes.setdefault(call.method, {})
        if holes and (holes in shapes or len(shapes) < _MOST_SHAPES):
            shapes[holes] = None
            request = with_holes(request, holes) or request
        else:
            holes = ()
        self._same.setdefault(key_of(request, holes), []).append(call)
        if call.is_request:
            self._note(call, message)

    def _note(self, call: RecordedCall, message: Message) -> None:
        named = self.about.setdefault(call.method, {})
        name = shown_request(call.method, message.params)
        if name in named or len(named) < _MOST_NAMED:
            alike = named.setdefault(name, [])
            if len(alike) < _MOST_ALIKE:
                alike.append(call)
        self.answers += call.replied or call.succeeded
        self.redacted_answers += any(REDACTED in step.text for step in call.steps)
        if call.succeeded or call.method == LISTEN:
            self.modern |= is_modern(message.params)
            self.handshake |= not is_modern(message.params)

    def keys(self, method: str, params: Json) -> Iterator[bytes]:
        """The keys that a request may have here: as it is, and with anything in the place of secrets."""
        request = compared(method, params, self._forget)
        yield key_of(request)
        for holes in self._shapes.get(method, ()):
            with_them = with_holes(request, holes)
            if with_them is not None:
                yield key_of(with_them, holes)

    def same(self, key: bytes) -> list[RecordedCall]:
        """The calls with KEY, in the order of the recording."""
        return self._same.get(key, [])

    def _leave_out_refused_openings(self) -> None:
        """A client that was refused once, before it or another got in, is no reason to refuse all clients."""
        for method in OPENINGS:
            key = key_of(compared(method, {}))
            if any(call.succeeded for call in self.same(key)):
                self._same[key] = [call for call in self.same(key) if call.succeeded]

    def _leave_out_what_was_asked_again(self) -> None:
        """What a conversation broke off at, and a later one has an answer to, is played with that answer."""
        for key, same in self._same.items():
            if len(same) > 1 and any(call.unanswered for call in same):
                newest = max((call.session for call in same if call.replied), default=0)
                self._same[key] = [call for call in same if not (call.unanswered and call.session < newest)]

    def alike(self, method: str, params: Json) -> list[RecordedCall]:
        """Requests about the same thing."""
        return self.about.get(method, {}).get(shown_request(method, params), [])

    def names(self, method: str, most: int) -> list[str]:
        """What METHOD is about in the recording."""
        words = (name.removeprefix(method).strip() for name in self.about.get(method, {}))
        return list(islice(filter(None, words), most))

    def listed_tools(self) -> Iterator[Any]:
        """The tools that the recorded server listed, the newest last; each may be any value."""
        for call in (each for alike in self.about.get("tools/list", {}).values() for each in alike):
            for step in call.steps:
                result = parse(step.text).result if step.kind == "reply" and call.succeeded else None
                tools = result.get("tools") if isinstance(result, dict) else None
                yield from tools if isinstance(tools, list) else ()

    def compared(self, method: str, params: Json) -> Json:
        """What is compared of a request."""
        return compared(method, params, self._forget)


class Conversation:
    """One client: how far it is with each of the requests that the recording repeats."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._given: dict[bytes, int] = {}

    def next(self, method: str, params: Json) -> RecordedCall | None:
        """What a request is answered with; None if the recording does not have it."""
        for key in self._pool.keys(method, params):
            same = self._pool.same(key)
            if same:
                given = self._given.get(key, 0)
                self._given[key] = given + 1
                return same[min(given, len(same) - 1)]
        return None


def is_modern(params: Json) -> bool:
    """Whether a request is of the modern era: it names its revision itself."""
    meta = params.get("_meta")
    return isinstance(meta, dict) and f"{META}protocolVersion" in meta
