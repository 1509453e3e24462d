"""A listening socket, and the connections that come in there, until the server is told to stop."""

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import closing

from mcp_conductor.errors import UsageError
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.http_connection import Connection
from mcp_conductor.server.http_host import HttpHost
from mcp_conductor.server.server import Server

_GRACE_SECONDS = 1
_BACKLOG = 2048
_IDLE_SECONDS = 60


async def serve_http(
    server: Server, transport: TransportConfig, stop: asyncio.Event, started: Callable[[str], None]
) -> int:
    """Serve until STOP is set: the exit code. STARTED is told the URL."""
    host = HttpHost(server, transport)
    live: set[Connection] = set()
    listener = _listen(transport)
    with closing(listener):
        loop = asyncio.get_running_loop()
        serving = await loop.create_server(lambda: Connection(host.serve, live), sock=listener, backlog=_BACKLOG)
        tidying = asyncio.create_task(_tidy(live))
        try:
            started(_url(transport, listener.getsockname()[1]))
            await stop.wait()
        finally:
            tidying.cancel()
            serving.close()
            host.stop()
            await _close(live)
    return 0


async def _tidy(live: set[Connection]) -> None:
    """Close connections that nobody uses."""
    loop = asyncio.get_running_loop()
    while True:
        await asyncio.sleep(_IDLE_SECONDS / 4)
        for connection in tuple(live):
            if connection.idle_since is not None and loop.time() - connection.idle_since > _IDLE_SECONDS:
                connection.close()


async def _close(live: set[Connection]) -> None:
    """Close all connections; those that are in the middle of an answer may finish it, if that does not take long."""
    for connection in tuple(live):
        connection.stop()
    if live:
        await asyncio.wait([connection.gone for connection in live], timeout=_GRACE_SECONDS)
    for connection in tuple(live):
        connection.abort()


def _listen(transport: TransportConfig) -> socket.socket:
    host = transport.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol must be named: asyncio sets TCP_NODELAY only where it is, and without it every answer waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, transport.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror if not isinstance(error, socket.gaierror) else "there is no such host"
        by_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "choose another port with --port; 0 takes any that is free"
        raise UsageError(
            f"cannot listen on {transport.host}:{transport.port}: {reason}",
            hint=hint if by_port else "choose an address of this machine with --host, such as 127.0.0.1",
        ) from error
    listener.setblocking(False)
    return listener


def _url(transport: TransportConfig, port: int) -> str:
    host = f"[{transport.host}]" if ":" in transport.host.strip("[]") else transport.host
    return f"http://{host}:{port}{transport.path}"
