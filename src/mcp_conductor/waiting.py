"""Who waits for which reply, and until when. Progress pushes a deadline back; nobody waits for ever."""

import asyncio
import math
from collections.abc import Callable

from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message


class _Waiter:
    __slots__ = ("deadline", "future", "method", "seconds")

    def __init__(self, method: str, future: "asyncio.Future[Exchange]", seconds: float, deadline: float) -> None:
        self.method = method
        self.future = future
        self.seconds = seconds
        self.deadline = deadline

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # so that asyncio does not complain when nobody asks


class Waiting:
    """The open requests of one session, by id."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiters: dict[Id, _Waiter] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, identity: Id, method: str, seconds: float) -> "asyncio.Future[Exchange]":
        """The future reply; it fails with RequestTimeout after SECONDS without reply or progress."""
        deadline = self._loop.time() + seconds
        waiter = self._waiters[identity] = _Waiter(method, self._loop.create_future(), seconds, deadline)
        self._watch(deadline)
        return waiter.future

    def settle(self, exchange: Exchange) -> None:
        waiter = self._waiters.pop(exchange.request.id, None) if exchange.request.id is not None else None
        if waiter is not None and not waiter.future.done():
            waiter.future.set_result(exchange)

    def extend(self, request: Message) -> None:
        """REQUEST makes progress: its time begins anew."""
        waiter = self._waiters.get(request.id) if request.id is not None else None
        if waiter is not None:
            waiter.deadline = self._loop.time() + waiter.seconds

    def forget(self, identity: Id) -> None:
        self._waiters.pop(identity, None)

    def fail(self, identity: Id, error: Exception) -> None:
        waiter = self._waiters.pop(identity, None)
        if waiter is not None:
            waiter.fail(error)

    def fail_all(self, error: Callable[[str], Exception]) -> None:
        """Nobody will be answered; ERROR makes the reason, given the method."""
        for waiter in self._waiters.values():
            waiter.fail(error(waiter.method))
        self._waiters.clear()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self, deadline: float) -> None:
        """Look for overdue requests at DEADLINE. One timer serves all: most requests are answered long before."""
        if deadline < math.inf and (self._timer is None or deadline < self._timer.when()):
            self.stop()
            self._timer = self._loop.call_at(deadline, self._expire)

    def _expire(self) -> None:
        self._timer = None
        now = self._loop.time()
        for waiter in self._waiters.values():
            if waiter.deadline <= now:
                waiter.fail(RequestTimeout(waiter.method, waiter.seconds))
            else:
                self._watch(waiter.deadline)
