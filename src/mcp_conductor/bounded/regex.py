"""Regular expressions that others wrote, in files, flags and settings: the only place that compiles them.

Python's engine cannot be stopped, and some patterns take years. The package `regex` can be; so it searches in this
process, where it finds what Python's engine does. What it reads in another way, or cannot find out in time, is searched
for by Python's engine in the worker, which has one second.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

from mcp_conductor.bounded.worker import OutOfBoundsError, TooSlowError, call
from mcp_conductor.text.patterns import compiled_later

SECONDS = 1.0
LONGEST = 20_000
# Classes that ignore case are spelled out one character after the other.
_LONGEST_WITHOUT_CASE = 2_000

_SECONDS_HERE = 0.1
# `regex` looks at its clock only now and then: what it does between two looks takes longer in a longer text.
_LONGEST_TEXT_HERE = 100_000
_LARGEST_HERE = 2_000_000  # characters of the text times those of the pattern
# To compile takes `regex` ten times as long with each repeat around a repeat.
_DEEPEST_HERE = 5
_LONGEST_PATTERN_HERE = 1_000

_ESCAPE = compiled_later(r"\\.", re.DOTALL)
_INNERMOST = compiled_later(r"\([^()]*\)")
_SEVERAL_WAYS = compiled_later(r"[*+{|]|(?<!\()\?")
# What both engines read alike. Not back references and look-behind, which they search in different ways; not flags
# in the middle, possessive repeats, sets of sets, and what only one of them knows.
_ALIKE = compiled_later(
    r"""
    (?: \(\?[aims]+\) )?
    (?: [^\\\[(*+?{]
      | \\ (?: [dDwWsSbAZnrtfv] | x[0-9a-fA-F]{2} | u[0-9a-fA-F]{4} | [^0-9A-Za-z] )
      | \[\^?\]? (?: (?! -- | && | ~~ | \|\| ) [^\\\[\]]
                   | \\ (?: [dDwWsSnrtfv] | x[0-9a-fA-F]{2} | u[0-9a-fA-F]{4} | [^0-9A-Za-z] ) )* \]
      | \( (?: \?: | \?= | \?! | \?P<[A-Za-z_]\w*> | (?!\?) )
      | (?: [*+?] | \{[0-9]+(?:,[0-9]*)?\} ) \?? (?![*+?{])
    )*+
    """,
    re.VERBOSE | re.DOTALL,
)
_FLAGS_ALIKE = re.ASCII | re.IGNORECASE | re.MULTILINE | re.DOTALL | re.UNICODE
# Their tables of Unicode differ: where these matter, a text must be ASCII, without what only one takes for spaces.
_CLASS = compiled_later(r"\\[dDwWsSb]")
_CODE = compiled_later(r"\\[xu]")
_SEPARATOR = compiled_later(r"[\x1c-\x1f]")
# What a group holds that was repeated, or that only looks ahead, may differ.
_DOUBTFUL_GROUP = compiled_later(r"\)[*+?{]|\(\?[=!]")


class Regex:
    """A regular expression, and how it was written."""

    def __init__(self, regex: re.Pattern[str], written: str) -> None:
        self.written = written
        self._regex = regex
        self._is_slow = False

    def search(self, text: str) -> bool:
        """Whether some part of TEXT matches; raises TooSlowError when that cannot be found out in time."""
        return bool(self._run(_matched, text, here=True))

    def captured(self, text: str) -> str | None:
        """What the first group that took part in the first match holds; all of the match where there is no group.

        None where nothing matches, or no group took part; raises TooSlowError as `search` does.
        """
        found: str | None = self._run(_captured, text, here=not _DOUBTFUL_GROUP.search(self._regex.pattern))
        return found

    def _run(self, look: Callable[[Any], Any], text: str, *, here: bool) -> Any:
        if self._has_one_way:
            return look(self._regex.search(text))
        if here and not self._is_slow and self._is_alike_for(text):
            try:
                return look(self._stoppable.search(text, timeout=_SECONDS_HERE))
            except TimeoutError:
                self._is_slow = True
        pattern, flags = self._regex.pattern, self._regex.flags
        try:
            return call(f"{__name__}:searched", pattern, flags, text, look.__name__, seconds=SECONDS)
        except OutOfBoundsError as error:
            shown = self.written if len(self.written) <= 100 else f"{self.written[:100]}…"
            raise TooSlowError(
                f"the regular expression {shown!r} {error} for a text of {len(text):,} characters",
                hint="nested repeats, and neighbouring repeats that can match the same text, take long",
            ) from None

    @cached_property
    def _has_one_way(self) -> bool:
        """Whether the pattern has neither repeats nor alternatives, so that Python's engine cannot backtrack."""
        return _SEVERAL_WAYS.search(_ESCAPE.sub("x", self._regex.pattern)) is None

    def _is_alike_for(self, text: str) -> bool:
        if len(text) > min(_LONGEST_TEXT_HERE, _LARGEST_HERE // len(self._regex.pattern)) or self._stoppable is None:
            return False
        return not self._needs_ascii or (text.isascii() and not _SEPARATOR.search(text))

    @cached_property
    def _needs_ascii(self) -> bool:
        flags = self._regex.flags
        return bool(flags & re.IGNORECASE or (flags & re.UNICODE and _CLASS.search(self._regex.pattern)))

    @cached_property
    def _stoppable(self) -> Any:
        """The same pattern, compiled by `regex`; None where that might find something else."""
        pattern, flags = self._regex.pattern, self._regex.flags
        if flags & ~_FLAGS_ALIKE or len(pattern) > _LONGEST_PATTERN_HERE or not _ALIKE.fullmatch(pattern):
            return None
        outside = _ESCAPE.sub("x", pattern)
        for _ in range(_DEEPEST_HERE):
            outside = _INNERMOST.sub("x", outside)
        if "(" in outside:  # in a class too, which is seldom
            return None
        if flags & re.IGNORECASE and (not pattern.isascii() or _CODE.search(pattern)):
            return None
        import regex

        same = {re.ASCII: regex.A, re.IGNORECASE: regex.I, re.MULTILINE: regex.M, re.DOTALL: regex.S}
        return regex.compile(pattern, regex.V0 | sum(other for flag, other in same.items() if flags & flag))


def compile_regex(pattern: str, flags: int = 0, *, written: str | None = None) -> Regex:
    """Compile PATTERN; raises re.error if it is not valid. Messages show it as it was WRITTEN."""
    if len(pattern) > (_LONGEST_WITHOUT_CASE if flags & re.IGNORECASE else LONGEST):
        raise re.error(f"it has {len(pattern):,} characters, which is too long")
    return Regex(re.compile(pattern, flags), pattern if written is None else written)


def searched(pattern: str, flags: int, text: str, look: str) -> Any:
    """Search TEXT with Python's engine, and return what LOOK extracts from the match; runs in the worker."""
    return {"_matched": _matched, "_captured": _captured}[look](re.compile(pattern, flags).search(text))


def _matched(found: Any) -> bool:
    return found is not None


def _captured(found: Any) -> str | None:
    if found is None or not found.re.groups:
        return None if found is None else found[0]
    return next((group for group in found.groups() if group is not None), None)
