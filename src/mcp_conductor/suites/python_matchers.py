"""Matchers in Python: `assert reply == like({"tools": "match:arrayLength:2"})`."""

from collections.abc import Mapping
from typing import Any

from mcp_conductor.errors import UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import Document
from mcp_conductor.protocol.dialect import NEWEST_MODERN
from mcp_conductor.protocol.message import render
from mcp_conductor.report.model import Finding
from mcp_conductor.suites.language.expectations import plain
from mcp_conductor.suites.matching.comparison import Mismatch
from mcp_conductor.suites.matching.differences import clipped, shown
from mcp_conductor.suites.matching.expected import compile_expected

_LONGEST_REPR = 60


class Like:
    """What a value is compared with; equal to everything that is as expected."""

    __hash__ = None  # type: ignore[assignment]  # what is equal to so much has no hash

    def __init__(self, expected: Any, *, partial: bool = False, tool: Any = None) -> None:
        self._given = _plain(expected)
        self._tools = None if tool is None else {"": _plain(tool)}
        try:
            text = render(self._given, indent=2)
        except (TypeError, ValueError, RecursionError) as error:
            raise UsageError(f"like() takes what JSON can say: {error}") from error
        root = Field(Document("like()", text, self._given, json=True), (), self._given)
        try:
            self._expected = compile_expected(root, partial=partial)
        except UsageError as error:
            raise error.with_traceback(None) from None  # its way through us is of no interest

    def __eq__(self, actual: object) -> bool:
        found = self._mismatches(actual)
        if undecided := next((each for each in found if each.undecided), None):
            raise UsageError(undecided.message, hint=undecided.hint)  # `!=` would take it for success
        return not found

    def __repr__(self) -> str:
        return f"like({clipped(shown(self._given), _LONGEST_REPR)})"

    def findings(self, actual: object) -> list[Finding]:
        """Everything in which ACTUAL is not as expected."""
        return [
            Finding(
                message=f"{each.path or 'the value'} {each.message}",
                path=each.path,
                expected=each.expected,
                actual=each.actual,
                hint=each.hint,
            )
            for each in self._mismatches(actual)
        ]

    def _mismatches(self, actual: object) -> list[Mismatch]:
        return self._expected.check(self._without_modern_members(_plain(actual)), self._tools)

    def _without_modern_members(self, actual: Any) -> Any:
        """ACTUAL without what the modern era adds to every result, as in test files, unless it is expected."""
        if not isinstance(actual, dict) or "resultType" not in actual:
            return actual
        return plain({"result": actual}, NEWEST_MODERN, {"result": self._given}, verbatim=True)["result"]


def like(expected: Any, *, partial: bool = False, tool: Any = None) -> Like:
    """What a value must be like, by the rules of test files: equal, but for `match:` texts and keys.

    PARTIAL: only the members that are listed are looked at. TOOL, as the server lists it, is for `match:outputSchema`.
    """
    return Like(expected, partial=partial, tool=tool)


def _plain(value: Any) -> Any:
    """JSON as JSON: a message and a view of a result are what they are made of, a tuple is an array."""
    if isinstance(value, Mapping):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    raw = getattr(value, "raw", None)
    return _plain(raw) if isinstance(raw, (Mapping, list)) else value
