"""When a value that came now is the one of the recording, although it is another: times, UUIDs, carried values.

An aligned document is the recorded one, with each such value replaced by the one that came. What is left differs.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from mcp_conductor.protocol.message import compact
from mcp_conductor.recording.flows import json_in
from mcp_conductor.suites.matching.differences import is_number, same
from mcp_conductor.suites.matching.paths import Every, JsonPath, Step, Where
from mcp_conductor.suites.matching.volatile import TIME, UUID, is_close, kind_of, text_of_blob, volatile_values
from mcp_conductor.text.redaction import REDACTED

_ONE_MOMENT = 2.0  # seconds
_NIL = "00000000-0000-0000-0000-000000000000"  # is no identifier


class Alignment:
    """Knows what may differ between a recording and what comes now."""

    def __init__(self, *, began: float | None, now: float, strict: bool = False) -> None:
        self._began = None if strict else began  # of the recording, as Unix time
        self._now = now
        self._carried: dict[str, str] = {}  # recorded values, and what stands for each of them now
        # The days of both, on both sides: one that is named for another reason must not look different.
        moments = (now,) if began is None else (began, now)
        self._volatile = re.compile("(?!)") if strict else volatile_values(*moments)
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
        if self._alike(recorded, actual):
            return actual
        return self._spliced(recorded, actual) if isinstance(recorded, str) and isinstance(actual, str) else recorded

    def _spliced(self, recorded: str, actual: str) -> str:
        """RECORDED with those values of ACTUAL that may differ: what is left to differ is what matters."""
        was, came = self._values(recorded, 0), self._values(actual, 1)
        spliced, end = "", 0
        for (span, name), (other, other_name) in zip(was, came, strict=False):
            if name != other_name:
                break
            spliced += recorded[end : span[0]] + actual[slice(*other)]
            end = span[1]
        return spliced + recorded[end:]

    def _values(self, text: str, side: int) -> list[tuple[tuple[int, int], str]]:
        """Where values stand in TEXT that may differ, and their names."""
        names, found = self._names(side), []
        if self._words is not None and names:
            found = [(each.span(), names[each[0]]) for each in self._words[side].finditer(text)]
        taken = [span for span, _ in found]
        for each in self._volatile.finditer(text):
            if each[0] != _NIL and not any(start < each.end() and each.start() < stop for start, stop in taken):
                found.append((each.span(), str(kind_of(each))))
        return sorted(found)

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
        if (names := self._names(side)) and self._words is not None:
            text = self._words[side].sub(lambda found: names[found[0]], text)
        return self._volatile.sub(lambda found: found[0] if found[0] == _NIL else f"<{kind_of(found)}>", text)

    def _names(self, side: int) -> dict[str, str]:
        """Names for the values that were carried over, as they are on this SIDE."""
        if self._carried and self._words is None:
            self._words = _any_of(self._carried.keys()), _any_of(self._carried.values())
        return {str(pair[side]): f"<value {at}>" for at, pair in enumerate(self._carried.items())}

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


def unfolded(recorded: Any, actual: Any) -> tuple[Any, Any]:
    """Both with the JSON that texts are, where they are that on both sides: a path leads into it."""
    if isinstance(recorded, dict) and isinstance(actual, dict):
        both = {key: unfolded(member, actual[key]) for key, member in recorded.items() if key in actual}
        one = {key: both[key][0] if key in both else member for key, member in recorded.items()}
        return one, {key: both[key][1] if key in both else member for key, member in actual.items()}
    if isinstance(recorded, list) and isinstance(actual, list) and len(recorded) == len(actual):
        pairs = [unfolded(*pair) for pair in zip(recorded, actual, strict=True)]
        return [was for was, _ in pairs], [came for _, came in pairs]
    if isinstance(recorded, str) and isinstance(actual, str) and recorded != actual:
        was, came = json_in(recorded), json_in(actual)
        if was is not None and came is not None:
            return was, came
    return recorded, actual


class Equalities:
    """Finds values that may differ from the recorded ones, but are equal to each other where those are not, or not so.

    UUIDs are held against those of all answers, times against those of the same answer: seconds may pass between two.
    """

    def __init__(self) -> None:
        self._now: dict[str, str] = {}
        self._was: dict[str, str] = {}

    def broken(self, was: Any, came: Any) -> Iterator[str]:
        """What is no longer so in an answer that CAME, and WAS another."""
        now_of: dict[str, str] = {}
        was_of: dict[str, str] = {}
        for one, other in _texts(was, came):
            yield from _broken(re.compile(UUID), one, other, self._now, self._was, lambda *_: True)
            yield from _broken(re.compile(TIME), one, other, now_of, was_of, _are_apart)


def _broken(
    pattern: re.Pattern[str],
    one: str,
    other: str,
    now_of: dict[str, str],
    was_of: dict[str, str],
    differ: Callable[[str, str], bool],
) -> Iterator[str]:
    """What pairs of values in two texts say against pairs that were seen before; each of them is remembered."""
    was, came = ([found[0] for found in pattern.finditer(text)] for text in (one, other))
    if len(was) != len(came):
        return
    for old, new in zip(was, came, strict=True):
        before, recorded = now_of.setdefault(old, new), was_of.setdefault(new, old)
        if before != new and differ(before, new):
            yield f"{old} was equal in several places of the recording; now there are {before} and {new}"
        elif recorded != old and differ(recorded, old):
            yield f"{recorded} and {old} differed in the recording; now both are {new}"


def _texts(was: Any, came: Any) -> Iterator[tuple[str, str]]:
    """The texts that stand in the same places."""
    if isinstance(was, dict) and isinstance(came, dict):
        for key, member in was.items():
            if key in came:
                yield from _texts(member, came[key])
    elif isinstance(was, list) and isinstance(came, list) and len(was) == len(came):
        for pair in zip(was, came, strict=True):
            yield from _texts(*pair)
    elif isinstance(was, str) and isinstance(came, str):
        yield was, came


def _are_apart(one: str, other: str) -> bool:
    """Whether two times are further apart than the time that it takes to write both."""
    try:
        return abs((datetime.fromisoformat(one) - datetime.fromisoformat(other)).total_seconds()) > _ONE_MOMENT
    except (ValueError, TypeError):
        return False


class Ignored:
    """A path of answers that may differ, and if there was anything at it."""

    def __init__(self, path: JsonPath) -> None:
        self.path = path
        self.matched = False
        self.text: str | None = None  # into which it leads, and which is not JSON

    def without(self, document: Any) -> Any:
        """DOCUMENT without what stands at the path; it may lead into JSON that a text is."""
        return self._without(document, self.path.parts[0].steps if self.path.parts else ())

    def _without(self, value: Any, steps: tuple[Step, ...]) -> Any:
        if not steps:
            return value
        step, rest = steps[0], steps[1:]
        if isinstance(value, str):
            inner = json_in(value)
            if inner is None:
                self.text = self.text or value
                return value
            left = self._without(inner, steps)
            return value if left is inner else compact(left)
        if isinstance(value, dict):
            if isinstance(step, Every):
                self.matched = self.matched or (bool(value) and not rest)
                return {key: self._without(member, rest) for key, member in value.items() if rest}
            if not isinstance(step, str) or step not in value:
                return value
            if rest:
                return {**value, step: self._without(value[step], rest)}
            self.matched = True
            return {key: member for key, member in value.items() if key != step}
        if isinstance(value, list):
            # What is ignored of an array leaves its place, so that the other elements keep theirs.
            chosen = [_is_chosen(step, index, len(value), item) for index, item in enumerate(value)]
            self.matched = self.matched or (any(chosen) and not rest)
            return [
                (self._without(item, rest) if rest else None) if wanted else item
                for item, wanted in zip(value, chosen, strict=True)
            ]
        return value


def _is_chosen(step: Step, index: int, length: int, item: Any) -> bool:
    if isinstance(step, int):
        return step in (index, index - length)
    return isinstance(step, Every) or (isinstance(step, Where) and step.accepts(item))
