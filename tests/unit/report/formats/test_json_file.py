"""The JSON report has the shape that is promised to programs."""

import json

from mcp_conductor.errors import Location
from mcp_conductor.protocol.message import read
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report

WHERE = Location("a.test.mcp.yml", 3, 5, "  - it: adds")


def written(report: Report) -> str:
    return REPORTERS.get("json").write(report)


def test_a_report_is_written_member_by_member():
    finding = Finding(message="differs", path="result.sum", expected=3, actual=None, where=WHERE, hint="look")
    outcome = Outcome(
        id="a.test.mcp.yml::adds", title="adds", group="sums", status="failed", seconds=0.0041, where=WHERE,
        findings=(finding,), wire=("--> {}",), stderr=("x",),
    )  # fmt: skip
    report = Report(
        kind="test", target="node server.js", server={"name": "sums"}, protocol_version="2025-11-25",
        started="2026-07-28T10:00:00Z", seconds=0.5, outcomes=(outcome,), metrics={"ungraded": "x"},
    )  # fmt: skip
    place = {"file": "a.test.mcp.yml", "line": 3}
    assert json.loads(written(report)) == {
        "kind": "test",
        "target": "node server.js",
        "server": {"name": "sums"},
        "protocolVersion": "2025-11-25",
        "started": "2026-07-28T10:00:00Z",
        "seconds": 0.5,
        "summary": {"passed": 0, "failed": 1, "warned": 0, "skipped": 0, "errored": 0, "notRun": 0, "deselected": 0},
        "warnings": [],
        "outcomes": [
            {
                "id": "a.test.mcp.yml::adds",
                "title": "adds",
                "group": "sums",
                "status": "failed",
                "seconds": 0.0041,
                **place,
                "findings": [
                    {
                        "message": "differs",
                        "path": "result.sum",
                        "expected": 3,
                        "actual": None,
                        **place,
                        "column": 5,
                        "hint": "look",
                    }
                ],
            }
        ],
        "metrics": {"ungraded": "x"},
    }


def test_it_is_indented_by_two_and_ends_with_a_newline():
    text = written(Report(kind="test", target="x"))
    assert text.startswith('{\n  "kind": "test",\n')
    assert text.endswith("\n}\n")


def test_no_digit_of_a_number_is_lost():
    finding = Finding(message="differs", expected=12345678901234567890123, actual=read("1.10"))
    outcome = Outcome(id="a", title="a", group="a", status="failed", findings=(finding,))
    text = written(Report(kind="test", target="x", outcomes=(outcome,)))
    assert '"expected": 12345678901234567890123,' in text
    assert '"actual": 1.10\n' in text


def test_half_a_character_is_escaped():
    outcome = Outcome(id="a", title="\ud800", group="a", status="passed")
    text = written(Report(kind="test", target="x", outcomes=(outcome,)))
    assert '"title": "\\ud800"' in text
    assert json.loads(text)["outcomes"][0]["title"] == "\ud800"
