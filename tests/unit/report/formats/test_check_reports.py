"""Every report of a check names requirements by their ids, which stay the same when the wording of a statement changes."""

import json
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.formats.html import report_data
from mcp_conductor.report.model import Finding, Outcome, Report

NAME = "tools-item-name"
MIGRATION = {
    "from": "2025-11-25",
    "to": "2026-07-28",
    "spoken": False,
    "steps": [
        {"name": "logging", "what": "send less", "because": "it declares logging", "ids": ["logging-modern-opt-in"]}
    ],
}


def check(status="failed", version=None, level="MUST") -> Outcome:
    findings = () if status == "passed" else (Finding(message="the tool 'a' has no name", path="tools[0]"),)
    return Outcome(
        id=NAME, title="Each tool has a name.", group="tools", status=status, level=level, findings=findings,
        version=version,
    )  # fmt: skip


def written(kind: str, *outcomes: Outcome, **metrics) -> str:
    report = Report(kind="check", target="x", outcomes=outcomes, metrics=metrics)
    return REPORTERS.get(kind).write(report)


BOTH = (check(version="2025-06-18"), check(version="2025-11-25"))


@pytest.mark.parametrize("kind", [name for name, _ in REPORTERS.items()])
@pytest.mark.parametrize("status", ["failed", "warned"])
def test_the_id_stands_in_every_report(kind, status):
    assert NAME in written(kind, check(status))


def test_junit_names_a_case_by_id_and_revision_and_states_the_requirement():
    cases = ET.fromstring(written("junit", *BOTH)).findall(".//testcase")
    assert [case.get("name") for case in cases] == [f"{NAME} [2025-06-18]", f"{NAME} [2025-11-25]"]
    assert [case.get("classname") for case in cases] == ["tools", "tools"]
    assert cases[0].find("failure").text.startswith(f"{NAME} [2025-06-18] (MUST): Each tool has a name.\n")


def test_junit_states_the_requirement_of_a_warning():
    (out,) = ET.fromstring(written("junit", check("warned", level="SHOULD"))).findall(".//system-out")
    assert out.text.startswith(f"{NAME} (SHOULD): Each tool has a name.\n")


def test_tap_has_id_and_level_in_the_line_and_in_the_block():
    text = written("tap", check())
    assert f"not ok 1 - tools: {NAME} (MUST): Each tool has a name.\n" in text
    assert f'  id: "{NAME}"\n  level: "MUST"\n' in text


def test_annotations_are_called_by_id_and_told_once_for_all_revisions():
    lines = written("github", *BOTH).splitlines()
    assert len(lines) == 2
    assert lines[0] == (
        f"::error title={NAME} [all 2 revisions] (MUST)::the tool 'a' has no name at tools[0]%0AEach tool has a name."
    )


def test_markdown_has_a_table_of_ids_levels_and_messages_once_for_all_revisions():
    text = written("markdown", *BOTH)
    assert "| id | level | what is wrong | what should be |\n" in text
    row = f"| <code>{NAME} &#91;all 2 revisions&#93;</code> | MUST | the tool 'a' has no name at tools&#91;0&#93; | Each tool has a name. |"
    assert text.count(row) == 1


@pytest.mark.parametrize(
    ("metrics", "line"),
    [
        ({"ungraded": "--only leaves something out"}, "No grade: --only leaves something out"),
        ({"grade": {"letter": "C", "reason": "1 MUST is broken"}}, "**Grade C**: 1 MUST is broken"),
        ({"grade": {"letter": "A"}}, "**Grade A**"),
    ],
)
def test_markdown_shows_the_grade_or_why_there_is_none(metrics, line):
    assert f"\n\n{line}\n\n" in written("markdown", check(), **metrics)


def test_markdown_shows_what_is_missing_for_the_newest_revision():
    text = written("markdown", check(), migration=MIGRATION)
    assert "### To speak 2026-07-28\n" in text
    assert "| logging | send less | it declares logging | <code>logging-modern-opt-in</code> |" in text


def test_json_says_which_revision_an_outcome_is_about():
    outcomes = json.loads(written("json", *BOTH))["outcomes"]
    assert [(each["id"], each["protocolVersion"]) for each in outcomes] == [(NAME, "2025-06-18"), (NAME, "2025-11-25")]
    assert "protocolVersion" not in json.loads(written("json", check()))["outcomes"][0]


def test_in_a_check_of_both_sides_every_report_says_whose_side_it_is():
    wrong = (Finding(message="it has no name"),)
    outcomes = tuple(
        Outcome(id=f"name-{side}", title="It has a name.", group="base", status="failed", level="MUST", side=side, findings=wrong)
        for side in ("server", "client")
    )  # fmt: skip
    report = Report(kind="check", target="said.jsonl", outcomes=outcomes, metrics={"ungraded": "x"})
    shown = {name: REPORTERS.get(name).write(report) for name in ("json", "sarif", "junit", "tap", "markdown", "html")}
    for name, sign in {
        "json": '"side": "client"',
        "sarif": "it has no name [client]",
        "junit": 'classname="client: base"',
        "tap": "client: base: name-client (MUST, of the client)",
        "markdown": "MUST, of the client",
        "html": '"group":"client: base"',
    }.items():
        assert sign in shown[name], name
        assert sign.replace("client", "server") in shown[name], name


SDK = "TypeScript SDK 1.32.2"
OF_THE_SDK = replace(check("skipped"), reason=f"of the {SDK}", framework=SDK)
KNOWN = {"framework": {"name": "TypeScript SDK", "version": "1.32.2", "how": "x"}}


def test_what_is_of_the_framework_is_shown_in_every_report_and_fails_none():
    (case,) = ET.fromstring(written("junit", OF_THE_SDK)).findall(".//testcase")
    assert case.find("skipped").attrib == {"type": "sdk", "message": f"of the {SDK}"}
    (result,) = json.loads(written("sarif", OF_THE_SDK))["runs"][0]["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": f"of the {SDK}"}]
    (told,) = json.loads(written("json", OF_THE_SDK))["outcomes"]
    assert (told["status"], told["framework"], told["findings"][0]["path"]) == ("skipped", SDK, "tools[0]")
    assert "xfail" not in told
    assert "# TODO" in written("tap", OF_THE_SDK)
    assert "::error" not in written("github", OF_THE_SDK)
    assert "::warning" not in written("github", OF_THE_SDK)


def test_markdown_counts_what_is_of_the_framework_and_shows_both_grades():
    grades = {"grade": {"letter": "A", "reason": "x"}, "gradeOfAll": {"letter": "C", "reason": "y"}}
    text = written("markdown", OF_THE_SDK, **KNOWN, **grades)
    assert "| of the SDK |" in text
    assert "**Grade A** (C with what is of the SDK): x" in text


def test_the_page_has_both_grades_and_whose_the_finding_is():
    grades = {"grade": {"letter": "A", "reason": "x"}, "gradeOfAll": {"letter": "C", "reason": "y"}}
    data = report_data(Report(kind="check", target="x", outcomes=(OF_THE_SDK,), metrics={**KNOWN, **grades}))
    assert (data["framework"]["title"], data["gradeOfAll"]["letter"]) == (SDK, "C")
    assert [each["status"] for each in data["outcomes"]] == ["sdk"]
