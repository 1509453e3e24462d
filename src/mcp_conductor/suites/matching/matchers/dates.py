"""Matchers of dates: ISO texts, and Unix time in seconds or (beyond 10,000,000,000) milliseconds."""

import re
from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from time import time
from typing import Any, Literal

from mcp_conductor.suites.matching.differences import described, shown
from mcp_conductor.suites.matching.matchers import matcher
from mcp_conductor.suites.matching.matchers.times import EPOCH, ISO, Moment, day_of, iso_moment, moment_of
from mcp_conductor.text.patterns import compiled_later

Format = Literal["iso", "iso-date", "iso-time", "us-date", "eu-date", "timestamp"]

_TIME = compiled_later(r"([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?(Z|[-+][0-9]{2}:?[0-9]{2})?")
_DAY = compiled_later(r"([0-9]{1,2})[/-]([0-9]{1,2})[/-]([0-9]{4})")
_CLOCK_SKEW = Decimal(1)  # seconds: a server may round to the next one


def _date_problem(actual: Any, fits: Callable[[Moment], bool], wanted: str) -> str | None:
    moment = moment_of(actual)
    if moment is None:
        return _no_date(actual)
    return None if fits(moment) else f"is {shown(actual)}, not {wanted}"


def _no_date(actual: Any) -> str:
    return f"is {described(actual)}, not a date"


def _moment_text(moment: Moment) -> str:
    try:
        text = (EPOCH + timedelta(microseconds=int(moment * 1_000_000))).isoformat()
    except OverflowError:
        return f"Unix time {moment}"
    return text.removesuffix("T00:00:00+00:00").replace("+00:00", "Z")


@matcher("dateValid")
def date_valid(actual: Any) -> str | None:
    """match:dateValid — a date.

    match:dateValid  "2024-02-29"  passes
    match:dateValid  "2023-02-29"  is the string '2023-02-29', not a date
    """
    return _no_date(actual) if moment_of(actual) is None else None


@matcher("dateAfter")
def date_after(actual: Any, date: Moment) -> str | None:
    """match:dateAfter:DATE — a date later than DATE.

    match:dateAfter:2024-01-31  "2024-02-01"  passes
    match:dateAfter:2024-01-31  "2023-12-24"  is '2023-12-24', not after 2024-01-31
    """
    return _date_problem(actual, lambda moment: moment > date, f"after {_moment_text(date)}")


@matcher("dateBefore")
def date_before(actual: Any, date: Moment) -> str | None:
    """match:dateBefore:DATE — a date earlier than DATE.

    match:dateBefore:2024-01-31  "2023-12-24"  passes
    match:dateBefore:2024-01-31  "2024-02-01"  is '2024-02-01', not before 2024-01-31
    """
    return _date_problem(actual, lambda moment: moment < date, f"before {_moment_text(date)}")


@matcher("dateBetween")
def date_between(actual: Any, low: Moment, high: Moment) -> str | None:
    """match:dateBetween:LOW:HIGH — a date from LOW to HIGH, both included; a day without a time is its beginning. With
    times, LOW..HIGH is easier to read.

    match:dateBetween:2024-01-01:2024-12-31  "2024-06-15"  passes
    match:dateBetween:2024-01-01:2024-12-31  "2025-01-01"  is '2025-01-01', not from 2024-01-01 to 2024-12-31
    """
    return _date_problem(
        actual, lambda moment: low <= moment <= high, f"from {_moment_text(low)} to {_moment_text(high)}"
    )


@matcher("dateEquals")
def date_equals(actual: Any, date: Moment) -> str | None:
    """match:dateEquals:DATE — the same moment, however it is written, to the millisecond.

    match:dateEquals:2024-01-31  "2024-01-31T01:00:00+01:00"  passes
    match:dateEquals:2024-01-31  "2024-01-31T01:00:00Z"       is '2024-01-31T01:00:00Z', not 2024-01-31
    """
    return _date_problem(actual, lambda moment: int(moment * 1000) == int(date * 1000), _moment_text(date))


@matcher("dateAge")
def date_age(actual: Any, age: timedelta) -> str | None:
    """match:dateAge:AGE — a date no longer ago than AGE (500ms, 30s, 5m, 2h, 7d), and not in the future.

    match:dateAge:36500d  "2024-01-31"  passes
    match:dateAge:1h      "2999-01-01"  is '2999-01-01', which is in the future
    match:dateAge:1h      "soon"        is the string 'soon', not a date
    """
    moment = moment_of(actual)
    if moment is None:
        return _no_date(actual)
    passed = Decimal(time()) - moment
    if passed < -_CLOCK_SKEW:
        return f"is {shown(actual)}, which is in the future"
    if passed <= Decimal(age.total_seconds()):
        return None
    return f"is {shown(actual)}, {_span(float(passed))} ago, more than {_span(age.total_seconds())}"


def _span(seconds: float) -> str:
    for unit, name in ((86400.0, "d"), (3600.0, "h"), (60.0, "m"), (1.0, "s")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}" if seconds < 1000 * unit else f"{seconds / unit:.0f} {name}"
    return f"{seconds * 1000:.3g} ms"


@matcher("dateFormat")
def date_format(actual: Any, format: Format) -> str | None:  # noqa: A002  # its name in the manual
    """match:dateFormat:FORMAT — a text in this format: iso (2024-01-31T12:00:00Z, also with a fraction or an offset),
    iso-date (2024-01-31), iso-time (12:00:00), us-date (1/31/2024), eu-date (31/1/2024), timestamp (digits).

    match:dateFormat:iso-date  "2024-01-31"  passes
    match:dateFormat:us-date   "31/1/2024"   is '31/1/2024', which is not in the format us-date
    """
    if not isinstance(actual, str):
        return f"is {described(actual)}, not text"
    return None if _FORMATS[format](actual) else f"is {shown(actual)}, which is not in the format {format}"


def _is_iso(text: str) -> bool:
    found = ISO.fullmatch(text)
    return found is not None and found["second"] is not None and text[10] == "T" and iso_moment(text) is not None


def _is_day(text: str, month: int, day: int) -> bool:
    found = _DAY.fullmatch(text)
    return found is not None and day_of(found[3], found[month], found[day]) is not None


_FORMATS: dict[str, Callable[[str], bool]] = {
    "iso": _is_iso,
    "iso-date": lambda text: len(text) == 10 and iso_moment(text) is not None,
    "iso-time": lambda text: _TIME.fullmatch(text) is not None,
    "us-date": lambda text: _is_day(text, 1, 2),
    "eu-date": lambda text: _is_day(text, 2, 1),
    "timestamp": lambda text: re.fullmatch(r"[0-9]+", text) is not None,
}
