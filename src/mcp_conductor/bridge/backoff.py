"""When to try again: soon at first, then after longer and longer delays, and never all at the same moment."""

from collections.abc import Callable

from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """Exponential delays with jitter and a cap; times in seconds."""

    first: float = 0.25
    factor: float = 2.0
    cap: float = 30.0
    jitter: float = 0.5  # the part of a delay that chance may take away
    attempts: int | None = None  # how many failures in a row mean that the server is down; None: never
    settled: float = 10.0  # after a server was up for so long, the first delay is used again

    def longest(self, failures: int) -> float:
        """The delay after so many failures in a row, before chance takes its part."""
        # The exponent is bounded: 2.0 ** 2000 is too large for a float.
        return min(self.cap, self.first * self.factor ** min(failures - 1, 64))

    def delay(self, failures: int, random: Callable[[], float]) -> float | None:
        """How long to wait after so many failures in a row; None: do not try again. RANDOM returns 0 to 1."""
        if self.attempts is not None and failures >= self.attempts:
            return None
        return self.longest(failures) * (1 - self.jitter * random())
