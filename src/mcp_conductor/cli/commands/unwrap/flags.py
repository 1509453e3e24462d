"""`conductor unwrap`: undo what `conductor wrap` has done."""

from mcp_conductor.cli.commands import Command
from mcp_conductor.cli.commands.wrap.flags import EXIT_CODES
from mcp_conductor.cli.flags import ERRORS, HELP, JSON, Groups

FLAGS: Groups = {"Output": (JSON, ERRORS, HELP)}
_USAGE = """\
usage: conductor unwrap CLIENT [SERVER]

Take `conductor record` out of the settings of a client again, where `conductor wrap` has put it. CLIENT and SERVER are
as there. If nothing else was changed, the file becomes what it was, byte for byte.
"""
EXAMPLES = {"conductor unwrap claude-desktop files": "record this server no more"}
COMMAND = Command("conductor unwrap", FLAGS, _USAGE, EXAMPLES, EXIT_CODES, server_words=False)
