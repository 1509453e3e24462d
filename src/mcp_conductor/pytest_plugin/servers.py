"""Which server a test means: that of an option, an ini value, a marker, the nearest settings file; or one made here."""

import inspect
import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.files.fields import Field
from mcp_conductor.files.settings_file import SETTINGS, SettingsFile, nearest_settings
from mcp_conductor.files.source import parse
from mcp_conductor.protocol.server_spec import HttpSpec, ServerSpec, StdioSpec, from_words
from mcp_conductor.pytest_plugin.hosting import HostedSession, Hosting, shown_error

_SERVE = (sys.executable, "-m", "mcp_conductor", "serve")
# A server on a socket ignores its stdin; this one ends with it, and so with the process that started it.
_WHILE_HELD = """
import os, signal, sys, threading
held = lambda: (sys.stdin.buffer.read(), os.kill(os.getpid(), signal.SIGTERM))
threading.Thread(target=held, daemon=True).start()
from mcp_conductor.cli import conductor
sys.exit(conductor())
"""
_SERVE_WHILE_HELD = (sys.executable, "-c", _WHILE_HELD, "serve")
_LISTENING = "listening at "


def setting(config: pytest.Config, name: str) -> str | None:
    """What the command line says, or else the ini file."""
    given = config.getoption(f"--conductor-{name}") or config.getini(f"conductor_{name}")
    return str(given) if given else None


def server_near(config: pytest.Config, path: Path, name: str | None = None, file: str | None = None) -> ServerSpec:
    """The server called NAME, or the one that is meant without a name, for tests at PATH."""
    command = setting(config, "command")
    if command and name is None and file is None:
        spec = from_words(_words(command))
        process = spec.as_process()
        if process is not None and not config.getoption("--conductor-command"):
            return replace(process, cwd=str(config.rootpath))
        return spec
    here = str(config.invocation_params.dir)
    settings = file or settings_near(config, path)
    if settings is None:
        raise UsageError(
            "no server is given: there is neither a settings file nor a command",
            hint=f"{SETTINGS} next to the tests or above them, --conductor-config FILE, or --conductor-command WORDS",
        )
    return read_settings(settings, here).server(name or setting(config, "server"))


def read_settings(path: str, here: str) -> SettingsFile:
    """The settings file at PATH, called as it is seen from HERE."""
    return SettingsFile(path, shown=os.path.relpath(path, here), here=here, environ=os.environ)


def settings_near(config: pytest.Config, path: Path) -> str | None:
    """The settings file for tests at PATH."""
    here = str(config.invocation_params.dir)
    if file := config.getoption("--conductor-config"):
        return os.path.join(here, os.path.expanduser(file))
    if file := config.getini("conductor_config"):
        return os.path.join(config.rootpath, os.path.expanduser(file))
    return nearest_settings(str(path.parent)) or nearest_settings(here)


def _words(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be split into words: {str(error).lower()}") from error


def marked_server(request: pytest.FixtureRequest) -> tuple[Any, dict[str, Any]]:
    """What the fixture `mcp_server` connects to, and with which options."""
    marker = request.node.get_closest_marker("conductor_server")
    options = {} if marker is None else dict(marker.kwargs)
    name, file = options.pop("name", None), options.pop("config", None)
    config = request.config
    path = config.rootpath / "x" if request.scope == "session" else request.path
    if marker is None or not marker.args:
        settings = None if file is None else os.path.join(config.rootpath, file)
        return server_near(config, path, name, settings), _known_options(options)
    if name is not None or file is not None:
        raise UsageError("the marker conductor_server names a server twice", hint="either words, or name and config")
    spec, options = server_in_root(config, marker.args[0] if len(marker.args) == 1 else marker.args, options)
    return spec, _known_options(options)


def _known_options(options: dict[str, Any]) -> dict[str, Any]:
    """OPTIONS of the marker, all of which `connect()` must have."""
    from mcp_conductor.client.connect import connect

    known = inspect.signature(connect).parameters
    for option in options:
        if option not in known:
            near = nearest(option, list(known))
            hint = f"did you mean {near!r}?" if near else "it takes name, config, cwd, env, and what connect() takes"
            raise UsageError(f"the marker conductor_server has no option {option!r}", hint=hint)
    return options


def server_in_root(config: pytest.Config, target: Any, given: Mapping[str, Any]) -> tuple[ServerSpec, dict[str, Any]]:
    """The server that TARGET means, started in the root directory if it is a command; the other options for it."""
    from mcp_conductor.client.targets import spec_of

    options = dict(given)
    spec = spec_of(target)
    process = spec.as_process()
    if process is None:
        return spec, options
    directory = options.pop("cwd", None) or process.cwd or ""
    environment: Mapping[str, str] = {**process.env, **options.pop("env", {})}
    return replace(process, cwd=os.path.join(config.rootpath, directory), env=environment), options


def compose(hosting: Hosting, config: dict[str, Any], folder: Path, options: dict[str, Any]) -> HostedSession:
    """A session with the server that CONFIG describes, as a file of `conductor serve` would."""
    from mcp_conductor.server.config_file import read
    from mcp_conductor.server.transport_file import Overrides

    __tracebackhide__ = True
    whole = {"serverInfo": {"name": "composed", "version": "1.0.0"}, "transport": {"type": "stdio"}, **config}
    text = json.dumps(whole, indent=2)
    file = folder / "composed.json"
    file.write_text(text, encoding="utf-8")
    try:  # what is wrong is refused here and now, and not by a server that does not start
        transport = read(Field.root(parse(text, "composed_server()", json=True), os.environ), Overrides()).transport
    except UsageError as error:
        raise shown_error(error) from None
    if transport.type == "stdio":
        return hosting.connect(StdioSpec(command=(*_SERVE, str(file)), name=_name(whole)), **options)
    port = () if "port" in whole["transport"] else ("--port", "0")
    started = StdioSpec(command=(*_SERVE_WHILE_HELD, str(file), *port), ready_pattern=_LISTENING)
    held = hosting.connect(started, protocol="none")
    said = next(line for line in held.transcript.stderr_tail() if _LISTENING in line)
    url = said.partition(_LISTENING)[2].strip()
    return hosting.connect(
        HttpSpec(url=url, sse=transport.type == "sse", name=_name(whole), fall_back=False), **options
    )


def _name(config: dict[str, Any]) -> str:
    return str(config["serverInfo"]["name"])
