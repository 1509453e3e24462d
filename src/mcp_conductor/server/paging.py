"""Lists in pages: which items come at a cursor, and the cursor that leads to the next ones."""

import base64
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS
from mcp_conductor.server.definitions import Refusal

Page = tuple[list[Json], str | None]  # the items, and the cursor of the next page


def page_at(cursor: Any, member: str, items: list[Json], size: int) -> Page:
    """The page of ITEMS at CURSOR, which has at most SIZE of them; 0: all."""
    start = 0 if cursor is None else _start(cursor, member, len(items))
    end = start + (size or len(items))
    return items[start:end], _cursor(member, end) if end < len(items) else None


def _cursor(member: str, start: int) -> str:
    return base64.urlsafe_b64encode(f"{member}:{start}".encode()).decode()


def _start(cursor: Any, member: str, length: int) -> int:
    """Where the page at CURSOR begins. Only what `_cursor` makes is a cursor."""
    try:
        start = int(base64.urlsafe_b64decode(cursor.encode()).decode().removeprefix(f"{member}:"))
        genuine = 0 < start < max(length, 1) and _cursor(member, start) == cursor
    except (ValueError, AttributeError):
        genuine = False
    if not genuine:
        raise Refusal(INVALID_PARAMS, f"Invalid cursor: {cursor!r}")
    return start
