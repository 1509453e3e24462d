"""`--plugin`: code of the user that a command line names. Apart from the flags of servers: `serve` has none."""

from mcp_conductor.cli.flags import Flag, Given
from mcp_conductor.cli.terminal import Terminal, print_to_stderr

PLUGIN_FLAG = Flag("--plugin", "a Python file of yours, or an installed plugin (repeatable)", "FILE|NAME", many=True)


def load_named_plugins(given: Given, terminal: Terminal) -> None:
    """Load the plugins that the command line names."""
    if names := given.all("--plugin"):
        from mcp_conductor.plugins import load

        for name in names:
            load(name, terminal.directory)
        print_to_stderr()
