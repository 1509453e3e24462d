"""Long work in slices: the event loop runs between them, so that timers, signals and other tasks get their turn."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Protocol

TURN_SECONDS = 0.05  # how long a slice may take
_READ_BYTES = 1 << 16  # at once


def read_in_pieces(transport: asyncio.BaseTransport) -> None:
    """Let asyncio read 64 KB at once, and not 256 KB: it makes room for all of that each time.

    The system gives and takes so large a room each time, or does not, as it happens: up to a third of the time
    of a call. Where a transport has no such setting, as other event loops have none, nothing changes.
    """
    with suppress(AttributeError):
        transport.max_size = _READ_BYTES  # type: ignore[attr-defined]


class Busy(Protocol):
    """An object that may need many turns of the event loop for its work."""

    @property
    def busy(self) -> bool: ...


class Pace:
    """For a task that may find so much to do that it never waits for anything."""

    def __init__(self, listener: Busy | None = None) -> None:
        self._listener = listener
        self._until = monotonic() + TURN_SECONDS

    async def keep(self) -> None:
        """Let the loop turn, if this slice has taken long enough, or while the listener is busy with what it heard."""
        while self._listener is not None and self._listener.busy:  # noqa: ASYNC110  # it is, for some turns at most
            await asyncio.sleep(0)
        if monotonic() > self._until:
            await asyncio.sleep(0)
            self._until = monotonic() + TURN_SECONDS


class Intake:
    """Work that is done in the order in which it came, at once as far as there is time for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, tell: Callable[[bool], None]) -> None:
        self._loop = loop
        self._tell = tell  # hears when there is work left, and when there is none
        self._left: deque[Iterator[object]] = deque()
        self._busy = False

    def take(self, steps: Iterator[object]) -> None:
        """Do STEPS when everything that came before is done."""
        self._left.append(steps)
        if not self._busy:
            self._set_busy(True)
            self._go_on()

    def then(self, step: Callable[[], object]) -> None:
        """Do STEP when everything that came before is done: now, if nothing is left."""
        if self._busy:
            self.take(step() for _ in (0,))
        else:
            step()

    def forget(self) -> None:
        """Drop all work that is left."""
        self._left.clear()

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        self._tell(busy)

    def _go_on(self) -> None:
        until = monotonic() + TURN_SECONDS
        try:
            while self._left:
                for _ in self._left[0]:
                    if monotonic() > until:
                        self._loop.call_soon(self._go_on)
                        return
                if self._left:
                    self._left.popleft()
            self._set_busy(False)
        except BaseException:
            if self._left:
                self._left.popleft()
            self._loop.call_soon(self._go_on)
            raise
