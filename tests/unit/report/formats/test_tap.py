"""TAP 14, read again by its rules: test lines, directives, YAML blocks."""

import re

import yaml

from mcp_conductor.errors import Location
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report

FILE = "tests/files.test.mcp.yml"
POINT = re.compile(
    r"(?P<bad>not )?ok (?P<number>\d+) - (?P<text>(?:\\.|[^#\\])*?)(?: # (?P<directive>[A-Z]+)(?: (?P<reason>.*))?)?"
)


def outcome(status="passed", title="reads", **more) -> Outcome:
    return Outcome(id=f"{FILE}::{title}", title=title, group="files", status=status, **more)


def written(*outcomes: Outcome, **more) -> str:
    return REPORTERS.get("tap").write(Report(kind="test", target="x", outcomes=outcomes, **more))


def points(text: str) -> list[dict]:
    """The test points of a TAP text, each with its YAML."""
    version, plan, *lines, summary = text.removesuffix("\n").split("\n")
    assert (version, summary[:2]) == ("TAP version 14", "# ")
    found: list[dict] = []
    block: list[str] | None = None
    for line in lines:
        if line == "  ---":
            block = []
        elif line == "  ...":
            found[-1]["yaml"] = yaml.safe_load("\n".join(block))
            block = None
        elif block is not None:
            assert line.startswith("  ")
            block.append(line[2:])
        else:
            found.append(POINT.fullmatch(line).groupdict())
    assert plan == f"1..{len(found)}"
    assert [int(each["number"]) for each in found] == list(range(1, len(found) + 1))
    return found


def test_a_report_is_written_like_this():
    where = Location(FILE, 24, 5, "  - it: reads")
    finding = Finding(
        message="value differs", path="result.text", expected={"a": [1, "x"]}, actual=None, where=Location(FILE, 31, 11)
    )
    text = written(
        outcome(title="lists"),
        outcome("failed", where=where, seconds=0.0045, findings=(finding, Finding(message="odd", warning=True))),
        outcome("skipped", reason="no prompts"),
        outcome("passed", title="sorts", reason="issue 12", findings=(Finding(message="unsorted"),)),
        seconds=0.5,
    )
    assert (
        text
        == """\
TAP version 14
1..4
ok 1 - files: lists
not ok 2 - files: reads
  ---
  message: "value differs at result.text"
  severity: "fail"
  duration_ms: 4.5
  at: {"file":"tests/files.test.mcp.yml","line":24,"column":5}
  findings:
    - message: "value differs"
      path: "result.text"
      expected: {"a":[1,"x"]}
      actual: null
      file: "tests/files.test.mcp.yml"
      line: 31
      column: 11
    - message: "odd"
      severity: "warning"
  ...
ok 3 - files: reads # SKIP no prompts
not ok 4 - files: sorts # TODO issue 12
  ---
  message: "unsorted"
  severity: "todo"
  duration_ms: 0.0
  findings:
    - message: "unsorted"
  ...
# 1 failed, 2 passed, 1 skipped in 0.50 s
"""
    )


def test_the_yaml_is_what_was_found():
    finding = Finding(message="a: 'b'\n- c", expected={"k": ["--- x", "..."]}, actual='"\x7f\x85\u2028 😀')
    (point,) = points(written(outcome("errored", findings=(finding,))))
    assert point["yaml"]["severity"] == "error"
    assert point["yaml"]["findings"] == [
        {"message": finding.message, "expected": finding.expected, "actual": finding.actual}
    ]


def test_a_hash_in_a_title_is_no_directive():
    (point,) = points(written(outcome(title="counts # SKIP \\# of things")))
    assert point["directive"] is None
    assert point["text"] == "files: counts \\# SKIP \\\\\\# of things"


def test_a_line_break_in_a_title_or_a_reason_starts_no_new_line():
    (point,) = points(written(outcome("skipped", title="a\nnot ok 2 - b", reason="c\r\nBail out!")))
    assert (point["text"], point["reason"]) == ("files: a not ok 2 - b", "c Bail out!")


def test_a_test_that_was_skipped_without_a_reason_is_skipped():
    (point,) = points(written(outcome("skipped")))
    assert (point["bad"], point["directive"], point["reason"]) == (None, "SKIP", None)


def test_a_warning_is_ok_with_a_diagnostic():
    (point,) = points(written(outcome("warned", findings=(Finding(message="odd"),))))
    assert (point["bad"], point["yaml"]["severity"]) == (None, "warning")


def test_nothing_run_is_a_plan_of_nothing():
    assert written() == "TAP version 14\n1..0 # nothing was run\n# nothing was run in 0.00 s\n"
