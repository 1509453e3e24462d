"""A page of --help for a narrow terminal has all its words, in lines that fit."""

import pytest
from tests.unit.cli.test_help import shown

from mcp_conductor.cli.commands.dispatch import COMMANDS
from mcp_conductor.cli.flags.help import narrowed

PAGE = """\
usage: program COMMAND [FLAGS]

A sentence that is longer than the terminal is wide,
in two lines.

Output:
  --flag NAME       says what the flag is for, with many words
  -h, --help        short

Examples:
  program --flag very-long-name-of-a-file  # what it does, in words
"""


def test_descriptions_stand_beside_their_flags_and_commands_are_left_whole():
    assert narrowed(PAGE, 51).splitlines() == [
        "usage: program COMMAND [FLAGS]",
        "",
        "A sentence that is longer than the terminal is",
        "wide, in two lines.",
        "",
        "Output:",
        "  --flag NAME       says what the flag is for, with",
        "                    many words",
        "  -h, --help        short",
        "",
        "Examples:",
        "  program --flag very-long-name-of-a-file",
        "      # what it does, in words",
    ]


def test_where_there_is_no_room_beside_a_flag_its_description_stands_below():
    assert "\n  --flag NAME\n      says what the flag is for, with\n      many words\n" in narrowed(PAGE, 40)


@pytest.mark.parametrize("width", [20, 40, 80, 100])
@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_of_a_page_is_lost(command, width):
    page = shown(command, "--help")
    assert narrowed(page, width).split() == page.split()
    long = [line for line in narrowed(page, width).splitlines() if len(line) > max(width, 40)]
    assert all(line.startswith(("  conductor ", "  mcp-cli ", "usage: ", "  --")) for line in long)  # to be copied
