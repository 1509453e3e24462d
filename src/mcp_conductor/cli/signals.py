"""What signals do: from the first moment of a program on, and while something runs that has to be cleaned up.

A signal that was ignored when the program started (`nohup`, a job in the background of a script) stays ignored.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from mcp_conductor.cli.exit_codes import code_of_signal

STOP_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def exit_at_once_on_signals() -> None:
    """Until something runs that has to be cleaned up, a signal just ends the program, without a traceback."""
    on_signals(lambda number, _: os._exit(code_of_signal(number)))


def on_signals(reaction: Callable[[int, FrameType | None], Any]) -> dict[int, Any]:
    """Let REACTION follow signals from now on: what followed them before."""
    before: dict[int, Any] = {}
    with suppress(ValueError):  # not the main thread: signals are not ours to handle
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, reaction)
    return before
