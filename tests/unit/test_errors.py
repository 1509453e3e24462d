"""Errors say what happened and carry what a program needs to know about it."""

import pytest

from mcp_conductor.errors import Location, MethodError, RequestTimeout, nearest


def test_a_location_is_written_as_compilers_do():
    assert str(Location("f.yaml", 3, 14, "source")) == "f.yaml:3:14"


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        ({"code": -32601, "message": "no"}, -32601, "x was answered with error -32601: no"),
        ({}, None, "x was answered with error None: None"),
        ("broken", None, "x was answered with error None: broken"),
        (None, None, "x was answered with error None: None"),
    ],
)
def test_an_error_of_the_server_keeps_what_it_said_in_every_shape(error, code, says):
    raised = MethodError("x", error)
    assert (raised.code, raised.error, raised.message) == (code, error, says)


def test_an_error_is_safe_to_show_and_keeps_what_was_said():
    error = {"code": 1, "message": "\x1b[2J\n::error::x"}
    raised = MethodError("x", error)
    assert str(raised) == "x was answered with error 1: \\x1b[2J\n\\x3a:error::x"
    assert (raised.error, raised.message) == (error, "x was answered with error 1: \x1b[2J\n::error::x")


@pytest.mark.parametrize(("seconds", "shown"), [(0.3, "0.3 s"), (30.0, "30 s")])
def test_a_timeout_says_how_long_was_waited(seconds, shown):
    assert RequestTimeout("ping", seconds).message == f"no answer to ping within {shown}"


@pytest.mark.parametrize(
    ("word", "near"), [("tols/list", "tools/list"), ("tools/list", "tools/list"), ("", None), ("zzz", None)]
)
def test_the_nearest_word_is_one_that_could_have_been_meant(word, near):
    assert nearest(word, ["tools/list", "tools/call", "ping"]) == near
