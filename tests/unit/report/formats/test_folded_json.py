"""Long JSON is indented; what is not marked is folded, with a count; and there is a bound on the lines."""

import json

import pytest

from mcp_conductor.report.formats.folded_json import folded


def shown(value, *paths, room=60):
    text = value if isinstance(value, str) else json.dumps(value)
    lines = []
    for line, marks in folded(text, paths, room):
        lines.append(line)
        lines += (
            ["".join("^" if any(a <= place < b for a, b in marks) else " " for place in range(len(line))).rstrip()]
            if marks
            else []
        )
    return lines


BASKET = {
    "id": 1,
    "result": {
        "customer": {"name": "Ada Lovelace", "city": "London", "since": "1843-09-01"},
        "lines": [{"sku": f"A-{number}", "title": "Difference engine", "price": number} for number in range(5)],
        "total": 832.5,
        "currency": "EUR",
    },
}


def test_what_fits_is_shown_as_it_was_sent():
    assert shown('{"a":1,  "b":[]}', ("a",)) == ['{"a":1,  "b":[]}', "     ^"]


def test_what_differs_is_marked_and_what_is_beside_it_is_folded():
    assert shown(BASKET, ("result", "total")) == [
        '{"id": 1, "result": {',
        '  "customer": {… 3 members}, "lines": [… 5 elements],',
        '  "total": 832.5,',
        "           ^^^^^",
        '  "currency": "EUR"}}',
    ]


def test_of_many_neighbours_the_first_are_shown_with_a_count_of_the_others():
    many = {"id": 1, "result": {**{f"member{number}": number for number in range(40)}, "wrong": 7}}
    assert shown(many, ("result", "wrong")) == [
        '{"id": 1, "result": {',
        '  "member0": 0, "member1": 1, "member2": 2, … 37 more,',
        '  "wrong": 7}}',
        "           ^",
    ]


def test_a_string_that_is_marked_is_shown_on_three_lines_broken_between_words():
    lines = shown({"id": 1, "result": {"text": "one two three four " * 20}}, ("result", "text"))
    assert len(lines) == 7
    assert all(len(line) <= 60 for line in lines)
    assert lines[-2].endswith(" more}}")
    assert all(word in ("one", "two", "three", "four") for word in lines[3].split())


def test_a_string_that_is_not_marked_is_cut_between_words():
    lines = shown(
        '{"a": 1, "b": {"said": "the quickest brown fox jumps over the lazy dog at noon", "c": 2}}', ("b", "c")
    )
    assert lines[1] == '  "said": "the quickest"… 42 more,'


def test_without_marks_the_members_are_indented_and_few_are_folded():
    lines = shown(BASKET)
    assert lines[:3] == ['{"id": 1, "result": {', '  "customer": {', '    "name": "Ada Lovelace", "city": "London",']
    assert not any("^" in line for line in lines)


@pytest.mark.parametrize("paths", [(), tuple(("result", number, "a") for number in range(1000))])
def test_there_is_a_bound_on_the_lines(paths):
    lines = folded(json.dumps({"result": [{"a": number, "b": "x" * 70} for number in range(1000)]}), paths, 60)
    assert len(lines) <= 25
    assert paths == () or lines[-1][0] == "… 2977 more lines (-vv)"


def test_a_key_that_stands_twice_counts_where_it_stands_last():
    assert shown('{"a":1,"a":2}', ("a",)) == ['{"a":1,"a":2}', "           ^"]


@pytest.mark.parametrize("text", ["no JSON", "7", '"text"', '{"a":', "[" * 100_000, '{"a": ' * 900 + "1" + "}" * 900])
def test_what_is_no_document_or_too_deep_is_left_to_the_caller(text):
    found = folded(text, [("a",) * 900], 60)
    assert found is None or len(found) <= 25
