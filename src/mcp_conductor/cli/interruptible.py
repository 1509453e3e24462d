"""A command that can be interrupted: it cleans up at the first signal, and lets go of everything at the second."""

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from mcp_conductor.cli.terminal import Interrupted

# The event loops of Windows know no signals.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else ()

Result = TypeVar("Result")


def run_interruptibly(work: Coroutine[Any, Any, int]) -> int:
    """Run WORK to its exit code; raises Interrupted when a signal ended it."""
    return run_async(_within_signals(work))


def run_async(work: Coroutine[Any, Any, Result]) -> Result:
    """asyncio.run, without a thread for each process that is started: from Python 3.12 on it needs none anyway."""
    if sys.version_info < (3, 12) and hasattr(os, "pidfd_open"):
        with suppress(OSError):  # a kernel may know it, and a sandbox forbid it
            os.close(os.pidfd_open(os.getpid()))
            asyncio.set_child_watcher(asyncio.PidfdChildWatcher())
    return asyncio.run(work)


async def _within_signals(work: Coroutine[Any, Any, int]) -> int:
    task = asyncio.ensure_future(work)
    signals: list[int] = []

    def stop(number: int) -> None:
        signals.append(number)
        if len(signals) == 1:
            task.cancel()
        else:
            from mcp_conductor.transport.stdio import kill_all

            kill_all()

    loop = asyncio.get_running_loop()
    for number in STOP_SIGNALS:
        loop.add_signal_handler(number, stop, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not signals:
            raise
        raise Interrupted(signals[0]) from None
