"""Which replies are waited for, and until when. Progress moves a deadline; every wait ends."""

import asyncio
import math
from collections.abc import Callable, Generator
from contextvars import Context

from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message


class PendingReply:
    """A reply to come, to be awaited by one task.

    The task continues as soon as the reply is there, within the callback that brought it. A Future would wake it
    one turn of the event loop later, which takes as long as everything else that we do for a call. asyncio accepts any
    object as a future that has `_asyncio_future_blocking`.
    """

    _asyncio_future_blocking = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._wake: Callable[[PendingReply], object] | None = None
        self._context: Context | None = None
        self._exchange: Exchange | None = None
        self._error: BaseException | None = None

    def __await__(self) -> "Generator[PendingReply, None, Exchange]":
        if not self.done():
            self._asyncio_future_blocking = True
            yield self
        return self.result()

    def done(self) -> bool:
        return self._exchange is not None or self._error is not None

    def result(self) -> Exchange:
        if self._error is not None:
            raise self._error
        assert self._exchange is not None
        return self._exchange

    def settle(self, exchange: Exchange) -> None:
        if not self.done():
            self._exchange = exchange
            self._go_on()

    def fail(self, error: BaseException) -> None:
        if not self.done():
            self._error = error
            self._go_on()

    def _go_on(self) -> None:
        wake, self._wake = self._wake, None
        if wake is None or self._context is None:
            return
        if asyncio.current_task(self._loop) is None:
            self._context.run(wake, self)
        else:  # another task brought the reply; two cannot run at once
            self._loop.call_soon(wake, self, context=self._context)

    # What asyncio's tasks ask of a future.

    def get_loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def add_done_callback(self, wake: "Callable[[PendingReply], object]", *, context: Context) -> None:
        self._wake, self._context = wake, context

    def cancel(self, msg: object = None) -> bool:
        if self.done():
            return False
        self._error = asyncio.CancelledError() if msg is None else asyncio.CancelledError(msg)
        wake, self._wake = self._wake, None
        if wake is not None:
            self._loop.call_soon(wake, self, context=self._context)
        return True


class _Waiter:
    __slots__ = ("deadline", "method", "reply", "seconds")

    def __init__(self, method: str, reply: PendingReply, seconds: float, deadline: float) -> None:
        self.method = method
        self.reply = reply
        self.seconds = seconds
        self.deadline = deadline


class Waiting:
    """The open requests of one session, by id."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiters: dict[Id, _Waiter] = {}
        self._timer: asyncio.TimerHandle | None = None

    def add(self, identity: Id, method: str, seconds: float) -> PendingReply:
        """The reply to come; it fails with RequestTimeout after SECONDS without reply or progress."""
        deadline = self._loop.time() + seconds
        reply = PendingReply(self._loop)
        self._waiters[identity] = _Waiter(method, reply, seconds, deadline)
        self._watch(deadline)
        return reply

    def __contains__(self, identity: Id) -> bool:
        return identity in self._waiters

    def settle(self, exchange: Exchange) -> None:
        waiter = self._waiters.pop(exchange.request.id, None) if exchange.request.id is not None else None
        if waiter is not None:
            waiter.reply.settle(exchange)

    def extend(self, request: Message) -> None:
        """REQUEST makes progress: its time starts again."""
        waiter = self._waiters.get(request.id) if request.id is not None else None
        if waiter is not None:
            waiter.deadline = self._loop.time() + waiter.seconds

    def forget(self, identity: Id) -> None:
        self._waiters.pop(identity, None)

    def fail(self, identity: Id, error: Exception) -> None:
        waiter = self._waiters.pop(identity, None)
        if waiter is not None:
            waiter.reply.fail(error)

    def fail_all(self, error: Callable[[str], Exception]) -> None:
        """No request will be answered; ERROR makes the reason from the method."""
        waiters, self._waiters = self._waiters, {}
        for waiter in waiters.values():
            waiter.reply.fail(error(waiter.method))

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
        for waiter in list(self._waiters.values()):
            if waiter.deadline <= now:
                waiter.reply.fail(RequestTimeout(waiter.method, waiter.seconds))
            else:
                self._watch(waiter.deadline)
