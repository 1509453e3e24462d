"""When a value that came now is the one of the recording, although it is another: times, UUIDs, carried values.

An aligned document is the recorded one, with each such value replaced by the one that came. What is left differs.
"""

import re
from collections.abc import Mapping
from typing import Any

from mcp_conductor.recording.flows import json_in
from mcp_conductor.suites.matching.differences import is_number, same
from mcp_conductor.suites.matching.paths import Every, JsonPath, Step, Where
from mcp_conductor.suites.matching.volatile import is_close, kind_of, text_of_blob, volatile_values
from mcp_conductor.text.redaction import REDACTED


class Alignment:
    """Knows what may differ between a recording and what comes now."""

    def __init__(self, *, began: float | None, now: float) -> None:
        self._began = began  # of the recording, as Unix time
        self._now = now
        self._carried: dict[str, str] = {}  # recorded values, and what stands for each of them now
        # The days of both, on both sides: one that is named for another reason must not look different.
        moments = (now,) if began is None else (began, now)
        self._volatile = volatile_values(*moments)
        self._words: tuple[re.Pattern[str], re.Pattern[str]] | None = None

    def carry(self, carried: Mapping[str, str | int]) -> None:
        """These recorded values have become others."""
        self._carried = {old: str(new) for old, new in carried.items() if old != str(new)}
        self._words = None

    def aligned(self, recorded: Any, actual: Any) -> Any:
        """RECORDED with the values of ACTUAL where both mean the same; both are JSON that was read with a limit."""
        if isinstance(recorded, dict) and isinstance(actual, dict):
            return {
                key: self.aligned(member, actual[key]) if key in actual else member for key, member in recorded.items()
            }
        if isinstance(recorded, list) and isinstance(actual, list) and len(recorded) == len(actual):
            return [self.aligned(*pair) for pair in zip(recorded, actual, strict=True)]
        return actual if self._alike(recorded, actual) else recorded

    def is_same(self, recorded: Any, actual: Any) -> bool:
        """Whether nothing differs that matters."""
        return same(self.aligned(recorded, actual), actual)

    def _alike(self, recorded: Any, actual: Any) -> bool:
        if isinstance(recorded, str) and isinstance(actual, str):
            return recorded == actual or self._alike_texts(recorded, actual)
        if is_number(recorded) and is_number(actual):
            known = self._carried.get(str(recorded)) if isinstance(recorded, int) else None
            return known == str(actual) or self._are_times(recorded, actual)
        return False

    def _alike_texts(self, recorded: str, actual: str) -> bool:
        one, other = json_in(recorded), json_in(actual)
        if one is not None and other is not None:
            return self.is_same(one, other)
        was, came = self._named(recorded, 0), self._named(actual, 1)
        if was == came or (REDACTED in was and _has_in_order(came, was.split(REDACTED))):
            return True
        blob, other_blob = text_of_blob(recorded), text_of_blob(actual)
        return blob is not None and other_blob is not None and self._named(blob, 0) == self._named(other_blob, 1)

    def _named(self, text: str, side: int) -> str:
        """TEXT with names for what may differ; SIDE 0 is the recording, 1 is now."""
        if self._carried:
            if self._words is None:
                self._words = _any_of(self._carried.keys()), _any_of(self._carried.values())
            names = {str(pair[side]): f"<value {at}>" for at, pair in enumerate(self._carried.items())}
            text = self._words[side].sub(lambda found: names[found[0]], text)
        return self._volatile.sub(lambda found: f"<{kind_of(found)}>", text)

    def _are_times(self, recorded: float, actual: float) -> bool:
        """Whether both numbers are the time when they were said, in seconds or in milliseconds."""
        if self._began is None:
            return False
        began, now = self._began, self._now
        return any(is_close(recorded, began, parts) and is_close(actual, now, parts) for parts in (1, 1000))


def _has_in_order(text: str, parts: list[str]) -> bool:
    """Whether TEXT consists of PARTS, with anything between them."""
    first, *between, last = parts
    if not text.startswith(first) or not text.endswith(last) or len(text) < len(first) + len(last):
        return False
    at, end = len(first), len(text) - len(last)
    for part in between:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def _any_of(words: Any) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))))


def without(document: Any, path: JsonPath) -> Any:
    """DOCUMENT without what stands at PATH, which has no pipe."""
    return _without(document, path.parts[0].steps if path.parts else ())


def _without(value: Any, steps: tuple[Step, ...]) -> Any:
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(value, dict):
        if isinstance(step, Every):
            return {key: _without(member, rest) for key, member in value.items() if rest}
        if not isinstance(step, str) or step not in value:
            return value
        kept = {key: member for key, member in value.items() if key != step}
        return {**value, step: _without(value[step], rest)} if rest else kept
    if isinstance(value, list):
        # What is ignored of an array leaves its place, so that the other elements keep theirs.
        chosen = [_is_chosen(step, index, len(value), item) for index, item in enumerate(value)]
        return [
            (_without(item, rest) if rest else None) if wanted else item
            for item, wanted in zip(value, chosen, strict=True)
        ]
    return value


def _is_chosen(step: Step, index: int, length: int, item: Any) -> bool:
    if isinstance(step, int):
        return step in (index, index - length)
    return isinstance(step, Every) or (isinstance(step, Where) and step.accepts(item))
