"""Two documents are compared line by line, in bounded time, for any order of their members."""

import sys

import pytest

from mcp_conductor.protocol.message import read
from mcp_conductor.report.formats.difference import difference


def test_lines_that_differ_are_shown_with_three_around_them():
    expected = {"a": 1, "b": 2, "c": 3, "d": [4, 5], "e": 6, "f": 7, "g": 8}
    actual = {"a": 1, "b": 2, "c": 3, "d": [4, 0], "e": 6, "f": 7, "g": 8}
    assert (
        "\n".join(difference(expected, actual))
        == """\
  ...
   "c": 3,
   "d": [
     4,
-    5
+    0
   ],
   "e": 6,
   "f": 7,
  ..."""
    )


def test_what_is_short_is_shown_from_beginning_to_end():
    assert difference([1, 2], [1, 3]) == [" [", "   1,", "-  2", "+  3", " ]"]


def test_places_far_apart_are_shown_with_a_gap():
    expected, actual = list(range(40)), list(range(40))
    actual[1], actual[38] = -1, -2
    assert difference(expected, actual).count("  ...") == 1


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
    ],
)
def test_the_order_of_members_is_no_difference(expected, actual):
    assert difference(expected, actual) == []


def test_members_that_are_missing_or_more_are_shown():
    assert difference({"a": 1, "b": 2}, {"c": 3, "a": 1}) == [" {", '   "a": 1,', '-  "b": 2', '+  "c": 3', " }"]
    more = [" [", "   {", '     "a": 1', "+  },", "+  {", '+    "b": 2', "   }", " ]"]
    assert difference([{"a": 1}], [{"a": 1}, {"b": 2}]) == more


def test_texts_of_several_lines_are_compared_too():
    assert difference("a\nb\n", "a\nc") == [" a", "-b", "-", "+c"]


@pytest.mark.parametrize(("expected", "actual"), [("a", "b"), ("a\nb", "c"), (1, 2), ({}, []), (None, {"a": 1})])
def test_other_values_have_no_such_view(expected, actual):
    assert difference(expected, actual) == []


def test_big_numbers_keep_their_digits():
    assert difference([read("1.0")], [read("1.00")]) == [" [", "-  1.0", "+  1.00", " ]"]


def test_a_document_of_many_lines_is_compared_where_it_begins_to_differ():
    expected = [*range(10_000), "old", *range(10_000)]
    actual = [*range(10_000), "new", *range(10_000)]
    assert difference(expected, actual) == [
        "  ...", "   9997,", "   9998,", "   9999,", '-  "old",', '+  "new",', "   0,", "   1,", "   2,", "  ...",
    ]  # fmt: skip


def test_two_documents_that_have_nothing_in_common_are_compared_in_part():
    lines = difference(list(range(5000)), [-number for number in range(1, 5000)])
    assert len(lines) < 2100
    assert lines[-1] == "  ..."


def test_nesting_of_any_depth_is_compared():
    depth = sys.getrecursionlimit() * 3
    expected, actual = [1], [2]
    for _ in range(depth):
        expected, actual = [expected], [actual]
    lines = [line.strip("+- ") for line in difference(expected, actual) if line[0] in "+-"]
    assert lines == ["1", "2"]


def test_control_characters_are_made_visible():
    assert difference("a\n\x1b", "a\n\x07") == [" a", "-\\x1b", "+\\x07"]
