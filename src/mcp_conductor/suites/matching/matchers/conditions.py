"""Conditions between two fields of an object, or between a field and a value: `start < end`, `price > 0`."""

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from itertools import product
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from mcp_conductor.protocol.message import read
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.differences import NUMBER, described, number_in, same, shown
from mcp_conductor.suites.matching.matchers import matcher
from mcp_conductor.suites.matching.matchers.times import Moment, day_of, iso_moment
from mcp_conductor.suites.matching.paths import JsonPath, parse_path
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.values import dataclass

OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<=": le, ">=": ge, "!=": ne, "==": eq, "<": lt, ">": gt, "=": eq,
}  # fmt: skip
WORDS = {
    "<=": "at most", ">=": "at least", "!=": "other than", "==": "equal to", "<": "less than", ">": "greater than",
    "=": "equal to",
}  # fmt: skip

_LITERAL = compiled_later(r"""true|false|null|"(?:[^"\\]|\\.)*"|'[^']*'""")
_OPERATOR = compiled_later("|".join(OPERATORS))
_DATE_SHAPES = compiled_later(r"([0-9]{1,2})([/-])([0-9]{1,2})\2([0-9]{4})")


@dataclass(frozen=True, slots=True)
class Condition:
    """A comparison within one object."""

    left: JsonPath | Any
    operator: str
    right: JsonPath | Any


def read_condition(text: str) -> Condition:
    """The condition in TEXT; raises a ValueError that says why it is not a condition."""
    operators = list(_OPERATOR.finditer(text))
    if len(operators) != 1:
        raise ValueError(f"{text!r} must be two fields with one of {' '.join(OPERATORS)} between them")
    sides = text[: operators[0].start()].strip(), text[operators[0].end() :].strip()
    if not all(sides):
        raise ValueError(f"{text!r} has nothing on one side of {operators[0][0]}")
    left, right = map(_operand, sides)
    if not any(isinstance(side, JsonPath) for side in (left, right)):
        raise ValueError(f"{text!r} names no field, so its outcome is always the same")
    return Condition(left, operators[0][0], right)


def _operand(text: str) -> Any:
    if _LITERAL.fullmatch(text):
        return text[1:-1] if text[0] == "'" else read(text)
    if NUMBER.fullmatch(text) or _moment(text) is not None:
        with suppress(ValueError):  # +5 and .5 are numbers to people only
            return read(text)
        return text
    return parse_path(text)


@matcher("crossField")
def cross_field(actual: Any, condition: Condition) -> str | None:
    """match:crossField:A < B — an object of which this is true; A and B are fields (paths) of it, or values: numbers,
    dates, "texts", true, false, null. Operators: < <= > >= == = !=. Numbers and dates in texts are compared as such.

    match:crossField:start < end  {"start": 1, "end": 2}  passes
    match:crossField:start < end  {"start": 3, "end": 2}  has start = 3, not less than end = 2
    match:crossField:a > b        {"a": 3}                has no 'b' to compare: the document has no 'b'; it has 'a'
    """
    if not isinstance(actual, (dict, list)):
        return f"is {described(actual)}, not an object with fields to compare"
    sides = [_values(side, actual) for side in (condition.left, condition.right)]
    for side, values in zip((condition.left, condition.right), sides, strict=True):
        if not values or any(value is NOTHING for _, value in values):
            return f"has no {side.text!r} to compare: {side.why(actual)}"
    for (left, one), (right, other) in product(*sides):
        if not holds(one, condition.operator, other):
            return f"has {_side_text(left, one)}, not {WORDS[condition.operator]} {_side_text(right, other)}"
    return None


def _values(side: Any, actual: Any) -> list[tuple[str, Any]]:
    """What SIDE stands for in ACTUAL, each value with its path; without one if it is written in the condition."""
    if not isinstance(side, JsonPath):
        return [("", side)]
    return side.each(actual) if side.several else [(side.text, side.find(actual))]


def _side_text(path: str, value: Any) -> str:
    return f"{path} = {shown(value)}" if path else shown(value)


def holds(left: Any, operator: str, right: Any) -> bool:
    """Whether LEFT and RIGHT compare so: as numbers or as dates if both are such, or else as what they are."""
    for kind in (number_in, _moment):
        one, other = kind(left), kind(right)
        if one is not None and other is not None:
            return OPERATORS[operator](one, other)
    if operator in ("=", "==", "!="):
        return same(left, right) != (operator == "!=")
    return isinstance(left, str) and isinstance(right, str) and OPERATORS[operator](left, right)


def _moment(value: Any) -> Decimal | Moment | None:
    """The moment in a text that has the form of a date: of a year first, or of a month, a day and a year."""
    if not isinstance(value, str):
        return None
    found = _DATE_SHAPES.fullmatch(value)
    return day_of(found[4], found[1], found[3]) if found else iso_moment(value)
