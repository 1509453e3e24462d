"""The servers of a settings file, served as one, as `conductor bridge` was asked to."""

import asyncio

from mcp_conductor.bridge import Bridge
from mcp_conductor.bridge.facade import Facade, PendingEvents
from mcp_conductor.cli.interruptible import serve_until_cancelled
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.text.error_lines import cause
from mcp_conductor.text.visible import one_line

_START_SECONDS = 5.0  # then we serve the servers that are ready, and announce the others later
_CALL_SECONDS = 600.0  # our caller has its own deadline


async def serve_bridge(
    file: str, transport: TransportConfig, separator: str, budgets: Budgets, terminal: Terminal
) -> int:
    """Serve until we are told to stop: the exit code."""
    events = PendingEvents()
    bridge = Bridge(file, timeout=_CALL_SECONDS, start_timeout=_START_SECONDS, on_event=events.put, budgets=budgets)
    terminal.learn(bridge.secrets())
    async with bridge:
        facade = Facade(bridge, transport, separator, terminal.say)
        await facade.refresh()
        for name, health in bridge.health().items():
            if health.last_error is not None:
                error = health.last_error
                hint = f"\n  hint: {one_line(error.hint)}" if error.hint else ""
                terminal.say(f"{name}: {health.state}: {_error_line(error)}{hint}")
            elif health.state != "up":
                terminal.say(f"{name}: {health.state}: no answer within {_START_SECONDS:g} s")
        following = asyncio.create_task(_follow(events, facade, terminal))
        try:
            return await serve_until_cancelled(lambda stop: _host(facade, transport, stop, terminal))
        finally:
            following.cancel()


def _error_line(error: ConductorError) -> str:
    """ERROR on one line, so that no server can imitate a line of ours; with the cause from its stderr."""
    why = cause(error.stderr)
    return one_line(error.message + (f" ({why.strip()})" if why else ""))


async def _follow(events: PendingEvents, facade: Facade, terminal: Terminal) -> None:
    """Pass on what happens to the servers: to our clients, and as one line each to stderr."""
    while True:
        event = await events.get()
        if event.kind in ("connected", "lost", "down"):
            terminal.say(f"{event.server}: {event.kind}" + (f": {_error_line(event.error)}" if event.error else ""))
        await facade.take(event)


async def _host(facade: Facade, transport: TransportConfig, stop: asyncio.Event, terminal: Terminal) -> int:
    if transport.type == "stdio":
        from mcp_conductor.server.stdio_host import serve_stdio

        return await serve_stdio(facade.server, stop)
    from mcp_conductor.server.http.serving import serve_http

    return await serve_http(facade.server, transport, stop, lambda url: terminal.say(f"Bridge listening at {url}"))
