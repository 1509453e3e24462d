"""In how many ways an automaton can read a text: the same for every length, or more the longer it is, or twice as many
with each character.

The automaton has a state for each place of a pattern where a character is read. How often one state may follow another
is counted too, since `(a+)+` has one state that follows itself in two ways.
"""

import math
from collections import defaultdict, deque
from dataclasses import field

from mcp_conductor.values import dataclass

MOST_POSITIONS = 1_000
_MOST_FOLLOWERS = 20_000
_MOST_PAIRS = 200_000
_MOST_LOOPS = 40


class TooLargeError(Exception):
    """The pattern is too large to be looked at."""


@dataclass(slots=True)
class Piece:
    """A part of the automaton: in how many ways it reads nothing; where it begins and ends, each in how many ways."""

    empty: int
    first: dict[int, int]
    last: dict[int, int]


@dataclass(slots=True)
class Automaton:
    """The positions of a pattern, what each of them reads, and which may follow which in how many ways."""

    sets: list[int] = field(default_factory=list)
    follows: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    looped: bool = False
    followers: int = 0
    pairs_seen: int = 0

    def position(self, characters: int) -> Piece:
        if len(self.sets) >= MOST_POSITIONS:
            raise TooLargeError
        self.sets.append(characters)
        here = len(self.sets) - 1
        return Piece(0, {here: 1}, {here: 1})

    def joined(self, one: Piece, other: Piece) -> Piece:
        self._connect(one.last, other.first)
        return Piece(
            two(one.empty * other.empty),
            _sum(one.first, other.first, one.empty),
            _sum(other.last, one.last, other.empty),
        )

    def looping(self, piece: Piece) -> Piece:
        """PIECE, once or more."""
        self.looped = True
        self._connect(piece.last, piece.first)
        return piece

    def _connect(self, ends: dict[int, int], begins: dict[int, int]) -> None:
        self.followers += len(ends) * len(begins)
        if self.followers > _MOST_FOLLOWERS:
            raise TooLargeError
        for end, ways in ends.items():
            after = self.follows[end]
            for begin, times in begins.items():
                after[begin] = two(after.get(begin, 0) + ways * times)


def two(ways: int) -> int:
    """It matters whether there are several ways, not how many."""
    return min(ways, 2)


def _sum(one: dict[int, int], other: dict[int, int], times: int) -> dict[int, int]:
    if not times:
        return one
    return {key: two(one.get(key, 0) + times * other.get(key, 0)) for key in (*one, *other)}


def optional(piece: Piece) -> Piece:
    return Piece(two(piece.empty + 1), piece.first, piece.last)


NOTHING = Piece(1, {}, {})


def degree_of(automaton: Automaton) -> float:
    """The power of n by which the steps from one place grow."""
    loops = _loops(automaton)
    if len(loops) > _MOST_LOOPS or any(_doubles(automaton, loop) for loop in loops):
        return math.inf
    # Loops come in the order in which they can be reached.
    best: list[int] = []
    for index, loop in enumerate(loops):
        chains = [best[before] + _share(automaton, loops[before], loop) for before in range(index)]
        best.append(max(chains, default=0))
    return 1.0 + max(best, default=0)


def _loops(automaton: Automaton) -> list[set[int]]:
    """The sets of positions that can reach each other, in the order of the text (by Kosaraju)."""
    before: dict[int, list[int]] = defaultdict(list)
    for each, after in automaton.follows.items():
        for follower in after:
            before[follower].append(each)
    loops: list[set[int]] = []
    known: set[int] = set()
    for start in reversed(_finishing_order(automaton)):
        loop: set[int] = set()
        waiting = [start]
        while waiting:
            each = waiting.pop()
            if each not in known:
                known.add(each)
                loop.add(each)
                waiting += before[each]
        if len(loop) > 1 or (loop and start in automaton.follows[start]):
            loops.append(loop)
    return loops


def _finishing_order(automaton: Automaton) -> list[int]:
    """All positions, each after those that follow it."""
    done: list[int] = []
    known: set[int] = set()
    for start in range(len(automaton.sets)):
        way = [] if start in known else [(start, iter(list(automaton.follows[start])))]
        known.add(start)
        while way:
            each, after = way[-1]
            follower = next((one for one in after if one not in known), None)
            if follower is None:
                done.append(each)
                way.pop()
            else:
                known.add(follower)
                way.append((follower, iter(list(automaton.follows[follower]))))
    return done


def _reachable(automaton: Automaton, start: int) -> set[int]:
    found: set[int] = set()
    waiting = list(automaton.follows[start])
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting += automaton.follows[each]
    return found


def _doubles(automaton: Automaton, loop: set[int]) -> bool:
    """Whether some text leads from a position of LOOP back to it in two ways."""
    for each in loop:
        if any(ways > 1 for after, ways in automaton.follows[each].items() if after in loop):
            return True
    same = {(each, each) for each in loop}
    before: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    apart = _pairs(automaton, same, loop, loop, before) - same
    # From which of them the two ways can meet again.
    waiting, met = deque(same), set(same)
    while waiting:
        for pair in before[waiting.popleft()]:
            if pair in apart:
                return True
            if pair not in met:
                met.add(pair)
                waiting.append(pair)
    return False


def _share(automaton: Automaton, one: set[int], other: set[int]) -> bool:
    """Whether two loops, one after the other, can read the same text, also from the one to the other."""
    ahead = _reachable(automaton, min(one))
    if not other <= ahead:
        return False
    everything = set(range(len(automaton.sets)))
    left = _pairs(automaton, {(each, each) for each in one}, one, everything)
    parted = {pair for pair in left if pair[1] in other}
    return any(a == b for a, b in _pairs(automaton, parted, everything, other))


def _pairs(
    automaton: Automaton,
    start: set[tuple[int, int]],
    left: set[int],
    right: set[int],
    before: dict[tuple[int, int], list[tuple[int, int]]] | None = None,
) -> set[tuple[int, int]]:
    """Where two readers of one text can get from START, the one within LEFT, the other within RIGHT."""
    found, waiting = set(start), deque(start)
    while waiting:
        pair = waiting.popleft()
        automaton.pairs_seen += len(automaton.follows[pair[0]]) * len(automaton.follows[pair[1]])
        if automaton.pairs_seen > _MOST_PAIRS:
            raise TooLargeError
        for a in automaton.follows[pair[0]]:
            for b in automaton.follows[pair[1]] if a in left else ():
                if b not in right or not automaton.sets[a] & automaton.sets[b]:
                    continue
                if before is not None:
                    before[a, b].append(pair)
                if (a, b) not in found:
                    found.add((a, b))
                    waiting.append((a, b))
    return found
