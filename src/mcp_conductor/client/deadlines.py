"""Which replies are waited for, and until when. Progress moves a deadline; every wait ends."""

import asyncio
import math
from collections.abc import Callable
from time import monotonic

from mcp_conductor.bounded.direct import DirectFuture
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message


class PendingReply(DirectFuture[Exchange]):
    """A reply to come, to be awaited by one task, which continues as soon as it is there."""

    def __init__(self, loop: asyncio.AbstractEventLoop, request: Message, seconds: float, deadline: float) -> None:
        self._loop = loop
        self.request = request
        self.seconds = seconds
        self.deadline = deadline


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
