"""How much of what a server says is read: budgets in bytes and in values, and whether a message keeps them.

Values are counted before a message is parsed, because parsed they take far more memory than the text that they come in.
"""

import re
import sys

from mcp_conductor.errors import way
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Budgets:
    """The limits of one conversation. A batch is one message, and has the budgets of one."""

    message_bytes: int = 64 << 20  # of one message: a line, the body of an HTTP answer, an event
    message_values: int = 1_000_000  # of one message: objects, arrays, texts, numbers, true, false and null
    transcript_bytes: int = 256_000_000  # of memory for what is remembered of a conversation
    stderr_bytes: int = 8_000_000  # of that, for what the server writes to stderr
    notification_bytes: int = 16_000_000  # of notifications that one test looks at, or that wait to be printed
    whole_bytes: int = sys.maxsize  # of messages over a megabyte that are remembered whole; of others, only the ends
    unasked_messages: int = sys.maxsize  # in a row that answer no request; then the server is not heard any more
    unasked_bytes: int = sys.maxsize  # of their text


LONGEST_URI = 65_536  # characters of a URI, or of a template for URIs


class TooLarge(str):
    """Why a message was not read, although it may be a good one."""

    __slots__ = ()


DEFAULT = Budgets()
# For what has been measured before, or comes from a file of the user's.
UNBOUNDED = Budgets(
    message_bytes=sys.maxsize, message_values=sys.maxsize, transcript_bytes=sys.maxsize, stderr_bytes=sys.maxsize
)

_FEW = 1_000
_BUT_MARKS = bytes(set(range(256)) - set(b'"[{,'))
_BUT_BRACES = bytes(set(range(256)) - set(b'"{}'))


def excess(data: bytes, budgets: Budgets) -> TooLarge | None:
    """Why the message in DATA is too large to be read; None if it is not."""
    # A value takes a character at least, and so does what stands between two of them.
    if len(data) <= min(budgets.message_bytes, 2 * budgets.message_values):
        return None
    if len(data) > budgets.message_bytes:
        return too_long(budgets)
    return too_many(budgets) if _has_more_values(data, budgets.message_values) else None


def too_long(budgets: Budgets) -> TooLarge:
    from mcp_conductor.protocol.size import size_text

    limit = way("--max-message-size", "Budgets(message_bytes=…)")
    return TooLarge(f"longer than {size_text(budgets.message_bytes)} ({limit})")


def too_many(budgets: Budgets) -> TooLarge:
    limit = way("--max-message-values", "Budgets(message_values=…)")
    return TooLarge(f"more than {budgets.message_values} values ({limit})")


def values_in(data: bytes) -> int:
    """How many values there are at most in DATA, a message that keeps its budgets."""
    return len(_outside(_unescaped(data).translate(None, _BUT_MARKS)))


def _has_more_values(data: bytes, most: int) -> bool:
    """Whether there may be more than MOST values in the JSON text DATA: brackets and commas tell, in linear time.

    There is one value more than commas and brackets that open something, less what is empty.
    """
    if sum(_count(data, mark) for mark in (b",", b"[", b"{")) < most:
        return False
    marks = _unescaped(data).translate(None, _BUT_MARKS)
    # Each value has at most two texts, its name and itself.
    return marks.count(b'"') > 4 * most or len(_outside(marks)) >= most


def _count(data: bytes, mark: bytes) -> int:
    """`data.count(mark)`, which looks at every byte; `find` leaps over long texts, where few marks are."""
    at = found = 0
    while found < _FEW:
        at = data.find(mark, at) + 1
        if not at:
            return found
        found += 1
    return found + data.count(mark, at)


def braces_close(data: bytes) -> bool:
    """Whether as many braces close as open, outside of texts."""
    marks = _outside(_unescaped(data).translate(None, _BUT_BRACES))
    return marks.count(b"{") == marks.count(b"}")


def _outside(marks: bytes) -> bytes:
    """MARKS without texts. Two quotes with nothing between them go first: that takes no memory for each of them."""
    return re.sub(rb'"[^"]*"', b"", marks.replace(b'""', b""))


def _unescaped(data: bytes) -> bytes:
    """DATA without escaped backslashes and quotes: each quote that is left begins or ends a text."""
    return data.replace(b"\\\\", b"").replace(b'\\"', b"") if b"\\" in data else data
