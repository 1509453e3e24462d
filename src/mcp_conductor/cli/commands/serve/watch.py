"""`conductor serve --watch`: the server is as its file is now. A change is a new start at the same address.

What clients have of the old server, its sessions among them, ends with it: they would hold on to definitions that are
gone. A file with a mistake changes nothing; the server goes on as it was.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine
from contextlib import suppress
from socket import socket
from typing import Any, NamedTuple

from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import ConductorError, UsageError
from mcp_conductor.plugins import forget, loaded_files
from mcp_conductor.server.config import ServerConfig
from mcp_conductor.server.http.serving import listen

_LOOK_SECONDS = 0.2

Serve = Callable[[ServerConfig, socket, asyncio.Event], Coroutine[Any, Any, int]]
Stamps = dict[str, tuple[int, int]]


class Files:
    """The files that a server is made from: FILE itself, and the plugins that are files."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._plugins = set(loaded_files())
        self._seen = self._stamps()

    async def changed(self) -> None:
        """Wait until a file has changed, is there, and stays as it is for a moment: editors write in several steps."""
        before = self._seen
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            now = self._stamps()
            if self._file in now and now == before and now != self._seen:
                break
            before = now
        for plugin in self._plugins:
            if now.get(plugin) != self._seen.get(plugin):
                forget(plugin)
        self._seen = now

    def note_plugins(self) -> None:
        """More plugins may have been loaded."""
        new = set(loaded_files()) - self._plugins
        self._plugins |= new
        self._seen |= {file: stamp for file, stamp in self._stamps().items() if file in new}

    def _stamps(self) -> Stamps:
        found: Stamps = {}
        for file in (self._file, *self._plugins):
            with suppress(OSError):
                status = os.stat(file)
                found[file] = (status.st_mtime_ns, status.st_size)
        return found


class _Served(NamedTuple):
    config: ServerConfig
    listener: socket


def refuse_stdio(config: ServerConfig) -> None:
    """A server on stdio belongs to the client that has started it, which cannot be told of a new start."""
    if config.transport.type == "stdio":
        hint = "--transport streamable-http; or let the client start the server again"
        raise UsageError("--watch is for servers over HTTP", hint=hint)


async def serve_and_watch(
    first: ServerConfig,
    load: Callable[[], ServerConfig],
    serve: Serve,
    file: str,
    terminal: Terminal,
    stop: asyncio.Event,
) -> int:
    """SERVE what FIRST says, and what LOAD says after each change of FILE, until STOP is set: the exit code."""
    files = Files(file)
    served = _Served(first, listen(first.transport))
    stopping = asyncio.ensure_future(stop.wait())
    try:
        while True:
            ended = asyncio.Event()
            serving = asyncio.ensure_future(serve(served.config, served.listener, ended))
            changing = asyncio.ensure_future(_next(served, load, files, terminal))
            await asyncio.wait({serving, changing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            goes_on = changing.done() and not serving.done() and not stop.is_set()
            changing.cancel()
            ended.set()
            code = await serving
            if not goes_on:
                return code
            following = changing.result()
            terminal.say(f"{file} has changed: it is served as it is now")
            if following.listener is not served.listener:
                served.listener.close()
            served = following
    finally:
        stopping.cancel()
        served.listener.close()


async def _next(served: _Served, load: Callable[[], ServerConfig], files: Files, terminal: Terminal) -> _Served:
    """What is to be served after the next change that can be served."""
    while True:
        await files.changed()
        try:
            config = load()
            refuse_stdio(config)
            old, new = served.config.transport, config.transport
            same = old.host == new.host and new.port in (old.port, served.listener.getsockname()[1])
            return _Served(config, served.listener if same else listen(new))
        except ConductorError as error:
            terminal.say_error(error)
            terminal.say("  the server goes on as it was")
        finally:
            files.note_plugins()
