"""Pages of --help: the flags of a command, group by group, in lines that fit the terminal."""

import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap

from mcp_conductor.cli.flags import Examples, Given, Groups

_COLUMN = 34  # where the descriptions of --help begin
WIDTH = 120  # of a line of --help
_MAX_LISTED = 15  # flags on a page of --help; of more, only the common ones are listed


def help_text(groups: Groups) -> str:
    """The flags of a program, group by group, with their one-line descriptions."""
    lines = []
    for title, flags in groups.items():
        lines.append(f"{title}:")
        for flag in flags:
            names = f"{flag.short}, {flag.name}" if flag.short else flag.name
            takes = flag.metavar or (f"[{'|'.join(flag.may)}]" if flag.may else "")
            usage = f"  {names} {takes}".rstrip()
            lines.append(
                f"{usage:<{_COLUMN}}{flag.help}" if len(usage) < _COLUMN - 1 else f"{usage}\n{'':<{_COLUMN}}{flag.help}"
            )
        lines.append("")
    return "\n".join(lines)


def listed_flags(groups: Groups, given: Given, program: str) -> tuple[str, str]:
    """The flags that --help or --help all lists, and the line that ends the page."""
    named = {title: tuple(flag for flag in flags if not flag.alias) for title, flags in groups.items()}
    aliases = tuple(flag for flags in groups.values() for flag in flags if flag.alias)
    if given.one("--help") == "all":
        shown = {**named, "Other names, and flags without effect": aliases}
        return help_text({title: flags for title, flags in shown.items() if flags}), ""
    all_flags = [flag for flags in named.values() for flag in flags]
    if len(all_flags) <= _MAX_LISTED and not aliases:
        return help_text(named), ""
    more = f"{program} --help all lists all flags, in groups.\n"
    if len(all_flags) <= _MAX_LISTED:
        return help_text(named), more
    common = sorted((flag for flag in all_flags if flag.common), key=lambda flag: flag.name in ("--help", "--version"))
    return help_text({"Common flags": tuple(common)}), more


def help_page(
    usage: str, groups: Groups, examples: Examples, exit_codes: str, *, given: Given, program: str, more: str = ""
) -> str:
    """The page of --help: all commands have the same parts in the same order. MORE follows the flags."""
    flags, last = listed_flags(groups, given, program)
    return f"{usage}\n{flags}\n{more}{examples_text(examples)}\n{exit_codes}" + (f"\n{last}" if last else "")


def examples_text(examples: Examples) -> str:
    """Command lines to copy; what each is for is a comment of the shell."""
    column = max((len(command) for command, what in examples.items() if what), default=0)
    lines = ["Examples:"]
    for command, what in examples.items():
        lines.append(f"  {command:<{column}}  # {what}" if what else _folded(f"  {command}"))
    return "\n".join(lines) + "\n"


def _folded(command: str) -> str:
    """A long command line in several lines, as a shell takes it."""
    if len(command) <= WIDTH:
        return command
    place = command.rfind(" --", 0, WIDTH - 1)
    return f"{command[:place]} \\\n" + _folded(f"     {command[place:]}")


_LEAST_ROOM = 30  # of a description beside its flag; where there is less, it stands below
_BELOW = 6  # the indentation of what stands below
_TWO_COLUMNS = re.compile(r"( +\S.*?)(?: {2,}| (?=# ))(\S.*)")


def narrowed(page: str, width: int) -> str:
    """PAGE in lines that are no longer than WIDTH; command lines are left whole, so that they can be copied."""
    lines: list[str] = []
    for is_prose, group in groupby(page.split("\n"), _is_prose):
        if is_prose:
            lines += _wrapped(" ".join(group), width)
        else:
            lines += (part for line in group for part in _fitted(line, width))
    return "\n".join(lines)


def _is_prose(line: str) -> bool:
    """Whether LINE is part of a paragraph, and not a title, a usage, a flag or an example."""
    return bool(line) and not line.startswith((" ", "usage: ")) and not line.endswith(":")


def _fitted(line: str, width: int) -> Iterator[str]:
    if len(line) <= width:
        yield line
    elif (columns := _TWO_COLUMNS.fullmatch(line)) is not None:
        yield from _hanging(columns[1], columns[2], columns.start(2), width)
    elif line.startswith("    "):  # what belongs to the line before
        yield from _hanging("", line.lstrip(), len(line) - len(line.lstrip()), width)
    else:
        yield line


def _hanging(first: str, text: str, column: int, width: int) -> Iterator[str]:
    """TEXT at COLUMN beside FIRST, or below it."""
    if width - column < _LEAST_ROOM:
        if first:
            yield first
        first, column = "", _BELOW
    for number, part in enumerate(_wrapped(text, max(width - column, 1))):
        yield f"{first if number == 0 else '':<{column}}{part}"


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(text, width, break_long_words=False, break_on_hyphens=False)
