"""A server at an address, until it is told to stop."""

import asyncio
import errno
import socket
from collections.abc import Callable
from contextlib import closing

from mcp_conductor.errors import UsageError
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.http.accepting import BACKLOG, accepting
from mcp_conductor.server.http.admission import Admission
from mcp_conductor.server.http.host import HttpHost
from mcp_conductor.server.http.limits import LIMITS, Limits
from mcp_conductor.server.server import Server

GRACE_SECONDS = 1


async def serve_http(
    server: Server,
    transport: TransportConfig,
    stop: asyncio.Event,
    started: Callable[[str], None],
    *,
    limits: Limits = LIMITS,
    listener: socket.socket | None = None,
) -> int:
    """Serve until STOP is set: the exit code. STARTED is told the URL. A LISTENER that is given stays open."""
    with closing(listen(transport) if listener is None else listener.dup()) as own:
        address, port = own.getsockname()[:2]
        admission = Admission(
            transport.host, address, transport.allowed_hosts, transport.allowed_origins, transport.token
        )
        host = HttpHost(server, transport, admission, limits)
        async with accepting(own, host.serve, limits=limits, grace=GRACE_SECONDS):
            try:
                started(url_of(transport, port))
                await stop.wait()
            finally:
                host.stop()
    return 0


def listen(transport: TransportConfig) -> socket.socket:
    """A socket at the address of TRANSPORT, where connections wait from now on. Raises UsageError."""
    host = transport.host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol must be named: asyncio sets TCP_NODELAY only where it is, and without it every answer waits 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, transport.port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        reason = error.strerror if not isinstance(error, socket.gaierror) else "there is no such host"
        by_port = error.errno in (errno.EADDRINUSE, errno.EACCES)
        hint = "choose another port with --port; 0 takes any that is free"
        where = f"{transport.host}:{transport.port}" if transport.port else transport.host
        raise UsageError(
            f"cannot listen on {where}: {reason}",
            hint=hint if by_port else "choose an address of this machine with --host, such as 127.0.0.1",
        ) from error
    listener.setblocking(False)
    return listener


def url_of(transport: TransportConfig, port: int) -> str:
    """Where clients reach what listens as TRANSPORT says, at PORT."""
    host = f"[{transport.host}]" if ":" in transport.host.strip("[]") else transport.host
    return f"http://{host}:{port}{transport.path}"
