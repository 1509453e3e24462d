"""`conductor record`: stand between a real client and a real server, and keep what they say.

Its flags for this are also those of `conductor proxy`.
"""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import ERRORS, HELP, URL_AS_JSON, Flag, Given, Groups, parse
from mcp_conductor.cli.flags.shared import OAUTH_FLAGS
from mcp_conductor.cli.flags.target import TARGET_FLAGS

RECORDING = "the file to write; {pid} and {time} in it become those of this run"
APPEND = Flag(
    "--append", "add to the file, for clients that start their server several times; else it is replaced", common=True
)
REDACTION = (
    Flag("--redact", "redact what stands here in messages: params.arguments.note (repeatable)", "PATH", many=True),
    Flag("--keep", "record what stands here, even if it looks secret (repeatable)", "PATH", many=True),
)
_NOT_HERE = ("--protocol", "--plugin")  # what is spoken is what the client speaks
PASSING_FLAGS: Groups = {
    "Server": tuple(flag for flag in TARGET_FLAGS if flag.name not in _NOT_HERE),
    "Where clients reach the server at a URL": (
        Flag("--host", "the address to listen on; default 127.0.0.1", "HOST"),
        Flag("--port", "the port to listen on; without it, any that is free", "PORT", common=True),
        Flag("--allow-host", "another name that it is reached by (repeatable)", "NAME", many=True),
    ),
    "OAuth, for the server at a URL": OAUTH_FLAGS,
    "Output": (URL_AS_JSON, ERRORS, HELP),
}
EXIT_CODES = """\
Exit codes: as the server ends, by a signal too; 2 could not run, 3 the server could not be started. For a URL: 0 when
it is ended by SIGINT, SIGTERM or SIGHUP.
"""
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


def parse_words(argv: list[str], flags: Groups, *, server_words: bool, program: str) -> Given:
    """What is given. All that stands after the first -- is the command of the server, also words that begin with -."""
    if "--" not in argv:
        return parse(argv, flags, server_words=server_words, program=program)
    place = argv.index("--")
    given = parse(argv[:place], flags, server_words=server_words, program=program)
    return Given((*given.words, *argv[place + 1 :]), given.values, given.after, given.program)


COMMAND = Command("conductor record", FLAGS, _USAGE, EXAMPLES, EXIT_CODES, parse=parse_words)
