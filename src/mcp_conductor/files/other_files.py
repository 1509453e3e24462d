"""Files that a test file names: `include`, `parametrize` and `match:schema`; and links in place of files.

A test file may come from a stranger, and a message that quotes a file shows it to whoever reads the log. So what lies
outside the directory of the test file is read only where the user allows it, and messages do not quote it.
"""

import os
from collections.abc import Callable, Container
from typing import TypeVar

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.values import dataclass

Read = TypeVar("Read")

ALLOWING = "give --allow-outside (pytest: --conductor-allow-outside) if you trust the test file"


@dataclass(frozen=True, slots=True)
class OtherFile:
    """A file that a test file names."""

    given: Field
    path: str
    shown: str
    outside: bool  # of the directory of the test file

    def read(self, load: Callable[[str, str], Read]) -> Read:
        """Return what LOAD makes of the path and the name to show. Mistakes in the file are at their own places."""
        try:
            return load(self.path, self.shown)
        except UsageError as error:
            if self.outside and error.where is not None:
                raise unquoted(error) from None
            if error.where is None:  # it could not be read at all
                self.given.refuse(f"cannot be used: {error.message}", "a path is relative to the test file")
            raise


def other_file(given: Field, directory: str) -> OtherFile:
    """The file that GIVEN names, relative to DIRECTORY. Raises UsageError if it must not be read."""
    name, limit = given.text(), given.document.limit
    path = os.path.normpath(os.path.join(directory, name))
    shown = os.path.normpath(os.path.join(os.path.dirname(given.document.file), name))
    outside = is_outside(path, limit or directory)
    if outside and limit is not None:
        given.refuse(f"is {name!r}, which lies outside the directory of the test file", ALLOWING)
    return OtherFile(given, path, shown, outside)


def is_outside(path: str, directory: str) -> bool:
    """Whether PATH leads out of DIRECTORY, also by a link."""
    return not os.path.realpath(path).startswith(os.path.join(os.path.realpath(directory), ""))


def unquoted(error: UsageError, files: Container[str] | None = None) -> UsageError:
    """ERROR without anything that stands in FILES; without FILES, in any."""
    where = error.where
    if where is None or (files is not None and where.file not in files):
        return error
    place = Location(where.file, where.line, where.column)
    hint = "what lies outside the directory of the test file is not quoted"
    return UsageError(f"{where.file} has a mistake in line {where.line}", hint=hint, where=place)
