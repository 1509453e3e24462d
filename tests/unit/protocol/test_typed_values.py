"""Structured content as values of Python types, or an error that says why not."""

from dataclasses import dataclass
from typing import TypedDict

import pytest

from mcp_conductor.errors import ProtocolError, UsageError
from mcp_conductor.protocol.views import ToolResult


@dataclass
class Point:
    x: int
    y: int = 0


class Book(TypedDict):
    title: str


class Model:
    """As pydantic has it."""

    def __init__(self, value):
        self.value = value

    @classmethod
    def model_validate(cls, value):
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
    ],
)
def test_what_does_not_fit_is_an_error_of_the_server(structured, kind):
    with pytest.raises(ProtocolError):
        result(structured).typed(kind)


def test_what_is_no_type_is_a_mistake_of_the_caller():
    with pytest.raises(UsageError):
        result({"a": 1}).typed(3)
