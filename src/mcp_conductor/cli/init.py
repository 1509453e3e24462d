"""`conductor init`: the settings and a first suite for the project in the current directory.

What writes them is imported when they are to be written.
"""

import os

from mcp_conductor.cli.flags import Flag, Groups, help_page, parse
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.files.settings_file import SETTINGS

FLAGS: Groups = {
    "Running": (
        Flag("--timeout", "time limit of each request to the server: 5000 (ms), 500ms, 2s, 1m; default 10s", "TIME"),
        Flag("--help", "show this text", short="-h"),
    ),
}
SUITE = os.path.join("tests", "first.test.mcp.yml")
_USAGE = f"""\
usage: conductor init [FLAGS] [-- COMMAND [ARGS …] | -- URL]

Write {SETTINGS} and {SUITE} for the project in this directory. The server is the one that is
named, or the one that package.json, pyproject.toml, mcp.json or a file such as server.py suggests. If it can be
started, the suite has a case for everything that it offers, as `conductor discover` writes it; otherwise it shows how
tests are written. Files that are there already are left alone.
"""
EXAMPLES = {
    "conductor init": "the server that the project has",
    "conductor init -- python server.py": "this server",
}
_EXIT_CODES = "Exit codes: 0 written, 2 could not write, 130 and 143 interrupted.\n"


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor init`: the exit code."""
    given = parse(argv, FLAGS, program="conductor init")
    if "--help" in given:
        terminal.show(help_page(_USAGE, FLAGS, EXAMPLES, _EXIT_CODES))
        return 0
    _refuse_to_overwrite(terminal)
    from mcp_conductor.cli.init_run import write_project
    from mcp_conductor.cli.interruptible import run_interruptibly

    return run_interruptibly(write_project(given, terminal, SUITE))


def _refuse_to_overwrite(terminal: Terminal) -> None:
    for file in (SETTINGS, SUITE):
        if os.path.lexists(os.path.join(terminal.directory, file)):
            hint = "move it away, or write another suite: conductor discover"
            raise UsageError(f"{file} exists already", hint=hint)
