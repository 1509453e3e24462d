"""SARIF is what code scanning reads: rules, results with a place in a file, and fingerprints that stay the same."""

import json

import pytest

from mcp_conductor.errors import Location
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report, Rule

RULE = Rule(
    id="tools-item-name", statement="Each tool has a name.", help="Lists the tools.", address="https://example.com/a"
)


def check(status="failed", level="MUST", messages=("the tool 'a' has no name",), **more) -> Outcome:
    findings = tuple(Finding(message=each, path=f"tools[{index}]") for index, each in enumerate(messages))
    return Outcome(
        id=RULE.id, title=RULE.statement, group="tools", status=status, level=level, findings=findings, **more
    )  # fmt: skip


def run(*outcomes: Outcome, kind="check", source="server.py", rules=(RULE,), **more):
    report = Report(kind=kind, target="x", outcomes=outcomes, rules=rules, source=source, **more)
    log = json.loads(REPORTERS.get("sarif").write(report))
    assert log["version"] == "2.1.0"
    return log["runs"][0]


def test_every_member_that_code_scanning_needs_is_there():
    found = run(check())
    (rule,), (result,) = found["tool"]["driver"]["rules"], found["results"]
    assert rule == {
        "id": "tools-item-name",
        "shortDescription": {"text": "Each tool has a name."},
        "fullDescription": {"text": "Each tool has a name."},
        "help": {"text": "Lists the tools."},
        "helpUri": "https://example.com/a",
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["mcp", "tools"]},
    }
    fingerprint = result.pop("partialFingerprints")
    assert list(fingerprint) == ["primaryLocationLineHash"]
    assert result == {
        "ruleId": "tools-item-name",
        "ruleIndex": 0,
        "level": "error",
        "message": {"text": "the tool 'a' has no name at tools[0]"},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "server.py"},
                    "region": {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 2},
                }
            }
        ],
    }


@pytest.mark.parametrize(("level", "expected"), [("MUST", "error"), ("SHOULD", "warning"), ("MAY", "note")])
def test_the_level_is_that_of_the_requirement(level, expected):
    assert run(check("failed" if level == "MUST" else "warned", level))["results"][0]["level"] == expected


def test_what_passed_or_was_skipped_is_no_result_but_has_its_rule():
    found = run(check("passed", messages=()), check("skipped", messages=(), reason="nothing to see"))
    assert found["results"] == []
    assert len(found["tool"]["driver"]["rules"]) == 1


def test_like_findings_are_one_result():
    (result,) = run(check(messages=[f"the tool 't{number}' has no name" for number in range(3)]))["results"]
    assert (
        result["message"]["text"] == "the tool 't0' has no name at tools[0] (and 2 more like this: tools[1], tools[2])"
    )


def fingerprint(outcome: Outcome) -> str:
    return run(outcome)["results"][0]["partialFingerprints"]["primaryLocationLineHash"]


def test_a_fingerprint_stays_the_same_when_the_fault_moves_to_another_tool():
    assert fingerprint(check()) == fingerprint(check(messages=["the tool 'b' has no name"]))


def test_the_fingerprint_of_another_fault_is_another():
    assert fingerprint(check()) != fingerprint(check(messages=["the tool 'a' has two names"]))


def test_what_is_alike_in_several_revisions_is_one_result_that_names_them():
    every = [
        check(version="2025-06-18"),
        check(version="2025-11-25"),
        check("passed", messages=(), version="2026-07-28"),
    ]
    (result,) = run(*every)["results"]
    assert result["message"]["text"] == "the tool 'a' has no name at tools[0] [2025-06-18, 2025-11-25]"


def test_what_was_expected_to_fail_is_suppressed_with_its_reason():
    (result,) = run(check("skipped", reason="the SDK cannot"))["results"]
    assert result["suppressions"] == [{"kind": "external", "justification": "the SDK cannot"}]


@pytest.mark.parametrize(
    ("source", "uri"),
    [
        (None, "mcp-server"),
        ("/home/me/secret/server.py", "server.py"),
        ("../server.py", "server.py"),
        ("src/my server.py", "src/my%20server.py"),
    ],
)
def test_places_are_below_the_root_of_the_sources(source, uri):
    (result,) = run(check(), source=source)["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_server_cannot_put_links_into_a_message():
    (result,) = run(check(messages=["[click](https://example.com)"]))["results"]
    assert "](" not in result["message"]["text"]


def test_a_test_has_its_own_place_and_a_rule_for_what_came_of_it():
    where = Location("a.test.mcp.yml", 3, 5)
    failed = Outcome(id="a::reads", title="reads", group="a", status="failed", where=where,
                     findings=(Finding(message="differs", where=Location("a.test.mcp.yml", 7, 9)),))  # fmt: skip
    lost = Outcome(id="a::writes", title="writes", group="a", status="not-run", where=where, reason="the server died")
    found = run(failed, lost, kind="test", rules=(), source=None)
    assert [rule["id"] for rule in found["tool"]["driver"]["rules"]] == ["test-failed", "test-not-run"]
    assert [(each["ruleIndex"], each["message"]["text"]) for each in found["results"]] == [
        (0, "reads: differs"),
        (1, "writes: the server died"),
    ]
    assert [each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in found["results"]] == [7, 3]


def test_a_run_that_was_stopped_did_not_succeed():
    assert run(check(), stopped="timeout")["invocations"] == [{"executionSuccessful": False}]


def test_what_a_check_could_not_see_is_about_the_check_and_no_alert():
    found = run(warnings=(Finding(message="the client never called a tool", warning=True),))
    assert found["results"] == []
    assert found["invocations"][0]["toolExecutionNotifications"] == [
        {"level": "warning", "message": {"text": "the client never called a tool"}}
    ]
