"""`conductor record URL` and `conductor proxy URL`: a local address that stands for the server at a URL."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.values import number
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.interruptible import serve_until_cancelled
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import HttpSpec, origin
from mcp_conductor.proxy.http_proxy import HttpProxy
from mcp_conductor.recording.http_sessions import HttpSessions
from mcp_conductor.recording.writer import RecordingWriter
from mcp_conductor.server.config import DEFAULT_HOST, TransportConfig
from mcp_conductor.server.http.accepting import accepting
from mcp_conductor.server.http.admission import Admission, is_loopback
from mcp_conductor.server.http.serving import GRACE_SECONDS, listen, url_of
from mcp_conductor.transport import Authorize

if TYPE_CHECKING:
    from mcp_conductor.proxy.spoiling import Spoiling


async def pass_to_url(
    spec: HttpSpec,
    given: Given,
    terminal: Terminal,
    begin: Callable[[], RecordingWriter],
    spoiling: "Spoiling | None" = None,
    *,
    title: str = "Proxy",
) -> int:
    """Pass on what comes to an address of ours until we are told to stop: the exit code. BEGIN begins the recording."""
    transport = TransportConfig(
        type="streamable-http",
        host=given.one("--host") or DEFAULT_HOST,
        port=number(given, "--port", 0, 65535) or 0,
        allowed_hosts=tuple(given.all("--allow-host")),
    )
    _insist_on_another(spec, transport)
    with closing(listen(transport)) as listener, closing(begin()) as writer:
        address, port = listener.getsockname()[:2]
        admission = Admission(transport.host, address, transport.allowed_hosts)
        authorize: Authorize | None = None
        if "--oauth" in given:
            from mcp_conductor.cli.commands.mcp_cli.oauth import authorization

            authorize = partial(authorization, spec, given, terminal)
        kind: Callable[..., HttpProxy] = HttpProxy
        if spoiling is not None:
            from mcp_conductor.proxy.faulty_http import FaultyHttpProxy

            kind = partial(FaultyHttpProxy, spoiling=spoiling)
        proxy = kind(spec, HttpSessions(writer), admission, authorize=authorize, complain=terminal.say)
        where = url_of(transport, port).removesuffix(transport.path) + proxy.path

        async def serve(stop: asyncio.Event) -> int:
            try:
                async with accepting(listener, proxy.serve, grace=GRACE_SECONDS, direct=True):
                    terminal.announce(f"{title} at {where}, which stands for {spec.url}", where)
                    await stop.wait()
                    proxy.stop()
            finally:
                await proxy.aclose()
                for line in [] if spoiling is None else spoiling.report():
                    terminal.say(line)
            return 0

        return await serve_until_cancelled(serve)


def _insist_on_another(spec: HttpSpec, transport: TransportConfig) -> None:
    """Raise if the URL of SPEC is the address that we are to listen on."""
    _, host, port = origin(spec.url)
    is_ours = host == transport.host.strip("[]") or (is_loopback(host) and is_loopback(transport.host))
    if port == transport.port and is_ours:
        raise UsageError(
            f"{spec.url} is the address to listen on: requests would come back",
            hint="choose another port with --port; without it, any that is free is taken",
        )
