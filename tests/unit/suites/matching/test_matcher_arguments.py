"""Arguments of matchers that may be left out: those for which the function has a value."""

from functools import wraps
from typing import Any, Literal

import pytest

from mcp_conductor.suites.matching.matchers import MATCHERS, Param, _is_simple, params_of
from mcp_conductor.suites.matching.matchers.arguments import read_arguments


def judge(actual: Any, kind: Literal["utc", "local"], hours: int = 0) -> None: ...


def wants_a_dict(actual: Any, kind: dict[str, int]) -> None: ...


def simple(actual: Any, plain, number: int, limit: int = 3, *, tools: Any) -> None: ...


def in_text(actual: "Any", plain, number: "int", limit: "int" = 3, *, tools: "Any") -> None: ...


@pytest.mark.parametrize("function", [simple, in_text, wraps(simple)(lambda *args, **kwargs: None)])
def test_the_parameters_of_a_function_are_found_however_it_is_written(function):
    plain, number, limit = Param("plain", str, True), Param("number", int, True), Param("limit", int, False)
    assert params_of(function) == [plain, number, limit, Param("tools", Any, True, by_name=True)]


def test_all_matchers_of_ours_are_read_without_inspect():
    assert [name for name, each in MATCHERS.items() if not _is_simple(each.judge)] == []


@pytest.mark.parametrize(("text", "arguments"), [("utc", ("utc",)), ("utc:3", ("utc", 3))])
def test_an_argument_with_a_default_value_may_be_left_out(text, arguments):
    assert read_arguments(text, params_of(judge)) == arguments


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("summer", "'summer' is not one of utc, local"),
        ("utc:x", "'x' is not a whole number of 0 or more"),
        ("utc:1:2", "'utc:1:2' must be KIND:HOURS"),
    ],
)
def test_what_is_wrong_is_told_of_the_arguments_that_are_written(text, told):
    with pytest.raises(ValueError, match=told):
        read_arguments(text, params_of(judge))


def test_a_type_that_no_text_has_is_told_by_its_name():
    with pytest.raises(ValueError, match="its function wants dict, which cannot be read"):
        read_arguments("x", params_of(wants_a_dict))
