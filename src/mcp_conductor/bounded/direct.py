"""Waits that end within the callback that ends them, and not one turn of the event loop later."""

import asyncio
from asyncio import current_task
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, copy_context
from types import coroutine
from typing import Any, ClassVar, Generic, TypeVar

T = TypeVar("T")


class DirectFuture(Generic[T]):
    """A value to come, to be awaited by one task.

    The task continues as soon as the value is there, within the callback that brought it. A Future would wake it
    one turn of the event loop later, which takes as long as everything else that we do for a call. asyncio accepts any
    object as a future that has `_asyncio_future_blocking`; where it does not, a Future is awaited after all.
    """

    direct: ClassVar[bool] = True  # whether asyncio takes us for futures, as far as we know

    # Most of these stay as they are here in most waits.
    _asyncio_future_blocking = False
    _wake: "Callable[[Any], object] | None" = None
    _context: Context | None = None
    _value: T | None = None
    _error: BaseException | None = None
    _is_done = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def __await__(self) -> Generator[Any, None, T]:
        if not self._is_done:
            if DirectFuture.direct:
                self._asyncio_future_blocking = True
                try:
                    yield self
                except RuntimeError:
                    if self._context is not None:  # it is the wait itself that failed
                        raise
                    _do_without("asyncio does not wait for objects of ours")
            if self._context is None and not self._is_done:
                yield from self._future().__await__()
        return self.result()

    def _future(self) -> "asyncio.Future[None]":
        """What asyncio waits for in our place."""
        future = self._loop.create_future()
        self._wake = lambda _: None if future.done() else future.set_result(None)
        self._context = copy_context()
        return future

    def done(self) -> bool:
        return self._is_done

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]  # it is there: this is asked when the wait is over

    def fail(self, error: BaseException) -> None:
        """ERROR is there in place of the value."""
        if not self._is_done:
            self._error = error
            self._end()

    def settle(self, value: T) -> None:
        """The value is there: who waits for it goes on."""
        if not self._is_done:
            self._value = value
            self._end()

    def _end(self) -> None:
        self._is_done = True
        wake, context = self._wake, self._context
        if wake is None or context is None:
            return
        self._wake = None
        if DirectFuture.direct and current_task(self._loop) is None:
            try:
                context.run(wake, self)
            except RuntimeError:  # what the task itself raises does not come here
                _do_without("a task of asyncio cannot be continued at once")
            else:
                return
        # Another task brought the value, and two cannot run at once; or asyncio does not let us.
        self._loop.call_soon(wake, self, context=context)

    # What asyncio's tasks ask of a future.

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def add_done_callback(self, wake: "Callable[[Any], object]", *, context: Context) -> None:
        self._wake, self._context = wake, context

    def cancel(self, msg: object = None) -> bool:
        if self._is_done:
            return False
        self._is_done = True
        self._error = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        wake, self._wake = self._wake, None
        if wake is not None:
            self._loop.call_soon(wake, self, context=self._context)
        return True


class DirectTask:
    """A coroutine that is begun at once, and needs a task only when it waits.

    With DIRECT it waits for DirectFutures without one. Before the first wait, and so after it, there may be no task:
    what needs one, as a time-out of asyncio does, waits for `in_task()`. THEN is called when the coroutine has ended
    after a wait.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        work: Coroutine[Any, Any, None],
        then: Callable[[], object],
        *,
        direct: bool = False,
    ) -> None:
        self._loop = loop
        self._work = work
        self._then = then
        self._direct = direct
        self._waited: DirectFuture[Any] | None = None
        self._task: asyncio.Task[None] | None = None  # the loop itself does not hold it

    def start(self) -> bool:
        """Run until it ends or waits; whether it has ended."""
        try:
            waited = self._work.send(None)
        except StopIteration:
            return True
        if self._direct and isinstance(waited, DirectFuture):
            self._waited = waited
            waited.add_done_callback(self._resume, context=copy_context())
        else:
            self._task = self._loop.create_task(self._finish(waited))
        return False

    def cancel(self) -> None:
        """Raise CancelledError where it waits, in the next turn of the loop."""
        if self._waited is not None:
            self._waited.cancel()
        elif self._task is not None:
            self._task.cancel()

    def _resume(self, _: object) -> None:
        self._waited = None
        try:
            has_ended = self.start()
        except asyncio.CancelledError:
            has_ended = True
        except Exception as error:  # noqa: BLE001  # as with a task: what ended the wait cannot mend it
            self._loop.call_exception_handler({"message": "a request failed", "exception": error})
            has_ended = True
        if has_ended:
            self._then()

    async def _finish(self, waited: Any) -> None:
        await _rest(self._work, waited)
        self._then()


async def in_task() -> None:
    """From here on, the caller runs in a task."""
    if current_task() is None:
        await asyncio.sleep(0)


@coroutine
def _rest(work: Coroutine[Any, Any, None], waited: Any) -> Generator[Any, Any, None]:
    """The rest of a coroutine that was begun by hand, and waits for WAITED."""
    while True:
        problem: BaseException | None = None
        try:
            yield waited
        except BaseException as error:  # noqa: BLE001  # any error is meant for the coroutine
            problem = error
        try:
            waited = work.send(None) if problem is None else work.throw(problem)
        except StopIteration:
            return


def _do_without(why: str) -> None:
    """From now on let asyncio wait for its own futures: calls take longer, and all else is the same. Said once."""
    if DirectFuture.direct:
        DirectFuture.direct = False
        import warnings

        text = f"{why} in this version of Python: mcp_conductor does without that, and calls take a little longer"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
