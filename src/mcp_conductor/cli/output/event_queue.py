"""What the server said and was not printed yet: a queue with a budget, and a task that empties it."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.cli.output.terminal import ReaderGone, Terminal
from mcp_conductor.protocol.budgets import DEFAULT

if TYPE_CHECKING:  # what follows a recording needs no session
    from mcp_conductor.client.session import Session
    from mcp_conductor.protocol.answers import Incoming

Result = TypeVar("Result")


class EventQueue:
    """The events of one connection, in the order in which they came. What there is no room for is counted."""

    def __init__(self, budget: int = DEFAULT.notification_bytes) -> None:
        self._waiting: deque[Incoming] = deque()
        self._some = asyncio.Event()
        self._room = budget
        self._left_out = 0  # since one was taken out

    def put(self, incoming: "Incoming") -> None:
        size = len(incoming.message.text)
        if size > self._room and self._waiting:
            self._left_out += 1
            return
        self._room -= size
        self._waiting.append(incoming)
        self._some.set()

    def take(self) -> "Incoming | None":
        """The next event, if one is there."""
        if not self._waiting:
            self._some.clear()
            return None
        incoming = self._waiting.popleft()
        self._room += len(incoming.message.text)
        return incoming

    async def show_on(self, show: Callable[["Incoming"], Awaitable[None]], session: "Session") -> None:
        """SHOW all events, as they come, without end."""
        while True:
            await self._some.wait()
            pace = Pace()
            while (incoming := self.take()) is not None:
                await show(incoming)
                await pace.keep()
            self.say_what_is_missing(session)

    def say_what_is_missing(self, session: "Session") -> None:
        if self._left_out:
            count, self._left_out = self._left_out, 0
            session.note(f"{count} events came too quickly and were left out (--max-notifications-size)")


async def alongside(work: Coroutine[Any, Any, Result], *others: Coroutine[Any, Any, None]) -> Result:
    """The result of WORK, while OTHERS run: an error of one of them ends it."""
    task = asyncio.ensure_future(work)
    along = [asyncio.ensure_future(each) for each in others]
    try:
        while not task.done():
            going_on = [each for each in along if not each.done()]
            await asyncio.wait([task, *going_on], return_when=asyncio.FIRST_COMPLETED)
            for each in along:
                if each.done() and not task.done():
                    each.result()
        return task.result()
    finally:
        task.cancel()
        for each in along:
            each.cancel()
        await asyncio.gather(task, *along, return_exceptions=True)


async def reader_gone(terminal: Terminal) -> None:
    """Wait until the other end of stdout is closed: `| head -1` must not leave us waiting for the next event."""
    descriptor = terminal.pipe_out()
    loop = asyncio.get_running_loop()
    closed = asyncio.Event()
    if descriptor is None:
        await closed.wait()  # without end
        return
    # The writing end of a pipe becomes readable only by the error that its reader is gone.
    loop.add_reader(descriptor, closed.set)
    try:
        await closed.wait()
        raise ReaderGone
    finally:
        loop.remove_reader(descriptor)
