"""Arrays in any order: which expected element is which of those that came.

A pattern may fit several elements and an element several patterns, so this is an assignment, not a search: taking the
first that fits would call `[match:any, {id: 1}]` unlike `[{id: 1}, {id: 2}]`.
"""

from collections import deque
from itertools import islice
from typing import Any

from mcp_conductor.files.fields import Field
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.comparison import Comparison, Place
from mcp_conductor.suites.matching.differences import buckets, described, element_count, shown, take
from mcp_conductor.suites.matching.expected import Node, Plain, compare, compile_node, matches
from mcp_conductor.suites.matching.matchers import ANYTHING, special_key
from mcp_conductor.values import dataclass

_MOST_TRIED = 20


@dataclass(frozen=True, slots=True)
class InAnyOrder:
    value: list[Any]
    nodes: list[Node]
    exactly: bool  # no others
    optional: bool = False

    def walk(self, actual: Any, place: Place, seen: Comparison) -> None:
        if not isinstance(actual, list):
            return seen.add(place, f"is {described(actual)}, not an array", self.value, actual)
        assigned = assign(self.nodes, actual, seen)
        missing = [index for index in range(len(self.nodes)) if index not in assigned]
        left = sorted(set(range(len(actual))) - set(assigned.values()))
        if self.exactly and len(actual) != len(self.nodes):
            seen.add(place, f"has {element_count(actual)}, not {len(self.nodes)}", self.value, actual)
        elif self.exactly and len(missing) == 1:
            # Only one is left on both sides: how they differ is what one wants to know.
            return self.nodes[missing[0]].walk(actual[left[0]], place.to(left[0], at=(missing[0],)), seen)
        rest = f"; left over: {', '.join(f'[{each}] {shown(actual[each])}' for each in left[:3])}" if left else ""
        for index in missing:
            message = f"has no element that matches [{index}] {shown(self.value[index])}{rest}"
            hint = _closest(self.nodes[index], actual, left, place, seen)
            seen.add(place.below(index), message, self.value[index], actual, hint)
        for index in left if self.exactly else ():
            seen.add(Place((*place.steps, index), place.at, place.source), "is not expected", NOTHING, actual[index])
        return None


def _closest(node: Node, actual: list[Any], left: list[int], place: Place, seen: Comparison) -> str | None:
    """Which of the elements LEFT differs least from NODE, and how, if any is like it at all."""
    tried = {
        index: compare(node, actual[index], seen.tools, place.to(index, at=()), seen.trials)
        for index in left[:_MOST_TRIED]
    }
    below = {index: found for index, found in tried.items() if found[0].path != place.to(index, at=()).path}
    if not below:
        return None
    index = min(below, key=lambda each: len(below[each]))
    return f"closest is [{index}], but {below[index][0].path} {below[index][0].message}"


def assign(nodes: list[Node], actual: list[Any], seen: Comparison) -> dict[int, int]:
    """As many of NODES as possible, each with an element of ACTUAL of its own that it matches."""
    assigned: dict[int, int] = {}
    # Values without patterns first, by hash: equal elements are as good as each other, so this takes nothing away.
    left = buckets(actual)
    for index, node in enumerate(nodes):
        if isinstance(node, Plain) and not node.partial and (found := take(left, node.value)) is not None:
            assigned[index] = found
    free = [number for bucket in left.values() for number, _ in bucket]
    free.sort()
    patterns = [index for index, node in enumerate(nodes) if not isinstance(node, Plain) or node.partial]
    # A pattern that fits as many elements as there are patterns always gets one, so it need not be tried on more.
    fitting = {
        index: list(islice((each for each in free if matches(nodes[index], actual[each], seen)), len(patterns)))
        for index in patterns
    }
    return assigned | _maximum_matching(fitting)


def _maximum_matching(fitting: dict[int, list[int]]) -> dict[int, int]:
    """The largest assignment of keys to different ones of their values, by augmenting paths."""
    owner: dict[int, int] = {}
    for start in fitting:
        came_from: dict[int, int] = {}  # value: the key that would like it
        waiting = deque([start])
        while waiting:
            key = waiting.popleft()
            fresh = [value for value in fitting[key] if value not in came_from]
            came_from.update(dict.fromkeys(fresh, key))
            end = next((value for value in fresh if value not in owner), None)
            if end is not None:
                _hand_over(owner, came_from, start, end)
                break
            waiting.extend(owner[value] for value in fresh)
    return {key: value for value, key in owner.items()}


def _hand_over(owner: dict[int, int], came_from: dict[int, int], start: int, value: int) -> None:
    """Give VALUE to the key that wants it, what that had to the one before, and so on up to START."""
    had = {key: each for each, key in owner.items()}
    while True:
        key = came_from[value]
        owner[value] = key
        if key == start:
            return
        value = had[key]


@special_key("unordered")
def unordered(field: Field, _: Field, partial: bool) -> Node:
    """match:unordered: […] — an array of these elements and no others, in any order.

    {match:unordered: [b, a]}  ["a", "b"]       passes
    {match:unordered: [b, a]}  ["a", "c"]       [1] is 'c', not 'b'
    {match:unordered: [b, a]}  ["a", "b", "c"]  has 3 elements, not 2; [2] is not expected
    """
    return _in_any_order(field, exactly=True, partial=partial)


@special_key("containsAll")
def contains_all(field: Field, _: Field, partial: bool) -> Node:
    """match:containsAll: […] — an array with an element for each of these, in any order; there may be more.

    {match:containsAll: [c, a]}  ["a", "b", "c"]  passes
    {match:containsAll: [a, d]}  ["a", "b"]       has no element that matches [1] 'd'; left over: [1] 'b'
    """
    return _in_any_order(field, exactly=False, partial=partial)


def _in_any_order(field: Field, *, exactly: bool, partial: bool) -> Node:
    if field.value == ANYTHING:
        return compile_node(field, partial=partial)
    return InAnyOrder(field.value, [compile_node(item, partial=partial) for item in field.items()], exactly)
