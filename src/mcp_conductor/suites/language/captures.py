"""`capture`: parts of a reply that are kept under names, for what comes later."""

from typing import Any

from mcp_conductor.bounded.regex import Regex
from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.mistakes import read_all
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import read
from mcp_conductor.report.model import NOTHING
from mcp_conductor.suites.language.variables import check_name
from mcp_conductor.suites.matching.matchers.regexes import read_written_regex
from mcp_conductor.suites.matching.paths import JsonPath, Part, parse_path, refuse_unknown_root
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True)
class Capture:
    """A part of the reply that later steps can use by name."""

    given: Field
    path: JsonPath
    inner: JsonPath | None  # within the JSON in a text
    regex: Regex | None  # what it takes out of a text
    secret: bool

    def value(self, document: Json) -> Any:
        """What is captured of DOCUMENT, or NOTHING; of several values, an array of those that are there.

        Raises TooSlowError.
        """
        found = self.path.pick(document)
        if found is NOTHING or not self.path.several:
            return self._taken(found)
        values = [self._taken(value) for value in self.path.values(document)]
        there = [value for value in values if value is not NOTHING]
        return there if there or not values else NOTHING

    def _taken(self, value: Any) -> Any:
        """What is captured of one value."""
        if self.inner is not None and value is not NOTHING:
            try:
                value = self.inner.find(read(value))
            except (ValueError, RecursionError, TypeError):
                return NOTHING
        if self.regex is None or value is NOTHING:
            return value
        taken = self.regex.captured(value) if isinstance(value, str) else None
        return NOTHING if taken is None else taken

    @property
    def source(self) -> str:
        """Where it comes from, as a message says it."""
        return self._whole.text + (f", by {self.regex.written!r}" if self.regex is not None else "")

    def nothing(self, document: Json) -> str:
        """Say that DOCUMENT has nothing to be captured, and why, unless a secret might be told."""
        why = "" if self.secret or self._whole.pick(document) is not NOTHING else f": {self._whole.why(document)}"
        return f"nothing was found at {self.source}{why}"

    @property
    def _whole(self) -> JsonPath:
        """The path with that within the JSON."""
        if self.inner is None:
            return self.path
        parts = (*self.path.parts, Part(pipe="json"), *self.inner.parts)
        return JsonPath(f"{self.path.text} | json | {self.inner.text}", parts)


def read_captures(given: Field) -> dict[str, Capture]:
    """What `capture` says: names, and what each of them is to hold."""

    def read(member: tuple[str, Field]) -> tuple[str, Capture]:
        name, each = member
        check_name(each, name)
        return name, _capture(each)

    return dict(read_all(read, given.members().items()))


def _capture(given: Field) -> Capture:
    if isinstance(given.value, str):
        return Capture(given, read_path(given), None, None, secret=False)
    members = given.members(("from", "json", "regex", "secret"))
    if "from" not in members:
        given.refuse("does not say where from", "capture: {NAME: result.structuredContent.id}")
    inner = _parsed(members["json"]) if "json" in members else None
    regex = _regex(members["regex"]) if "regex" in members else None
    secret = "secret" in members and members["secret"].boolean()
    return Capture(given, read_path(members["from"]), inner, regex, secret=secret)


def _regex(given: Field) -> Regex:
    try:
        return read_written_regex(given.text())
    except ValueError as error:
        given.refuse(f"cannot be used: {error}")


def read_path(given: Field) -> JsonPath:
    """A path into a reply."""
    path = _parsed(given)
    try:
        refuse_unknown_root(path)
    except UsageError as error:
        given.refuse(error.message, error.hint)
    return path


def _parsed(given: Field) -> JsonPath:
    try:
        return parse_path(given.text())
    except ValueError as error:
        given.refuse(f"is not a path: {error}")
