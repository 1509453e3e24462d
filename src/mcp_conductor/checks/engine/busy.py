"""Whether this machine is too busy to blame a server for being late.

Nothing is asked of the system: how late our own timers are, and how long a server needs for what it answers at once,
tell the same on every platform, and tell it of this very moment.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

from mcp_conductor.checks.engine.evidence import Trail
from mcp_conductor.checks.engine.http_probe import eventually
from mcp_conductor.checks.engine.sessions import answered_since
from mcp_conductor.errors import ConductorError, RequestTimeout
from mcp_conductor.transport import meanwhile

if TYPE_CHECKING:
    from mcp_conductor.checks.engine.probe import Probe

BUSY_PART = 0.25  # of the time for an answer: who needs so much of it for nothing may need all of it for something
INCONCLUSIVE = "inconclusive"  # how the reason begins why something is left open
_BEAT_SECONDS = 0.02
_TRIES = 3
LATEST = 3  # times the time for an answer: how long we wait for one that is late


@dataclass(slots=True)
class Pulse:
    """How late our own timers were at worst."""

    worst: float = 0.0


@asynccontextmanager
async def pulse() -> AsyncIterator[Pulse]:
    """Measure, while what follows goes on, how late this program itself is."""
    measured = Pulse()

    async def beat() -> None:
        while True:
            began = perf_counter()
            await asyncio.sleep(_BEAT_SECONDS)
            measured.worst = max(measured.worst, perf_counter() - began - _BEAT_SECONDS)

    async with meanwhile(beat()):
        yield measured


async def slow(probe: "Probe") -> bool:
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
