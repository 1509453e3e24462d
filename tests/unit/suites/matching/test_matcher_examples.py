"""The examples in the docstrings of the matchers are true: they stand in the manual, word for word."""

import json

import pytest
from scripts.reference import CALLED, examples, matcher_functions

from mcp_conductor.files.fields import Field
from mcp_conductor.files.source import parse
from mcp_conductor.suites.matching.expected import compile_expected
from mcp_conductor.suites.matching.manual import manual
from mcp_conductor.suites.matching.matchers import MATCHERS, SPECIAL_KEYS

FUNCTIONS = matcher_functions()
EXAMPLES = [example for function in FUNCTIONS.values() for example in examples(function)]


def told(expected, actual):
    document = parse(expected, "a.test.mcp.yml")
    mismatches = compile_expected(Field(document, (), document.data)).check(json.loads(actual), CALLED)
    return "; ".join(each.sentence for each in mismatches) or "passes"


@pytest.mark.parametrize(("expected", "actual", "outcome"), EXAMPLES)
def test_an_example_says_what_happens(expected, actual, outcome):
    assert told(expected, actual) == outcome


@pytest.mark.parametrize("usage", FUNCTIONS)
def test_a_matcher_has_an_example_that_passes_and_one_that_fails(usage):
    assert {outcome == "passes" for _, _, outcome in examples(FUNCTIONS[usage])} == {True, False}


@pytest.mark.parametrize("usage", FUNCTIONS)
def test_every_line_below_the_first_paragraph_is_an_example_or_a_sentence(usage):
    lines = (FUNCTIONS[usage].__doc__ or "").split("\n\n", 1)[-1].split("\n")
    meant = [line for line in lines if line.strip().startswith(("match:", "{"))]
    assert len(meant) == len(examples(FUNCTIONS[usage]))


def test_no_matcher_is_left_out():
    assert list(FUNCTIONS) == [usage for _, usage, _ in manual()]
    assert len(FUNCTIONS) == len(MATCHERS.items()) + len(SPECIAL_KEYS.items()) + 2


def test_the_manual_has_the_meaning_and_not_the_examples():
    assert [usage for _, usage, what in manual() if not what or "passes" in what or "  " in what] == []
