"""Whether this machine is too busy to blame a server for being late.

Nothing is asked of the system: how late our own timers are, and how long a server needs for what it answers at once,
tell the same on every platform, and tell it of this very moment.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from mcp_conductor.checks.engine.evidence import Trail
from mcp_conductor.checks.engine.sessions import LATEST, answered_since
from mcp_conductor.checks.engine.unanswered import BUSY_PART
from mcp_conductor.errors import ConductorError, RequestTimeout
from mcp_conductor.transport import meanwhile
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.checks.engine.probe import Probe

INCONCLUSIVE = "inconclusive"  # how the reason begins why something is left open
_BEAT_SECONDS = 0.02
_TRIES = 3


_LOOKS_AT_MOST = 40


@dataclass(slots=True)
class TimerLag:
    """How late our own timers were at worst."""

    worst: float = 0.0


@asynccontextmanager
async def timer_lag() -> AsyncIterator[TimerLag]:
    """Measure, while what follows goes on, how late this program itself is."""
    measured = TimerLag()

    async def beat() -> None:
        while True:
            began = perf_counter()
            await asyncio.sleep(_BEAT_SECONDS)
            measured.worst = max(measured.worst, perf_counter() - began - _BEAT_SECONDS)

    async with meanwhile(beat()):
        yield measured


async def is_slow(probe: "Probe") -> bool:
    """Whether the server needs long for what it does at once on an idle machine. One that says nothing is not slow."""
    for _ in range(_TRIES):
        began = perf_counter()
        mark = probe.session.transcript.mark
        try:
            await probe.ask(probe.harmless)
        except RequestTimeout:
            # Answers that come after all are late, not missing.
            came = partial(answered_since, probe.session, mark)
            return await eventually(came, LATEST * probe.timeout, Trail())
        except ConductorError:
            return False
        if perf_counter() - began > BUSY_PART * probe.timeout:
            return True
    return False


async def eventually(true: Callable[[], bool], seconds: float, trail: Trail) -> bool:
    """Whether something becomes TRUE within SECONDS."""
    for _ in range(_LOOKS_AT_MOST):
        if true():
            return True
        await asyncio.sleep(seconds / _LOOKS_AT_MOST)
    if true():
        return True
    trail.late.append("what was waited for")
    return False
