"""Moments as servers write them: ISO 8601 and its looser relatives, or the seconds or milliseconds of Unix time.

A time without an offset is taken as UTC, so that a test does not depend on where it runs. Only real dates are moments.
"""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, NewType

from mcp_conductor.suites.matching.differences import exact, is_number, shown
from mcp_conductor.text.patterns import compiled_later

# Seconds since 1970: exact, however many digits the fraction has.
Moment = NewType("Moment", Decimal)

ISO = compiled_later(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:[Tt ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,18}))?)?"
    r" ?(?P<offset>[Zz]|[-+][0-9]{2}(?::?[0-9]{2})?)?)?)?"
)
_DIGITS = compiled_later(r"[0-9]{1,18}")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_SECONDS = Decimal(10) ** 10  # a number beyond this counts milliseconds
_LAST = Decimal("8.64e12")  # a hundred million days: the last moment that JavaScript has


def moment_of(value: Any) -> Moment | None:
    """The moment that VALUE means; None when it is not a moment."""
    if is_number(value):
        return _unix_time(exact(value))
    if not isinstance(value, str):
        return None
    text = value.strip()
    return _unix_time(Decimal(text)) if _DIGITS.fullmatch(text) else iso_moment(text)


def read_moment(text: str) -> Moment:
    """The moment in an argument; raises ValueError."""
    found = moment_of(text)
    if found is None:
        raise ValueError(f"{shown(text)} is not a date such as 2024-01-31, 2024-01-31T12:00:00Z or 1706702400")
    return found


def _unix_time(number: Decimal) -> Moment | None:
    seconds = number if number <= _MOST_SECONDS else number / 1000
    return Moment(seconds) if seconds.is_finite() and abs(seconds) <= _LAST else None


def iso_moment(text: str) -> Moment | None:
    found = ISO.fullmatch(text)
    if found is None:
        return None
    try:
        moment = datetime(
            *(int(found[part] or default) for part, default in _PARTS),  # type: ignore[arg-type, misc]
            tzinfo=_zone(found["offset"] or "Z"),
        )
    except ValueError:  # the 30th of February
        return None
    return Moment(Decimal((moment - EPOCH) // timedelta(seconds=1)) + Decimal(f"0.{found['fraction'] or 0}"))


_PARTS = (("year", 0), ("month", 1), ("day", 1), ("hour", 0), ("minute", 0), ("second", 0))


def _zone(offset: str) -> timezone:
    if offset in ("Z", "z"):
        return UTC
    digits = offset[1:].replace(":", "").ljust(4, "0")
    if int(digits[2:]) > 59:
        raise ValueError(offset)
    span = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return timezone(-span if offset[0] == "-" else span)


def day_of(year: str, month: str, day: str) -> Moment | None:
    """The beginning of a day; None when the calendar has no such day."""
    return iso_moment(f"{year}-{month:0>2}-{day:0>2}")
