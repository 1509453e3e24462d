"""When to try again: soon at first, then ever more seldom, and never all at the same moment."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential delays with jitter and a cap; times in seconds."""

    first: float = 0.25
    factor: float = 2.0
    cap: float = 30.0
    jitter: float = 0.5  # the part of a delay that chance may take away
    attempts: int | None = None  # how many failures in a row mean that the server is down; None: never
    settled: float = 10.0  # a server that was up for so long begins anew with the first delay

    def longest(self, failures: int) -> float:
        """The delay after so many failures in a row, before chance takes its part."""
        # The exponent is bounded: nobody waits for 2.0 ** 2000, which is no float any more.
        return min(self.cap, self.first * self.factor ** min(failures - 1, 64))

    def delay(self, failures: int, random: Callable[[], float]) -> float | None:
        """How long to wait after so many failures in a row; None: not at all any more. RANDOM gives 0 to 1."""
        if self.attempts is not None and failures >= self.attempts:
            return None
        return self.longest(failures) * (1 - self.jitter * random())
