"""What came back, as what is expected from now on.

A value that cannot be the same the next time becomes a pattern: identifiers and times, what belongs to a person or a
machine, secrets, everything that differed between two calls; and values that are too long or too deep for a test file.
"""

import re
from binascii import a2b_base64
from collections.abc import Callable
from datetime import UTC, datetime
from string import digits
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import Digits
from mcp_conductor.suites.authoring.personal import NOTHING_PERSONAL, Personal
from mcp_conductor.suites.authoring.yaml_text import is_writable
from mcp_conductor.suites.matching.differences import is_number, same
from mcp_conductor.suites.matching.matchers import PREFIX
from mcp_conductor.suites.matching.matchers.regexes import read_regex
from mcp_conductor.suites.matching.matchers.times import iso_moment
from mcp_conductor.values import dataclass

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}:[0-9]{2}([ \u202f]?[AP]M)?"
_UNIX = r"[0-9]{10,13}(\.[0-9]+)?"
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# What JavaScript makes of a date: Wed Nov 18 2026 04:33:07 GMT+0100 (Central European Standard Time)
_JS_TIME = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [0-9]{2} [0-9]{4} [0-9]{2}:[0-9]{2}:[0-9]{2}( GMT[+-][0-9]{4}( \([^)]*\))?)?"
_ANY_UUID = r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")
_ANY_BLOB = "^[A-Za-z0-9+/]+={0,2}$"
_SHORTEST_BLOB = 16
_LONGEST_BLOB = 10_000
_LONGEST_TEXT = 1000
_SHOWN_OF_LONG_TEXT = 200
_MOST_ELEMENTS = 100
_DEEPEST = 12
_DAY = 86400.0


def plain_text(text: str) -> str:
    """TEXT as it must stand in a suite to be sent as it is: braces are not placeholders."""
    return text.replace("{{", r"\{{")


def plain_data(value: Any) -> Any:
    """VALUE as it must stand in a suite to be sent as it is."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, dict):
        return {key: plain_data(member) for key, member in value.items()}
    return [plain_data(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorder:
    """Makes expectations from replies."""

    now: float  # Unix time: a number close to it is a time, not a coincidence
    personal: Personal = NOTHING_PERSONAL  # what is not the same for others
    flowing: tuple[str, ...] = ()  # values that the server makes in each conversation
    redact: Callable[[str], str] = str  # what it changes is secret

    def expected(self, first: Any, second: Any, depth: int = 0) -> Any:
        """What FIRST and SECOND, the answers to the same request, have in common."""
        match first, second:
            case str(), str():
                return plain_text(self._text(first, second))
            case dict(), dict():
                return self._object(first, second, depth)
            case list(), list():
                if len(first) != len(second) or depth > _DEEPEST:
                    return "match:type:array"
                if len(first) > _MOST_ELEMENTS:
                    return f"match:arrayLength:{len(first)}"
                return [self.expected(one, other, depth + 1) for one, other in zip(first, second, strict=True)]
        if is_number(first) and is_number(second):
            return self._number(first, second)
        return first if same(first, second) else "match:any"

    def _object(self, first: Json, second: Json, depth: int) -> Any:
        if depth > _DEEPEST or not all(map(_can_be_key, first)) or self.personal.is_environment_object(first):
            return "match:type:object"
        members = {key: self.expected(first[key], second[key], depth + 1) for key in first if key in second}
        return members if first.keys() == second.keys() else {"match:partial": members}

    def _number(self, first: Any, second: Any) -> Any:
        if all(self._is_now(number) or self._is_now(number, 1000) for number in (first, second)):
            return "match:dateValid"
        return first if same(first, second) and not isinstance(first, Digits) else "match:type:number"

    def _is_now(self, number: float, parts: int = 1) -> bool:
        """Whether NUMBER is the time, counted in PARTS of a second."""
        return abs(number - int(self.now) * parts) < _DAY * parts  # an integer may be beyond all floats

    def _text(self, first: str, second: str) -> str:
        if not is_writable(first) or any(self.redact(text) != text for text in (first, second)):
            return "match:type:string"
        if self.personal.is_environment(first):
            return "match:type:string"
        blob = _text_of_blob(first)
        if blob is not None and (first != second or self._changing.search(blob)):
            return f"match:regex:{_ANY_BLOB}"
        if first == second:
            return self._same_text(first)
        pattern = self._pattern(first)
        if pattern is not None and read_regex(pattern).search(second):
            return _short_pattern(first, pattern)
        # A number that changes does so as a whole: the digits that two of them share say nothing of the third.
        start = self._until_change(_common_start(first, second)[:_SHOWN_OF_LONG_TEXT].rstrip(digits))
        rest = _common_start(first[len(start) :][::-1], second[len(start) :][::-1])
        end = self._after_changes(rest[:_SHOWN_OF_LONG_TEXT].rstrip(digits)[::-1])
        return f"match:regex:^{literally(start)}[^]*{literally(end)}$" if start or end else "match:type:string"

    def _same_text(self, text: str) -> str:
        pattern = self._pattern(text)
        if pattern is not None:
            return _short_pattern(text, pattern)
        if len(text) > _LONGEST_TEXT:
            return f"match:startsWith:{text[:_SHOWN_OF_LONG_TEXT]}"
        return f"match:literal:{text}" if text.startswith(PREFIX) else text

    def _pattern(self, text: str) -> str | None:
        """A regular expression for TEXT without what will change; None if nothing in it will."""
        end = len(text) if len(text) <= _LONGEST_TEXT else _SHOWN_OF_LONG_TEXT
        pieces, at = [], 0
        # Further than what is shown: what begins there must not be shown in part.
        for found in self._changing.finditer(text[: end + max(_LONGEST_TEXT, self.personal.longest)]):
            if found.start() >= end:
                break
            pieces += [literally(text[at : found.start()]), self._class_of(found)]
            at = found.end()
        shown = text[at : max(at, end)]
        return f"^{''.join(pieces)}{literally(shown)}{'$' if at + len(shown) == len(text) else ''}" if pieces else None

    def _until_change(self, text: str) -> str:
        found = self._changing.search(text)
        return text if found is None else text[: found.start()]

    def _after_changes(self, text: str) -> str:
        return text[max((found.end() for found in self._changing.finditer(text)), default=0) :]

    @property
    def _changing(self) -> re.Pattern[str]:
        today = datetime.fromtimestamp(self.now, UTC).date()
        flowing = "|".join(map(re.escape, sorted(self.flowing, key=len, reverse=True))) or "(?!)"
        kinds = {
            "uuid": rf"\b{_UUID}\b",
            "js": rf"\b{_JS_TIME}",
            "time": rf"\b{_TIME}",
            "day": rf"\b{today.isoformat()}\b",
            "clock": rf"\b{_CLOCK}",
            "unix": rf"(?<![\w.])(?:{self._unix_starts})[0-9]{{5}}(?:[0-9]{{3}})?(?:\.[0-9]+)?(?!\w)",
            "weekday": rf"\b{_WEEKDAYS[today.weekday()]}\b",
            "any": f"{flowing}|{self.personal.expression}",
        }
        return re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in kinds.items()), re.IGNORECASE)

    @property
    def _unix_starts(self) -> str:
        """How the Unix time begins in these days: five digits of its ten are the same for more than a day."""
        days = (int(self.now - _DAY), int(self.now), int(self.now + _DAY))
        return "|".join(sorted({f"{day:010d}"[:5] for day in days}))

    def _class_of(self, found: re.Match[str]) -> str:
        kinds = {
            "uuid": _ANY_UUID,
            "js": _JS_TIME,
            "time": _TIME,
            "day": "[0-9]{4}-[0-9]{2}-[0-9]{2}",
            "clock": _CLOCK,
            "unix": _UNIX,
            "weekday": f"({'|'.join(_WEEKDAYS)})",
            "any": ".+",
        }
        return next(pattern for kind, pattern in kinds.items() if found[kind] is not None)


def _text_of_blob(text: str) -> str | None:
    """The text that TEXT is in base64; None if it is none."""
    if not _SHORTEST_BLOB <= len(text) <= _LONGEST_BLOB or not re.fullmatch(_ANY_BLOB, text):
        return None
    try:
        return a2b_base64(text, strict_mode=True).decode()
    except ValueError:
        return None


def _common_start(one: str, other: str) -> str:
    length = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    return one[: min(len(one), len(other)) if length is None else length]


def _short_pattern(text: str, pattern: str) -> str:
    return "match:dateValid" if iso_moment(text) is not None else f"match:regex:{pattern}"


def literally(text: str) -> str:
    """A regular expression for TEXT alone."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def _can_be_key(key: str) -> bool:
    return not key.startswith(PREFIX) and is_writable({key: None})
