"""Functions of the user that hear what the server says: in order, one call at a time, and without harm to others.

What a function raises goes where its owner wants it, and never into the code that reads messages: the messages behind
the one that it heard would be lost. A coroutine function is awaited before it is called again.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.ledger import progress_token
from mcp_conductor.protocol.message import Message

if TYPE_CHECKING:
    from mcp_conductor.protocol.questions import LogFunction, NotificationFunction

T = TypeVar("T")


class Callback(Generic[T]):
    """One function of the user. REPORT hears what it raises, NOTE what it is too slow for."""

    def __init__(
        self,
        function: Callable[[T], object],
        *,
        report: Callable[[Exception], None],
        note: Callable[[str], None],
        most_bytes: int,  # of messages that may wait for it
    ) -> None:
        self._function = function
        self._report = report
        self._note = note
        self._most_bytes = most_bytes
        self._waiting: deque[tuple[T, int]] = deque()
        self._bytes = 0
        self._left_out = False
        self._running: asyncio.Task[None] | None = None

    def __call__(self, heard: T, size: int = 0) -> None:
        """Call the function now; if it is a coroutine function that still runs, later."""
        if self._running is not None:
            self._wait(heard, size)
        elif (work := self._begin(heard)) is not None:
            self._running = asyncio.ensure_future(self._go_on(work))

    async def finished(self) -> None:
        """Wait until the function has heard everything."""
        if self._running is not None:
            await self._running

    def cancel(self) -> "list[asyncio.Task[None]]":
        """Call it no more: what has to be waited for."""
        self._waiting.clear()
        if self._running is None:
            return []
        cancel_soon(self._running)
        return [self._running]

    def _wait(self, heard: T, size: int) -> None:
        if self._bytes + size > self._most_bytes:
            if not self._left_out:
                self._left_out = True
                self._note(f"{self._name} is slower than the server: it does not hear everything")
            return
        self._bytes += size
        self._waiting.append((heard, size))

    def _begin(self, heard: T) -> Awaitable[Any] | None:
        try:
            returned = self._function(heard)
        except Exception as error:  # noqa: BLE001  # a function of the user may raise anything; it is reported as theirs
            self._report(error)
            return None
        except asyncio.CancelledError:
            self._report(self._cancelled())
            return None
        return returned if isinstance(returned, Awaitable) else None

    async def _go_on(self, work: Awaitable[Any] | None) -> None:
        try:
            while True:
                if work is not None:
                    try:
                        await work
                    except Exception as error:  # noqa: BLE001  # as above
                        self._report(error)
                    except asyncio.CancelledError:
                        if being_cancelled():
                            raise
                        self._report(self._cancelled())
                if not self._waiting:
                    return
                heard, size = self._waiting.popleft()
                self._bytes -= size
                work = self._begin(heard)
        finally:
            self._running = None

    @property
    def _name(self) -> str:
        return getattr(self._function, "__name__", "a callback")

    def _cancelled(self) -> ConductorError:
        return ConductorError(f"{self._name} was cancelled")


class Observers:
    """All functions that hear one server."""

    def __init__(
        self,
        *,
        on_incoming: Callable[[Incoming], Awaitable[None] | None] | None,
        on_log: "LogFunction | None",
        on_notification: "NotificationFunction | None",
        note: Callable[[str], None],
        most_bytes: int,  # of messages that may wait for each of them
    ) -> None:
        self._note = note
        self._most_bytes = most_bytes
        self._on_incoming = None if on_incoming is None else self._callback(on_incoming, report_to_loop("on_incoming"))
        self._on_log = None if on_log is None else self._callback(on_log, report_to_loop("on_log"))
        self._on_notification = (
            None if on_notification is None else self._callback(on_notification, report_to_loop("on_notification"))
        )
        self._on_progress: dict[Any, Callback[Json]] = {}  # by progress token

    def incoming(self, incoming: Incoming) -> None:
        if self._on_incoming is not None:
            self._on_incoming(incoming, len(incoming.message.text))

    def notification(self, message: Message, request: Message | None) -> None:
        """MESSAGE has come; it tells the progress of REQUEST, if there is one."""
        size = len(message.text)
        if request is not None and (told := self._on_progress.get(progress_token(request.raw))) is not None:
            told(message.params, size)
        if self._on_log is not None and message.method == "notifications/message":
            from mcp_conductor.protocol.questions import LogMessage

            self._on_log(LogMessage(message.params), size)
        if self._on_notification is not None:
            self._on_notification(message, size)
        self.incoming(Incoming(message))

    @asynccontextmanager
    async def progress_for(self, token: str, told: Callable[[Json], object]) -> AsyncIterator[str]:
        """Within the block, TOLD hears what the server says of TOKEN.

        At the end of the block TOLD has heard everything, and what it raised first is raised.
        """
        raised: list[Exception] = []
        callback = self._on_progress[token] = self._callback(told, raised.append)
        try:
            yield token
            await callback.finished()
        finally:
            del self._on_progress[token]
            callback.cancel()
        if raised:
            raise raised[0]

    def close(self) -> "list[asyncio.Task[None]]":
        """Tell no more: what has to be waited for."""
        callbacks: list[Callback[Any] | None] = [self._on_incoming, self._on_log, self._on_notification]
        return [task for callback in callbacks if callback is not None for task in callback.cancel()]

    def _callback(self, function: Callable[[T], object], report: Callable[[Exception], None]) -> Callback[T]:
        return Callback(function, report=report, note=self._note, most_bytes=self._most_bytes)


def being_cancelled() -> bool:
    """Whether the task that runs was cancelled itself, and not only something that a function of the user waits for."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def cancel_soon(task: "asyncio.Task[None]") -> None:
    """Cancel TASK when it has begun: a coroutine that never begins is a warning of Python."""
    task.get_loop().call_soon(task.cancel)


def report_to_loop(what: str) -> Callable[[Exception], None]:
    """Tells the event loop that WHAT has failed; its exception handler decides what becomes of that: it is logged."""

    def report(error: Exception) -> None:
        asyncio.get_running_loop().call_exception_handler({"message": f"{what} failed", "exception": error})

    return report
