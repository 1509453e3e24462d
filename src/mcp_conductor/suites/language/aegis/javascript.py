"""JSON values as a program in JavaScript sees them: their texts, their numbers, their dates, and how they compare."""

import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from math import isfinite, isnan, nan
from typing import Any

from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.matching.differences import is_number
from mcp_conductor.suites.matching.matchers.times import EPOCH

_FLOAT = re.compile(r"\s*([-+]?(?:Infinity|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?))")
_INTEGER = re.compile(r"\s*([-+]?[0-9]+)")
_LARGEST_PLAIN, _SMALLEST_PLAIN = 1e21, 1e-6  # numbers beyond are written with an exponent


def text_of(value: Any) -> str:
    """VALUE as `String(value)` writes it."""
    if isinstance(value, str):
        return value
    if value is NOTHING:
        return "undefined"
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, list):
        return ",".join("" if item is None or item is NOTHING else text_of(item) for item in value)
    return "[object Object]" if isinstance(value, dict) else _number_text(_double(value))


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _number_text(number: float) -> str:
    if isnan(number):
        return "NaN"
    if not isfinite(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "0"
    if _SMALLEST_PLAIN <= abs(number) < _LARGEST_PLAIN:
        written = format(Decimal(repr(number)), "f")
        return written.rstrip("0").rstrip(".") if "." in written else written
    return re.sub(r"e([-+])0+", r"e\1", repr(number)).replace(".0e", "e")


def float_of(value: Any) -> float:
    """The number that the text of VALUE begins with; NaN when it begins with none."""
    if is_number(value):
        return _double(value)
    found = _FLOAT.match(text_of(value))
    return float(found[1]) if found else nan


def integer_of(text: str) -> int | None:
    """The whole number that TEXT begins with."""
    found = _INTEGER.match(text)
    return int(found[1][:300]) if found else None


def length_of(text: str) -> int:
    """How many units of UTF-16 a text has."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def type_of(value: Any) -> str:
    """What `typeof` says."""
    if value is NOTHING:
        return "undefined"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    return "number" if is_number(value) else "object"


def is_less(one: Any, other: Any) -> bool | None:
    """Whether ONE < OTHER; None when they cannot be compared."""
    if isinstance(one, str) and isinstance(other, str):
        return one.encode("utf-16-be", "surrogatepass") < other.encode("utf-16-be", "surrogatepass")
    left, right = _as_number(one), _as_number(other)
    return None if isnan(left) or isnan(right) else left < right


def _as_number(value: Any) -> float:
    if isinstance(value, Date):
        return value.milliseconds
    if value is None or isinstance(value, bool):
        return float(bool(value))
    if is_number(value):
        return _double(value)
    text = text_of(value).strip()
    found = _FLOAT.fullmatch(text)
    return 0.0 if not text else float(text) if found else nan


class Date:
    """A moment. Two of them are never the same object, so they are never equal, only neither earlier nor later."""

    def __init__(self, milliseconds: float) -> None:
        self.milliseconds = milliseconds


_LAST = 8.64e15  # the last millisecond that a Date can be
_IN_MILLISECONDS = 1e10  # a number beyond this counts milliseconds
_DIGITS = re.compile(r"[0-9]+(\.[0-9]+)?")
_CLOCK = r"(?:[T ]+(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,9})\d*)?)?)?"
_ZONE = r"\s*(?P<zone>Z|GMT|UTC)?(?P<offset>[-+]\d{2}:?\d{2})?"
_MONTH = r"(?P<name>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_WEEKDAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\s+)?"
_FLAGS = re.ASCII | re.IGNORECASE
_WRITTEN = (
    re.compile(rf"(?P<year>\d{{4}})(?:-(?P<month>\d{{1,2}})(?:-(?P<day>\d{{1,2}}))?)?{_CLOCK}{_ZONE}", _FLAGS),
    re.compile(rf"(?P<month>\d{{1,2}})[/-](?P<day>\d{{1,2}})[/-](?P<year>\d{{4}}){_CLOCK}{_ZONE}", _FLAGS),
    re.compile(rf"{_WEEKDAY}{_MONTH}\.?\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}}){_CLOCK}{_ZONE}", _FLAGS),
    re.compile(rf"{_WEEKDAY}(?P<day>\d{{1,2}})\s+{_MONTH}\.?,?\s+(?P<year>\d{{4}}){_CLOCK}{_ZONE}", _FLAGS),
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def date_of(value: Any) -> Date | None:
    """The moment that VALUE is, as a number or in the usual ways to write one; None when it is none."""
    if is_number(value):
        return _of_number(_double(value))
    if not isinstance(value, str):
        return None
    text = value.strip()
    return _of_number(float(text)) if _DIGITS.fullmatch(text) else written_date(text)


def _of_number(number: float) -> Date | None:
    milliseconds = number if number > _IN_MILLISECONDS else number * 1000
    return Date(float(int(milliseconds))) if abs(milliseconds) <= _LAST else None


def written_date(text: str) -> Date | None:
    for shape in _WRITTEN:
        if found := shape.fullmatch(text):
            return _of_parts(found.groupdict())
    return None


def _of_parts(parts: dict[str, str | None]) -> Date | None:
    name = parts.get("name")
    month = _MONTHS.index(name[:3].lower()) + 1 if name else int(parts.get("month") or 1)
    day, hour = int(parts.get("day") or 1), int(parts["hour"] or 0)
    minute, second = int(parts["minute"] or 0), int(parts["second"] or 0)
    midnight = hour == 24 and minute == second == 0
    if not (1 <= month <= 12 and 1 <= day <= 31 and (hour < 24 or midnight) and minute < 60 and second < 60):
        return None
    try:  # the 30th of February is the 1st or 2nd of March
        moment = datetime(int(parts["year"] or 0), month, 1, tzinfo=UTC) + timedelta(
            days=day - 1, hours=hour, minutes=minute, seconds=second
        )
    except (ValueError, OverflowError):
        return None
    offset = parts["offset"]
    if offset:
        span = timedelta(hours=int(offset[1:3]), minutes=int(offset[-2:]))
        moment = moment + span if offset[0] == "-" else moment - span
    fraction = int((parts["fraction"] or "0").ljust(3, "0")[:3])
    return Date((moment - EPOCH) // timedelta(milliseconds=1) + fraction)
