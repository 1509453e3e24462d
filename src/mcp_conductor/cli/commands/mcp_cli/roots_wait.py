"""`--roots`: when a server that asks for our roots at the opening has them, so that the method can be sent.

Nothing in the protocol says when a server has taken the roots that it asked for: server-filesystem looks at the file
system first, some 20 ms after our answer. So after the last answer there is a short quiet time. How long the question
took shows how busy the machine is, and the quiet time grows with it. In the modern era questions come in place of
results, and there is nothing to wait for.
"""

import asyncio
from time import monotonic

from mcp_conductor.protocol.answers import Incoming

ASK_SECONDS = 1.0  # for the question; a server may never ask, or ask later
SHORTEST_QUIET = 0.15  # seconds after our last answer
LONGEST_QUIET = 1.0
_QUIET_FACTOR = 3  # times as long as the question took


class RootsWait:
    """The questions for roots of one conversation in the handshake era."""

    def __init__(self) -> None:
        self._answered = asyncio.Event()

    def take(self, incoming: Incoming) -> None:
        """Look at what the server said, after it was answered."""
        if incoming.answer is not None and incoming.message.method == "roots/list":
            self._answered.set()

    async def until_taken(self) -> None:
        """Wait until the server should have our roots, or does not ask for them."""
        began = monotonic()
        if not await self._asked_within(ASK_SECONDS):
            return
        quiet = min(max(SHORTEST_QUIET, (monotonic() - began) * _QUIET_FACTOR), LONGEST_QUIET)
        end = monotonic() + ASK_SECONDS + LONGEST_QUIET  # a server may ask without end
        while monotonic() < end and await self._asked_within(quiet):
            pass

    async def _asked_within(self, seconds: float) -> bool:
        """Whether a question was answered within SECONDS, or before, since we last looked."""
        try:
            async with asyncio.timeout(seconds):
                await self._answered.wait()
        except TimeoutError:
            return False
        self._answered.clear()
        return True
