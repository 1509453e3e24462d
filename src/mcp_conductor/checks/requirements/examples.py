"""Small conversations that keep or break a requirement, from `examples.txt` of each topic.

In these files, an example is the ids that it is for, a line with @ and the revision, and the conversation: > is what
the client sends, < what the server does, # a remark. What is not JSON stands for HTTP, or is sent on purpose as it is.

Below it stand conversations that break these requirements, each after a line with ! and the ids that it is for; without
ids it is for all of the example. Their line = is the line at the same place of the conversation that keeps them, and a
line with ! before it is the one that breaks them.
"""

from collections.abc import Iterator
from functools import cache

from mcp_conductor.checks.requirements.topics import texts
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation that keeps some requirements, or breaks them."""

    version: str
    lines: tuple[str, ...]  # each begins with >, < or #
    wrong: tuple[int, ...] = ()  # the places of the lines that break them


@cache
def examples() -> dict[str, Example]:
    """A conversation that keeps each requirement, by its id."""
    return _by_id((ids, kept) for ids, kept, _ in _blocks())


@cache
def counterexamples() -> dict[str, Example]:
    """A conversation that breaks each requirement, by its id."""
    return _by_id((ids, each) for _, _, broken in _blocks() for ids, each in broken)


def _by_id(found: Iterator[tuple[list[str], Example]]) -> dict[str, Example]:
    by_id: dict[str, Example] = {}
    for ids, example in found:
        for each in ids:
            if each in by_id:
                raise ValueError(f"there are two examples of {each}")
            by_id[each] = example
    return by_id


def _blocks() -> Iterator[tuple[list[str], Example, list[tuple[list[str], Example]]]]:
    """The ids of each block of the file, what keeps them, and what breaks some or all of them."""
    for block in (block for _, text in texts("examples.txt") for block in text.strip("\n").split("\n\n")):
        head, version, *lines = block.split("\n")
        version = version.removeprefix("@ ")
        parts: list[tuple[list[str], list[str]]] = [(head.split(), [])]
        for line in lines:
            if line == "!" or line.startswith("! "):
                parts.append((line[2:].split() or head.split(), []))
            else:
                parts[-1][1].append(line)
        (ids, kept), *broken = parts
        yield ids, Example(version, tuple(kept)), [(some, _broken(version, those, kept)) for some, those in broken]


def _broken(version: str, lines: list[str], kept: list[str]) -> Example:
    whole = [kept[place] if line == "=" else line for place, line in enumerate(lines)]
    wrong = tuple(place for place, line in enumerate(whole) if line.startswith("!"))
    return Example(version, tuple(line.removeprefix("!") for line in whole), wrong)
