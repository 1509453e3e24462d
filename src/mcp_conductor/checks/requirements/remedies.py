"""What the author of a server or of a client should change, for each requirement, from `remedies.txt`.

In that file, a remedy is a line with the ids that it is for, and its text. It is a file of its own because only those
read it who ask for an explanation, and because requirements that are alike share their remedy.
"""

from functools import cache
from importlib.resources import files


@cache
def remedies() -> dict[str, str]:
    """The remedy of each requirement, by its id."""
    found: dict[str, str] = {}
    for block in files(__package__).joinpath("remedies.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        ids, *lines = block.split("\n")
        for each in ids.split():
            if each in found:
                raise ValueError(f"there are two remedies of {each}")
            found[each] = " ".join(lines)
    return found
