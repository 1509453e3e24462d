"""The connections that come in at a listening socket: how many there may be, and how long each may take."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_conductor import posix
from mcp_conductor.server.http.connection import Connection, Connections, Handler
from mcp_conductor.server.http.limits import LIMITS, Limits

BACKLOG = 2048
_OTHER_FILES = 64  # that the process has open, or will


@asynccontextmanager
async def accepting(
    listener: socket.socket, handle: Handler, *, limits: Limits = LIMITS, grace: float, direct: bool = False
) -> AsyncIterator[None]:
    """Serve what comes in at LISTENER while the context lasts; then each connection has GRACE seconds to end.

    DIRECT: HANDLE needs no task (`DirectTask`).
    """
    most = min(limits.connections, _most_connections())
    every = Connections(handle, limits._replace(connections=most), direct)
    serving = await asyncio.get_running_loop().create_server(lambda: Connection(every), sock=listener, backlog=BACKLOG)
    looking = asyncio.create_task(_look_after(every))
    try:
        yield
    finally:
        looking.cancel()
        serving.close()
        await _close(every.live, grace)


def _most_connections() -> int:
    """As many as the process may open; each of those that are refused needs a file for a moment, too."""
    files = posix.most_open_files()
    return LIMITS.connections if files is None else max(1, (files - _OTHER_FILES) // 2)


async def _look_after(every: Connections) -> None:
    limits = every.limits
    shortest = min(limits.idle_seconds, limits.head_seconds, limits.body_seconds, limits.unread_seconds)
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(min(1.0, shortest / 4))
        for connection in tuple(every.live):
            connection.look_after(loop.time())


async def _close(live: set[Connection], grace: float) -> None:
    """Close all connections; those that are in the middle of an answer may finish it, if that does not take long."""
    if grace:
        for connection in tuple(live):
            connection.stop()
    if live and grace:
        await asyncio.wait([connection.gone for connection in live], timeout=grace)
    for connection in tuple(live):
        connection.abort()
