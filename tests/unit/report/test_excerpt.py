"""Marks stand below what they mean, with what is said of it; long lines are shown in part."""

import pytest

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.report.error_text import diagnostic
from mcp_conductor.report.excerpt import Note, excerpt


def one(*place, room=None, said=(), value=None):
    return excerpt([Note(Location("a.yml", *place, value), said)], room)


def test_an_error_has_the_form_of_a_finding():
    where = Location("a.yml", 31, 9, "  text: é\tx")
    error = diagnostic(UsageError("wrong", where=where)).split("\n")
    assert [f"  {line}" for line in excerpt([Note(where)])] == error[1:]


def test_a_place_without_its_line_is_the_place_alone():
    assert excerpt([Note(Location("a.yml", 31, 9))]) == ["--> a.yml:31:9"]


@pytest.mark.parametrize(
    ("source", "column", "below"),
    [
        ("text: x", 7, "      ^"),
        ("\ttext: x", 2, "\t^"),
        ("日本: x", 5, "      ^"),
        ("e\u0301: x", 5, "   ^"),
        ("\x00: x", 4, "      ^"),
        ("short", 20, "     ^"),
        ("x\r", 1, "^"),
    ],
)
def test_the_caret_stands_below_what_it_means(source, column, below):
    assert one(7, column, source)[2] == f"  | {below}"


@pytest.mark.parametrize(
    ("source", "value", "below"),
    [("a: image", (4, 9), "   ^^^^^"), ("a: 日本", (4, 6), "   ^^^^"), ("a: x", (4, 40), "   ^")],
)
def test_the_mark_is_as_wide_as_the_value(source, value, below):
    assert one(7, 1, source, value=value)[2] == f"  | {below}"


def test_of_a_long_line_the_part_around_the_mark_is_shown():
    source = "a" * 500 + "X" + "b" * 500
    _, line, caret = one(7, 501, source, room=64)
    assert len(line) == 64
    assert line.startswith("7 | …a")
    assert line.endswith("b…")
    assert line[caret.index("^")] == "X"


def test_two_marks_far_apart_in_a_long_line_show_it_twice():
    source = "X" + "-" * 1000 + "Y"
    lines = excerpt([Note(Location("a.yml", 7, column, source), ["said"]) for column in (1, 1002)], 64)
    assert [line for line in lines if "X" in line or "Y" in line] == [f"7 | X{'-' * 57}…", f"7 | …{'-' * 57}Y"]
    assert sum("^" in line for line in lines) == 2


def test_all_marks_of_a_file_are_one_excerpt_in_its_order():
    notes = [
        Note(Location("a.yml", 12, 1, "c: 3", (4, 5)), ["third"]),
        Note(Location("a.yml", 8, 1, "a: 1", (4, 5)), ["first"]),
        Note(Location("a.yml", 9, 1, "b: 2", (4, 5)), ["second"]),
    ]
    assert excerpt(notes) == [
        "--> a.yml:8:1",
        " 8 | a: 1",
        "   |    ^ first",
        " 9 | b: 2",
        "   |    ^ second",
        "   :",
        "12 | c: 3",
        "   |    ^ third",
    ]


def test_what_does_not_fit_beside_its_mark_stands_below_it_in_several_lines():
    said = "the words of this message are too many for one line, so that they stand on two"
    _, _, mark, *below = one(7, 1, "a: 1", room=64, said=[said], value=(4, 5))
    assert mark == "  |    ^"
    assert all(line.startswith("  |   ") and len(line) <= 64 for line in below)
    assert " ".join(line[6:] for line in below) == said


def test_what_fits_below_its_mark_or_at_least_on_one_line_is_not_broken():
    source = "-" * 30 + "X" * 30
    for said, indent in (("y" * 29, 30), ("y" * 58, 2)):
        assert one(7, 31, source, room=64, said=[said], value=(31, 61))[3:] == [f"  | {' ' * indent}{said}"]


def test_a_mark_that_a_crop_would_cut_gets_a_line_of_its_own():
    source = f"{{first: {'x' * 40}, second: {'y' * 40}}}"
    places = [Location("a.yml", 1, column, source, (column, column + 40)) for column in (9, 59)]
    lines = excerpt([Note(where, ["wrong"]) for where in places], 80)
    assert [line.count("^") for line in lines if "^" in line] == [40, 40]
