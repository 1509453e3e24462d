"""A regular expression that is compiled later does what one does that is compiled at once."""

import copy
import re

import pytest

from mcp_conductor.text.patterns import compiled_later


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("match", ("ab1",)), ("fullmatch", ("AB",)), ("search", ("1 ab", 1)), ("sub", ("x", "ab ab")),
        ("subn", ("x", "ab ab", 1)), ("split", ("1ab2",)), ("findall", ("ab AB",)),
    ],
)  # fmt: skip
def test_every_method_gives_the_same_twice(method, arguments):
    later, now = compiled_later(r"(a)b", re.IGNORECASE), re.compile(r"(a)b", re.IGNORECASE)
    for _ in range(2):
        ours, theirs = getattr(later, method)(*arguments), getattr(now, method)(*arguments)
        assert (
            (ours and ours.groups()) == (theirs and theirs.groups()) if isinstance(ours, re.Match) else ours == theirs
        )


def test_it_knows_its_text_and_its_groups():
    assert (compiled_later("(?P<a>b)").pattern, compiled_later("(?P<a>b)").groups) == ("(?P<a>b)", 1)
    assert [found[0] for found in compiled_later("a.").finditer("ab ac")] == ["ab", "ac"]


def test_it_can_be_copied():
    assert copy.copy(compiled_later("a")).match("a")


def test_a_mistake_is_told_when_it_is_used():
    with pytest.raises(re.error):
        compiled_later("(").match("a")
