"""All that is wrong with a file that a person wrote, reported together: reading goes on after a mistake.

One error is raised in the end, the first by its place in the file; it has the others as its `more`.
"""

import re
from collections.abc import Callable, Iterable
from typing import TypeVar

from mcp_conductor.errors import UsageError

Given = TypeVar("Given")
Read = TypeVar("Read")
Other = TypeVar("Other")

MOST = 20  # that are reported; of the others, only their number


class Mistakes:
    """The mistakes that were made so far."""

    __slots__ = ("_found", "_left_out")

    def __init__(self) -> None:
        self._found: list[UsageError] = []
        self._left_out = 0

    def __bool__(self) -> bool:
        return bool(self._found)

    def read(self, given: Given | None, make: Callable[[Given], Read], otherwise: Other) -> Read | Other:
        """What MAKE makes of GIVEN; OTHERWISE where there is nothing, or it is refused."""
        if given is None:
            return otherwise
        try:
            return make(given)
        except UsageError as error:
            self.add(error)
            return otherwise

    def add(self, error: UsageError) -> None:
        """Remember ERROR, and the other mistakes in it."""
        self._left_out += error.left_out
        for each in (error, *error.more):
            each.more, each.left_out = (), 0
            self._found.append(each.with_traceback(None))  # which would keep all that it was read from
        if len(self._found) > 2 * MOST:
            self._in_order()

    @property
    def enough(self) -> bool:
        """Whether the limit is reached: then the place of another mistake need not be found, and it can be left out."""
        return len(self._found) >= MOST

    def leave_out(self, count: int) -> None:
        """Count mistakes that are known, but not reported."""
        self._left_out += count

    def tell(self) -> None:
        """Raise the first mistake of the file, with the others, if there are any."""
        if not self._found:
            return
        self._in_order()
        first, *others = self._found
        first.more, first.left_out = tuple(others), self._left_out
        raise first

    def _in_order(self) -> None:
        # What is merged into several places has one mistake, wherever it is read.
        once: dict[tuple[str, str], UsageError] = {}
        for each in self._found:
            once.setdefault((str(each.where), re.sub(r"\[\d+\]", "[]", each.message)), each)
        found = list(once.values())
        found.sort(key=lambda each: (0, 0) if each.where is None else (each.where.line, each.where.column))
        self._left_out += len(found[MOST:])
        self._found = found[:MOST]


def read_all(read: Callable[[Given], Read], given: Iterable[Given]) -> list[Read]:
    """What READ makes of each; raises all mistakes at once."""
    mistakes = Mistakes()
    made: list[Read] = []
    for each in given:
        try:
            made.append(read(each))
        except UsageError as error:
            mistakes.add(error)
    mistakes.tell()
    return made
