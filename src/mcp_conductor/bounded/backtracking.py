r"""How long a regular expression may take at worst: an estimate from the pattern alone, never too low.

Python's engine tries one way after the other to share a text among the repeats of a pattern. The ways are the paths
through the automaton of the pattern, so that they can be counted without a text:

- two different ways from a state back to itself that read the same text double with each turn: `(a+)+`, `(a|a)*`;
- two loops, one after the other, that can read the same text share it in n ways: `a*a*`, `\s*.*`; a chain of d + 1
  such loops in n ** d ways.

What cannot fail at the end of a pattern is never tried in a second way, and does not count.
"""

import math
import re
from re import _parser as parser  # type: ignore[attr-defined]  # the only way to see a pattern as Python reads it
from typing import Any, Final, NamedTuple

from mcp_conductor.bounded.ambiguity import (
    MOST_POSITIONS,
    NOTHING,
    Automaton,
    Piece,
    TooLargeError,
    degree_of,
    optional,
    two,
)

MOST_STEPS = 10_000_000  # about a tenth of a second
# Where groups repeat, every turn is remembered, in about ninety bytes.
_LONGEST_TEXT = 1_000_000
_UNBOUNDED: Final[int] = parser.MAXREPEAT
_MOST_BRANCHES = 50
_LONGEST_PATTERN = 5_000
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_WIDEST_REFERENCE = 4
# Sets of characters are bits: one for each of ASCII, one for all others together.
_ASCII = (1 << 128) - 1
_OTHERS = 1 << 128
_ALL = _ASCII | _OTHERS


class Cost(NamedTuple):
    """At most `factor * n ** degree` steps for a text of n characters."""

    factor: float
    degree: float

    def is_small(self, length: int) -> bool:
        """Whether a text of LENGTH characters is searched in no time."""
        if not self.degree:
            return self.factor <= MOST_STEPS
        if self.degree == math.inf or length > _LONGEST_TEXT:
            return False
        return bool(self.factor * float(max(2, length)) ** self.degree <= MOST_STEPS)


WORST = Cost(1.0, math.inf)


def cost_of(pattern: str, flags: int = 0) -> Cost:
    """What a search with PATTERN, which must be valid, costs."""
    if not any(sign in pattern for sign in "*+{|?"):
        return Cost(1.0, 0)  # there is one way only
    if len(pattern) > _LONGEST_PATTERN:
        return WORST
    try:
        tree = parser.parse(pattern, flags)
        return _Analysis(tree.state.flags).search(list(tree))
    except (TooLargeError, RecursionError):
        return WORST


class _Analysis:
    def __init__(self, flags: int) -> None:
        self._flags = flags
        self._widths: dict[int, tuple[int, int]] = {}
        self._around: list[Cost] = []  # of what is looked at without being read
        self._looks: dict[int, Cost] = {}
        self._sizes: dict[int, int] = {}
        self._branches = 0

    def search(self, tree: list[Any]) -> Cost:
        anchored = bool(tree) and str(tree[0][0]) == "AT" and self._is_beginning(str(tree[0][1]))
        cost = self._cost(tree)
        return Cost(cost.factor, cost.degree + (not anchored))

    def _is_beginning(self, place: str) -> bool:
        return place == "AT_BEGINNING_STRING" or (place == "AT_BEGINNING" and not self._flags & re.MULTILINE)

    def _cost(self, tree: list[Any]) -> Cost:
        """What an attempt at one place costs."""
        around, self._around = self._around, []
        automaton = Automaton()
        tree = _without_certain_end(tree)
        self._sequence(automaton, tree)
        degree = degree_of(automaton) if automaton.looped else 0.0
        factor = self._factor(tree)
        for cost in self._around:
            factor *= cost.factor
        degree += max((cost.degree for cost in self._around), default=0.0)
        self._around = around
        return Cost(min(factor, 1e18), degree)

    def _sequence(self, automaton: Automaton, tree: Any) -> Piece:
        whole = NOTHING
        for node in tree:
            whole = automaton.joined(whole, self._piece(automaton, str(node[0]), node[1]))
        return whole

    def _piece(self, automaton: Automaton, kind: str, value: Any) -> Piece:
        match kind:
            case "LITERAL" | "NOT_LITERAL" | "IN" | "ANY":
                return automaton.position(self._characters(kind, value))
            case "SUBPATTERN":
                if value[0] is not None:
                    self._widths[value[0]] = value[3].getwidth()
                return self._sequence(automaton, value[3])
            case "ATOMIC_GROUP":
                return self._sequence(automaton, value)
            case "BRANCH":
                return self._either(automaton, value[1])
            case "GROUPREF_EXISTS":
                return self._either(automaton, [value[1], value[2] or []])
            case "GROUPREF":
                return self._reference(automaton, value)
            case "ASSERT" | "ASSERT_NOT":
                if id(value) not in self._looks:
                    self._looks[id(value)] = self._cost(list(value[1]))
                self._around.append(self._looks[id(value)])
                return NOTHING
            case "AT":
                return NOTHING
            case "FAILURE":
                return Piece(0, {}, {})
        if kind in _REPEATS:
            return self._repeat(automaton, *value)
        raise TooLargeError  # a kind of node that is not known yet

    def _either(self, automaton: Automaton, options: list[Any]) -> Piece:
        pieces = [self._sequence(automaton, option) for option in options]
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        for piece in pieces:
            first |= piece.first
            last |= piece.last
        return Piece(two(sum(piece.empty for piece in pieces)), first, last)

    def _reference(self, automaton: Automaton, group: int) -> Piece:
        low, high = self._widths.get(group, (0, _UNBOUNDED))
        if high > _WIDEST_REFERENCE:
            low, high = 0, _UNBOUNDED
        return self._repeat(automaton, low, high, [("ANY", None)], _ALL)

    def _repeat(self, automaton: Automaton, low: int, high: int, body: Any, characters: int | None = None) -> Piece:
        def once() -> Piece:
            return automaton.position(characters) if characters else self._sequence(automaton, body)

        if high is not _UNBOUNDED and high != _UNBOUNDED and (high <= 1 or self._has_room(automaton, body, high)):
            rest = NOTHING
            for _ in range(high - low):
                rest = optional(automaton.joined(once(), rest))
            for _ in range(low):
                rest = automaton.joined(once(), rest)
            return rest
        # Many repeats are taken for any number of them: there are no fewer ways.
        copies = low if self._has_room(automaton, body, low) else 1
        whole = automaton.looping(once())
        for _ in range(copies - 1):
            whole = automaton.joined(once(), whole)
        return whole if low else optional(whole)

    def _has_room(self, automaton: Automaton, body: Any, times: int) -> bool:
        return times * self._size(body) + len(automaton.sets) <= MOST_POSITIONS // 2

    def _size(self, tree: Any) -> int:
        """How many positions TREE has, repeats counted as often as they are."""
        if id(tree) not in self._sizes:
            self._sizes[id(tree)] = sum(self._size_of(str(kind), value) for kind, value in tree)
        return self._sizes[id(tree)]

    def _size_of(self, kind: str, value: Any) -> int:
        if kind in _REPEATS:
            return (1 if value[1] == _UNBOUNDED else min(int(value[1]), MOST_POSITIONS)) * self._size(value[2])
        if kind == "SUBPATTERN":
            return self._size(value[3])
        return sum(map(self._size, value[1])) if kind == "BRANCH" else 1

    def _characters(self, kind: str, value: Any) -> int:
        if kind == "ANY":
            return _ALL if self._flags & re.DOTALL else _ALL & ~(1 << 10)
        if kind == "LITERAL":
            return self._in_any_case(_bit(value))
        if kind == "NOT_LITERAL":
            return (_ASCII & ~self._in_any_case(_bit(value))) | _OTHERS
        negated = bool(value) and str(value[0][0]) == "NEGATE"
        found = 0
        for item, argument in value:
            match str(item):
                case "LITERAL":
                    found |= _bit(argument)
                case "RANGE":
                    found |= _bits(*argument)
                case "CATEGORY":
                    found |= self._category(str(argument))
        found = self._in_any_case(found)
        return (_ASCII & ~found) | _OTHERS if negated else found

    def _category(self, name: str) -> int:
        inside = 0
        for code in range(128):
            if _CATEGORIES[name.rpartition("_")[2]].match(chr(code)):
                inside |= 1 << code
        if "_NOT_" in name:
            return (_ASCII & ~inside) | _OTHERS
        return inside if self._flags & re.ASCII else inside | _OTHERS

    def _in_any_case(self, characters: int) -> int:
        if not self._flags & re.IGNORECASE:
            return characters
        upper, lower = _bits(65, 90), _bits(97, 122)
        both = characters | (characters & upper) << 32 | (characters & lower) >> 32
        # Some letters of ASCII have relatives elsewhere: the Kelvin sign, the long s, the dotless i.
        return both | _OTHERS if both & (upper | lower) else both

    def _factor(self, tree: Any) -> float:
        """In how many ways alternatives and bounded repeats can be combined, except those within loops."""
        factor = 1.0
        for node in tree:
            factor = min(1e18, factor * self._ways(str(node[0]), node[1]))
        return factor

    def _ways(self, kind: str, value: Any) -> float:
        if kind == "SUBPATTERN":
            return self._factor(value[3])
        if kind == "ATOMIC_GROUP":
            return self._factor(value)
        if kind in ("BRANCH", "GROUPREF_EXISTS"):
            options = value[1] if kind == "BRANCH" else [value[1], value[2] or []]
            ways = [self._factor(option) for option in options]
            return max(ways) if kind == "BRANCH" and self._begin_differently(options) else sum(ways)
        if kind in _REPEATS and value[1] != _UNBOUNDED:
            low, high, body = value
            return float(min(1e18, (high - low + 1) * min(1e5, self._factor(body)) ** min(high, 60)))
        return 1.0

    def _begin_differently(self, options: list[Any]) -> bool:
        self._branches += 1
        if self._branches > _MOST_BRANCHES:
            return False
        seen = 0
        for option in options:
            automaton = Automaton()
            around, self._around = self._around, []
            piece = self._sequence(automaton, option)
            self._around = around
            begins = 0
            for position in piece.first:
                begins |= automaton.sets[position]
            if piece.empty or begins & seen:
                return False
            seen |= begins
        return True


_CATEGORIES = {"DIGIT": re.compile(r"[0-9]"), "SPACE": re.compile(r"\s"), "WORD": re.compile(r"\w")}


def _bit(code: int) -> int:
    return 1 << code if code < 128 else _OTHERS


def _bits(low: int, high: int) -> int:
    ascii_part = ((1 << (min(high, 127) + 1)) - 1) & ~((1 << low) - 1) if low < 128 else 0
    return ascii_part | (_OTHERS if high > 127 else 0)


def _without_certain_end(tree: list[Any]) -> list[Any]:
    """TREE without the repeats at its end that can stop at any place: nothing follows that could refuse it."""
    tree = list(tree)
    while tree:
        node, value = tree[-1]
        kind = str(node)
        if kind in _REPEATS and value[0] != value[1]:
            tree.pop()
            if value[0]:
                tree.append((node, (value[0], value[0], value[2])))
                break
        elif kind == "SUBPATTERN":
            tree[-1] = (node, (*value[:3], _Tree(value[3], _without_certain_end(list(value[3])))))
            break
        elif kind == "BRANCH":
            tree[-1] = (node, (value[0], [_without_certain_end(list(option)) for option in value[1]]))
            break
        else:
            break
    return tree


class _Tree(list[Any]):
    """A part of a tree of which something was taken away; a reference may still want its first width."""

    def __init__(self, whole: Any, left: list[Any]) -> None:
        super().__init__(left)
        self.getwidth = whole.getwidth
