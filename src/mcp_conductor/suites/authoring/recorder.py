"""What came back, as what is expected from now on.

A value that cannot be the same the next time becomes a pattern: identifiers and times, what belongs to a person or a
machine, secrets, everything that differed between two calls; and values that are too long or too deep for a test file.
"""

import re
from collections.abc import Callable
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
from mcp_conductor.suites.matching.volatile import ANY_BLOB, CLASSES, is_close, kind_of, text_of_blob, volatile_values
from mcp_conductor.values import dataclass

_SPECIAL = re.compile(r"[\\^$.*+?()\[\]{}|/]")
_LONGEST_TEXT = 1000
_SHOWN_OF_LONG_TEXT = 200
_MOST_ELEMENTS = 100
_DEEPEST = 12


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
        if all(is_close(number, self.now) or is_close(number, self.now, 1000) for number in (first, second)):
            return "match:dateValid"
        return first if same(first, second) and not isinstance(first, Digits) else "match:type:number"

    def _text(self, first: str, second: str) -> str:
        if not is_writable(first) or any(self.redact(text) != text for text in (first, second)):
            return "match:type:string"
        if self.personal.is_environment(first):
            return "match:type:string"
        blob = text_of_blob(first)
        if blob is not None and (first != second or self._changing.search(blob)):
            return f"match:regex:{ANY_BLOB}"
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
        flowing = "|".join(map(re.escape, sorted(self.flowing, key=len, reverse=True))) or "(?!)"
        return volatile_values(self.now, other=f"{flowing}|{self.personal.expression}")

    def _class_of(self, found: re.Match[str]) -> str:
        kind = kind_of(found)
        return ".+" if kind is None else CLASSES[kind]


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
