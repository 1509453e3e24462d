"""`conductor show`: what was said in a recording, as lines or as a page. What draws it is imported when it is due."""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import ERROR_FORMS, ERRORS, HELP, Flag, Groups

FLAGS: Groups = {
    "Which frames": (
        Flag("--session", "only this one of several conversations", "N"),
        Flag(
            "--method",
            "only this method, such as 'tools/*', with all that belongs to it (repeatable)",
            "PATTERN",
            many=True,
        ),
        Flag("--name", "only what is about this tool, prompt or resource (repeatable)", "PATTERN", many=True),
        Flag("--failed", "only requests that failed or were never answered, and what is not a message"),
        Flag("--source", "only client, server, stderr, http, note or process (repeatable)", "SOURCE", many=True),
        Flag("--since", "only from this time on; a bare number is seconds since the recording began", "TIME"),
        Flag("--until", "only up to this time", "TIME"),
    ),
    "How": (
        Flag("--output", "write a page for a browser to this file; without it, lines go to stdout", "FILE", short="-o"),
        Flag("--follow", "show also what is written from now on, until Ctrl-C", short="-f"),
        Flag("--json", "write what is shown as a recording, to stdout"),
        Flag("--no-judge", "do not show on the page where the specification is broken"),
        ERRORS._replace(help="how errors are put on stderr: text (default) or json", metavar="", may=ERROR_FORMS),
        HELP,
    ),
}
_USAGE = """\
usage: conductor show RECORDING [FLAGS]

Show what was said in a recording, which --record writes: as lines, or as a page with requests and their answers, times,
and what breaks the specification.
"""
EXAMPLES = {
    "conductor show said.jsonl": "a line for each message",
    "conductor show said.jsonl --output said.html": "a page, in one file that needs no network",
    "conductor show said.jsonl --method 'tools/*' --failed": "calls of tools that failed",
    "conductor show said.jsonl --source stderr --since 1.5": "what the server wrote to stderr, later than that",
    "conductor show said.jsonl --follow": "also what is written from now on",
    "conductor show said.jsonl --session 2 --json": "one of several conversations, as a recording of its own",
}
_EXIT_CODES = """\
Exit codes: 0 shown, 2 the recording cannot be read, or the page cannot be written; 130 after Ctrl-C.
"""
COMMAND = Command("conductor show", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES)
