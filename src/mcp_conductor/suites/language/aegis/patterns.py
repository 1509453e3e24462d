"""The texts after `match:` as mcp-aegis understands them. A pattern that it cannot use is not refused: it fails, or,
under `not:`, passes.
"""

import re
import time
from collections.abc import Callable
from math import fmod, isnan
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.language.aegis.javascript import (
    Date,
    date_of,
    float_of,
    integer_of,
    is_less,
    length_of,
    text_of,
    type_of,
    written_date,
)
from mcp_conductor.suites.matching.differences import same
from mcp_conductor.suites.matching.matchers.regexes import read_regex

Judge = Callable[[str, Any], bool]  # what stands behind the name of the pattern, and the value
_REGEX_SIGNS = (".*", ".+", "^", "$", "\\d", "\\w", "\\s", "\\b", "[", "(", "|", "?", "*", "+", "{")


def fits(pattern: str, actual: Any) -> bool:
    """Whether ACTUAL is as PATTERN says, `match:` taken off; raises ValueError for an invalid regular expression."""
    asked = pattern.removeprefix("not:")
    for name, judge in _PATTERNS.items():
        if asked.startswith(name):
            found = judge(asked[len(name) :], actual)
            break
    else:
        found = _pattern_without_name_fits(asked, actual)
    return found if asked == pattern else not found


def _pattern_without_name_fits(asked: str, actual: Any) -> bool:
    if any(sign in asked for sign in _REGEX_SIGNS):
        return _regex(asked, actual)
    return asked in text_of(actual)


def _regex(rest: str, actual: Any) -> bool:
    return read_regex(rest).search(text_of(actual))


def _of_text(judge: Callable[[str, str], bool]) -> Judge:
    return lambda rest, actual: isinstance(actual, str) and judge(rest, actual)


def _contains(rest: str, actual: Any) -> bool:
    if isinstance(actual, list):
        return any(rest in text_of(item) for item in actual)
    return isinstance(actual, str) and rest in actual


def _contains_ignoring_case(rest: str, actual: Any) -> bool:
    lowered = [text_of(item).lower() for item in actual] if isinstance(actual, list) else actual
    return _contains(rest.lower(), lowered.lower() if isinstance(lowered, str) else lowered)


def _text_length(compare: Callable[[int, int], bool]) -> Judge:
    def judge(rest: str, actual: Any) -> bool:
        wanted = integer_of(rest)
        return wanted is not None and isinstance(actual, str) and compare(length_of(actual), wanted)

    return judge


def _text_length_between(rest: str, actual: Any) -> bool:
    low, high = (integer_of(part) for part in (*rest.split(":"), "")[:2])
    return low is not None and high is not None and isinstance(actual, str) and low <= length_of(actual) <= high


def _length(rest: str, actual: Any) -> bool:
    if isinstance(actual, list):
        return len(actual) == integer_of(rest)
    return isinstance(actual, str) and length_of(actual) == integer_of(rest)


def _count(rest: str, actual: Any) -> bool:
    return isinstance(actual, (list, dict)) and len(actual) == integer_of(rest)


def _array_contains(rest: str, actual: Any) -> bool:
    if not isinstance(actual, list):
        return False
    path, colon, wanted = rest.partition(":")
    if not colon:
        return any(text_of(item) == rest for item in actual)
    found = [value_at(item, path) for item in actual if path and isinstance(item, (dict, list))]
    return any(text_of(value) == wanted for value in found if value is not NOTHING)


def value_at(value: Any, path: str) -> Any:
    """What stands in VALUE at a PATH of names and indexes with dots in between."""
    for part in path.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and str(int(part)) == part and int(part) < len(value):
            value = value[int(part)]
        else:
            return NOTHING
    return value


def _type(rest: str, actual: Any) -> bool:
    return isinstance(actual, list) if rest == "array" else type_of(actual) == rest


def _number(compare: Callable[[float, float], bool]) -> Judge:
    def judge(rest: str, actual: Any) -> bool:
        wanted, number = float_of(rest), float_of(actual)
        return not isnan(wanted) and not isnan(number) and compare(number, wanted)

    return judge


def _numbers(compare: Callable[[float, float, float], bool]) -> Judge:
    def judge(rest: str, actual: Any) -> bool:
        parts = rest.split(":")
        numbers = [float_of(actual), *map(float_of, parts)]
        return len(parts) == 2 and not any(map(isnan, numbers)) and compare(*numbers)

    return judge


def _is_multiple(number: float, divisor: float) -> bool:
    return divisor != 0 and abs(number) != float("inf") and fmod(number, divisor) == 0


def _decimal_places(rest: str, actual: Any) -> bool:
    number = float_of(actual)
    return not isnan(number) and integer_of(rest) == len(text_of(number).partition(".")[2])


def _date(compare: Callable[[float, float], bool]) -> Judge:
    def judge(rest: str, actual: Any) -> bool:
        found, wanted = date_of(actual), date_of(rest)
        return found is not None and wanted is not None and compare(found.milliseconds, wanted.milliseconds)

    return judge


def _date_between(rest: str, actual: Any) -> bool:
    parts = rest.split(":")
    dates = [date_of(each) for each in (*parts, actual)]
    known = [each.milliseconds for each in dates if each is not None]
    return len(parts) == 2 and len(known) == 3 and known[0] <= known[2] <= known[1]


_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_AGE = re.compile(r"([0-9]{1,15})(ms|s|m|h|d)")


def _date_age(rest: str, actual: Any) -> bool:
    age, found = _AGE.fullmatch(rest), date_of(actual)
    if age is None or found is None:
        return False
    return time.time() * 1000 - found.milliseconds <= int(age[1]) * _UNITS[age[2]]


_DAY = r"\d{1,2}/\d{1,2}/\d{4}"
_FORMATS = {
    "iso": r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{3})?Z?",
    "iso-date": r"\d{4}-\d{2}-\d{2}",
    "iso-time": r"\d{2}:\d{2}:\d{2}(\.\d{3})?",
    "us-date": _DAY,
    "eu-date": _DAY,
    "timestamp": r"\d+",
}


def _date_format(rest: str, actual: str) -> bool:
    return rest in _FORMATS and re.fullmatch(_FORMATS[rest], actual, re.ASCII) is not None


_OPERATORS = ("<=", ">=", "!=", "==", "<", ">", "=")


def cross_field(rest: str, actual: Any) -> bool:
    """Whether a condition such as `start < end` is true of the fields of ACTUAL."""
    sign = next((each for each in _OPERATORS if rest.count(each) == 1), None)
    if sign is None or not isinstance(actual, (dict, list)):
        return False
    left, right = (side.strip() for side in rest.split(sign))
    one, other = value_at(actual, left), value_at(actual, right)
    if not left or not right or one is NOTHING or other is NOTHING:
        return False
    return _holds(_comparable(one), sign, _comparable(other))


def _holds(one: Any, sign: str, other: Any) -> bool:
    if sign in ("=", "==", "!="):
        are_same = not isinstance(one, (Date, dict, list)) and not isinstance(other, Date) and same(one, other)
        return are_same is (sign != "!=")
    less = is_less(one, other) if sign in ("<", ">=") else is_less(other, one)
    return less is (len(sign) == 1)


_LIKE_A_DATE = re.compile(r"\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{4}|\d{1,2}-\d{1,2}-\d{4}", re.ASCII)


def _comparable(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    number = float_of(value)
    if abs(number) < float("inf") and text_of(number) == value.strip():
        return number
    return (written_date(value.strip()) if _LIKE_A_DATE.match(value.strip()) else None) or value


# The first whose name a pattern begins with is asked.
_PATTERNS: dict[str, Judge] = {
    "regex:": _regex,
    "length:": _length,
    "arrayLength:": lambda rest, actual: isinstance(actual, list) and _length(rest, actual),
    "contains:": _contains,
    "containsIgnoreCase:": _contains_ignoring_case,
    "equalsIgnoreCase:": _of_text(lambda rest, actual: actual.lower() == rest.lower()),
    "startsWith:": _of_text(lambda rest, actual: actual.startswith(rest)),
    "endsWith:": _of_text(lambda rest, actual: actual.endswith(rest)),
    "arrayContains:": _array_contains,
    "type:": _type,
    "exists": lambda _, actual: actual is not None and actual is not NOTHING,
    "count:": _count,
    "stringLength:": _text_length(eq),
    "stringLengthGreaterThan:": _text_length(gt),
    "stringLengthLessThan:": _text_length(lt),
    "stringLengthGreaterThanOrEqual:": _text_length(ge),
    "stringLengthLessThanOrEqual:": _text_length(le),
    "stringLengthBetween:": _text_length_between,
    "stringEmpty": lambda _, actual: actual == "",
    "stringNotEmpty": _of_text(lambda _, actual: actual != ""),
    "greaterThan:": _number(gt),
    "greaterThanOrEqual:": _number(ge),
    "lessThan:": _number(lt),
    "lessThanOrEqual:": _number(le),
    "between:": _numbers(lambda number, low, high: low <= number <= high),
    "range:": _numbers(lambda number, low, high: low <= number <= high),
    "equals:": _number(eq),
    "notEquals:": _number(ne),
    "approximately:": _numbers(lambda number, wanted, tolerance: abs(number - wanted) <= tolerance),
    "multipleOf:": _number(_is_multiple),
    "divisibleBy:": _number(_is_multiple),
    "decimalPlaces:": _decimal_places,
    "dateAfter:": _date(gt),
    "dateBefore:": _date(lt),
    "dateBetween:": _date_between,
    "dateValid": lambda _, actual: date_of(actual) is not None,
    "dateAge:": _date_age,
    "dateEquals:": _date(eq),
    "dateFormat:": _of_text(_date_format),
    "crossField:": cross_field,
}
