"""`conductor record`: stand between a real client and a real server, and keep what they say."""

from mcp_conductor.cli.flags import Flag, Groups, help_page
from mcp_conductor.cli.passing import APPEND, EXIT_CODES, FLAGS as PASSING_FLAGS, RECORDING, parse_words, pass_on
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import UsageError

FLAGS: Groups = {"Recording": (Flag("--output", RECORDING, "FILE", short="-o"), APPEND), **PASSING_FLAGS}
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


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor record`: the exit code."""
    given = parse_words(argv, FLAGS, "conductor record")
    if "--help" in given:
        terminal.show_help(help_page(_USAGE, FLAGS, EXAMPLES, EXIT_CODES))
        return 0
    file = given.one("--output")
    if file is None:
        raise UsageError("no file is given for the recording", hint="-o FILE")
    return pass_on(given, terminal, program="conductor record", file=file)
