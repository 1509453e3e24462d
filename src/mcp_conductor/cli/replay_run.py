"""A recording, read and served, as `conductor replay` was asked to."""

import asyncio
import os
from functools import reduce

from mcp_conductor.cli.flag_values import number
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.interruptible import serve_until_cancelled
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.recording.reader import Recording, read_recording
from mcp_conductor.replaying.matching import Pool
from mcp_conductor.replaying.recorded_calls import calls_of_sessions
from mcp_conductor.replaying.replay_server import ReplayServer
from mcp_conductor.replaying.request_keys import Forget
from mcp_conductor.server.config import TransportConfig


def read_pool(file: str, given: Given, terminal: Terminal) -> Pool:
    """All that FILE has to play; what a person should know of it is told."""
    recording = read_recording(os.path.join(terminal.directory, os.path.expanduser(file)), shown=file)
    if recording.warning is not None:
        terminal.say(f"warning: {recording.warning}")
    pool = Pool(calls_of_sessions(recording.entries, _session(recording, given)), _forget(given))
    if not pool.answers:
        raise UsageError(f"{file} has no request with an answer, so that there is nothing to play")
    if pool.redacted_answers:
        answers = f"{pool.redacted_answers} answers" if pool.redacted_answers > 1 else "1 answer"
        terminal.say(f"warning: {answers} in {file} had secrets, and will say [redacted] in their place")
    return pool


def _session(recording: Recording, given: Given) -> int | None:
    known, wanted = recording.sessions(), number(given, "--session", 1)
    if wanted is not None and wanted not in known:
        raise UsageError(f"the recording has no session {wanted}", hint=f"it has: {', '.join(map(str, known))}")
    return wanted


def _forget(given: Given) -> Forget | None:
    """What leaves out of a request what --ignore names."""
    if "--ignore" not in given:
        return None
    from mcp_conductor.suites.verifying.alignment import without
    from mcp_conductor.suites.verifying.verification import read_ignored

    paths = read_ignored(given.all("--ignore"))
    return lambda request: reduce(without, paths, request)


async def serve_replay(
    pool: Pool, transport: TransportConfig, terminal: Terminal, file: str, *, real_time: bool
) -> int:
    """Serve until we are told to stop, or stdin ends: the exit code."""
    server = ReplayServer(pool, transport, real_time=real_time, complain=terminal.say)
    try:
        return await serve_until_cancelled(lambda stop: _host(server, transport, stop, terminal, file))
    finally:
        if server.missed:
            requests = "1 request was" if server.missed == 1 else f"{server.missed} requests were"
            terminal.say(f"{requests} not in the recording")


async def _host(
    server: ReplayServer, transport: TransportConfig, stop: asyncio.Event, terminal: Terminal, file: str
) -> int:
    if transport.type == "stdio":
        from mcp_conductor.server.stdio_host import serve_stdio

        return await serve_stdio(server, stop)
    from mcp_conductor.server.http.serving import serve_http

    return await serve_http(server, transport, stop, lambda url: terminal.say(f"Replaying {file} at {url}"))
