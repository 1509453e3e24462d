"""`conductor bridge`: the servers of a settings file, served as one."""

import os

from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.commands.serve.flags import exit_codes
from mcp_conductor.cli.commands.serve.run import hold_standard_streams
from mcp_conductor.cli.flags import ERRORS, HELP, URL_AS_JSON, Flag, Given, Groups
from mcp_conductor.cli.flags.budgets import MESSAGE_LIMIT_FLAGS, budgets_of
from mcp_conductor.cli.flags.plugins import PLUGIN_FLAG, load_named_plugins, load_plugins_of_file
from mcp_conductor.cli.flags.serving import served_transport, serving_flags
from mcp_conductor.cli.flags.values import choice, time
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.errors import UsageError

FLAGS: Groups = {
    "Servers": (
        Flag("--config", "the file with mcpServers, if it is not given as a word", "FILE", common=True),
        PLUGIN_FLAG,
    ),
    "How it is served": serving_flags("0 takes any that is free; default 3000"),
    "How servers are used": (
        Flag("--separator", "the text between a server's name and a tool's; default __", "TEXT"),
        Flag("--sessions", "perClient (default), or shared: all clients use the same sessions", "WORD"),
        Flag("--wait", "refuse clients unless all servers are up; default: serve those that are"),
        Flag("--start-timeout", "how long clients wait for servers to start; default 30s", "TIME"),
    ),
    "What is said": (
        Flag("--record", "write what clients, the bridge and its servers say to a file", "FILE", common=True),
    ),
    "Limits, of each server": MESSAGE_LIMIT_FLAGS,
    "Output": (URL_AS_JSON, ERRORS, HELP),
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
COMMAND = Command("conductor bridge", FLAGS, _USAGE, EXAMPLES, exit_codes("conductor"), server_words=False)


def main(argv: list[str], terminal: Terminal) -> int:
    """Serve until we are told to stop: the exit code."""
    if (given := COMMAND.read(argv, terminal)) is None:
        return OK
    from mcp_conductor.cli.flags.secrets import read_secrets

    given = read_secrets(given, terminal)
    file, transport = _file(given), served_transport(given, _PORT)
    load_named_plugins(given, terminal)
    load_plugins_of_file(file, terminal)
    from mcp_conductor.cli.commands.bridge.run import serve_bridge
    from mcp_conductor.cli.process.interruptible import run_interruptibly

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
