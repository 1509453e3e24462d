"""Flows: values that came in an answer and were sent by the client later, such as ids, cursors and handles.

They are found by value. A value that the client had sent before the answer is its own. What the lists of tools and
prompts say are names, not values that a server makes: only their cursors flow.
"""

import re
from collections.abc import Iterator, Mapping, Set as AbstractSet
from itertools import islice
from typing import Any, NamedTuple

from mcp_conductor.protocol.message import Message, read
from mcp_conductor.recording.dialogue import Asked, Dialogue, Moment
from mcp_conductor.recording.opening import OPENINGS
from mcp_conductor.values import dataclass

SHORTEST = 6  # characters of a value that is taken for more than a coincidence
_LONGEST = 10_000
_LONGEST_TEXT = 1_000_000  # that is looked into
_MOST_WORDS = 500  # of a text: for each of them, all that stands before it is searched
_PREFIX = 24  # characters that stand before a word of a text
_WORD = re.compile(r"[\w-]{6,}")
_ANY_WORD = re.compile(r"[\w-]+")
_HAS_DIGIT = re.compile(r"\d")
_NAMES = ("tools/list", "prompts/list")

Steps = tuple[str | int, ...]


class Place(NamedTuple):
    """Where a value stands in a message: at PATH; there perhaps in the JSON of a text, or as a word of a text."""

    exchange: int  # the number of the request
    path: Steps  # from "result", "error" or "params" on
    inner: Steps | None = None  # within the JSON that the text at PATH is
    prefix: str | None = None  # what stands before the word, in a text
    occurrence: int = 0  # of the prefix: 1 is the first

    @property
    def rank(self) -> int:
        """How far it has to be looked for; 0 is the plainest."""
        return 2 if self.prefix is not None else 1 if self.inner is not None else 0


@dataclass(frozen=True, slots=True)
class Flow:
    """A value that went from an answer into later messages of the client."""

    value: str | int
    source: Place
    targets: tuple[Place, ...]


def flows(dialogue: Dialogue) -> list[Flow]:
    """The flows of DIALOGUE, in the order in which their values came."""
    offered: dict[str, tuple[str | int, Place]] = {}
    sent: set[str] = set()
    targets: dict[str, dict[Place, None]] = {}
    # Most values of most replies are never sent: to remember their places would take more memory than the replies.
    ever_sent = {str(value) for moment in dialogue.moments for value, _ in _values_of_client(moment)}
    for moment in dialogue.moments:
        kind, asked, message = moment
        if kind == "reply" and asked is not None:
            for value, place in _values_of_reply(asked, message, ever_sent):
                name = str(value)
                if name not in ever_sent or name in sent:
                    continue
                if name not in offered or _is_plainer(place, offered[name][1]):
                    offered[name] = value, place
            continue
        for value, place in _values_of_client(moment):
            if str(value) in offered:
                targets.setdefault(str(value), {})[place] = None
            else:
                sent.add(str(value))
    return [Flow(value, place, tuple(targets[name])) for name, (value, place) in offered.items() if name in targets]


def _is_plainer(place: Place, other: Place) -> bool:
    return place.exchange == other.exchange and place.rank < other.rank


def _values_of_client(moment: Moment) -> Iterator[tuple[str | int, Place]]:
    """What the client sent, if that is what MOMENT is."""
    kind, asked, message = moment
    if kind != "reply":
        member = "result" if kind == "answer" else "params"
        yield from values_in(message.raw.get(member), 0 if asked is None else asked.number, (member,))


def _values_of_reply(asked: Asked, reply: Message, wanted: AbstractSet[str]) -> Iterator[tuple[str | int, Place]]:
    """What the server sent in REPLY; nothing, if none of it is WANTED."""
    method = asked.method
    if reply.kind not in ("result", "error") or method in OPENINGS:
        return
    member, value = reply.kind, reply.raw[reply.kind]
    if method in _NAMES:
        value = {"nextCursor": value.get("nextCursor")} if isinstance(value, dict) else None
    if _may_have(value, wanted):
        yield from values_in(value, asked.number, (member,))


def _may_have(value: Any, wanted: AbstractSet[str]) -> bool:
    """Whether something that is WANTED may stand in VALUE: quicker than to look at each thing with its place."""
    left = [value]
    for each in left:  # which grows meanwhile
        if isinstance(each, dict):
            left += each.values()
        elif isinstance(each, list):
            left += each
        elif isinstance(each, str):
            if each in wanted:
                return True
            if SHORTEST < len(each) <= _LONGEST_TEXT:
                inner = json_in(each)
                if inner is not None:
                    left.append(inner)
                elif not wanted.isdisjoint(_WORD.findall(each)):
                    return True
        elif str(each) in wanted:
            return True
    return False


def values_in(value: Any, number: int, path: Steps = ()) -> Iterator[tuple[str | int, Place]]:
    """What in VALUE could be an id, a cursor or a handle, with its place."""
    for steps, leaf in leaves(value, path):
        if _is_candidate(leaf):
            yield leaf, Place(number, steps)
        if isinstance(leaf, str) and SHORTEST < len(leaf) <= _LONGEST_TEXT:
            inner = json_in(leaf)
            if inner is not None:
                for below, each in leaves(inner):
                    if _is_candidate(each):
                        yield each, Place(number, steps, inner=below)
            else:
                for word, prefix, occurrence in words_in(leaf):
                    yield word, Place(number, steps, prefix=prefix, occurrence=occurrence)


def words_in(text: str) -> Iterator[tuple[str, str, int]]:
    """The words of TEXT that could be values, each with what stands before it, and how often that stood there."""
    words = (found for found in _WORD.finditer(text) if _HAS_DIGIT.search(found[0]) and found[0] != text)
    for found in islice(words, _MOST_WORDS):
        before = text[max(0, found.start() - _PREFIX) : found.start()]
        prefix = _HAS_DIGIT.split(before)[-1]  # what has digits in it may be another value
        yield found[0], prefix, text.count(prefix, 0, found.start()) if prefix else 0


def pick(place: Place, reply: Mapping[str, Any]) -> str | int | None:
    """What stands at PLACE in REPLY, an answer to the same request; None if nothing that could be a value does."""
    value = _at(reply, place.path)
    if place.inner is not None:
        value = _at(json_in(value) if isinstance(value, str) else None, place.inner)
    elif place.prefix is not None:
        value = _word_at(value, place.prefix, place.occurrence) if isinstance(value, str) else None
    return value if _is_value(value) else None


def _word_at(text: str, prefix: str, occurrence: int) -> str | None:
    end = 0
    for _ in range(occurrence):
        at = text.find(prefix, end)
        if at < 0:
            return None
        end = at + len(prefix)
    found = _ANY_WORD.match(text, end)
    return None if found is None else found[0]


def _at(value: Any, steps: Steps) -> Any:
    for step in steps:
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def leaves(value: Any, path: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """What VALUE is made of, each with its path, in the order of the document."""
    waiting = [(path, value)]
    while waiting:
        steps, each = waiting.pop()
        if isinstance(each, dict):
            waiting += [((*steps, key), member) for key, member in reversed(each.items())]
        elif isinstance(each, list):
            waiting += [((*steps, index), item) for index, item in reversed(list(enumerate(each)))]
        else:
            yield steps, each


def json_in(text: str) -> Any:
    """The object or array that TEXT is; None if it is none."""
    if not text.lstrip()[:1] or text.lstrip()[0] not in "{[":
        return None
    try:
        return read(text)
    except (ValueError, RecursionError):
        return None


def _is_value(value: Any) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))


def _is_candidate(value: Any) -> bool:
    return _is_value(value) and SHORTEST <= len(str(value)) <= _LONGEST
