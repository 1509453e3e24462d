"""--timeout for a whole run: the event loop ends the work, or an alarm the program where the loop is not free."""

import asyncio
import time
from types import TracebackType
from typing import Self

from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.alarm import ALARM
from mcp_conductor.cli.process.exit_codes import TIMED_OUT
from mcp_conductor.cli.process.interruptible import CLEANUP_SECONDS, DEAF_SECONDS
from mcp_conductor.errors import TimeLimitReached


class TimeLimit:
    """`async with` raises TimeoutError after SECONDS, if there is a limit.

    What follows, such as reports, has the rest of the time and DEAF_SECONDS, or CLEANUP_SECONDS if the time is over;
    until `lift` is called, or the program ends.
    """

    def __init__(self, seconds: float | None, terminal: Terminal) -> None:
        self.seconds = seconds
        self._terminal = terminal
        self._timeout: asyncio.Timeout | None = None
        self._end = 0.0
        self._reached: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Self:
        self._timeout = asyncio.timeout(self.seconds)
        await self._timeout.__aenter__()
        if self.seconds is not None:
            self._end = time.monotonic() + self.seconds
            self._set_alarm(self.seconds + DEAF_SECONDS)
            self._reached = asyncio.get_running_loop().call_later(self.seconds, self._set_alarm, CLEANUP_SECONDS)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._timeout is not None
        timeout, self._timeout = self._timeout, None
        if self._reached is not None:
            self._reached.cancel()
            rest = self._end - time.monotonic()
            self._set_alarm(rest + DEAF_SECONDS if rest > 0 else CLEANUP_SECONDS)
        await timeout.__aexit__(kind, error, traceback)

    @property
    def expired(self) -> bool:
        """Whether the work was ended because the time was over."""
        return self._timeout is not None and self._timeout.expired()

    def lift(self) -> None:
        """No limit from now on."""
        if self._reached is not None:
            self._reached.cancel()
            self._reached = None
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(None)
        ALARM.clear()

    def _set_alarm(self, seconds: float) -> None:
        ALARM.set(seconds, TIMED_OUT, say=self._say)

    def _say(self) -> None:
        late = TimeLimitReached(
            f"not done within {self.seconds:g} s: this program was busy, or its output was not read",
            hint="--timeout TIME allows more",
        )
        self._terminal.say_if_there_is_room(self._terminal.error_text(late))
