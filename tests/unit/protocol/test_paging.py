"""Cursors are followed once each, and pages become one list."""

import pytest

from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.paging import MOST_EMPTY, MOST_PAGES, Cursors, Room, joined

OLD, NEW = DIALECTS["2025-11-25"], DIALECTS["2026-07-28"]


@pytest.mark.parametrize("page", [{}, {"nextCursor": None}, [], None, "text", {"nextCursor": ""}])
def test_a_list_ends_where_no_cursor_comes(page):
    assert Cursors(OLD).after(page) == (None, None)


def test_an_empty_cursor_is_a_cursor_like_any_other_in_the_modern_era():
    assert Cursors(NEW).after({"nextCursor": ""}) == ("", None)


@pytest.mark.parametrize("cursor", [1, True, {}, []])
def test_a_cursor_that_is_no_string_is_odd_and_not_followed(cursor):
    following, oddity = Cursors(NEW).after({"nextCursor": cursor})
    assert following is None
    assert oddity.startswith("nextCursor must be a string")


def test_a_cursor_is_followed_only_once():
    cursors = Cursors(OLD)
    assert cursors.after({"nextCursor": "a"}) == ("a", None)
    assert cursors.after({"nextCursor": "b"}) == ("b", None)
    assert cursors.after({"nextCursor": "a"}) == (None, "the server repeats the cursor 'a'; the list would never end")


def test_a_list_without_end_is_stopped():
    cursors = Cursors(OLD)
    for number in range(MOST_PAGES):
        assert cursors.after({"tools": [{}], "nextCursor": str(number)}) == (str(number), None)
    assert cursors.after({"tools": [{}], "nextCursor": "one more"}) == (None, f"stopped after {MOST_PAGES} pages")


def test_empty_pages_are_followed_but_not_without_end():
    cursors = Cursors(OLD)
    for number in range(MOST_EMPTY - 1):
        assert cursors.after({"tools": [], "nextCursor": str(number)}) == (str(number), None)
    assert cursors.after({"tools": [1], "nextCursor": "an item"}) == ("an item", None)
    for number in range(MOST_EMPTY - 1):
        assert cursors.after({"tools": [], "nextCursor": f"again {number}"}) == (f"again {number}", None)
    assert cursors.after({"tools": [], "nextCursor": "x"}) == (None, f"stopped after {MOST_EMPTY} empty pages in a row")


@pytest.mark.parametrize(
    ("budgets", "page", "pages", "why"),
    [
        (Budgets(message_bytes=100), '{"tools":[{"name":"é"}]}', 4, "longer than 100 bytes (Budgets(message_bytes=…))"),
        (Budgets(message_values=10), '{"tools":[1,2]}', 3, "more than 10 values (Budgets(message_values=…))"),
    ],
)
def test_all_pages_together_have_the_budgets_of_one_message(budgets, page, pages, why):
    room = Room(budgets)
    assert [room.excess(page) for _ in range(pages)] == [None] * pages
    assert room.excess(page) == why


def test_pages_become_the_first_page_with_all_items():
    whole = joined(None, {"ttlMs": 5, "tools": [1], "nextCursor": "2", "_meta": {}}, "tools")
    assert whole == {"ttlMs": 5, "tools": [1], "_meta": {}, "nextCursor": "2"}
    whole = joined(whole, {"tools": [2, 3], "ttlMs": 9}, "tools")
    assert whole == {"ttlMs": 5, "tools": [1, 2, 3], "_meta": {}}


def test_a_page_is_not_changed_by_being_joined():
    page = {"tools": [1]}
    joined(joined(None, page, "tools"), {"tools": [2]}, "tools")
    assert page == {"tools": [1]}
