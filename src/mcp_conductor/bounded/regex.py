"""Regular expressions that others wrote, in files, flags and settings: the only place that compiles them.

Python's engine cannot be stopped, and some patterns take years. Those that may take long for a text,
by an estimate that is never too low, are searched for in the worker, which has one second. All others are searched
for in this process. Both use Python's own engine.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mcp_conductor.bounded.worker import OutOfBoundsError, TooSlowError, call

if TYPE_CHECKING:
    from mcp_conductor.bounded.backtracking import Cost

SECONDS = 1.0
LONGEST = 20_000
# Classes that ignore case are spelled out one character after the other.
_LONGEST_WITHOUT_CASE = 2_000


class Regex:
    """A regular expression, and how it was written."""

    __slots__ = ("_cost", "_regex", "written")

    def __init__(self, regex: re.Pattern[str], written: str) -> None:
        self.written = written
        self._regex = regex
        self._cost: Cost | None = None

    def search(self, text: str) -> bool:
        """Whether some part of TEXT matches; raises TooSlowError when that cannot be found out in time."""
        return bool(self._run(text, _matches))

    def captured(self, text: str) -> str | None:
        """What the first group that took part in the first match holds; all of the match where there is no group.

        None where nothing matches, or no group took part; raises TooSlowError as `search` does.
        """
        found: str | None = self._run(text, _captured)
        return found

    def _run(self, text: str, look: Callable[[str, int, str], Any]) -> Any:
        if self._is_plain(text):
            return look(self._regex.pattern, self._regex.flags, text)
        try:
            return call(f"{__name__}:{look.__name__}", self._regex.pattern, self._regex.flags, text, seconds=SECONDS)
        except OutOfBoundsError as error:
            shown = self.written if len(self.written) <= 100 else f"{self.written[:100]}…"
            raise TooSlowError(
                f"the regular expression {shown!r} {error} for a text of {len(text):,} characters",
                hint="nested repeats, and neighbouring repeats that can match the same text, take long",
            ) from None

    def _is_plain(self, text: str) -> bool:
        if self._cost is None:
            from mcp_conductor.bounded.backtracking import cost_of

            self._cost = cost_of(self._regex.pattern, self._regex.flags)
        return self._cost.is_small(len(text))


def compile_regex(pattern: str, flags: int = 0, *, written: str | None = None) -> Regex:
    """Compile PATTERN; raises re.error if it is not valid. Messages show it as it was WRITTEN."""
    if len(pattern) > (_LONGEST_WITHOUT_CASE if flags & re.IGNORECASE else LONGEST):
        raise re.error(f"it has {len(pattern):,} characters, which is too long")
    return Regex(re.compile(pattern, flags), pattern if written is None else written)


def _matches(pattern: str, flags: int, text: str) -> bool:
    return re.compile(pattern, flags).search(text) is not None


def _captured(pattern: str, flags: int, text: str) -> str | None:
    found = re.compile(pattern, flags).search(text)
    if found is None or not found.re.groups:
        return None if found is None else found[0]
    return next((group for group in found.groups() if group is not None), None)
