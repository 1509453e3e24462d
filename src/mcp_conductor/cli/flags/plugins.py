"""`--plugin`: code of the user that a command line names. Apart from the flags of servers: `serve` has none."""

import os

from mcp_conductor.cli.flags import Flag, Given
from mcp_conductor.cli.output.terminal import Terminal, print_to_stderr

PLUGIN_FLAG = Flag("--plugin", "a Python file of yours, or an installed plugin (repeatable)", "FILE|NAME", many=True)


def load_named_plugins(given: Given, terminal: Terminal) -> None:
    """Load the plugins that the command line names."""
    if names := given.all("--plugin"):
        from mcp_conductor.plugins import load

        for name in names:
            load(name, terminal.directory)
        print_to_stderr()


def load_plugins_of_file(file: str, terminal: Terminal) -> None:
    """Load the plugins that the settings in FILE name."""
    from mcp_conductor.files.settings_file import SettingsFile
    from mcp_conductor.plugins import load_those_of_settings

    path = os.path.join(terminal.directory, os.path.expanduser(file))
    settings = SettingsFile(path, shown=file, here=terminal.directory, environ=terminal.environ)
    if load_those_of_settings(settings):
        print_to_stderr()
