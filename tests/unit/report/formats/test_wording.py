"""Counts, times, places and values are written in one way."""

import pytest

from mcp_conductor.errors import Location
from mcp_conductor.report.formats.wording import (
    coverage,
    headline,
    place,
    slowest,
    span,
    summary,
    tally,
    value_text,
    why,
)
from mcp_conductor.report.model import STATUSES, Finding, Outcome, Report


class Words(str):
    """What a matcher says of a value."""

    __slots__ = ()


def outcome(status="passed", **more) -> Outcome:
    return Outcome(**{"id": "a::b", "title": "b", "group": "a", "status": status, **more})


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('a\n"b"', '"a\\n\\"b\\""'),
        (None, "null"),
        (12345678901234567890, "12345678901234567890"),
        ({"a": [1]}, '{"a":[1]}'),
        (Words('text that starts with "Hello"'), 'text that starts with "Hello"'),
    ],
)
def test_a_value_is_json_and_words_about_a_value_are_words(value, text):
    assert value_text(value) == text


@pytest.mark.parametrize(
    ("message", "path", "text"),
    [
        ("value differs", "result.x", "value differs at result.x"),
        ("value differs", None, "value differs"),
        ("value differs", "", "value differs"),
        ("value differs at result.x", "result.x", "value differs at result.x"),
        ("result.x is missing", "result.x", "result.x is missing"),
        ("the result is odd", "result", "the result is odd"),
        ("the results are odd", "result", "the results are odd at result"),
        ("x.result is odd", "result", "x.result is odd at result"),
    ],
)
def test_a_headline_names_the_path_once(message, path, text):
    assert headline(Finding(message=message, path=path)) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 ms"), (0.0042, "4 ms"), (0.9994, "999 ms"), (0.9996, "1.00 s"), (59.9, "59.90 s"), (119.7, "2 min 0 s"), (3725, "62 min 5 s")],
)  # fmt: skip
def test_a_time_is_written_as_people_say_it(seconds, text):
    assert span(seconds) == text


def test_a_tally_has_every_status_the_worst_first():
    assert (
        tally([outcome(status) for status in STATUSES])
        == "1 failed, 1 errored, 1 not run, 1 warned, 1 passed, 1 skipped"
    )
    assert tally([outcome(), outcome(flaky=True)]) == "2 passed (1 flaky)"
    assert tally([]) == "nothing was run"


def test_a_summary_has_the_time():
    outcomes = (outcome("failed"), *[outcome()] * 41, *[outcome("skipped")] * 2)
    assert (
        summary(Report(kind="test", target="x", outcomes=outcomes, seconds=0.4211))
        == "1 failed, 41 passed, 2 skipped in 0.42 s"
    )


def test_a_test_is_called_by_its_place_and_a_check_by_its_id():
    assert place(outcome(where=Location("a.yml", 3, 5))) == "a.yml:3"
    assert place(outcome()) == "a"
    assert place(outcome(level="MUST")) == "a::b"


def test_a_reason_says_what_it_is_the_reason_for():
    wrong = (Finding(message="wrong"),)
    assert why(outcome("skipped", reason="no prompts")) == "no prompts"
    assert why(outcome("skipped", reason="issue 12", findings=wrong)) == "fails as expected: issue 12"
    assert why(outcome("passed", reason="issue 12", findings=wrong)) == "fails as expected: issue 12"
    assert why(outcome("failed", reason="issue 12", findings=wrong)) == "expected to fail: issue 12"
    assert why(outcome("failed", findings=wrong)) is None


def test_a_skipped_test_with_warnings_has_not_failed():
    assert not outcome("skipped", reason="x", findings=(Finding(message="odd", warning=True),)).failed_as_expected


def test_the_slowest_come_first_and_what_took_no_time_not_at_all():
    outcomes = tuple(outcome(title=str(seconds), seconds=seconds) for seconds in (1, 0, 3, 2))
    report = Report(kind="test", target="x", outcomes=outcomes)
    assert [each.title for each in slowest(report, 2)] == ["3", "2"]
    assert [each.title for each in slowest(report, 9)] == ["3", "2", "1"]


def test_coverage_that_was_not_measured_is_empty():
    assert coverage({}) == []
    (tools,) = coverage({"coverage": {"tools": {"total": 3, "untouched": ["a\n"]}}})
    assert (tools.kind, tools.total, tools.touched, tools.untouched) == ("tools", 3, 2, ["a"])
