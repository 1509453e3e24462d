"""Matchers of our own: `match:isbn13`, and `match:isbnOf:979`, which takes an argument."""

from typing import Any

from mcp_conductor import matcher


@matcher("isbn13")
def isbn13(actual: Any) -> str | None:
    """`match:isbn13` — a text that is an ISBN of 13 digits whose last digit is right."""
    digits = actual.replace("-", "") if isinstance(actual, str) else ""
    if len(digits) != 13 or not digits.isdecimal():
        return f"is {actual!r}, which is not an ISBN of 13 digits"
    total = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(digits))
    return f"is {actual!r}, whose last digit is wrong" if total % 10 else None


@matcher("isbnOf")
def isbn_of(actual: Any, prefix: str) -> str | None:
    """`match:isbnOf:PREFIX` — such a text that begins with PREFIX."""
    problem = isbn13(actual)
    if problem is None and not actual.startswith(prefix):
        problem = f"is {actual!r}, which does not begin with {prefix}"
    return problem
