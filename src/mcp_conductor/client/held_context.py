"""A context that stays open between two calls, such as a server between two tests."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class HeldContext(Generic[T]):
    """A context that its own task enters and leaves.

    The same task must do both: time-outs and task groups inside belong to the task that entered them.
    """

    def __init__(self, what: AbstractAsyncContextManager[T]) -> None:
        self._what = what
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> T:
        opened: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(opened))
        try:
            both: set[asyncio.Future[Any]] = {self._task, opened}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise
        if not opened.done():
            self._task.result()  # raises what kept it from opening
        return opened.result()

    async def _hold(self, opened: "asyncio.Future[T]") -> None:
        async with self._what as value:
            opened.set_result(value)
            await self._stop.wait()

    async def close(self) -> None:
        self._stop.set()
        if self._task is not None:
            await self._task
