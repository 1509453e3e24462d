"""Subscriptions of 2026-07-28: requests that stay open as long as the server tells of changes."""

import asyncio
from typing import Any

from mcp_conductor.protocol import Id
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message


class Subscriptions:
    """The subscriptions of one session."""

    def __init__(self) -> None:
        self._acknowledgements: dict[Id, asyncio.Future[Message]] = {}
        self._ends: list[asyncio.Task[Exchange]] = []

    async def acknowledgement(self, identity: Id, end: "asyncio.Task[Exchange]", seconds: float) -> Message | None:
        """The acknowledgement of the subscription that END waits for; None if it does not come in time."""
        self._ends.append(end)
        acknowledged: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._acknowledgements[identity] = acknowledged
        both: list[asyncio.Future[Any]] = [acknowledged, end]
        await asyncio.wait(both, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return acknowledged.result() if acknowledged.done() else None

    def heard(self, acknowledgement: Message) -> None:
        meta = acknowledgement.params.get("_meta")
        identity = meta.get(f"{META}subscriptionId") if isinstance(meta, dict) else None
        acknowledged = self._acknowledgements.pop(identity, None) if isinstance(identity, int) else None
        if acknowledged is not None and not acknowledged.done():
            acknowledged.set_result(acknowledgement)

    def close(self) -> None:
        for end in self._ends:
            end.cancel()
