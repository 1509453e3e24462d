"""What keeping a requirement looks like on the wire: one small conversation for each, from `examples.txt`.

In that file, an example is the ids that it is for, a line with @ and the revision, and the conversation: > is what the
client sends, < what the server does, # a remark. What is no JSON stands for HTTP, or is sent on purpose as it is.
"""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation that keeps some requirements."""

    version: str
    lines: tuple[str, ...]  # each begins with >, < or #


@cache
def examples() -> dict[str, Example]:
    """The example of each requirement, by its id."""
    found: dict[str, Example] = {}
    for block in files(__package__).joinpath("examples.txt").read_text(encoding="utf-8").split("\n\n"):
        ids, version, *lines = block.strip("\n").split("\n")
        example = Example(version.removeprefix("@ "), tuple(lines))
        for each in ids.split():
            if each in found:
                raise ValueError(f"there are two examples of {each}")
            found[each] = example
    return found
