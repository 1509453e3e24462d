"""An event loop in a thread of its own: for code that is not async, and for sessions that outlive a loop."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from mcp_conductor.errors import ConnectionLost

T = TypeVar("T")
_END_SECONDS = 30.0  # for everything that is still open at the end; each server has a shorter limit of its own


class LoopThread:
    """An event loop that runs in a thread."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="mcp-conductor", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for WORK, which has limits of its own."""
        __tracebackhide__ = True
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a function that answers or hears a server cannot wait for the same session")
        if self._loop.is_closed():
            work.close()
            raise ConnectionLost("the session was closed")
        future = self.start(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # when it is we who were interrupted
            raise

    def close(self) -> None:
        self.start(self._cancel_all()).result(_END_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_END_SECONDS)
        self._loop.close()

    async def _cancel_all(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._loop.shutdown_asyncgens()
