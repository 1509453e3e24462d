"""Which replies are waited for, and until when. Progress moves a deadline; every wait ends."""

import asyncio
import math
from asyncio import current_task
from collections.abc import Callable, Generator
from contextvars import Context, copy_context
from time import monotonic
from typing import Any, ClassVar

from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message


class PendingReply:
    """A reply to come, to be awaited by one task.

    The task continues as soon as the reply is there, within the callback that brought it. A Future would wake it
    one turn of the event loop later, which takes as long as everything else that we do for a call. asyncio accepts any
    object as a future that has `_asyncio_future_blocking`; where it does not, a Future is awaited after all.
    """

    direct: ClassVar[bool] = True  # whether asyncio takes us for futures, as far as we know

    # Most of these stay as they are here in most calls.
    _asyncio_future_blocking = False
    _wake: "Callable[[PendingReply], object] | None" = None
    _context: Context | None = None
    _exchange: Exchange | None = None
    _error: BaseException | None = None

    def __init__(self, loop: asyncio.AbstractEventLoop, request: Message, seconds: float, deadline: float) -> None:
        self._loop = loop
        self.request = request
        self.seconds = seconds
        self.deadline = deadline

    def __await__(self) -> Generator[Any, None, Exchange]:
        if self._exchange is None and self._error is None:
            if PendingReply.direct:
                self._asyncio_future_blocking = True
                try:
                    yield self
                except RuntimeError:
                    if self._context is not None:  # it is the reply that failed
                        raise
                    _do_without("asyncio does not wait for objects of ours")
            if self._context is None and not self.done():
                yield from self._future().__await__()
        return self.result() if self._exchange is None else self._exchange

    def _future(self) -> "asyncio.Future[None]":
        """What asyncio waits for in our place."""
        future = self._loop.create_future()
        self._wake = lambda _: None if future.done() else future.set_result(None)
        self._context = copy_context()
        return future

    def done(self) -> bool:
        return self._exchange is not None or self._error is not None

    def result(self) -> Exchange:
        if self._error is not None:
            raise self._error
        assert self._exchange is not None
        return self._exchange

    def fail(self, error: BaseException) -> None:
        self.settle(None, error)

    def settle(self, exchange: Exchange | None, error: BaseException | None = None) -> None:
        """The reply is there, or ERROR in its place: who waits for it goes on."""
        if self._exchange is not None or self._error is not None:
            return
        self._exchange, self._error = exchange, error
        wake, context = self._wake, self._context
        if wake is None or context is None:
            return
        self._wake = None
        if PendingReply.direct and current_task(self._loop) is None:
            try:
                context.run(wake, self)
            except RuntimeError:  # what the task itself raises does not come here
                _do_without("a task of asyncio cannot be continued at once")
            else:
                return
        # Another task brought the reply, and two cannot run at once; or asyncio does not let us.
        self._loop.call_soon(wake, self, context=context)

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


def _do_without(why: str) -> None:
    """From now on let asyncio wait for its own futures: calls take longer, and all else is the same. Said once."""
    if PendingReply.direct:
        PendingReply.direct = False
        import warnings

        text = f"{why} in this version of Python: mcp_conductor does without that, and calls take a little longer"
        warnings.warn(text, RuntimeWarning, stacklevel=2)


class Waiting:
    """The open requests of one session: the replies to come, by id."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.replies: dict[Id | None, PendingReply] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._look_at = math.inf  # when the timer is due
        self._pauses = 0

    def add(self, request: Message, seconds: float) -> PendingReply:
        """The reply to come; it fails with RequestTimeout after SECONDS without reply or progress."""
        deadline = monotonic() + seconds
        reply = self.replies[request.id] = PendingReply(self.loop, request, seconds, deadline)
        if deadline < self._look_at:
            self._watch(deadline)
        return reply

    def settle(self, exchange: Exchange) -> None:
        reply = self.replies.pop(exchange.request.id, None)
        if reply is not None:
            reply.settle(exchange)

    def extend(self, request: Message) -> None:
        """REQUEST makes progress: its time starts again."""
        reply = self.replies.get(request.id)
        if reply is not None:
            reply.deadline = monotonic() + reply.seconds

    def pause(self) -> None:
        """From now on no time passes: the server cannot answer before we have answered its question."""
        self._pauses += 1

    def resume(self) -> None:
        """The question is answered: the time of every request starts again."""
        self._pauses -= 1
        if self._pauses == 0 and self.replies:
            now = monotonic()
            for reply in self.replies.values():
                reply.deadline = now + reply.seconds
            if (first := min(reply.deadline for reply in self.replies.values())) < math.inf:
                self._watch(first)

    def forget(self, identity: Id) -> None:
        self.replies.pop(identity, None)

    def fail_all(self, error: Callable[[str], Exception]) -> None:
        """No request will be answered; ERROR makes the reason from the method."""
        replies, self.replies = self.replies, {}
        for reply in replies.values():
            reply.fail(error(reply.request.method))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _watch(self, deadline: float) -> None:
        """Look for overdue requests at DEADLINE. One timer serves all: most requests are answered long before."""
        self.stop()
        self._look_at = deadline
        self._timer = self.loop.call_later(deadline - monotonic(), self._expire)

    def _expire(self) -> None:
        self._timer, self._look_at = None, math.inf
        if self._pauses:
            return
        now = monotonic()
        for reply in list(self.replies.values()):
            if reply.deadline <= now:
                reply.fail(RequestTimeout(reply.request.method, reply.seconds))
            elif reply.deadline < self._look_at:
                self._watch(reply.deadline)
