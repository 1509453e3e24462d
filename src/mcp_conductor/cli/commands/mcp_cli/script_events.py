"""What a script can wait for: the events of the conversation, and answers to what it does in the background."""

import asyncio
from collections import Counter, deque
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.suites.matching.differences import same

MOST_EVENTS = 1000  # that are kept until a script waits for them


class ScriptEvents:
    """Events in the order in which they came; each is given away once, to the first who waits for such an event."""

    def __init__(self, budget: int) -> None:
        self._events: deque[tuple[int, Json]] = deque()  # with their sizes, in bytes
        self._room = budget
        self._came: Counter[str] = Counter()  # since something was last found
        self._more = asyncio.Event()

    def add(self, event: Json, size: int) -> None:
        """Keep EVENT; the oldest are forgotten where there is no room."""
        self._events.append((size, event))
        self._room -= size
        while len(self._events) > 1 and (self._room < 0 or len(self._events) > MOST_EVENTS):
            self._room += self._events.popleft()[0]
        self._came[str(event.get("event", "answer"))] += 1
        self._more.set()

    async def take(self, wanted: Any) -> Json:
        """The first event that is WANTED, one that has come already or one that comes later."""
        while True:
            for place, (size, event) in enumerate(self._events):
                if fits(event, wanted):
                    del self._events[place]
                    self._room += size
                    self._came.clear()
                    return event
            self._more.clear()
            await self._more.wait()

    def what_came(self) -> str:
        """What came in place of what is waited for."""
        if not self._came:
            return "no event came"
        return "there came " + ", ".join(f"{count} {kind}" for kind, count in self._came.items())


def fits(event: Json, wanted: Any) -> bool:
    """Whether EVENT is WANTED: its kind or its method, or some of its members."""
    if isinstance(wanted, str):
        return wanted == event.get("method" if "/" in wanted else "event")
    return _has(event, wanted)


def _has(value: Any, wanted: Any) -> bool:
    """Whether VALUE has all members that are WANTED, however deep."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        return all(key in value and _has(value[key], each) for key, each in wanted.items())
    return same(wanted, value)


def spelled(wanted: Any) -> str:
    """WANTED in a message."""
    return wanted if isinstance(wanted, str) else render(wanted)
