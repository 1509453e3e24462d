"""A command that can be interrupted: it cleans up at the first signal, and ends at once at the second."""

import asyncio
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, TypeVar

from mcp_conductor.cli import collect_garbage_of_work
from mcp_conductor.cli.output.terminal import Interrupted
from mcp_conductor.cli.process.alarm import ALARM
from mcp_conductor.cli.process.ending import on_signals, restore
from mcp_conductor.cli.process.exhaustion import ending_for_shortage
from mcp_conductor.cli.process.exit_codes import COULD_NOT_RUN, code_of_signal
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
