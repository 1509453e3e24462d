"""What holds for every reporter: it is found by its name, it can be written as UTF-8, and its cost is linear."""

import sys

import pytest

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.formats.console import Console
from mcp_conductor.report.model import STATUSES, Finding, Outcome, Report

NAMES = ["events", "github", "html", "json", "junit", "markdown", "sarif", "tap"]
NASTY = "\x00\x1b]0;x\x07 ]]> <b> \"' | `~ @all 100% :: , # \\ \r\n \u2028\u202e\ud800\udcff\ufffe é 😀 %0A"


def nasty_report() -> Report:
    finding = Finding(
        message=NASTY, path=NASTY, expected={NASTY: NASTY}, actual={NASTY: [NASTY]}, hint=NASTY,
        where=Location(NASTY, 2, 9, NASTY),
    )  # fmt: skip
    outcomes = tuple(
        Outcome(
            id=NASTY, title=NASTY, group=NASTY, status=status, reason=NASTY, findings=(finding,), where=finding.where,
            wire=(f"--> {NASTY}", NASTY), stderr=(NASTY,), tags=(NASTY,),
        )
        for status in STATUSES
    )  # fmt: skip
    metrics = {"coverage": {"tools": {"total": 2, "untouched": [NASTY]}}}
    return Report(kind="test", target=NASTY, server={"name": NASTY}, started=NASTY, outcomes=outcomes, metrics=metrics)


def many(count: int) -> Report:
    where = Location("a.test.mcp.yml", 3, 5, "  - it: works")
    finding = Finding(message="differs", path="result.x", expected={"x": 1}, actual={"x": 2}, where=where)
    outcomes = tuple(
        Outcome(
            id=f"a::{number}", title=f"works {number}", group=f"suite {number % 7}", seconds=number % 11 / 1000,
            status=STATUSES[number % 5], findings=(finding,) * (number % 5 % 2), where=where,
            reason="no prompts" if number % 5 == 3 else None,
        )
        for number in range(count)
    )  # fmt: skip
    return Report(kind="test", target="node server.js", outcomes=outcomes)


def calls(work) -> int:
    """How many functions WORK calls: unlike the clock, it is the same every time."""
    count = 0

    def profile(_frame, event, _argument) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


def shown(report: Report, **options) -> str:
    console = Console(**options)
    texts = [console.suite("suite"), *map(console.outcome, report.outcomes)]
    texts += [console.suite_done("suite", None, report.outcomes), console.end(report), console.durations(report, 10)]
    return "".join([*texts, console.coverage(report.metrics)])


def test_the_reporters_are_these_and_the_manual_has_a_sentence_for_each():
    assert [name for name, _ in REPORTERS.items()] == NAMES
    assert all(each.doc.endswith(".") and each.suffix.startswith(".") for _, each in REPORTERS.items())


def test_a_misspelt_reporter_is_answered_with_the_nearest_one():
    with pytest.raises(UsageError) as caught:
        REPORTERS.get("junti")
    assert (caught.value.message, caught.value.hint) == ("unknown report 'junti'", "did you mean 'junit'?")


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_a_server_says_keeps_a_report_from_being_written(name):
    text = REPORTERS.get(name).write(nasty_report())
    assert text.encode().endswith(b"\n")
    assert not {"\x00", "\x1b", "\x07", "\r"} & set(text)


@pytest.mark.parametrize("verbosity", [-1, 0, 1, 2])
def test_nothing_that_a_server_says_reaches_the_terminal_as_a_command(verbosity):
    text = shown(nasty_report(), verbosity=verbosity)
    assert text.encode()
    assert all(character == "\n" or character.isprintable() for character in text)


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_report_can_be_written(name):
    assert REPORTERS.get(name).write(Report(kind="test", target="x"))


@pytest.mark.parametrize("name", NAMES)
def test_the_cost_of_a_report_grows_with_the_number_of_outcomes(name):
    write = REPORTERS.get(name).write
    small, large = many(100), many(1000)
    write(small)
    assert calls(lambda: write(large)) < 11 * calls(lambda: write(small))


@pytest.mark.parametrize("verbosity", [0, 1])
def test_the_cost_of_the_console_grows_with_the_number_of_outcomes(verbosity):
    small, large = many(100), many(1000)
    shown(small, verbosity=verbosity)
    assert calls(lambda: shown(large, verbosity=verbosity)) < 11 * calls(lambda: shown(small, verbosity=verbosity))


@pytest.mark.parametrize("name", NAMES)
def test_ten_thousand_outcomes_are_all_there(name):
    text = REPORTERS.get(name).write(many(10_000))
    assert len(text.encode()) < 20_000_000
    if name in ("json", "junit", "tap"):
        assert "works 0" in text
        assert "works 9999" in text
