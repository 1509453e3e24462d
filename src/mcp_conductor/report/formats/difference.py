"""How one document differs from another, line by line, in limited time for any size."""

from collections.abc import Sequence
from typing import Any

from mcp_conductor.protocol.message import render
from mcp_conductor.text.visible import visible

_CONTEXT = 3
# Beyond this many lines that may differ, comparing takes too long: its cost is quadratic.
_MOST_COMPARED = 1000
_DEEPEST = 100


def difference(expected: Any, actual: Any) -> list[str]:
    """The lines that differ, `-` expected and `+` actual, with some lines around them; empty where no such view exists.

    There is one for two objects or two arrays, and for two texts of several lines.
    """
    pair = _documents(expected, actual) or _texts(expected, actual)
    return [] if pair is None else _changes(*pair)


def _documents(expected: Any, actual: Any) -> tuple[list[str], list[str]] | None:
    if not (isinstance(expected, dict) and isinstance(actual, dict)) and not (
        isinstance(expected, list) and isinstance(actual, list)
    ):
        return None
    return _lines(render(expected, 2)), _lines(render(_arranged(actual, expected, 0), 2))


def _texts(expected: Any, actual: Any) -> tuple[list[str], list[str]] | None:
    if type(expected) is not str or type(actual) is not str or "\n" not in expected or "\n" not in actual:
        return None
    return _lines(expected), _lines(actual)


def _lines(text: str) -> list[str]:
    return [visible(line) for line in text.split("\n")]


def _arranged(actual: Any, expected: Any, depth: int) -> Any:
    """ACTUAL with its members in the order of EXPECTED: the order means nothing to JSON, but much to a comparison."""
    if depth == _DEEPEST:
        return actual
    if isinstance(actual, dict) and isinstance(expected, dict):
        names = [name for name in expected if name in actual] + [name for name in actual if name not in expected]
        return {name: _arranged(actual[name], expected.get(name), depth + 1) for name in names}
    if isinstance(actual, list) and isinstance(expected, list):
        paired = [_arranged(mine, theirs, depth + 1) for mine, theirs in zip(actual, expected, strict=False)]
        return paired + actual[len(paired) :]
    return actual


def _changes(expected: list[str], actual: list[str]) -> list[str]:
    from difflib import unified_diff

    same = alike(expected, actual)
    begin = max(0, same - _CONTEXT)
    # Of what is alike at the end, so much is kept as the context needs.
    tail = alike(expected[same:][::-1], actual[same:][::-1]) - _CONTEXT
    end = -tail if tail > 0 else None
    old, new = expected[begin:end], actual[begin:end]
    left_out = max(len(old), len(new)) > _MOST_COMPARED
    changes = list(unified_diff(old[:_MOST_COMPARED], new[:_MOST_COMPARED], n=_CONTEXT, lineterm=""))[2:]
    lines = ["  ..." if line.startswith("@@") else line for line in changes]
    return lines[0 if begin else 1 :] + (["  ..."] if lines and (left_out or end is not None) else [])


def alike(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines, or characters, are the same at the beginning of both."""
    count = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        count += 1
    return count
