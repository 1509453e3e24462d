"""The screen of a check: groups, warnings, failures, a summary; ids in every line about a requirement."""

import re
from dataclasses import replace

import pytest

from mcp_conductor.report.formats.check_console import CheckConsole
from mcp_conductor.report.formats.folding import once_for_all
from mcp_conductor.report.model import Finding, Outcome, Report

WIDE = "x" * 30 + " " + "y" * 30


def check(name, status="passed", *, group="tools", level="MUST", findings=(), reason=None, title="It holds."):
    found = tuple(Finding(message=each, path=f"tools[{index}]") for index, each in enumerate(findings))
    return Outcome(id=name, title=title, group=group, status=status, level=level, findings=found, reason=reason)


def shown(*outcomes, versions=("2025-11-25",), **options) -> str:
    console = CheckConsole(**options)
    told = once_for_all((version, outcome) for version in versions for outcome in outcomes)
    report = Report(kind="check", target="x", protocol_version=", ".join(versions), outcomes=tuple(outcomes))
    return console.results(report, told) + console.summary(report, told)


EVERYTHING = (
    check("a-fails", "failed", findings=["the tool has no name"]),
    check("b-warns", "warned", level="SHOULD", group="ping", findings=["it is slow"]),
    check("c-holds", group="ping"),
    check("d-skipped", "skipped", group="icons", reason="nothing has icons"),
)


def test_groups_come_first_then_warnings_then_failures_then_the_failed_ids_and_the_counts():
    text = shown(*EVERYTHING)
    places = [text.index(part) for part in ("FAIL  tools", "WARN  b-warns", "FAIL  a-fails", "failed:", "1 failed, ")]
    assert places == sorted(places)
    assert text.endswith(
        "  a-fails  the tool has no name at tools[0]\n1 failed, 1 warned, 1 passed, 1 skipped (-v) in 0.00 s\n"
    )


def test_what_was_skipped_is_only_a_number_unless_more_is_asked_for():
    assert "d-skipped" not in shown(*EVERYTHING)
    assert "icons" not in shown(*EVERYTHING)
    verbose = shown(*EVERYTHING, verbosity=1)
    assert "  skip  d-skipped (MUST)  nothing has icons\n" in verbose
    assert "1 skipped in" in verbose


def test_quiet_shows_failures_and_the_summary_only():
    text = shown(*EVERYTHING, verbosity=-1)
    assert text.startswith("FAIL  a-fails (MUST)  It holds.\n")
    assert "WARN" not in text
    assert "ok " not in text


def test_like_findings_are_one_with_their_number_and_the_first_places():
    text = shown(check("a", "failed", findings=[f"the tool 't{number}' has no inputSchema" for number in range(9)]))
    assert "  the tool 't0' has no inputSchema at tools[0]\n" in text
    assert "and 8 more like this: tools[1], tools[2], tools[3], tools[4], …\n" in text
    assert "'t1'" not in text


def test_the_whole_wire_shows_every_finding():
    text = shown(check("a", "failed", findings=["the tool 'a' is bad", "the tool 'b' is bad"]), verbosity=2)
    assert "the tool 'b' is bad at tools[1]\n" in text


def test_warnings_are_bounded_and_those_that_are_left_out_are_named():
    many = [check(f"w{number}", "warned", level="SHOULD", findings=["bad"]) for number in range(13)]
    text = shown(*many)
    assert text.count("WARN") == 10
    assert "… and 3 more with warnings (-v): w10, w11, w12\n" in text
    assert shown(*many, verbosity=1).count("WARN") == 13


def test_what_should_be_is_told_before_what_may_be():
    text = shown(
        check("m", "warned", level="MAY", findings=["a"]), check("s", "warned", level="SHOULD", findings=["b"])
    )
    assert text.index("WARN  s (SHOULD)") < text.index("WARN  m (MAY)")


def test_what_is_alike_in_several_revisions_is_told_and_counted_once():
    text = shown(*EVERYTHING, versions=("2025-06-18", "2025-11-25"))
    assert text.count("WARN") == 1
    assert "FAIL  a-fails (MUST, in all 2 revisions)  It holds.\n" in text
    assert "1 failed, 1 warned, 1 passed, 1 skipped (-v) in 2 revisions, 0.00 s\n" in text


def test_a_long_list_of_revisions_is_wrapped():
    name, versions = "a-requirement-with-a-rather-long-name", tuple(f"202{number}-11-25" for number in range(6))
    told = once_for_all([(version, check(name, "warned", findings=["bad"])) for version in versions[:5]])
    report = Report(kind="check", target="x", protocol_version=", ".join(versions))
    text = CheckConsole(width=80).results(report, told)
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("width", [60, 80, 130])
@pytest.mark.parametrize("verbosity", [-1, 0, 1])
def test_no_line_is_wider_than_the_terminal(width, verbosity):
    name = "a-requirement-with-a-rather-long-name"
    outcomes = [
        check(name, status, findings=[f"{WIDE} {WIDE} {WIDE}"] if status != "skipped" else (), title=f"{WIDE} {WIDE}",
              reason=f"{WIDE} {WIDE}" if status == "skipped" else None)
        for status in ("failed", "warned", "passed", "skipped")
    ]  # fmt: skip
    text = shown(*outcomes, width=width, verbosity=verbosity)
    assert [line for line in text.splitlines() if len(line) > width] == []


def test_colours_change_no_letter():
    painted = shown(*EVERYTHING, colour=True, verbosity=1)
    assert painted != shown(*EVERYTHING, verbosity=1)
    assert re.sub(r"\x1b\[[\d;]*m", "", painted) == shown(*EVERYTHING, verbosity=1)


def test_a_failure_that_was_expected_is_named():
    known = check("known", "skipped", findings=["bad"], reason="the SDK cannot")
    assert "failed as expected: known (the SDK cannot)\n1 xfailed in" in shown(known)


def test_a_revision_in_which_nothing_was_run_is_not_in_order():
    assert CheckConsole().revision("2025-11-25", [], 0.5).startswith("skip  2025-11-25  nothing was run")
    assert CheckConsole().revision("2025-11-25", [check("a")], 0.5).startswith("ok    2025-11-25  1 passed")


@pytest.mark.parametrize(("outcomes", "ink"), [((), 33), ((check("a", "skipped"),), 33), ((check("a"),), 32)])
def test_the_summary_is_green_only_where_something_was_seen(outcomes, ink):
    assert f"\x1b[{ink}" in shown(*outcomes, colour=True).splitlines()[-1]


def test_what_is_of_the_framework_stands_in_a_part_of_its_own_below_what_is_the_authors():
    theirs = replace(
        check("a", "skipped", findings=["an unknown tool is not refused"], reason="of the SDK 1.2"), framework="SDK 1.2"
    )
    text = shown(theirs, check("b", "failed", findings=["no name"]))
    assert text.index("FAIL  b (MUST)") < text.index(
        "of the SDK 1.2, not counted (--all-findings counts it):\n  a (MUST)  an"
    )
    assert "1 failed, 1 of the SDK in " in text
    assert "failed as expected" not in text
    assert "of the SDK 1.2" not in shown(theirs, verbosity=-1)
