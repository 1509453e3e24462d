"""A command that can be interrupted: it cleans up at the first signal, and lets go of everything at the second."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

from mcp_conductor.cli.terminal import Interrupted

# The event loops of Windows know no signals.
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if hasattr(signal, "SIGHUP") else ()


def run_interruptibly(work: Coroutine[Any, Any, int]) -> int:
    """Run WORK to its exit code; raises Interrupted when a signal ended it."""
    return asyncio.run(_within_signals(work))


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
