"""A part of a test file that can be used only once its placeholders are filled in, and is checked long before."""

from collections.abc import Callable
from typing import Any

from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import Mistakes
from mcp_conductor.files.placeholders import Draft
from mcp_conductor.suites.language.actions import Names
from mcp_conductor.suites.language.variables import Filling, Variables, filling


class Template:
    """A part of the file that becomes something usable (T) once its placeholders are filled in."""

    def __init__(self, given: Field, known: Names, make: Callable[[Field], Any]) -> None:
        self.given = given
        self._make = make
        self._fixed: Any = None
        if given.document.lacks("{{"):  # as most files do
            self.filling: Filling = Draft(given.value)
            self._fixed = make(given)
            return
        mistakes = Mistakes()
        found = mistakes.read(given, lambda _: filling(given, known), None)
        self.filling = Draft(_open(given.value)) if found is None else found
        # Compiled now, whether it can be used as it is or not: mistakes are found before any server starts.
        if self.is_fixed:
            self._fixed = mistakes.read(Field(given.document, given.path, self.filling.value), make, None)
        else:
            mistakes.read(Field(given.document, given.path, _open(given.value)), make, None)
        mistakes.tell()

    @property
    def is_fixed(self) -> bool:
        return self.filling.fill is None

    def make(self, variables: Variables) -> Any:
        if self.filling.fill is None:
            return self._fixed
        return self._make(Field(self.given.document, self.given.path, self.filling.filled(variables)))


def _open(value: Any) -> Any:
    """VALUE with everything that is yet to be filled in left open."""
    if isinstance(value, str):
        return "match:any" if "{{" in value else value
    if isinstance(value, dict):
        return {key: _open(member) for key, member in value.items()}
    return [_open(item) for item in value] if isinstance(value, list) else value
