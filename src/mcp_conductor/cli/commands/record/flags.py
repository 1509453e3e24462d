"""`conductor record`: stand between a real client and a real server, and keep what they say."""

from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.commands.record.passing import (
    APPEND,
    EXIT_CODES,
    FLAGS as PASSING_FLAGS,
    RECORDING,
    REDACTION,
    parse_words,
    pass_on,
)
from mcp_conductor.cli.flags import Flag, Groups
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.errors import UsageError

FLAGS: Groups = {
    "Recording": (Flag("--output", RECORDING, "FILE", short="-o", common=True), APPEND, *REDACTION),
    **PASSING_FLAGS,
}
_USAGE = """\
usage: conductor record -o FILE [FLAGS] -- COMMAND [ARGS …]
       conductor record -o FILE [FLAGS] URL
       conductor record -o FILE --config FILE --server NAME

Stand between a client and a server, and write what they say to a file.

Put it in the place of the server's command: the client starts it as a server, and it starts the server. Every byte
passes in both directions, as do signals, the end of stdin and how the server ends.

For a URL, it listens at an address of this machine, which it shows: give that to the client in place of the URL.
With --token or --oauth, it logs in by itself, and the client needs no token.
"""
EXAMPLES = {
    "conductor record -o said.jsonl -- python server.py": "in place of python server.py",
    "mcp-cli -- conductor record -o said.jsonl python server.py --method tools/list": "with mcp-cli as the client",
    "conductor record -o said.jsonl --append -- python server.py": "another conversation for each start",
    "conductor record -o said.jsonl --port 8080 https://example.com/mcp": "at http://127.0.0.1:8080/mcp",
    "conductor record -o said.jsonl --config mcp.json --server books": "a server of a settings file",
}
COMMAND = Command("conductor record", FLAGS, _USAGE, EXAMPLES, EXIT_CODES)


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor record`: the exit code."""
    if (given := COMMAND.read(argv, terminal, parse_words)) is None:
        return OK
    file = given.one("--output")
    if file is None:
        raise UsageError("no file is given for the recording", hint="-o FILE")
    return pass_on(given, terminal, program="conductor record", file=file)
