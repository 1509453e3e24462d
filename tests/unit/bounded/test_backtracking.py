"""How long a pattern may take: never estimated too low, and low for what people write."""

import math
import re

import pytest

from mcp_conductor.bounded.backtracking import cost_of

SEMVER = (
    r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"
    r"(?:-((?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\.(?:0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?"
    r"(?:\+([0-9a-zA-Z-]+(?:\.[0-9a-zA-Z-]+)*))?$"
)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+$",
        r"(a*)*b",
        r"(a|a)*$",
        r"(a|aa)+$",
        r"(?:a|b|ab)*c",
        r"([a-zA-Z]+)*$",
        r"^(\w+\s?)*$",
        r"(x+x+)+y",
        r"((a?|b?)c)*d",
        r"(a{1,2})*b",
        r"(?:(?:a+)?b?)*c",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
        r"(\w*)*\1x",
        r"(?=(a+)+$)b",
        r"(?!(a|a)*$)b",
        r"(?>(a+)+)$",
        r"(a++)*$",
        r"(.|[^a])*!",
        r"(a{0,30}){0,30}$",
        r"(\d+|\w+)*-",
        r"(?s)(.|\n)*x",
        r"(?m)(^a?$\n?|a)*b",
    ],
)
def test_what_doubles_with_each_character_is_never_small(pattern):
    re.compile(pattern)
    assert not cost_of(pattern).is_small(20)
    assert cost_of(pattern).degree == math.inf


@pytest.mark.parametrize(
    ("pattern", "degree"),
    [
        (r"\s+$", 2),
        (r"^\s+$", 1),
        (r".*.*=", 3),
        (r"a*a*a*a*a*b", 6),
        (r"(.*a){20}", 21),
        (r"^(.*a){3}b", 3),
        (r"^\s*(.*?)\s*$", 3),
        (r"^a*b*a*c", 2),
        (r"^[ab]*-[ab]*-[ab]*$", 1),
        (r"^(?:\d+,)*\d+$", 1),
        (r"(?m)^a*$", 2),
        (r"^(a{2,}){2}b$", 2),
        (r"(.+)x\1y", 3),
        (r"^(?=.*\d)(?=.*[a-z]).{8,}$", 2),
    ],
)
def test_what_shares_a_text_among_several_loops_grows_with_its_length(pattern, degree):
    assert cost_of(pattern).degree == degree


@pytest.mark.parametrize(
    "pattern", [r"(a|aa){1,30}$", r"^(a?){30}a{30}$", r"(a|b|ab|ba){20}c", r"(\d{1,9}){9}-", r"a{1,5}" * 30 + "b"]
)
def test_what_is_bounded_can_still_be_too_much(pattern):
    assert not cost_of(pattern).is_small(60)


@pytest.mark.parametrize(
    ("pattern", "length"),
    [
        ("plain text", 10**8),
        (r"\d{4}-\d{2}-\d{2}", 100_000),
        (r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})$", 100_000),
        (r"^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$", 100_000),
        (SEMVER, 100),
        (r"^[^@\s]+@[^@\s]+\.[^@\s]+$", 1000),
        (r".*error.*", 3000),
        (r"error|warning|fatal|panic", 100_000),
        (r"^v\d+$", 100_000),
        (r"\d+\.\d+\.\d+", 3000),
        (r'"(?:[^"\\]|\\.)*"', 3000),
        (r"https?://\S+", 100_000),
        (r"(foo|bar)+", 100_000),
        (r"(['\"]).*?\1", 3000),
        (r"^(\d{1,3}\.){3}\d{1,3}$", 100_000),
        (r"listening on port (?P<port>\d+)", 100_000),
        (r"^[\s\S]*end$", 100_000),
        (r"^\w+(-\w+)*$", 100_000),
        (r"(?<!\d)\d{3}(?!\d)", 100_000),
    ],
)
def test_what_people_write_is_small(pattern, length):
    assert cost_of(pattern).is_small(length)


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 300 + "a+" + ")+" * 300,
        "(?:a?b?c?d?)" * 1000,
        "(" * 90 + "(?:a{1000}){1000}" + "){1000}" * 90,
        "a*" * 2000 + "b",
    ],
)
def test_a_pattern_that_is_large_itself_is_the_worst_at_once(pattern):
    assert not cost_of(pattern).is_small(20)
