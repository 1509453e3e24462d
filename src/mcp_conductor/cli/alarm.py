"""The program ends at a set time, even while it computes or writes to a pipe that nothing reads.

The event loop cannot do that, because it does not run then. Without SIGALRM, as on Windows, there is no alarm.
"""

import os
from collections.abc import Callable

from mcp_conductor import posix
from mcp_conductor.cli.signals import after
from mcp_conductor.transport.children import is_starting, kill_all

_AGAIN_SECONDS = 0.05


def _nothing() -> None: ...


class _Alarm:
    """One for the whole process, as the timer of the system is. What a signal has set is not put off by --timeout."""

    def __init__(self) -> None:
        self._for_signal = False

    def set(self, seconds: float, code: int, *, for_signal: bool = False, say: Callable[[], None] = _nothing) -> None:
        """After SECONDS, SAY why, kill every process that we started, and exit with CODE."""
        if self._for_signal and not for_signal:
            return

        def leave(*_: object) -> None:
            if is_starting():  # that process would be missed
                posix.set_timer(_AGAIN_SECONDS)
                return
            say()
            kill_all()
            os._exit(code)

        self._for_signal = for_signal
        after(max(seconds, _AGAIN_SECONDS), leave)

    def clear(self, *, for_signal: bool = False) -> None:
        """Cancel the alarm. Python drops our reaction to the timer when it ends, so this must be called before."""
        if for_signal or not self._for_signal:
            self._for_signal = False
            posix.set_timer(0)


ALARM = _Alarm()
