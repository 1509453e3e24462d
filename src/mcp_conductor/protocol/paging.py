"""Lists that come in pages: where the items stand, which cursor comes next, and when to stop believing in more."""

from typing import Any

from mcp_conductor.protocol import Json
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


class Cursors:
    """The cursors of one list, so that none is followed twice."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._seen: set[str] = set()

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
        self._seen.add(cursor)
        return cursor, None


def joined(whole: Json | None, page: Json, member: str) -> Json:
    """The first page with the items of all pages so far; the last cursor stays, and goes if the list ends well."""
    items = list(page[member]) if whole is None else whole[member]
    if whole is not None:
        items += page[member]
    rest = {key: value for key, value in (whole or page).items() if key != "nextCursor"}
    cursor = page.get("nextCursor")
    return {**rest, member: items, **({"nextCursor": cursor} if cursor else {})}
