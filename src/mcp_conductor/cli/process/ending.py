"""What signals do: from the first moment of a program on, and while something runs that has to be cleaned up.

This is the only place that sets what follows a signal. One that was ignored when the program started (`nohup`, a job
in the background of a script) stays ignored.
"""

import os
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import FrameType
from typing import Any

from mcp_conductor import posix
from mcp_conductor.cli.process.exit_codes import code_of_signal

Reaction = Callable[[int, FrameType | None], Any]

_SHORTEST_TIMER = 0.05


def exit_at_once_on_signals() -> None:
    """Until something runs that has to be cleaned up, a signal just ends the program, without a traceback."""
    on_signals(lambda number, _: end_at_once(code_of_signal(number)))


def _nothing() -> None: ...


def end_at_once(code: int, say: Callable[[], None] = _nothing) -> None:
    """SAY why, kill every process that we started, and exit with CODE."""
    children = sys.modules.get("mcp_conductor.transport.children")
    # `when_started` stands last there: before all of it is imported, nothing is started.
    when_started, end_all = getattr(children, "when_started", _call), getattr(children, "end_all", _nothing)

    def end() -> None:
        say()
        end_all()
        os._exit(code)

    when_started(end)


def _call(then: Callable[[], object]) -> None:
    then()


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


def end_by(number: int) -> None:
    """End this process by a signal that another process was ended by, so that our parent sees the same."""
    with suppress(OSError, ValueError):  # SIGKILL has no reaction that could be set
        signal.signal(number, signal.SIG_DFL)
    posix.leave_no_core()
    posix.signal_all([os.getpid()], number)


def after(seconds: float, reaction: Reaction) -> None:
    """Call REACTION after SECONDS, also while the event loop is busy; without a timer, never."""
    if posix.TIMER_SIGNAL is not None:
        signal.signal(posix.TIMER_SIGNAL, reaction)
        posix.set_timer(max(seconds, _SHORTEST_TIMER))  # 0 would be no timer
