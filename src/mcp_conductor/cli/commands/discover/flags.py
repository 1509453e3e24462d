"""`conductor discover`: a first suite for any server. What writes it is imported when it is to be written."""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import ERRORS, HELP, Flag, Groups
from mcp_conductor.cli.flags.shared import LIMIT_FLAGS
from mcp_conductor.cli.flags.target import TARGET_FLAGS

FLAGS: Groups = {
    "Server": TARGET_FLAGS,
    "What is written": (
        Flag("--output", "the file to write; without it, the suite goes to stdout", "FILE", short="-o", common=True),
        Flag("--force", "write the file even if there is one already", requires="--output FILE"),
        Flag("--record-expectations", "expect what the server answers now, not only that it answers", common=True),
        Flag("--from", "write what a recording has, and start no server", "FILE", common=True),
        Flag(
            "--session",
            "with --from: which of several conversations; default: the first with a result",
            "N",
            requires="--from FILE",
        ),
        Flag(
            "--arg",
            "an argument, for all that have it, or for one (repeatable)",
            "[TOOL.]NAME=VALUE",
            many=True,
            common=True,
        ),
        Flag(
            "--include-writes", "call tools that are not marked read-only, too: they may change something", common=True
        ),
    ),
    "Limits": LIMIT_FLAGS,
    "Running": (
        Flag("--timeout", "time limit of each request: 5000 (ms), 500ms, 2s, 1m; default 10s", "TIME"),
        Flag("--json", "print what was written, skipped and left out as JSON; without --output, the suite too"),
        ERRORS,
        HELP,
    ),
}
_USAGE = """\
usage: conductor discover COMMAND [ARGS …] [FLAGS]
       conductor discover URL [FLAGS]
       conductor discover --config FILE [FLAGS]
       conductor discover --from RECORDING [FLAGS]

Write a suite with a case for every tool, resource, template and prompt of a server; arguments come from the schemas,
descriptions and names, from the server's command line, and from --arg. Each case is tried first, so that the suite
passes at once.
Tools are called only if they are marked read-only (annotations.readOnlyHint); the others, and what failed, are written
as cases to be skipped, which stderr lists too.

With --from, each request of a recording becomes a test that expects the recorded answer; no server is started.
"""
EXAMPLES = {
    "conductor discover -- python server.py": "the suite, on stdout",
    "conductor discover --output tests/books.test.mcp.yml -- python server.py": "in a file",
    "conductor discover --record-expectations -- python server.py": "with what the server answers now",
    "conductor discover --arg city=Berlin --arg add.a=2 -- python server.py": "with arguments that you know",
    "conductor discover --from said.jsonl --output tests/said.test.mcp.yml": "what was recorded, as tests",
    "conductor discover --config mcp.json --server books": "a server of a settings file",
}
_EXIT_CODES = """\
Exit codes: 0 written, 2 could not run, 3 the server could not be started or went away, 130 and 143 interrupted.
"""
COMMAND = Command("conductor discover", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES)
