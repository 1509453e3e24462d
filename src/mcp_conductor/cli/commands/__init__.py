"""The commands: a folder for each, with its flags (`flags.py`) and what it does (`run.py`)."""

from collections.abc import Callable
from typing import NamedTuple

from mcp_conductor.cli.flags import Examples, Given, Groups, check_flags, parse
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.program import output_form


class Command(NamedTuple):
    """A command of `conductor`: what its --help shows, and how its words are read."""

    program: str  # "conductor test": hints and the last line of --help begin with it
    flags: Groups
    usage: str
    examples: Examples
    exit_codes: str
    server_words: bool = True  # whether its words are those of a server
    parse: Callable[..., Given] = parse

    def read(self, argv: list[str], terminal: Terminal) -> Given | None:
        """Return what ARGV says, or None where it asks for --help, which is shown."""
        given = self.parse(argv, self.flags, server_words=self.server_words, program=self.program)
        output_form(given, terminal)
        if "--help" not in given:
            check_flags(given, self.flags)
            return given
        from mcp_conductor.cli.flags.help import help_page

        page = help_page(self.usage, self.flags, self.examples, self.exit_codes, given=given, program=self.program)
        terminal.show_help(page)
        return None
