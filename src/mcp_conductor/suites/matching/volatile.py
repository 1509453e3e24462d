"""Values that are others each time although nothing has changed: identifiers and times, as servers write them.

Suites that are written have patterns in their place, and what a server says now may differ there from a recording.
"""

import re
from binascii import a2b_base64
from datetime import UTC, date, datetime

_DAY = 86400.0
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ANY_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?( ?(Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}([ \u202f]?[AP]M)?"
_UNIX = r"[0-9]{10,13}(\.[0-9]+)?"
# What JavaScript makes of a date: Wed Nov 18 2026 04:33:07 GMT+0100 (Central European Standard Time)
_JS_TIME = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [0-9]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}( GMT[+-][0-9]{4}( \([^)]*\))?)?"
ANY_BLOB = "^[A-Za-z0-9+/]+={0,2}$"
_SHORTEST_BLOB = 16
_LONGEST_BLOB = 10_000

# The kinds of such values, each with a regular expression for all of its kind.
CLASSES = {
    "uuid": _ANY_UUID,
    "js": _JS_TIME,
    "time": TIME,
    "day": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "clock": _CLOCK,
    "unix": _UNIX,
    "weekday": f"({'|'.join(_WEEKDAYS)})",
}


def volatile_values(*moments: float, other: str = "(?!)") -> re.Pattern[str]:
    """What finds values that are others each time, and what OTHER is a regular expression for.

    Dates without a clock, names of days and Unix times are so only if they are those of one of MOMENTS, Unix times.
    """
    days = {day for moment in moments for day in _days(moment)}
    starts = "|".join(sorted({start for moment in moments for start in _unix_starts(moment)}))
    kinds = {
        "uuid": rf"\b{UUID}\b",
        "js": rf"\b{_JS_TIME}",
        "time": rf"\b{TIME}",
        "day": rf"\b(?:{'|'.join(sorted(day.isoformat() for day in days))})\b",
        "clock": rf"\b{_CLOCK}",
        "unix": rf"(?<![\w.])(?:{starts})[0-9]{{5}}(?:[0-9]{{3}})?(?:\.[0-9]+)?(?!\w)",
        "weekday": rf"\b(?:{'|'.join(sorted({_WEEKDAYS[day.weekday()] for day in days}))})\b",
    }
    known = "|".join(f"(?P<{kind}>{each})" for kind, each in kinds.items())
    return re.compile(f"{known}|{other}", re.IGNORECASE)


def kind_of(found: re.Match[str]) -> str | None:
    """Which of CLASSES was FOUND; None if it was something else."""
    return next((kind for kind in CLASSES if found[kind] is not None), None)


def is_close(number: float, moment: float, parts: int = 1) -> bool:
    """Whether NUMBER is about the Unix time MOMENT, counted in PARTS of a second."""
    return abs(number - int(moment) * parts) < _DAY * parts  # an integer may be beyond all floats


def text_of_blob(text: str) -> str | None:
    """The text that TEXT is in base64; None if it is none."""
    if not _SHORTEST_BLOB <= len(text) <= _LONGEST_BLOB or not re.fullmatch(ANY_BLOB, text):
        return None
    try:
        return a2b_base64(text, strict_mode=True).decode()
    except ValueError:
        return None


def _days(moment: float) -> set[date]:
    """The day at MOMENT, in UTC and here: servers say either."""
    there = datetime.fromtimestamp(moment, UTC)
    try:
        return {there.date(), there.astimezone().date()}
    except (OverflowError, ValueError, OSError):  # at the ends of the calendar
        return {there.date()}


def _unix_starts(moment: float) -> set[str]:
    """How the Unix time begins in the days of MOMENT: five digits of its ten are the same for more than a day."""
    return {f"{int(each):010d}"[:5] for each in (moment - _DAY, moment, moment + _DAY)}
