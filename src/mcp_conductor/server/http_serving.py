"""A listening socket with uvicorn behind it, which starts, says where it is, and stops when it is told to."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from mcp_conductor.errors import UsageError
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.http_host import HttpHost
from mcp_conductor.server.server import Server

_GRACE_SECONDS = 1
_BACKLOG = 2048
_KEEP_ALIVE_SECONDS = 60


async def serve_http(
    server: Server, transport: TransportConfig, stop: asyncio.Event, started: Callable[[str], None]
) -> int:
    """Serve until STOP is set: the exit code. STARTED is told the URL."""
    import uvicorn

    class Uvicorn(uvicorn.Server):
        @contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield  # signals are the program's business

    # What it would log is either said by us, or done on purpose.
    logging.getLogger("uvicorn.error").disabled = True
    listener = _listen(transport)
    host = HttpHost(server, transport)
    config = uvicorn.Config(
        host,
        lifespan="off",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
    )
    running = Uvicorn(config)
    serving = asyncio.create_task(running.serve(sockets=[listener]))
    stopping = asyncio.create_task(stop.wait())
    try:
        # The socket listens already: whoever connects now is served as soon as uvicorn has started.
        started(_url(transport, listener.getsockname()[1]))
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
        host.stop()
        running.should_exit = True
        await serving
    finally:
        stopping.cancel()
        with suppress(OSError):
            listener.close()
    return 0


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
