"""What one tool answers as the argument of another: found by name, and only where the names say that it belongs."""

import pytest

from mcp_conductor.suites.authoring.answered_values import AnsweredValues, variable_name


def answered(tool, content):
    answers = AnsweredValues()
    answers.learn(tool, {"result": {"structuredContent": content}})
    return answers


@pytest.mark.parametrize(
    ("content", "argument", "tool"),
    [
        ({"notes": [{"id": "n1"}]}, "id", "get_note"),
        ({"notes": [{"id": "n1"}]}, "noteId", "read"),
        ({"items": [{"id": "n1"}]}, "note_id", "read"),
        ({"notes": [{"noteId": "n1"}]}, "id", "get_note"),
        ({"notes": [{"id": "n1"}]}, "noteIds", "read"),
        ({"owner": "n1"}, "owner", "find"),
        ({"city": {"name": "n1"}}, "city_name", "weather"),
    ],
)
def test_a_value_belongs_to_an_argument_by_name(content, argument, tool):
    found = [each.value for each in answered("list_notes", content).fitting(argument, tool)]
    assert found == ["n1"]


@pytest.mark.parametrize(
    ("content", "argument", "tool"),
    [
        ({"notes": [{"id": "n1"}]}, "id", "get_user"),
        ({"notes": [{"id": "n1"}]}, "userId", "read"),
        ({"notes": [{"title": "n1"}]}, "id", "get_note"),
        ({"notes": [{"id": True}, {"id": "second"}]}, "id", "get_note"),
        ({"notes": [{"id": "x" * 1000}]}, "id", "get_note"),
        ({"id": "n1"}, "id", "list_notes"),
        (["n1"], "id", "get_note"),
        (None, "id", "get_note"),
    ],
)
def test_other_values_do_not(content, argument, tool):
    assert list(answered("list_notes", content).fitting(argument, tool)) == []


@pytest.mark.parametrize(("argument", "name"), [("note-id", "note_id"), ("1st", "value_1st"), ("é", "value")])
def test_a_variable_has_a_name_that_a_suite_accepts(argument, name):
    assert variable_name(argument) == name


def test_an_answer_is_the_source_only_of_what_was_sent_after_it():
    answers = answered("list_notes", {"notes": [{"id": "1"}]})
    assert answers.source("id", "get_note", "1", known=1).capture == "result.structuredContent.notes[0].id"
    assert answers.source("id", "get_note", "1", known=0) is None
