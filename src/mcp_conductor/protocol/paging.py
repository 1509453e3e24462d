"""Lists that come in pages: where the items stand, which cursor comes next, and when to stop."""

from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.budgets import Budgets, TooLarge, too_long, too_many, values_in
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import kind_of, render

# Where the items stand in the result of each list method.
LIST_MEMBERS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
    "tasks/list": "tasks",
}
MOST_PAGES = 10_000
MOST_EMPTY = 100  # pages in a row; a server that filters may have some


class Cursors:
    """The cursors of one list, so that none is followed twice."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._seen: set[str] = set()
        self._empty = 0  # pages in a row

    def after(self, page: Any) -> tuple[str | None, str | None]:
        """The cursor of the page after PAGE, or None at the end; and what is odd about it, if anything is."""
        cursor = page.get("nextCursor") if isinstance(page, dict) else None
        if cursor is None or (cursor == "" and not self._dialect.empty_cursor):
            return None, None
        if not isinstance(cursor, str):
            return None, f"nextCursor must be a string, not {kind_of(cursor)}: {render(cursor)}"
        if cursor in self._seen:
            return None, f"the server repeats the cursor {cursor!r}; the list would never end"
        if len(self._seen) == MOST_PAGES:
            return None, f"stopped after {MOST_PAGES} pages"
        has_items = any(isinstance(member, list) and member for member in page.values())
        self._empty = 0 if has_items else self._empty + 1
        if self._empty == MOST_EMPTY:
            return None, f"stopped after {MOST_EMPTY} empty pages in a row"
        self._seen.add(cursor)
        return cursor, None


class Room:
    """What is left for the pages of one list: together they have the budgets of one message."""

    def __init__(self, budgets: Budgets) -> None:
        self._budgets = budgets
        self._bytes = budgets.message_bytes
        self._values = budgets.message_values

    def excess(self, text: str) -> TooLarge | None:
        """Why there is no room for more after the page in TEXT; None if there is."""
        data = text.encode(errors="surrogatepass")
        self._bytes -= len(data)
        self._values -= values_in(data)
        if self._bytes < 0:
            return too_long(self._budgets)
        return too_many(self._budgets) if self._values < 0 else None


def joined(whole: Json | None, page: Json, member: str) -> Json:
    """The first page with the items of all pages so far; it has the cursor of the last page, if that has one."""
    items = list(page[member]) if whole is None else whole[member]
    if whole is not None:
        items += page[member]
    rest = {key: value for key, value in (whole or page).items() if key != "nextCursor"}
    cursor = page.get("nextCursor")
    return {**rest, member: items, **({"nextCursor": cursor} if cursor else {})}


def cursor_in(method: str, reply: object) -> str | None:
    """The cursor in REPLY to METHOD, if that lists something: a text that only the server understands."""
    result = reply.get("result") if method in LIST_MEMBERS and isinstance(reply, dict) else None
    cursor = result.get("nextCursor") if isinstance(result, dict) else None
    return cursor if isinstance(cursor, str) else None


def with_cursor(reply: Json, cursor: str) -> Json:
    """REPLY, which has a cursor, with CURSOR in its place."""
    return {**reply, "result": {**reply["result"], "nextCursor": cursor}}
