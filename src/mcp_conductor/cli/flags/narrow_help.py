"""A page of --help for a terminal that is narrower than the page: nothing is broken within a word."""

import re
from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap

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
