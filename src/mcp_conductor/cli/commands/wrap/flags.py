"""`conductor wrap`: let a client record what it says to one of its servers."""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.flags import ERRORS, HELP, JSON, Flag, Groups

FLAGS: Groups = {
    "Recording": (
        Flag(
            "--output",
            "the file to write, {pid} and {time} filled in; default: below ~/.conductor/recordings",
            "FILE",
            short="-o",
        ),
    ),
    "Output": (JSON, ERRORS, HELP),
}
_USAGE = """\
usage: conductor wrap CLIENT [SERVER] [FLAGS]

Put `conductor record` before a server in the settings of a client, so that what they say is recorded. CLIENT is a
settings file with mcpServers or servers (JSON), or claude-code, claude-desktop, cursor or vscode. SERVER is the name of
a server there; it may be left out if there is one only. A copy of the file is kept; `conductor unwrap` undoes it.
"""
EXAMPLES = {
    "conductor wrap claude-desktop files": "record what Claude says to its server `files`",
    "conductor wrap .cursor/mcp.json books -o books-{time}.jsonl": "a settings file, and where the recordings go",
}
EXIT_CODES = """\
Exit codes: 0 done, or it was so already, 2 could not be done.
"""
COMMAND = Command("conductor wrap", FLAGS, _USAGE, EXAMPLES, EXIT_CODES, server_words=False)
