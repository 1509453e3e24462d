"""What several test files share, in a file of its own: `include`. It applies as if it were written in each of them.

Anchors of YAML end with their file; variables may be whole values, so they do what anchors would.
"""

from functools import partial

from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes
from mcp_conductor.files.other_files import other_file
from mcp_conductor.files.source import load as load_source
from mcp_conductor.suites.language.keys import IN_FILE
from mcp_conductor.suites.language.steps import Reading
from mcp_conductor.suites.language.variables import Filling

KEYS = ("vars", "client", "setup", "teardown", "before_each", "after_each", "tags", "timeout", "ignore")
_NOT_SHARED = {
    "tests": "tests belong in test files, not in files that they include",
    "include": "an included file cannot include others",
    "description": "a description is for a test file",
}


def read_included(given: Field | None, reading: Reading, mistakes: Mistakes) -> list[dict[str, Field]]:
    """The members of each file that GIVEN names, one or several, in their order."""
    if given is None:
        return []
    names = given.items() if isinstance(given.value, list) else [given]
    found: list[dict[str, Field]] = []
    for each in names:
        mistakes.read(each, lambda name: found.append(_members(name, reading, mistakes)), None)
    if len(found) < len(names):
        mistakes.tell()  # the variables of one are not known, so that all that needs them would be a mistake
    return found


def _members(given: Field, reading: Reading, mistakes: Mistakes) -> dict[str, Field]:
    file = other_file(given, reading.directory)
    reading.files.append(file.path)
    if file.outside:
        reading.unquoted.add(file.shown)
    document = file.read(partial(load_source, limit=given.document.limit, quoted=not file.outside))
    return reading.members(Field(document, (), document.data), KEYS, {**IN_FILE, **_NOT_SHARED}, mistakes)


def joined_vars(shared: dict[str, Filling], own: dict[str, Filling]) -> dict[str, Filling]:
    """SHARED variables with OWN ones, which win; one that uses others comes after them."""
    kept = {name: each for name, each in shared.items() if name not in own or own[name].is_fixed}
    return {**kept, **own}
