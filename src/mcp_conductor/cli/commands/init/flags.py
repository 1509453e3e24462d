"""`conductor init`: the settings, a first suite and a CI file for the project in the current directory.

What writes them is imported when they are to be written.
"""

import os

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import ERRORS, HELP, JSON, Flag, Groups
from mcp_conductor.files.settings_file import SETTINGS

SUITE = os.path.join("tests", "first.test.mcp.yml")
CI = {"github": os.path.join(".github", "workflows", "mcp.yml"), "gitlab": ".gitlab-ci.yml"}
FLAGS: Groups = {
    "Which server": (
        Flag(
            "--server", "the one that was found under this name, also in settings of yours outside the project", "NAME"
        ),
        Flag("--list", "show the servers that are found, and where; nothing is started or written"),
    ),
    "What is written": (
        Flag("--ci", "also a CI file: github (a workflow) or gitlab (a pipeline)", "SERVICE", choices=tuple(CI)),
    ),
    "Running": (
        Flag("--timeout", "time limit of each request to the server: 5000 (ms), 500ms, 2s, 1m; default 10s", "TIME"),
        JSON,
        ERRORS,
        HELP,
    ),
}
EXAMPLES = {
    "conductor init --list": "which servers are found here",
    "conductor init": "the server that the project has",
    "conductor init -- python server.py": "this server",
    "conductor init --server books": "the one that a settings file calls books",
    "conductor init --ci github": "with a workflow for GitHub Actions",
}
_USAGE = f"""\
usage: conductor init [FLAGS] [-- COMMAND [ARGS …] | -- URL]

Write {SETTINGS} and {SUITE} for the project in this directory. The server is the one that is
named, or else one that the project has: in mcp.json, .mcp.json, .mcp/ and the settings of Claude, Cursor and VS Code,
as a script of pyproject.toml, as bin or start of package.json, or as a file such as server.py. Servers of settings in
your home directory are listed, but not started unless you name one. If the server can be started, the suite has a case
for everything that it offers, as `conductor discover` writes it; otherwise it shows how tests are written. Secrets
become references to environment variables. Files that are there already are left alone: the server of settings that
are there gets a suite, if it has none, and a CI file may be added.
"""
_EXIT_CODES = "Exit codes: 0 written, 2 could not write, 130 and 143 interrupted.\n"
COMMAND = Command("conductor init", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES)
