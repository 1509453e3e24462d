"""`conductor unwrap`: undo what `conductor wrap` has done."""

from mcp_conductor.cli.flags import Flag, Groups, help_page, parse
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.cli.wrap import EXIT_CODES, named

FLAGS: Groups = {"Running": (Flag("--help", "show this text", short="-h"),)}
_USAGE = """\
usage: conductor unwrap CLIENT [SERVER]

Take `conductor record` out of the settings of a client again, where `conductor wrap` has put it. CLIENT and SERVER are
as there. If nothing else was changed, the file becomes what it was, byte for byte.
"""
EXAMPLES = {"conductor unwrap claude-desktop files": "record this server no more"}


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor unwrap`: the exit code."""
    given = parse(argv, FLAGS, server_words=False)
    if "--help" in given:
        terminal.show_help(help_page(_USAGE, FLAGS, EXAMPLES, EXIT_CODES))
        return 0
    settings, shown, server = named(given, terminal, "unwrap")
    change = settings.unwrap(server)
    if change.done:
        terminal.show(f"{shown}: {server} is recorded no more; restart the client\n  recordings: {change.recording}\n")
    else:
        terminal.show(f"{shown}: {server} is not recorded by wrap; nothing was changed\n")
    return 0
