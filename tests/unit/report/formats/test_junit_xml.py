"""JUnit XML is what CI servers read: counted, placed, and well-formed for every output of a server."""

import re
from xml.etree import ElementTree as ET

from mcp_conductor.errors import Location
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report

FILE = "tests/files.test.mcp.yml"
# The attributes and elements of xunit-plugin's junit-10.xsd, and two that others read.
ATTRIBUTES = {
    "testsuites": {"name", "time", "tests", "failures", "errors"},
    "testsuite": {"name", "tests", "failures", "errors", "time", "skipped", "timestamp"},
    "testcase": {"name", "time", "classname"} | {"file", "line"},
    "failure": {"type", "message"},
    "error": {"type", "message"},
    "skipped": {"type", "message"},
    "properties": set(),
    "property": {"name", "value"},
    "system-out": set(),
    "system-err": set(),
}


def outcome(status="passed", title="reads", group="files", **more) -> Outcome:
    return Outcome(id=f"{FILE}::{title}", title=title, group=group, status=status, **more)


def written(*outcomes: Outcome, **more) -> str:
    return REPORTERS.get("junit").write(Report(kind="test", target="x", outcomes=outcomes, **more))


def parsed(*outcomes: Outcome, **more) -> ET.Element:
    return ET.fromstring(written(*outcomes, **more))


def test_a_report_is_written_like_this():
    where = Location(FILE, 24, 5, "  - it: reads")
    finding = Finding(
        message="value differs", path="result.text", expected="Hello", actual="Goodbye",
        where=Location(FILE, 31, 11, "          text: Hello"), hint="read it again",
    )  # fmt: skip
    text = written(
        outcome("failed", where=where, seconds=0.004, findings=(finding,), wire=('--> {"id":1}',), stderr=("oh", "no")),
        outcome("skipped", title="writes", reason="the server has no prompts"),
        outcome(title="adds", group="sums", seconds=1.5),
        seconds=2.25,
        started="2026-07-28T10:00:00Z",
    )
    assert (
        text
        == """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="conductor test" tests="3" failures="1" errors="0" time="2.250">
  <testsuite name="files" tests="2" failures="1" errors="0" skipped="1" time="0.004" timestamp="2026-07-28T10:00:00Z">
    <testcase classname="files" name="reads" file="tests/files.test.mcp.yml" line="24" time="0.004">
      <failure message="value differs at result.text" type="failed"> --&gt; tests/files.test.mcp.yml:31:11
 31 |           text: Hello
    |           ^ value differs at result.text
    |   expected  "Hello"
    |   actual    "Goodbye"
  hint: read it again</failure>
      <system-out>--&gt; {"id":1}</system-out>
      <system-err>oh
no</system-err>
    </testcase>
    <testcase classname="files" name="writes" time="0.000">
      <skipped message="the server has no prompts"/>
    </testcase>
  </testsuite>
  <testsuite name="sums" tests="1" failures="0" errors="0" skipped="0" time="1.500" timestamp="2026-07-28T10:00:00Z">
    <testcase classname="sums" name="adds" time="1.500"/>
  </testsuite>
</testsuites>
"""
    )


def test_it_has_only_what_the_schema_has():
    finding = Finding(message="wrong")
    tree = parsed(
        *(
            outcome(status, findings=(finding,), wire=("--> {}",), stderr=("x",))
            for status in ("failed", "errored", "warned")
        ),
        outcome("skipped"),
        outcome("skipped", reason="later", findings=(finding,)),
        started="2026-07-28T10:00:00Z",
    )
    for element in tree.iter():
        assert set(element.attrib) <= ATTRIBUTES[element.tag], element.tag
    assert all(re.fullmatch(r"[0-9]+\.[0-9]+", each.attrib["time"]) for each in tree.iter("testsuite"))


def test_a_suite_is_counted_although_its_tests_came_among_those_of_others():
    tree = parsed(
        outcome("errored", group="a"), outcome(group="b"), outcome("failed", group="a"), outcome("warned", group="a")
    )
    counts = {
        each.attrib["name"]: [each.attrib[key] for key in ("tests", "failures", "errors", "skipped")] for each in tree
    }
    assert counts == {"a": ["3", "1", "1", "0"], "b": ["1", "0", "0", "0"]}


def test_a_test_that_could_not_run_is_an_error_in_one_element():
    findings = (Finding(message="the server went away"), Finding(message="exit code 1"))
    case = parsed(outcome("errored", findings=findings))[0][0]
    assert [each.tag for each in case] == ["error"]
    assert case[0].attrib == {"message": "the server went away", "type": "errored"}
    assert case[0].text == "the server went away\nexit code 1"


def test_what_was_not_the_same_in_all_runs_is_a_property():
    tree = parsed(outcome("failed"), metrics={"repeat": 4, "flaky": {"a::b": "failed 2 of 4"}})
    suite = tree.find("testsuite[@name='repeat']")
    assert suite.attrib["tests"] == "0"
    told = {each.attrib["name"]: each.attrib["value"] for each in suite.iter("property")}
    assert told == {"repeat": "4", "a::b": "failed 2 of 4"}


def test_a_failure_that_was_expected_counts_as_skipped():
    for status in ("passed", "skipped"):
        suite = parsed(outcome(status, reason="issue 12", findings=(Finding(message="wrong"),)))[0]
        assert suite.attrib["skipped"] == "1"
        assert suite[0][0].attrib == {"type": "xfail", "message": "fails as expected: issue 12"}


def test_a_test_that_passes_although_it_should_not_is_a_failure_with_its_reason():
    case = parsed(outcome("failed", reason="issue 12", findings=(Finding(message="it passed"),)))[0][0]
    assert case[0].attrib["message"] == "it passed"
    assert case[0].text == "expected to fail: issue 12\nit passed"


def test_a_failure_without_findings_is_still_a_failure():
    assert parsed(outcome("failed"))[0][0][0].attrib == {"message": "failure", "type": "failed"}


def test_warnings_of_a_test_that_did_not_fail_stand_before_the_wire():
    case = parsed(outcome(findings=(Finding(message="odd", warning=True),), wire=("--> {}",)))[0][0]
    assert case.find("system-out").text == "warning: odd\n--> {}"


def test_the_file_is_well_formed_for_every_text_in_it():
    nasty = "a]]>\x00\x1b[31mred\x1b[0m\x0b<&>\"'\ufffe\ud800\udcff 😀\tb"
    shown = "a]]>\\x00red\\x0b<&>\"'\\ufffe\\ud800\\xff 😀\tb"
    case = parsed(outcome("failed", title=nasty, findings=(Finding(message=nasty),), stderr=(nasty,)))[0][0]
    assert case.attrib["name"] == shown
    assert case[0].attrib["message"] == shown
    assert case[0].text == shown
    assert case.find("system-err").text == shown


def test_line_breaks_in_attributes_survive():
    case = parsed(outcome("failed", findings=(Finding(message="one\ntwo"),)))[0][0]
    assert case[0].attrib["message"] == "one\ntwo"


def test_cases_of_the_same_name_can_be_told_apart():
    root = parsed(outcome(), outcome("failed"), outcome(group="sums"), outcome())
    names = [(case.get("classname"), case.get("name")) for case in root.iter("testcase")]
    assert names == [("files", "reads"), ("files", "reads (2)"), ("files", "reads (3)"), ("sums", "reads")]


def test_how_many_were_not_chosen_is_a_property_of_a_suite_without_tests():
    root = parsed(outcome(), deselected=7)
    suite = root.findall("testsuite")[-1]
    assert (suite.get("name"), suite.get("tests"), root.get("tests")) == ("deselected", "0", "1")
    assert [each.attrib for each in suite.iter("property")] == [{"name": "deselected", "value": "7"}]


def test_what_was_said_is_cut_where_it_is_long():
    [case] = parsed(outcome("failed", findings=(Finding(message="no"),), wire=("x" * 15_000,) * 4)).iter("testcase")
    assert len(case.find("system-out").text) == 20_000
