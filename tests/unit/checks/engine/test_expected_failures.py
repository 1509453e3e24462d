"""What is known to fail: what is read, and what it does to outcomes."""

from datetime import date

import pytest

from mcp_conductor.checks.engine.expected_failures import read_expected, with_expected
from mcp_conductor.checks.engine.judging import Verdicts
from mcp_conductor.errors import UsageError
from mcp_conductor.report.model import Finding, Outcome

TODAY = date(2026, 11, 17)
NAME = "tools-item-name"


@pytest.fixture
def expected(tmp_path):
    def read(text):
        file = tmp_path / "known.yaml"
        file.write_text(text)
        return read_expected(str(file), "known.yaml")

    return read


def verdicts(status, version="2025-11-25", transport="stdio", name=NAME):
    findings = (Finding(message="wrong"),) if status in ("failed", "warned") else ()
    outcome = Outcome(id=name, title="", group="tools", status=status, level="MUST", findings=findings)
    return Verdicts(version, outcomes=[outcome], transport=transport)


def after(entries, *checked):
    return [outcome for _, outcome in with_expected(checked, entries, TODAY)]


@pytest.mark.parametrize("status", ["failed", "warned"])
def test_what_fails_as_expected_is_no_failure_and_keeps_its_findings_and_its_reason(expected, status):
    [outcome] = after(expected(f"[{{id: {NAME}, reason: mended in June}}]"), verdicts(status))
    assert (outcome.status, outcome.reason, outcome.failed_as_expected) == ("skipped", "mended in June", True)
    assert outcome.findings[0].message == "wrong"


def test_an_id_alone_is_enough(expected):
    [outcome] = after(expected(f"- {NAME}"), verdicts("failed"))
    assert (outcome.status, outcome.reason) == ("skipped", "listed in known.yaml")


def test_what_is_kept_although_it_was_expected_to_fail_is_a_failure(expected):
    [outcome] = after(expected(f"- {{id: {NAME}, reason: old}}"), verdicts("passed"))
    assert outcome.status == "failed"
    assert outcome.findings[0].where.line == 1


def test_what_is_kept_in_one_revision_and_fails_in_another_has_not_been_mended(expected):
    kept, broken = after(expected(f"- {NAME}"), verdicts("passed", "2025-03-26"), verdicts("failed"))
    assert (kept.status, broken.status) == ("passed", "skipped")


@pytest.mark.parametrize("scope", ["revision: 2025-03-26", "transport: http"])
@pytest.mark.parametrize("status", ["failed", "passed"])
def test_an_entry_for_another_revision_or_transport_is_not_looked_at(expected, scope, status):
    [outcome] = after(expected(f"- {{id: {NAME}, reason: old, {scope}}}"), verdicts(status))
    assert outcome.status == status


@pytest.mark.parametrize("scope", ["revision: 2025-11-25", "transport: stdio"])
def test_an_entry_for_this_revision_or_transport_is(expected, scope):
    [outcome] = after(expected(f"- {{id: {NAME}, reason: old, {scope}}}"), verdicts("failed"))
    assert outcome.status == "skipped"


@pytest.mark.parametrize(("day", "status"), [("2026-11-16", "failed"), ("2026-11-17", "skipped")])
def test_an_entry_holds_to_the_end_of_the_day_on_which_it_expires(expected, day, status):
    [outcome] = after(expected(f"- {{id: {NAME}, reason: old, expires: {day}}}"), verdicts("failed"))
    assert outcome.status == status


def test_an_expired_entry_says_so_and_where_it_stands(expected):
    [outcome] = after(expected(f"- {{id: {NAME}, reason: old, expires: 2020-01-31}}"), verdicts("failed"))
    said = outcome.findings[-1]
    assert said.message == "it is no longer expected to fail: the entry expired on 2020-01-31 (old)"
    assert said.where.file == "known.yaml"


def test_of_several_entries_for_a_requirement_one_that_has_not_expired_is_enough(expected):
    entries = f"- {{id: {NAME}, reason: a, expires: 2020-01-31}}\n- {{id: {NAME}, reason: b}}"
    [outcome] = after(expected(entries), verdicts("failed"))
    assert (outcome.status, outcome.reason) == ("skipped", "b")


@pytest.mark.parametrize(
    ("text", "problem", "place"),
    [
        ("tools-item-name", "must be an array, not a string", (1, 1)),
        ("- 7", "[0] must be the id of a requirement, or an object with id and reason", (1, 3)),
        ("- tools-item-nam", "[0] is not a requirement", (1, 3)),
        (f"- id: {NAME}", "[0] has no reason", (1, 3)),
        ("- reason: old", "[0] has no id", (1, 3)),
        (f"- {{id: {NAME}, reason: 7}}", "[0].reason must be a string, not a number", (1, 25)),
        (f"- id: {NAME}\n  reason: old\n  until: 2027", "[0].until is not a known key", (3, 3)),
        (f"- id: {NAME}\n  reason: old\n  expires: soon", "[0].expires must be a day such as", (3, 3)),
        (f"- id: {NAME}\n  reason: old\n  expires: 2027-02-30", "[0].expires must be a day such as", (3, 3)),
        (f"- id: {NAME}\n  reason: old\n  revision: 2027-01-01", "[0].revision must be one of", (3, 3)),
        (f"- id: {NAME}\n  reason: old\n  transport: ws", "[0].transport must be one of stdio, http, sse", (3, 3)),
    ],
)
def test_a_mistake_in_the_file_is_told_with_its_place(expected, text, problem, place):
    with pytest.raises(UsageError) as caught:
        expected(text)
    assert problem in caught.value.message
    where = caught.value.where
    assert where is not None
    assert (where.line, where.column) == place
