"""What is given to a flag, as a number, a time, a size or one of some words; anything else is refused by its name."""

from typing import TypeVar

from mcp_conductor.cli.flags import Given
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.duration import seconds

T = TypeVar("T", int, float)


def number(given: Given, flag: str, least: int = 1, most: int = 10**6) -> int | None:
    """The number given to FLAG."""
    text = given.one(flag)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal()) or len(text) > 9 or not least <= int(text) <= most:
        raise UsageError(f"{flag} takes a number from {least} to {most}, not {text!r}")
    return int(text)


def count(given: Given, flag: str, default: int) -> int:
    """The number given to FLAG, without an upper limit; 0 is refused."""
    text = given.one(flag)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal()) or len(text) > 12 or int(text) == 0:
        raise UsageError(f"{flag} takes a number above 0, not {text!r}")
    return int(text)


def time(given: Given, flag: str, default: str | None = None) -> float | None:
    """The time given to FLAG, or else DEFAULT, in seconds."""
    text = given.one(flag) if flag in given else default
    if text is None:
        return None
    return _above_0(flag, text, seconds(text), "a time", "5000 (milliseconds), 500ms, 2s or 1m")


def size(given: Given, flag: str, default: int) -> int:
    """The size given to FLAG, in bytes."""
    text = given.one(flag)
    if text is None:
        return default
    from mcp_conductor.protocol.size import size

    return _above_0(flag, text, size(text), "a size", "64MB, 512kB or 1000 (bytes)")


def _above_0(flag: str, text: str, value: T | None, what: str, examples: str) -> T:
    if value is None:
        raise UsageError(f"{flag} takes {what} above 0, such as {examples}, not {text!r}")
    return value
