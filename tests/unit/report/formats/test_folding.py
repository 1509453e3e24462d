"""Findings and outcomes that are alike are told once."""

import pytest

from mcp_conductor.report.formats.folding import folded, once_for_all, told_once, worst
from mcp_conductor.report.model import Finding, Outcome


def outcome(status="passed", name="tools-item-name", message=None, reason=None, version=None):
    findings = () if message is None else (Finding(message=message),)
    return Outcome(
        id=name, title="t", group="tools", status=status, level="MUST", findings=findings, reason=reason, version=version,
    )  # fmt: skip


def test_findings_that_differ_in_a_place_are_one_with_the_other_places():
    every = [Finding(message="a tool has no inputSchema", path=f"tools[{number}]") for number in range(4)]
    (alike,) = folded(every)
    assert (alike.first, alike.names) == (every[0], ["tools[1]", "tools[2]", "tools[3]"])


def test_findings_that_differ_in_a_quoted_name_are_one_with_the_other_names():
    (alike,) = folded([Finding(message=f"the tool {name!r} is listed twice") for name in ("a", "b")])
    assert (alike.first.message, alike.names) == ("the tool 'a' is listed twice", ["'b'"])


def test_findings_that_differ_in_a_method_are_one_with_the_other_methods():
    methods = ("tools/list", "prompts/list", "resources/templates/list")
    (alike,) = folded([Finding(message=f"{method} does not answer with -32602") for method in methods])
    assert alike.names == ["prompts/list", "resources/templates/list"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the error is -32600, not -32602", "the error is -32601, not -32602"),
        ("the tool 'a' has no name", "the tool 'a' has no inputSchema"),
    ],
)
def test_findings_that_say_something_else_stay_apart(one, other):
    assert len(folded([Finding(message=one), Finding(message=other)])) == 2


def test_a_name_is_told_once_and_none_is_left_out():
    told = ["'a' calls 'b'", "'c' calls 'b'", "'c' calls 'd'", "'c' calls 'b'", "'b' calls 'a'"]
    (alike,) = folded([Finding(message=each) for each in told])
    assert (len(alike.others), alike.names) == (4, ["'c'", "'b'"])


def test_the_same_finding_again_has_no_name():
    (alike,) = folded([Finding(message="silent"), Finding(message="silent")])
    assert (len(alike.others), alike.names) == (1, [])


def test_outcomes_that_are_alike_in_several_revisions_are_one():
    told = [("1", outcome("failed", message="m")), ("2", outcome("failed", message="m")), ("3", outcome())]
    assert [(each.outcome.status, each.versions) for each in once_for_all(told)] == [
        ("failed", ("1", "2")),
        ("passed", ("3",)),
    ]


def test_what_was_skipped_for_different_reasons_is_told_apart():
    told = [("1", outcome("skipped", reason="no tools")), ("2", outcome("skipped", reason="no resources"))]
    assert len(once_for_all(told)) == 2


def test_a_requirement_counts_once_by_the_worst_that_came_of_it():
    statuses = ("skipped", "passed", "warned", "failed", "passed")
    told = [(str(number), outcome(status)) for number, status in enumerate(statuses)]
    told.append(("1", outcome("passed", name="ping-response-server")))
    assert [(each.id, each.status) for each in worst(once_for_all(told))] == [
        ("tools-item-name", "failed"),
        ("ping-response-server", "passed"),
    ]


def test_for_people_outcomes_of_several_revisions_are_one_that_names_them():
    every = [outcome("failed", message="m", version=version) for version in ("1", "2")]
    every += [outcome("passed", name="ping", version=version) for version in ("1", "2", "3")]
    assert [(each.id, each.version) for each in told_once(every)] == [
        ("tools-item-name", "1, 2"),
        ("ping", "all 3 revisions"),
    ]
    assert told_once([outcome()]) == [outcome()]
