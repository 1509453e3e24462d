"""`conductor bridge`: the servers of a settings file, served as one."""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import ERRORS, HELP, URL_AS_JSON, Flag, Groups
from mcp_conductor.cli.flags.shared import (
    MESSAGE_LIMIT_FLAGS,
    PLUGIN_FLAG,
    exit_codes,
    serving_flags,
)

FLAGS: Groups = {
    "Servers": (
        Flag("--config", "the file with mcpServers, if it is not given as a word", "FILE", common=True),
        PLUGIN_FLAG,
    ),
    "How it is served": serving_flags("0 takes any that is free; default 3000"),
    "How servers are used": (
        Flag("--separator", "the text between a server's name and a tool's; default __", "TEXT"),
        Flag(
            "--sessions",
            "perClient (default), or shared: all clients use the same sessions",
            "WORD",
            choices=("perClient", "shared"),
        ),
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
COMMAND = Command("conductor bridge", FLAGS, _USAGE, EXAMPLES, exit_codes("conductor"), server_words=False)
