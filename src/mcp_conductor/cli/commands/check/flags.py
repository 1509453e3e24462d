"""`conductor check`: does this server follow the specification?"""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import HELP, Flag, Given, Groups
from mcp_conductor.cli.flags.shared import LIMIT_FLAGS, OUTPUT_FLAGS
from mcp_conductor.cli.flags.target import TARGET_FLAGS, target
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.protocol.dialect import PROTOCOL_CHOICES
from mcp_conductor.protocol.server_spec import ServerSpec

SERVER_FLAGS = tuple(flag for flag in TARGET_FLAGS if flag.name != "--protocol")
FLAGS: Groups = {
    "Server": SERVER_FLAGS,
    "What to check": (
        Flag(
            "--protocol",
            "a revision, all of them, or auto; default: the one that the server prefers",
            "CHOICE",
            common=True,
            choices=("all", *PROTOCOL_CHOICES),
        ),
        Flag(
            "--level",
            "must, should or may: this and everything above; default may",
            "LEVEL",
            choices=("must", "should", "may"),
        ),
        Flag("--only", "a group of requirements, or one of them (repeatable)", "GROUP|ID", many=True, common=True),
        Flag("--skip", "leave out a group of requirements, or one of them (repeatable)", "GROUP|ID", many=True),
        Flag(
            "--call-tools",
            "call these tools too, not only those that are marked read-only (repeatable)",
            "NAME|all",
            many=True,
            common=True,
        ),
        Flag(
            "--trigger",
            "call this tool to cause a change; the server should send a notification (repeatable)",
            "TOOL[=JSON]",
            many=True,
        ),
        Flag("--expected-failures", "what is known to fail, and why: a JSON or YAML array", "FILE", common=True),
        Flag("--all-findings", "count what is of the framework of the server, not of its author, like everything else"),
        Flag("--timeout", "time limit of each answer; default 2s, with --client 20s", "TIME"),
    ),
    "Limits": LIMIT_FLAGS,
    "Recording": (
        Flag("--transcript", "check the messages of this recording, of both sides; nothing is started", "FILE"),
        Flag(
            "--side",
            "check only the server or only the client of the recording",
            "SIDE",
            choices=("server", "client"),
            requires="--transcript FILE",
        ),
        Flag(
            "--session",
            "which of several conversations to check; default: the first with a result",
            "N",
            requires="--transcript FILE",
        ),
    ),
    "Client": (
        Flag(
            "--client", "check this client instead; {server}, {url} or {config} in it is our server", "CMD", common=True
        ),
        Flag(
            "--scenario",
            "run only this scenario, after the plain one (repeatable)",
            "NAME",
            many=True,
            requires="--client CMD",
        ),
    ),
    "Instead of checking": (
        Flag("--list", "show all requirements, and whether they are checked"),
        Flag("--list-scenarios", "show all scenarios that clients meet, and what happens in each"),
        Flag(
            "--explain",
            "explain a requirement: its text, its source, the check, the remedy, examples (repeatable)",
            "GROUP|ID",
            many=True,
            common=True,
        ),
        HELP,
    ),
    "Output": (*OUTPUT_FLAGS, Flag("--badge", "write the grade as an SVG picture", "FILE")),
}
_USAGE = """\
usage: conductor check COMMAND [ARGS …] [FLAGS]
       conductor check [FLAGS] -- COMMAND [ARGS …]
       conductor check URL [FLAGS]
       conductor check --client "CMD {server}" [FLAGS]
       conductor check --transcript FILE [FLAGS]

Check whether an MCP server follows the specification: every MUST that is broken is a failure, every SHOULD a warning.
"""
EXAMPLES = {
    "conductor check -- python server.py": "the revision that it prefers",
    "conductor check --protocol all --level must -- python server.py": "every MUST, in every revision",
    "conductor check --only tools --call-tools all -- python server.py": "one group, calling every tool",
    "conductor check https://example.com/mcp --token env:TOKEN": "a server at a URL",
    'conductor check --client "python client.py {server}"': "a client; we are the server",
    "conductor check --transcript opened.jsonl --side client": "the client of a recording",
    "conductor check --explain tools-item-inputschema": "what it says, and the remedy",
    "conductor check --report junit:report.xml --badge grade.svg -- python server.py": "in CI",
}
_EXIT_CODES = """\
Exit codes: 0 no MUST is broken, or only expected ones, 1 some are, 2 could not run, or could
check less than half, or a report could not be written, 3 the server could not be started or went away.
"""
COMMAND = Command("conductor check", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES)


def checked_server(given: Given, terminal: Terminal) -> ServerSpec:
    """The server that is to be checked; its revision is said apart from it."""
    without = {name: values for name, values in given.values.items() if name != "--protocol"}
    return target(given.with_values(without), terminal, program="conductor check")
