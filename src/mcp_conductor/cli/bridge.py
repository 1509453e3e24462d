"""`conductor bridge`: the servers of a settings file, served as one."""

import os
from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.budget_flags import MESSAGE_LIMIT_FLAGS, budgets_of
from mcp_conductor.cli.flag_values import choice, number, time
from mcp_conductor.cli.flags import Flag, Given, Groups, help_page, parse
from mcp_conductor.cli.plugin_flag import PLUGIN_FLAG, load_named_plugins, load_plugins_of_file
from mcp_conductor.cli.serve import ALLOW_HOST, exit_codes, hold_standard_streams
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import UsageError

if TYPE_CHECKING:
    from mcp_conductor.server.config import TransportConfig

FLAGS: Groups = {
    "Servers": (Flag("--config", "the file with mcpServers, if it is not given as a word", "FILE"), PLUGIN_FLAG),
    "How it is served": (
        Flag("--transport", "stdio (default), streamable-http or sse", "TRANSPORT"),
        Flag("--host", "the address to listen on; default 127.0.0.1", "HOST"),
        Flag("--port", "the port to listen on; 0 takes any that is free; default 3000", "PORT"),
        ALLOW_HOST,
        Flag("--token", "over HTTP: the bearer token that clients must send; @FILE or env:NAME", "SECRET"),
    ),
    "How servers are used": (
        Flag("--separator", "the text between a server's name and a tool's; default __", "TEXT"),
        Flag("--sessions", "perClient (default), or shared: all clients use the same sessions", "WORD"),
        Flag("--wait", "refuse clients unless all servers are up; default: serve those that are"),
        Flag("--start-timeout", "how long clients wait for servers to start; default 30s", "TIME"),
    ),
    "What is said": (Flag("--record", "write what clients, the bridge and its servers say to a file", "FILE"),),
    "Limits, of each server": MESSAGE_LIMIT_FLAGS,
    "Instead of serving": (Flag("--help", "show this text", short="-h"),),
}
EXAMPLES = {
    "conductor bridge mcp.json": "on stdin and stdout",
    "conductor bridge mcp.json --transport streamable-http --port 8080": "over HTTP",
    "mcp-cli conductor bridge mcp.json --method tools/list": "what clients of the bridge see",
}
_USAGE = """\
usage: conductor bridge FILE [FLAGS]

Serve all servers of a settings file as one. Tools and prompts are called SERVER__NAME; a server that goes
away is connected again; the others are not affected.
"""
_SESSIONS = ("perClient", "shared")
_PORT = 3000
_TRANSPORTS = {"stdio": "stdio", "streamable-http": "streamable-http", "http": "streamable-http", "sse": "sse"}


def main(argv: list[str], terminal: Terminal) -> int:
    """Serve until we are told to stop: the exit code."""
    given = parse(argv, FLAGS, server_words=False)
    if "--help" in given:
        terminal.show(help_page(_USAGE, FLAGS, EXAMPLES, exit_codes("conductor")))
        return 0
    from mcp_conductor.cli.secret_flags import read_secrets

    given = read_secrets(given, terminal)
    file, transport = _file(given), _transport(given)
    load_named_plugins(given, terminal)
    load_plugins_of_file(file, terminal)
    from mcp_conductor.cli.bridge_run import serve_bridge
    from mcp_conductor.cli.interruptible import run_interruptibly

    options = {
        "separator": given.one("--separator"),
        "sessions": choice(given, "--sessions", _SESSIONS),
        "wait": True if "--wait" in given else None,
        "start_timeout": time(given, "--start-timeout"),
        "budgets": budgets_of(given),
    }
    hold_standard_streams()
    work = serve_bridge(os.path.expanduser(file), transport, options, terminal, given.one("--record"))
    return run_interruptibly(work)


def _file(given: Given) -> str:
    named = [*given.words, *given.after, *given.all("--config")]
    if not named:
        raise UsageError("no settings file is given", hint="conductor bridge FILE, a file with mcpServers")
    if len(named) > 1:
        raise UsageError(f"{len(named)} settings files are given, but only one can be used: {', '.join(named)}")
    return named[0]


def _transport(given: Given) -> "TransportConfig":
    from mcp_conductor.server.config import DEFAULT_HOST, TransportConfig
    from mcp_conductor.server.transport_file import Overrides

    kind = given.one("--transport") or "stdio"
    if kind not in _TRANSPORTS:
        raise UsageError(f"--transport takes stdio, streamable-http or sse, not {kind!r}")
    over = Overrides(
        host=given.one("--host"), port=number(given, "--port", 0, 65535), allowed_hosts=tuple(given.all("--allow-host"))
    )
    if kind == "stdio":
        over.check_stdio()
        if "--token" in given:
            raise UsageError("--token has no meaning for stdio", hint="add --transport streamable-http")
    served: Any = _TRANSPORTS[kind]
    return TransportConfig(
        type=served,
        host=over.host or DEFAULT_HOST,
        port=_PORT if over.port is None else over.port,
        allowed_hosts=over.allowed_hosts,
        path="/sse" if served == "sse" else "/mcp",
        token=_token(given),
    )


def _token(given: Given) -> str | None:
    token = given.one("--token")
    if token is not None and not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError("--token must be printable ASCII characters without spaces: no client can send another")
    return token
