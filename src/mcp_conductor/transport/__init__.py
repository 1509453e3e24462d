"""How bytes move: one small contract that every transport keeps, and the way to open one.

A transport knows nothing of ids, eras or methods. It hands over whole messages, tells what the server wrote to stderr,
and says once why the server is gone.
"""

import asyncio
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from mcp_conductor.errors import TransportError
from mcp_conductor.protocol import Id
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.server_spec import ServerSpec, StdioSpec


class Listener(Protocol):
    """Who is told what a transport hears. Called from the event loop, in the order of arrival; never blocks."""

    def heard(self, message: Message) -> None: ...

    def muttered(self, line: str) -> None:
        """A line on the server's stderr."""

    def gone(self, why: str) -> None:
        """The server can say nothing more; told at most once, and not when we closed the connection ourselves."""


class Transport(Protocol):
    """A way to one server."""

    def send(self, message: Message) -> None:
        """Hand MESSAGE over; never waits. If it cannot be delivered, the listener hears that the server is gone."""

    def abandon(self, request_id: Id) -> None:
        """Nobody waits for this request any longer; where the transport has a stream for it, close it."""

    def unsent(self) -> int:
        """How many bytes the server has not taken yet."""


def open_transport(spec: ServerSpec, listener: Listener) -> AbstractAsyncContextManager[Transport]:
    """Start or reach the server; leaving the context ends the connection, and the process if there is one."""
    if isinstance(spec, StdioSpec):
        from mcp_conductor.transport.stdio import open_stdio

        return open_stdio(spec, listener)
    raise TransportError(
        f"cannot reach {spec.url}: servers at a URL are not supported yet",
        hint="this version speaks stdio; give the server's command instead",
    )


async def finish(cleanup: Coroutine[object, object, None]) -> None:
    """Run CLEANUP to its end even if we are cancelled meanwhile, once or often; then be cancelled."""
    task = asyncio.ensure_future(cleanup)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            cancelled = error
    task.result()
    if cancelled is not None:
        raise cancelled
