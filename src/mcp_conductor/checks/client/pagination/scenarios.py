"""Lists in pages: cursors that a client must send back as they are, and pages of any size."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.harness.client_record import ClientRecord, seen, shown
from mcp_conductor.checks.harness.scenario import MODERNS, scenario, watched
from mcp_conductor.checks.harness.scripted_server import ServerScript
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.report.model import Finding
from mcp_conductor.server.paging import Page

# All strings are cursors. Each tempts a client to do something else to it: to trim, to decode, to read it as a value.
_ODD_CURSORS = (
    'second "page", \\ of nine',
    "dritte Seite: Größe 世界 " + "x" * 4096,
    " \tblanks around\n ",
    "cGFnZSA1==",
    "0060",
    "7e3",
    '{"page": 8}',
    "a%2Fb%20c+d&e=#f",
    "u\u0308",  # which is two characters, and not normalized
)
_MOST_ROUNDS = 40  # of a list that never ends


@scenario("pages", together="ends")
class Pages(ServerScript):
    """Lists have pages of different sizes, most of them empty, and cursors are long and odd."""

    def pages(self, method: str, items: list[Json]) -> list[tuple[str | None, list[Json]]]:
        del method
        self.did("paged")
        empty: list[tuple[str | None, list[Json]]] = [(each, []) for each in _ODD_CURSORS[:-1]]
        return [(None, items[:1]), *empty, (_ODD_CURSORS[-1], items[1:])]


@scenario("empty-cursor", revisions=MODERNS, together="notices")
class EmptyCursor(ServerScript):
    """The cursor of the second page is the empty string."""

    def pages(self, method: str, items: list[Json]) -> list[tuple[str | None, list[Json]]]:
        del method
        return [(None, items[:1]), ("", items[1:])]


@scenario("endless-list", together="loops")
class EndlessList(ServerScript):
    """Every page of a list names the same next one."""

    def __init__(self, record: ClientRecord, version: str | None) -> None:
        super().__init__(record, version)
        self.rounds: dict[str, int] = {}

    def page(self, method: str, items: list[Json], cursor: Any) -> Page:
        del cursor
        rounds = self.rounds[method] = self.rounds.get(method, 0) + 1
        return items[:1], "again" if rounds < _MOST_ROUNDS else None


def _given_pages(record: ClientRecord) -> dict[str, list[tuple[Any, Json]]]:
    """The pages that were given to the client, by method: the cursor that was asked for, and the result."""
    found: dict[str, list[tuple[Any, Json]]] = {}
    for connection in record.connections:
        for exchange in connection.exchanges:
            reply = exchange.reply
            page = reply.result if reply is not None and reply.kind == "result" else None
            if exchange.request.method in LIST_MEMBERS and isinstance(page, dict):
                asked = exchange.request.params.get("cursor")
                found.setdefault(exchange.request.method, []).append((asked, page))
    if not found:
        raise NotSeen("the client never listed anything")
    return found


@watched("pagination-client-opaque", scenario=("plain", "pages"), recorded="conversation")
def cursors_come_back_as_they_are(record: ClientRecord) -> Iterator[Finding]:
    """Give out long cursors, with blanks around, escapes, or like numbers: the client sends them back unchanged."""
    given = {
        name: {compact(page.get("nextCursor")) for _, page in pages} for name, pages in _given_pages(record).items()
    }
    known = {cursor for cursors in given.values() for cursor in cursors}
    used = [each for each in record.requests(*LIST_MEMBERS) if "cursor" in each.params]
    if record.recorded:  # a person may name a cursor of an earlier conversation
        used = [each for each in used if given.get(each.method, set()) - {compact(None)}]
    for request in seen(used, "the client sent no cursor"):
        cursor = request.params["cursor"]
        if compact(cursor) not in known:
            yield fault(
                f"{request.method} was sent with a cursor that the server never gave: {shown(cursor)}", request.raw
            )


@watched("pagination-client-continues", scenario="plain")
def lists_are_read_to_their_end(record: ClientRecord) -> Iterator[Finding]:
    """Give lists in two pages: the client asks for the second one too."""
    for method, pages in _given_pages(record).items():
        asked = {cursor for cursor, _ in pages}
        for _, page in pages:
            following = page.get("nextCursor")
            if following is not None and following not in asked:
                yield fault(f"{method}: the client did not ask for the page after the first", page)


@watched("pagination-client-no-page-size", scenario="pages")
def pages_may_be_empty(record: ClientRecord) -> Iterator[Finding]:
    """Give pages of one, none and two items: an empty page does not end the list."""
    counted = False
    for method, pages in _given_pages(record).items():
        asked = [each.params.get("cursor") for each in record.requests(method)]
        if _ODD_CURSORS[0] not in asked:
            continue
        counted = True
        if asked[-1] == _ODD_CURSORS[0]:
            yield fault(f"{method}: the client stopped at an empty page, although it has a nextCursor", pages[-1][1])
    if not counted:
        raise NotSeen("the client sent no cursor")


@watched("pagination-client-empty-cursor", scenario="empty-cursor")
def an_empty_cursor_is_one(record: ClientRecord) -> Iterator[Finding]:
    """Give the empty string as the next cursor: the client asks for that page."""
    plain = record.plain
    if plain is None or not any("cursor" in each.params for each in plain.requests(*LIST_MEMBERS)):
        raise NotSeen("the client sends no cursors")
    for method, pages in _given_pages(record).items():
        offered = [page for _, page in pages if page.get("nextCursor") == ""]
        if offered and "" not in [cursor for cursor, _ in pages]:
            yield fault(f'{method}: the client stopped at nextCursor "", which is a cursor', offered[0])


@watched("pagination-client-loop-guard", scenario="endless-list")
def a_list_without_end_is_given_up(record: ClientRecord) -> Iterator[Finding]:
    """Name the same next page again and again: the client stops asking for it."""
    for method, pages in _given_pages(record).items():
        if len(pages) >= _MOST_ROUNDS:
            yield fault(f"{method}: the client asked for the same page {len(pages)} times")
            return
    if not any("cursor" in each.params for each in record.requests(*LIST_MEMBERS)):
        raise NotSeen("the client sent no cursor")
