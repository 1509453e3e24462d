"""The program ends at a set time, even while it computes or writes to a pipe that nothing reads.

The event loop cannot do that, because it does not run then. Without SIGALRM, as on Windows, there is no alarm.
"""

from collections.abc import Callable

from mcp_conductor import posix
from mcp_conductor.cli.process.ending import after, end_at_once


def _nothing() -> None: ...


class _Alarm:
    """One for the whole process, as the timer of the system is. What a signal has set is not put off by --timeout."""

    def __init__(self) -> None:
        self._for_signal = False

    def set(self, seconds: float, code: int, *, for_signal: bool = False, say: Callable[[], None] = _nothing) -> None:
        """After SECONDS, SAY why, kill every process that we started, and exit with CODE."""
        if not self._for_signal or for_signal:
            self._for_signal = for_signal
            after(seconds, lambda *_: end_at_once(code, say))

    def clear(self, *, for_signal: bool = False) -> None:
        """Cancel the alarm. Python drops our reaction to the timer when it ends, so this must be called before."""
        if for_signal or not self._for_signal:
            self._for_signal = False
            posix.set_timer(0)


ALARM = _Alarm()
