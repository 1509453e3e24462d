"""Structured content as values of Python types, or an error that says why not."""

from dataclasses import dataclass
from typing import Any, Literal, Optional, TypedDict

import pytest

from mcp_conductor.errors import ProtocolError, UsageError
from mcp_conductor.protocol.views import ToolResult


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Line:
    points: list[Point]
    name: str | None = None
    end: Point | None = None


class Book(TypedDict):
    title: str


class Model:
    """As pydantic has it."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return isinstance(other, Model) and other.value == self.value

    __hash__ = None

    @classmethod
    def model_validate(cls, value):
        if not isinstance(value, dict):
            raise ValueError("not an object")  # noqa: TRY004  # as pydantic's own
        return cls(value)


def result(structured):
    return ToolResult({"content": [], "structuredContent": structured})


@pytest.mark.parametrize(
    ("structured", "kind", "value"),
    [
        ({"x": 1}, Point, Point(1)),
        ({"title": "x", "more": 1}, Book, {"title": "x", "more": 1}),
        ({"result": 42}, int, 42),
        ({"result": [1]}, list[int], [1]),
        ({"result": 42}, dict, {"result": 42}),
        ({"a": 1}, dict, {"a": 1}),
        ({"result": True}, bool, True),
        ({"result": 1}, float, 1),
        ({"a": 1}, Any, {"a": 1}),
        ({"result": [{"x": 1}, {"x": 2}]}, list[Point], [Point(1), Point(2)]),
        ({"result": [{"a": 1}]}, list[Model], [Model({"a": 1})]),
        ({"result": [[{"x": 1}]]}, list[list[Point]], [[Point(1)]]),
        ({"result": ["a", None]}, list[str | None], ["a", None]),
        ({"a": {"x": 1}}, dict[str, Point], {"a": Point(1)}),
        ({"x": 1}, Point | None, Point(1)),
        ({"result": {"x": 1}}, Point | None, Point(1)),
        ({"result": None}, Optional[Point], None),  # noqa: UP045  # as older programs write it
        ({"result": "red"}, Literal["red", "green"], "red"),
        ({"result": {"a": 1}}, Point | Model, Model({"result": {"a": 1}})),
        ({"points": [{"x": 1}], "end": {"x": 2}, "name": "n"}, Line, Line([Point(1)], "n", Point(2))),
        ({"points": [], "end": None}, Line, Line([])),
    ],
)
def test_a_result_is_a_value_of_the_type(structured, kind, value):
    assert result(structured).typed(kind) == value


def test_a_model_validates_itself():
    assert result({"a": 1}).typed(Model).value == {"a": 1}


@pytest.mark.parametrize(
    ("structured", "kind"),
    [
        ({"z": 1}, Point),
        (None, Point),
        ({}, Book),
        ({"result": "x"}, int),
        ({"result": True}, int),
        ({"a": 1}, int),
        (None, dict),
        ({"result": [{"x": 1}, {}]}, list[Point]),
        ({"result": ["a", 1]}, list[str]),
        ({"result": [True]}, list[float]),
        ({"result": "blue"}, Literal["red", "green"]),
        ({"points": [3]}, Line),
    ],
)
def test_what_does_not_fit_is_an_error_of_the_server(structured, kind):
    with pytest.raises(ProtocolError):
        result(structured).typed(kind)


@pytest.mark.parametrize(
    ("structured", "kind", "message"),
    [
        ({"result": [{"x": 1}, 3]}, list[Point], "the structured content[1] is a number, not an object for Point"),
        ({"points": [], "end": 3}, Line, "the structured content.end is a number that fits none of Point, null"),
        ({"result": "x"}, int, "the structured content is a string, not int"),
    ],
)
def test_the_error_names_the_value_that_does_not_fit(structured, kind, message):
    with pytest.raises(ProtocolError) as raised:
        result(structured).typed(kind)
    assert raised.value.message == message


def test_a_tool_that_failed_says_why_in_place_of_a_value():
    failed = ToolResult({"content": [{"type": "text", "text": "no such city"}], "isError": True})
    with pytest.raises(ProtocolError) as raised:
        failed.typed(Point)
    assert raised.value.message == "the tool failed: no such city"


def test_what_is_no_type_is_a_mistake_of_the_caller():
    with pytest.raises(UsageError):
        result({"a": 1}).typed(3)
