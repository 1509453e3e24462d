"""The arguments of a matcher, from the text of a file to the types that its function is annotated with.

They are read when the file is, so that a mistake is found before any server starts.
"""

import re
import typing
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from itertools import combinations, pairwise
from typing import Any, Literal, NewType

from mcp_conductor.bounded.regex import Regex
from mcp_conductor.suites.matching.differences import NUMBER
from mcp_conductor.suites.matching.matchers import Param
from mcp_conductor.suites.matching.matchers.conditions import Condition, read_condition
from mcp_conductor.suites.matching.matchers.regexes import read_regex
from mcp_conductor.suites.matching.matchers.times import Moment, read_moment
from mcp_conductor.text.patterns import compiled_later

Divisor = NewType("Divisor", Decimal)
Tolerance = NewType("Tolerance", Decimal)

_UNITS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_AGE = compiled_later(rf"([0-9]{{1,12}}(?:\.[0-9]+)?)({'|'.join(_UNITS)})")


def read_arguments(text: str, params: list[Param]) -> tuple[Any, ...]:
    """The values for PARAMS in TEXT, where colons stand between them; raises ValueError that says what is wrong.

    The last ones may be left out, if the function has a value for them.
    """
    if not params:
        return ()
    readers = [_reader(param.annotation) for param in params]
    arguments = _read_some(text, readers, [param.name.upper() for param in params], needed(params))
    bounds = dict(zip((param.name for param in params), arguments, strict=False))
    if {"low", "high"} <= bounds.keys() and bounds["low"] > bounds["high"]:
        raise ValueError("the bounds are reversed: write the smaller one first")
    return arguments


def needed(params: list[Param]) -> int:
    """How many of PARAMS a text must give."""
    return sum(param.needed for param in params)


def _read_some(text: str, readers: list[Callable[[str], Any]], names: list[str], least: int) -> tuple[Any, ...]:
    """What READERS make of TEXT, or only the first of them, but at LEAST so many."""
    problems: dict[int, ValueError] = {}
    for count in range(len(readers), max(least, 1) - 1, -1):
        try:
            return _read_split(text, readers[:count], names[:count])
        except ValueError as error:
            problems[count] = error
    written = text.count(":") + 1
    raise problems.get(written, problems[len(readers)])


def _read_split(text: str, readers: list[Callable[[str], Any]], names: list[str]) -> tuple[Any, ...]:
    """What READERS make of TEXT, cut where it makes sense to all of them: times have colons too."""
    if len(readers) == 2 and text.count("..") == 1:
        return tuple(reader(part) for reader, part in zip(readers, text.split(".."), strict=True))
    colons = [index for index, character in enumerate(text) if character == ":"]
    if len(colons) < len(readers) - 1:
        raise ValueError(f"{text!r} must be {':'.join(names)}")
    problem = ValueError(f"{text!r} must be {':'.join(names)}")
    for cuts in combinations(colons, len(readers) - 1):
        edges = [-1, *cuts, len(text)]
        parts = [text[start + 1 : end] for start, end in pairwise(edges)]
        try:
            return tuple(reader(part) for reader, part in zip(readers, parts, strict=True))
        except ValueError as error:
            problem = error if len(colons) == len(readers) - 1 else problem
    raise problem


def _reader(annotation: Any) -> Callable[[str], Any]:
    if typing.get_origin(annotation) is Literal:
        return lambda text: _read_word(text, typing.get_args(annotation))
    if annotation not in _READERS:
        wanted = getattr(annotation, "__name__", repr(annotation))
        raise ValueError(f"its function wants {wanted}, which cannot be read from a text")
    return _READERS[annotation]


def _read_word(text: str, words: tuple[str, ...]) -> str:
    if text not in words:
        raise ValueError(f"{text!r} is not one of {', '.join(words)}")
    return text


def _read_count(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,15}", text):
        raise ValueError(f"{text!r} is not a whole number of 0 or more")
    return int(text)


def _read_number(text: str) -> Decimal:
    if not NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return Decimal(text)


def _read_divisor(text: str) -> Decimal:
    number = _read_number(text)
    if not number:
        raise ValueError("the divisor must not be 0")
    return number


def _read_tolerance(text: str) -> Decimal:
    number = _read_number(text)
    if number < 0:
        raise ValueError(f"the tolerance {text} is less than 0")
    return number


def _read_age(text: str) -> timedelta:
    found = _AGE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time such as 500ms, 30s, 5m, 2h or 7d")
    return timedelta(seconds=float(found[1]) * _UNITS[found[2]])


_READERS: dict[Any, Callable[[str], Any]] = {
    str: str,
    float: lambda text: float(_read_number(text)),
    int: _read_count,
    Decimal: _read_number,
    Divisor: _read_divisor,
    Tolerance: _read_tolerance,
    timedelta: _read_age,
    Moment: read_moment,
    Condition: read_condition,
    Regex: read_regex,
}
