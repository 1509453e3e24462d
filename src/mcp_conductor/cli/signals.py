"""What signals do: from the first moment of a program on, and while something runs that has to be cleaned up.

This is the only place that sets what follows a signal. One that was ignored when the program started (`nohup`, a job
in the background of a script) stays ignored.
"""

import os
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any

from mcp_conductor import posix
from mcp_conductor.cli.exit_codes import code_of_signal

Reaction = Callable[[int, FrameType | None], Any]


def exit_at_once_on_signals() -> None:
    """Until something runs that has to be cleaned up, a signal just ends the program, without a traceback."""
    on_signals(lambda number, _: os._exit(code_of_signal(number)))


def on_signals(reaction: Reaction) -> dict[int, Any]:
    """From now on, call REACTION for signals that ask us to stop; returns the reactions before."""
    before: dict[int, Any] = {}
    with suppress(ValueError):  # not the main thread: signals are not ours to handle
        for number in posix.STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, reaction)
    return before


def restore(before: Mapping[int, Any]) -> None:
    """Restore the reactions to signals that were set BEFORE."""
    for number, reaction in before.items():
        signal.signal(number, reaction)


def after(seconds: float, reaction: Reaction) -> None:
    """Call REACTION after SECONDS, also while the event loop is busy; without a timer, never."""
    if posix.TIMER_SIGNAL is not None:
        signal.signal(posix.TIMER_SIGNAL, reaction)
        posix.set_timer(seconds)
