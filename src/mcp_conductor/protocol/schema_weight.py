"""How much work a JSON Schema is for a value: an estimate, made before anything is validated.

Validators follow references again and again: `anyOf` of four references, fourteen levels deep, is 4 ** 14 schemas, and
each that fails is an error in memory. Here the visits to a value are counted without making them: each schema once for
each depth below it, however many ways lead there.
"""

import re
from collections import Counter
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.text.patterns import compiled_later

MOST_VISITS = 10_000  # about a fifth of a second, if each of them fails
_MOST_AT_ONE_PLACE = 500
_MOST_STEPS = 50_000
_MOST_VALUES = 100_000
_MOST_TO_TRY = 50_000
_TEXT_OF_ONE_VALUE = 64  # so many characters weigh as much as a value: messages quote them
# What only a backtracking engine can do, which our validator keeps for such patterns.
_BACKTRACKING = compiled_later(r"\(\?[=!<>]|\\[1-9k]|[*+?}]\+")
_COUNT = compiled_later(r"\{(\d{1,9})(?:,(\d{0,9}))?\}")
_MOST_IN_PATTERNS = 20_000
_REFERENCES = ("$dynamicRef", "$recursiveRef")
_REPEATING = frozenset(("$ref", "unevaluatedItems", "unevaluatedProperties"))
_IN_PLACE = ("if", "then", "else", "not")
_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE_NAMED = ("dependentSchemas", "dependencies")
_BELOW = (
    "items", "additionalItems", "contains", "additionalProperties", "propertyNames", "unevaluatedItems",
    "unevaluatedProperties",
)  # fmt: skip


def is_vast(schema: Any) -> bool:
    """Whether SCHEMA has so many parts that no value should be validated: each validation visits all of them."""
    waiting, seen = [schema], 0
    while waiting and seen <= _MOST_TO_TRY:
        part = waiting.pop()
        seen += 1
        if isinstance(part, (dict, list)):
            seen += len(part)
            waiting += part.values() if isinstance(part, dict) else part
    return seen > _MOST_TO_TRY


class _HeavyError(Exception):
    """The schema is heavy; no more needs to be counted."""


class Weight:
    """What a schema is for values; it must not change meanwhile."""

    def __init__(self, schema: Any) -> None:
        self._root = schema
        self._visits: dict[tuple[int, int], int] = {}
        self._open: set[tuple[int, int]] = set()
        self._parts = 0  # of a schema in which every part is used once at most for each value; 0 of others
        try:
            self._look_over()
            self.heavy = False  # in itself, for every value
        except _HeavyError:
            self.heavy = True

    def is_heavy_for(self, value: Any) -> bool:
        """Whether validating VALUE may take noticeable time or memory."""
        if self.heavy:
            return True
        if self._parts and _is_small(value, MOST_VISITS // self._parts):
            return False
        try:
            total = sum(count * self._at(self._root, depth) for depth, count in _levels(value).items())
        except _HeavyError:
            self._open.clear()
            return True
        return total > MOST_VISITS

    def _look_over(self) -> None:
        """Refuse what is large in itself, what cannot be followed here, and patterns that may backtrack."""
        waiting, seen, in_patterns, repeating = [self._root], 0, 0.0, False
        while waiting:
            part = waiting.pop()
            seen += 1
            if seen > _MOST_VALUES:
                raise _HeavyError
            if isinstance(part, list):
                waiting += part
            if not isinstance(part, dict):
                continue
            waiting += part.values()
            repeating = repeating or not _REPEATING.isdisjoint(part)
            in_patterns += sum(map(_weight_of_pattern, _patterns(part)))
            reference = part.get("$ref")
            elsewhere = isinstance(reference, str) and self._leads_elsewhere(reference)
            named = isinstance(part.get("$id"), str) and part is not self._root
            if in_patterns > _MOST_IN_PATTERNS or elsewhere or named or any(word in part for word in _REFERENCES):
                raise _HeavyError
        self._parts = 0 if repeating else seen

    def _leads_elsewhere(self, reference: str) -> bool:
        """Whether REFERENCE leads where we do not follow it, but the validator does."""
        if reference == "#" or reference.startswith("#/"):
            return False
        unknown = "://" in reference and "json-schema.org" not in reference
        return not unknown or "$id" in self._root

    def _at(self, schema: Any, depth: int) -> int:
        """How often one value, DEPTH levels below what SCHEMA is for, is visited at most."""
        if not isinstance(schema, dict):
            return 0 if depth else 1
        key = (id(schema), depth)
        if key in self._open:
            raise _HeavyError  # a circle of references, with as many ways round it as there may be
        if key not in self._visits:
            if len(self._visits) + len(self._open) > _MOST_STEPS:
                raise _HeavyError
            self._open.add(key)
            try:
                self._visits[key] = self._count(schema, depth)
            except RecursionError:
                raise _HeavyError from None
            if self._visits[key] > _MOST_AT_ONE_PLACE:
                raise _HeavyError
            self._open.discard(key)
        return self._visits[key]

    def _count(self, schema: Json, depth: int) -> int:
        here = [schema[word] for word in _IN_PLACE if word in schema]
        for word in _IN_PLACE_LISTS:
            here += schema[word] if isinstance(schema.get(word), list) else []
        for word in _IN_PLACE_NAMED:
            here += schema[word].values() if isinstance(schema.get(word), dict) else []
        if isinstance(schema.get("$ref"), str):
            here.append(resolved(schema["$ref"], self._root))
        visits = (0 if depth else 1) + sum(self._at(each, depth) for each in here)
        if depth:
            visits += self._below(schema, depth - 1)
        # What was evaluated is found out by evaluating it again.
        return visits * 2 if "unevaluatedItems" in schema or "unevaluatedProperties" in schema else visits

    def _below(self, schema: Json, depth: int) -> int:
        visits = sum(self._at(schema[word], depth) for word in _BELOW if not isinstance(schema.get(word, []), list))
        patterns = schema.get("patternProperties")
        visits += sum(self._at(each, depth) for each in patterns.values()) if isinstance(patterns, dict) else 0
        # A member has one name, and an element one place.
        named, placed = schema.get("properties"), [*_list(schema.get("prefixItems")), *_list(schema.get("items"))]
        visits += max((self._at(each, depth) for each in named.values()), default=0) if isinstance(named, dict) else 0
        return visits + max((self._at(each, depth) for each in placed), default=0)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def resolved(reference: str, root: Any) -> Any:
    """What a local REFERENCE means in ROOT; None if it means nothing there."""
    if reference != "#" and not reference.startswith("#/"):
        return None
    found = root
    for step in reference.split("/")[1:]:
        key = _unquoted(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, dict):
            found = found.get(key)
        elif isinstance(found, list) and re.fullmatch("[0-9]{1,9}", key) and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def _unquoted(step: str) -> str:
    if "%" not in step:
        return step
    from urllib.parse import unquote

    return unquote(step)


def _patterns(part: Json) -> list[str]:
    named = part.get("patternProperties")
    found = [part.get("pattern"), *(named if isinstance(named, dict) else ())]
    return [each for each in found if isinstance(each, str)]


def _weight_of_pattern(pattern: str) -> float:
    """How large the automaton of a pattern may be; without end, if it is not run as one."""
    if _BACKTRACKING.search(pattern):
        return float("inf")
    weight = float(len(pattern))
    for found in _COUNT.finditer(pattern):
        weight *= max(1, int(found[2] or found[1]))
    return weight


def _is_small(value: Any, most: int) -> bool:
    """Whether VALUE weighs no more than MOST; what nearly all values are, found out quickly."""
    waiting, weight = [value], 0
    for each in waiting:  # which grows meanwhile
        if isinstance(each, str):
            weight += len(each) // _TEXT_OF_ONE_VALUE
        elif isinstance(each, dict):
            waiting += each.values()
            waiting += each
        elif isinstance(each, list):
            waiting += each
        else:
            continue
        if weight + len(waiting) > most:
            return False
    return True


def _levels(value: Any) -> Counter[int]:
    """How many values there are at each depth of VALUE, long texts counted as several."""
    levels: Counter[int] = Counter()
    level, depth, seen = [value], 0, 0
    while level:
        below: list[Any] = []
        for each in level:
            seen += 1
            levels[depth] += 1 + (len(each) // _TEXT_OF_ONE_VALUE if isinstance(each, str) else 0)
            if isinstance(each, dict):
                below += each.values()
                levels[depth + 1] += sum(map(len, each)) // _TEXT_OF_ONE_VALUE
            elif isinstance(each, list):
                below += each
            if seen + len(below) > MOST_VISITS:
                raise _HeavyError
        level, depth = below, depth + 1
    return levels
