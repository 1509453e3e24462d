"""`conductor unwrap`: undo what `conductor wrap` has done."""

from mcp_conductor.cli.commands.wrap.run import change_members, named
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor unwrap`: the exit code."""
    settings, shown, server = named(given, terminal, "unwrap")
    change = settings.unwrap(server)
    text = f"{shown}: {server} is not recorded by wrap; nothing was changed\n"
    if change.done:
        text = f"{shown}: {server} is recorded no more; restart the client\n  recordings: {change.recording}\n"
    terminal.answer(text, change_members(shown, server, change))
    return OK
