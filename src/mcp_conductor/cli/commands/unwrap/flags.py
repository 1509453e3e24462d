"""`conductor unwrap`: undo what `conductor wrap` has done."""

from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.commands.wrap.flags import EXIT_CODES, change_members, named
from mcp_conductor.cli.flags import ERRORS, HELP, JSON, Groups
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK

FLAGS: Groups = {"Output": (JSON, ERRORS, HELP)}
_USAGE = """\
usage: conductor unwrap CLIENT [SERVER]

Take `conductor record` out of the settings of a client again, where `conductor wrap` has put it. CLIENT and SERVER are
as there. If nothing else was changed, the file becomes what it was, byte for byte.
"""
EXAMPLES = {"conductor unwrap claude-desktop files": "record this server no more"}
COMMAND = Command("conductor unwrap", FLAGS, _USAGE, EXAMPLES, EXIT_CODES, server_words=False)


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor unwrap`: the exit code."""
    if (given := COMMAND.read(argv, terminal)) is None:
        return OK
    settings, shown, server = named(given, terminal, "unwrap")
    change = settings.unwrap(server)
    text = f"{shown}: {server} is not recorded by wrap; nothing was changed\n"
    if change.done:
        text = f"{shown}: {server} is recorded no more; restart the client\n  recordings: {change.recording}\n"
    terminal.answer(text, change_members(shown, server, change))
    return OK
