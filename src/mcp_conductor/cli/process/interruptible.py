"""Work that can be interrupted, and that may have a time limit.

It cleans up at the first signal, and ends at once at the second.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

from mcp_conductor.cli import collect_garbage_of_work
from mcp_conductor.cli.output.terminal import Interrupted, Terminal
from mcp_conductor.cli.process.ending import ALARM, ending_for_shortage, on_signals, restore
from mcp_conductor.cli.process.exit_codes import COULD_NOT_RUN, TIMED_OUT, code_of_signal
from mcp_conductor.errors import TimeLimitReached
from mcp_conductor.transport.children import adopt_orphans, kill_all

HURRY_SECONDS = 1.0  # for work that does not end after the second signal
DEAF_SECONDS = 4.0  # until the event loop notices the first: it may be in the middle of long work
CLEANUP_SECONDS = 12.0  # for all that follows the first: more than the end of a stubborn server takes

Result = TypeVar("Result")


def run_interruptibly(work: Coroutine[Any, Any, Result]) -> Result:
    """Run WORK to its result; raises Interrupted when a signal ended it."""
    collect_garbage_of_work()
    adopt_orphans()
    try:
        with asyncio.Runner() as runner:
            # The look-up of a name may hang in its thread for minutes; the program ends without it (`cli._end_with`).
            runner.get_loop().shutdown_default_executor = _leave_threads  # type: ignore[method-assign]
            runner.get_loop().set_exception_handler(ending_for_shortage(COULD_NOT_RUN))
            return runner.run(_within_signals(work))
    finally:
        ALARM.clear(for_signal=True)


async def _leave_threads(timeout: float | None = None) -> None: ...


async def serve_until_cancelled(serve: Callable[[asyncio.Event], Coroutine[Any, Any, int]]) -> int:
    """Serve until we are cancelled, then stop in good order: a server that stops when it is asked to has succeeded."""
    stop = asyncio.Event()
    # One client that wants too much must not end it for the others.
    asyncio.get_running_loop().set_exception_handler(None)
    serving = asyncio.ensure_future(serve(stop))
    try:
        return await asyncio.shield(serving)
    except asyncio.CancelledError:
        stop.set()
        return await serving


async def _within_signals(work: Coroutine[Any, Any, Result]) -> Result:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    signals: list[int] = []

    def stop(number: int, _: FrameType | None) -> None:
        signals.append(number)
        if len(signals) == 1:
            ALARM.set(DEAF_SECONDS, code_of_signal(number), for_signal=True)
            loop.call_soon_threadsafe(cancel)
        else:
            kill_all()
            ALARM.set(HURRY_SECONDS, code_of_signal(signals[0]), for_signal=True)

    def cancel() -> None:
        if len(signals) == 1:
            ALARM.set(CLEANUP_SECONDS, code_of_signal(signals[0]), for_signal=True)
        task.cancel()

    before = on_signals(stop)
    try:
        return await task
    except asyncio.CancelledError:
        if not signals:
            raise
        raise Interrupted(signals[0]) from None
    except Exception:
        if len(signals) > 1:  # all processes were killed: what fails then says nothing
            raise Interrupted(signals[0]) from None
        raise
    finally:
        if not signals:
            restore(before)


class TimeLimit:
    """--timeout for a whole run: the event loop ends the work, or an alarm the program where the loop is not free.

    `async with` raises TimeoutError after SECONDS, if there is a limit.

    What follows, such as reports, has the rest of the time and DEAF_SECONDS, or CLEANUP_SECONDS if the time is over;
    until `lift` is called, or the program ends.
    """

    def __init__(self, seconds: float | None, terminal: Terminal) -> None:
        self.seconds = seconds
        self._terminal = terminal
        self._timeout: asyncio.Timeout | None = None
        self._end = 0.0
        self._reached: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._timeout = asyncio.timeout(self.seconds)
        await self._timeout.__aenter__()
        if self.seconds is not None:
            self._end = time.monotonic() + self.seconds
            self._set_alarm(self.seconds + DEAF_SECONDS)
            self._reached = asyncio.get_running_loop().call_later(self.seconds, self._set_alarm, CLEANUP_SECONDS)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._timeout is not None
        timeout, self._timeout = self._timeout, None
        if self._reached is not None:
            self._reached.cancel()
            rest = self._end - time.monotonic()
            self._set_alarm(rest + DEAF_SECONDS if rest > 0 else CLEANUP_SECONDS)
        await timeout.__aexit__(kind, error, traceback)

    @property
    def expired(self) -> bool:
        """Whether the work was ended because the time was over."""
        return self._timeout is not None and self._timeout.expired()

    def lift(self) -> None:
        """No limit from now on."""
        if self._reached is not None:
            self._reached.cancel()
            self._reached = None
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(None)
        ALARM.clear()

    def _set_alarm(self, seconds: float) -> None:
        ALARM.set(seconds, TIMED_OUT, say=self._say)

    def _say(self) -> None:
        late = TimeLimitReached(
            f"not done within {self.seconds:g} s: this program was busy, or its output was not read",
            hint="--timeout TIME allows more",
        )
        self._terminal.say_if_there_is_room(self._terminal.error_text(late))
