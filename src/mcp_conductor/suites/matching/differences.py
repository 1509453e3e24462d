"""When two JSON values are the same, and what to say when they are not.

Equality is that of JSON: 1 is 1.0, true is not 1, the order of members does not matter, and no digit is lost.
"""

import re
import unicodedata
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

from mcp_conductor.protocol.message import Digits, compact, kind_of
from mcp_conductor.report.model import NOTHING
from mcp_conductor.text.visible import CUT, cut

NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,9})?")

_SHOWN = 160  # characters of a value: an error of a server says why only after its first words
_SHORT = 60  # characters of a text that is easily compared by eye
_HARDLY = 3  # characters that two texts have in common by chance
_BEFORE = 12  # characters that are shown before the place where two texts part
_LINE_ENDS = re.compile(r"\r\n?")
_KINDS = {str: "the string ", int: "the number ", float: "the number ", Digits: "the number "}


def same(expected: Any, actual: Any) -> bool:
    """Whether two JSON values are equal, however deep they are."""
    if type(expected) is str:  # as most are
        return type(actual) is str and expected == actual
    waiting = [(expected, actual)]
    while waiting:
        one, other = waiting.pop()
        kind = type(one)
        if kind is str or kind is bool or one is None:
            if kind is not type(other) or one != other:
                return False
        elif kind is dict:
            if type(other) is not dict or one.keys() != other.keys():
                return False
            waiting += [(value, other[key]) for key, value in one.items()]
        elif kind is list:
            if type(other) is not list or len(one) != len(other):
                return False
            waiting += zip(one, other, strict=True)
        elif not _same_number(one, other):
            return False
    return True


def _same_number(expected: Any, actual: Any) -> bool:
    # A file holds only the digits of a float. So a reply with more digits, copied into a test, matches.
    if not is_number(actual):
        return False
    if not (isinstance(expected, Digits) or isinstance(actual, Digits)) or type(expected) is float:
        return bool(expected == actual)
    return float(expected) == float(actual) if type(actual) is float else exact(expected) == exact(actual)


Buckets: TypeAlias = dict[Any, list[tuple[int, Any]]]


def buckets(array: list[Any]) -> Buckets:
    """The elements of ARRAY with their numbers, those together that may be equal."""
    found: Buckets = {}
    for index, item in enumerate(array):
        found.setdefault(_rough(item), []).append((index, item))
    return found


def take(left: Buckets, wanted: Any) -> int | None:
    """Take an element that is equal to WANTED out of LEFT, and give its number."""
    bucket = left.get(_rough(wanted), [])
    for position, (index, item) in enumerate(bucket):
        if same(wanted, item):
            del bucket[position]
            return index
    return None


def _rough(value: Any) -> Any:
    """Something hashable that is equal for values that are the same."""
    if isinstance(value, dict):
        return frozenset((key, _rough(member)) for key, member in value.items())
    if isinstance(value, list):
        return tuple(map(_rough, value))
    try:
        return float(value) if isinstance(value, (int, float)) else value
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def exact(number: float) -> Decimal:
    """The value of a number, as it was written."""
    if isinstance(number, Digits):
        try:
            return Decimal(number.text)
        except InvalidOperation:  # an exponent of twenty digits: infinite, or nothing
            return Decimal(float(number))
    return Decimal(number) if isinstance(number, int) else Decimal(repr(number))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def number_in(value: Any) -> Decimal | None:
    """The number that VALUE is, or that is all of its text."""
    if is_number(value):
        return exact(value)
    if isinstance(value, str) and NUMBER.fullmatch(value.strip()):
        return Decimal(value.strip())
    return None


def shown(value: Any) -> str:
    """VALUE for a message: on one line, and not too long."""
    if value is NOTHING:
        return "nothing"
    if isinstance(value, str):
        return repr(clipped(value))
    return clipped(compact(without_nothing(value)))


def clipped(text: str, limit: int = _SHOWN) -> str:
    return cut(text, limit)


def described(value: Any) -> str:
    """VALUE with the word for its kind: the string '5', the number 5, an array, null."""
    if isinstance(value, (dict, list)):
        return kind_of(value) if value else f"an empty {kind_of(value).split()[1]}"
    if value is NOTHING:
        return "missing"
    if value == "":
        return "an empty string"
    return _KINDS.get(type(value), "") + shown(value)


def element_count(array: list[Any]) -> str:
    """How many elements there are."""
    return f"{len(array) or 'no'} element{'' if len(array) == 1 else 's'}"


def without_nothing(value: Any) -> Any:
    """VALUE with null for what a path did not find: what can be written as JSON."""
    if isinstance(value, list):
        return [without_nothing(item) for item in value]
    return None if value is NOTHING else value


def difference(expected: Any, actual: Any) -> str:
    """How ACTUAL differs from EXPECTED; what is in both of them, when both are arrays or objects, is not looked at."""
    if isinstance(expected, str) and isinstance(actual, str):
        return _text_difference(expected, actual)
    if kind_of(expected) == kind_of(actual):
        return f"is {shown(actual)}, not {shown(expected)}"
    return f"is {described(actual)}, not {described(expected)}"


def _text_difference(expected: str, actual: str) -> str:
    if not expected or not actual:
        return f"is {described(actual)}, not {described(expected)}"
    if only := _only_difference(expected, actual):
        return f"{only}: {_both(expected, actual)}"
    place = _parting(expected, actual)
    if place == len(expected):
        return f"continues after the expected text with {shown(actual[place:])}"
    if place == len(actual):
        return f"ends too early: {shown(expected[place:])} is missing"
    if place <= _HARDLY or (len(expected) <= _SHORT and len(actual) <= _SHORT):
        where = f" (differs at {_position(actual, place)})" if place > _HARDLY else ""
        return f"is {shown(actual)}, not {shown(expected)}{where}"
    return f"differs at {_position(actual, place)}: {_both(expected, actual)}"


def _only_difference(expected: str, actual: str) -> str | None:
    """The only difference of two texts, when it is one that is easily overlooked."""
    if _LINE_ENDS.sub("\n", expected) == _LINE_ENDS.sub("\n", actual):
        return "differs only in the ends of lines"
    if expected.strip() == actual.strip():
        return _outer_space(expected, actual)
    if expected.casefold() == actual.casefold():
        return "differs only in case"
    if expected.split() == actual.split():
        return "differs only in white space"
    if unicodedata.normalize("NFKC", expected) == unicodedata.normalize("NFKC", actual):
        return "differs only in how characters are encoded (Unicode normalization)"
    return None


def _outer_space(expected: str, actual: str) -> str:
    if actual == f"{expected}\n":
        return "has a trailing newline that is not expected"
    if expected == f"{actual}\n":
        return "does not have the trailing newline that is expected"
    sides = [side for side, strip in (("start", str.rstrip), ("end", str.lstrip)) if strip(expected) != strip(actual)]
    return f"differs only in white space at the {' and the '.join(sides)}"


def _parting(expected: str, actual: str) -> int:
    """How many characters two texts have in common at their start."""
    # By halves: comparing slices is done in C, and a reply may hold megabytes.
    low, high = 0, min(len(expected), len(actual))
    while low < high:
        middle = (low + high + 1) // 2
        if expected[low:middle] == actual[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _position(text: str, place: int) -> str:
    line = text.count("\n", 0, place) + 1
    column = place - text.rfind("\n", 0, place)
    return f"line {line}, character {column}" if line > 1 else f"character {column}"


def _both(expected: str, actual: str) -> str:
    """Both texts around the place where they part."""
    place = _parting(expected, actual)
    return f"{_window(actual, place)}, not {_window(expected, place)}"


def _window(text: str, place: int) -> str:
    start = 0 if len(text) <= _SHORT else max(0, place - _BEFORE)
    end = start + _SHOWN
    before, after = CUT if start else "", CUT if end < len(text) else ""
    return repr(f"{before}{text[start:end]}{after}")
