"""A predicate of our own: `result.structuredContent.books sortedBy title` in an assertion."""

from typing import Any

from mcp_conductor import predicate


@predicate("sortedBy")
def sorted_by(value: Any, key: str) -> str | None:
    """`sortedBy KEY`: an array of objects, in the order of this member."""
    if not isinstance(value, list) or not all(isinstance(each, dict) and key in each for each in value):
        return f"is not an array of objects with {key!r}"
    found = [each[key] for each in value]
    wrong = next((place for place in range(1, len(found)) if found[place - 1] > found[place]), None)
    return None if wrong is None else f"has {found[wrong]!r} after {found[wrong - 1]!r}"
