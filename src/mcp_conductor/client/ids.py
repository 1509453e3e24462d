"""Ids for the requests of one client: each is used once, and none that is reserved for other requests."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count


class Ids:
    """Whole numbers from 1 on."""

    def __init__(self) -> None:
        self._count: Callable[[], int] = count(1).__next__
        self._taken: set[int] = set()

    def next(self) -> int:
        identity = self._count()
        while identity in self._taken:
            identity = self._count()
        return identity

    def avoid(self, ids: Iterable[int]) -> None:
        """Never return one of IDS: other requests have them."""
        self._taken.update(ids)

    @contextmanager
    def starting_at(self, first: int) -> Iterator[None]:
        """Within this block, return numbers from FIRST on; after it, continue as before the block."""
        before, self._count = self._count, count(first).__next__
        try:
            yield
        finally:
            self._count = before
