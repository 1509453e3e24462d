"""The servers of a settings file, served as one, as `conductor bridge` was asked to."""

import asyncio
import os
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from mcp_conductor.bridge.facade import Facade
from mcp_conductor.bridge.plan import BridgeOptions, Plan
from mcp_conductor.bridge.settings import filters_in, options_in
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import read_secrets
from mcp_conductor.cli.flags.shared import (
    budgets_of,
    load_named_plugins,
    load_plugins_of_file,
    named_file,
    served_transport,
)
from mcp_conductor.cli.flags.values import time
from mcp_conductor.cli.output.terminal import Terminal, hold_standard_streams
from mcp_conductor.cli.process.interruptible import run_interruptibly, serve_until_cancelled
from mcp_conductor.errors import ConductorError
from mcp_conductor.files.settings_file import SettingsFile
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.text.error_lines import cause
from mcp_conductor.text.visible import one_line

if TYPE_CHECKING:
    from mcp_conductor.recording.writer import RecordingWriter


_PORT = 3000
_DRAIN_SECONDS = 1.0  # for open requests once stdin has ended: hosts wait two seconds before they kill us


def run(given: Given, terminal: Terminal) -> int:
    """Serve until we are told to stop: the exit code."""
    given = read_secrets(given, terminal)
    file = named_file(given, "settings", "conductor bridge FILE, a file with mcpServers")
    transport = served_transport(given, _PORT)
    load_named_plugins(given, terminal)
    load_plugins_of_file(file, terminal)
    options = {
        "separator": given.one("--separator"),
        "sessions": given.one("--sessions"),
        "wait": True if "--wait" in given else None,
        "start_timeout": time(given, "--start-timeout"),
        "budgets": budgets_of(given),
    }
    hold_standard_streams()
    work = _serve_bridge(os.path.expanduser(file), transport, options, terminal, given.one("--record"))
    return run_interruptibly(work)


async def _serve_bridge(
    file: str, transport: TransportConfig, given: Json, terminal: Terminal, recording: str | None
) -> int:
    """Serve until we are told to stop: the exit code. What is GIVEN goes before what the file says."""
    settings = SettingsFile(file, here=os.getcwd(), environ=os.environ)
    specs, options = settings.servers(), options_in(settings, given)
    terminal.learn(
        [secret for spec in specs.values() if not isinstance(spec, ConductorError) for secret in spec.secrets()]
    )
    with _recording(recording, terminal, transport) as writer:
        return await _serve(specs, options, settings, transport, terminal, writer)


@contextmanager
def _recording(file: str | None, terminal: Terminal, transport: TransportConfig) -> "Iterator[RecordingWriter | None]":
    if file is None:
        yield None
        return
    from mcp_conductor.cli.output.server_display import begin_recording

    with closing(begin_recording(file, terminal, "conductor-bridge", transport)) as writer:
        yield writer


async def _serve(
    specs: Mapping[str, ServerSpec | ConductorError],
    options: BridgeOptions,
    settings: SettingsFile,
    transport: TransportConfig,
    terminal: Terminal,
    writer: "RecordingWriter | None",
) -> int:
    plan = Plan(
        specs,
        options,
        filters=filters_in(settings),
        one_client=transport.type == "stdio",
        complain=terminal.say,
        report=lambda *event: terminal.say(_event_line(*event)),
        recording=writer,
    )
    facade = Facade(plan, transport)
    if writer is not None:
        from mcp_conductor.cli.output.server_display import recorder, watch

        watch(facade, [recorder(writer, transport)])
    try:
        return await serve_until_cancelled(lambda stop: _host(facade, transport, stop, terminal))
    finally:
        await facade.close()


def _event_line(server: str, what: str, error: ConductorError | None) -> str:
    """What has become of a server, on one line, so that no server can imitate a line of ours."""
    if error is None:
        return f"{server}: {what}"
    why = cause(error.stderr)
    hint = f"\n  hint: {one_line(error.hint)}" if error.hint else ""
    return f"{server}: {what}: {one_line(error.message + (f' ({why.strip()})' if why else ''))}{hint}"


async def _host(facade: Facade, transport: TransportConfig, stop: asyncio.Event, terminal: Terminal) -> int:
    if transport.type == "stdio":
        from mcp_conductor.server.stdio_host import serve_stdio

        return await serve_stdio(facade, stop, terminal.say, drain_seconds=_DRAIN_SECONDS)
    from mcp_conductor.server.http.serving import serve_http

    return await serve_http(facade, transport, stop, lambda url: terminal.announce(f"Bridge listening at {url}", url))
