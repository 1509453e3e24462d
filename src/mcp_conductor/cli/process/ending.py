"""End a program at once: what signals do, the alarm of --timeout, and what happens when memory or files run out.

This is the only place that sets what follows a signal. One that was ignored when the program started (`nohup`, a job
in the background of a script) stays ignored.
"""

import errno
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
_FILES = (errno.EMFILE, errno.ENFILE)
_reserve = [bytes(1 << 20)]  # memory for the end of the program; never written to, so it is not allocated


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


class _Alarm:
    """Ends the program at a set time, even while it computes or writes to a pipe that nothing reads.

    The event loop cannot do that, because it does not run then. There is one for the whole process, as the timer of
    the system is; without SIGALRM, as on Windows, there is none. What a signal has set is not put off by --timeout.
    """

    def __init__(self) -> None:
        self._for_signal = False

    def set(self, seconds: float, code: int, *, for_signal: bool = False, say: Callable[[], None] = _nothing) -> None:
        """After SECONDS, SAY why, kill every process that we started, and exit with CODE."""
        if not self._for_signal or for_signal:
            self._for_signal = for_signal
            if posix.TIMER_SIGNAL is not None:
                signal.signal(posix.TIMER_SIGNAL, lambda *_: end_at_once(code, say))
                posix.set_timer(max(seconds, _SHORTEST_TIMER))  # 0 would be no timer

    def clear(self, *, for_signal: bool = False) -> None:
        """Cancel the alarm. Python drops our reaction to the timer when it ends, so this must be called before."""
        if for_signal or not self._for_signal:
            self._for_signal = False
            posix.set_timer(0)


ALARM = _Alarm()


def shortage(error: object) -> str | None:
    """What is missing and what to do, if ERROR means that memory or files have run out."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return "error: out of memory\n  hint: --max-message-size and --max-message-values take in less of a server\n"
    if isinstance(error, OSError) and error.errno in _FILES:
        return "error: too many open files\n  hint: `ulimit -n NUMBER` allows more\n"
    return None


def end_for_shortage(error: object, exit_code: int) -> None:
    """End the program and all that it started, if ERROR is a shortage: anything else would fail, too."""
    told = shortage(error)
    if told is None:
        return
    _reserve.clear()
    # Where modules cannot be loaded any more, nothing was started either.
    if (children := sys.modules.get("mcp_conductor.transport.children")) is not None:
        children.end_all()
    os.write(2, told.encode())
    os._exit(exit_code)


def ending_for_shortage(exit_code: int) -> Any:
    """A reaction of an event loop to errors in callbacks, which are not reported elsewhere.

    Files may be closed later, but memory for a message is not freed.
    """

    def react(loop: Any, context: dict[str, Any]) -> None:
        if isinstance(error := context.get("exception"), MemoryError):
            end_for_shortage(error, exit_code)
        loop.default_exception_handler(context)

    return react
