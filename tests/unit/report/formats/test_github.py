"""Annotations stand at the lines of the test files, and no text ends a command or begins one."""

import re

from mcp_conductor.errors import Location
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report

FILE = "tests/files.test.mcp.yml"


def outcome(status="failed", title="reads", **more) -> Outcome:
    return Outcome(id=f"{FILE}::{title}", title=title, group="files", status=status, **more)


def written(*outcomes: Outcome) -> list[str]:
    text = REPORTERS.get("github").write(Report(kind="test", target="x", outcomes=outcomes, seconds=0.5))
    return text.removesuffix("\n").split("\n")


def test_every_finding_is_an_annotation_errors_first():
    where = Location(FILE, 24, 5)
    differs = Finding(
        message="value differs",
        path="result.text",
        expected="Hello",
        actual="Bye",
        where=Location(FILE, 31, 11),
        hint="look",
    )
    lines = written(
        outcome("passed", findings=(Finding(message="odd", warning=True),), where=where),
        outcome("failed", findings=(differs, Finding(message="strange", warning=True)), where=where),
        outcome("errored", title="writes", findings=(Finding(message="no answer"),), where=where),
        outcome("warned", title="pings", findings=(Finding(message="slow"),)),
    )
    assert lines == [
        '::error file=tests/files.test.mcp.yml,line=31,col=11,title=reads::value differs at result.text%0Aexpected: "Hello"%0Aactual: "Bye"%0Ahint: look',
        "::error file=tests/files.test.mcp.yml,line=24,col=5,title=writes::no answer",
        "::warning file=tests/files.test.mcp.yml,line=24,col=5,title=reads::odd",
        "::warning file=tests/files.test.mcp.yml,line=24,col=5,title=reads::strange",
        "::warning title=pings::slow",
        "::notice title=conductor test::1 failed, 1 errored, 1 warned, 1 passed in 0.50 s",
    ]


def test_text_is_escaped_and_can_be_read_again():
    title, file = "a,b: 100%,%0A\r\nc", "C:\\x,y.yml"
    line, _ = written(
        outcome(
            title=title, findings=(Finding(message="1,2: 50%\n::error::%0A", hint="a\rb"),), where=Location(file, 1, 2)
        )
    )
    properties, message = re.fullmatch(r"::error ((?:(?!::).)*)::(.*)", line).groups()
    assert properties == "file=C%3A\\x%2Cy.yml,line=1,col=2,title=a%2Cb%3A 100%25%2C%250A%0D%0Ac"
    assert message == "1,2: 50%25%0A\\x3a:error::%250A%0Ahint: a%0Db"


def test_control_characters_and_halves_of_characters_are_made_visible():
    line, _ = written(outcome(findings=(Finding(message="\x1b[1m\x07\ud83d 😀"),)))
    assert line == "::error title=reads::\\x07\\ud83d 😀"


def test_a_failure_without_findings_is_told():
    assert written(outcome("errored"))[0] == "::error title=reads::errored"
    assert written(outcome("failed", reason="issue 12"))[0] == "::error title=reads::expected to fail: issue 12"


def test_a_failure_that_was_expected_is_not_told():
    lines = written(outcome("skipped", reason="issue 12", findings=(Finding(message="wrong"),)))
    assert lines == ["::notice title=conductor test::1 xfailed in 0.50 s"]


def test_a_long_value_is_cut_in_the_middle():
    line, _ = written(outcome(findings=(Finding(message="differs", actual="a" * 5000 + "z"),)))
    assert len(line) < 600
    assert line.endswith('z"')


def test_ten_of_each_kind_are_told_every_test_before_one_in_full():
    many = tuple(Finding(message=f"wrong {number}", warning=False) for number in range(20))
    odd = tuple(Finding(message=f"odd {number}", warning=True) for number in range(11))
    lines = written(outcome(findings=many), outcome(title="writes", findings=many[:1]), outcome("warned", findings=odd))
    errors = [line for line in lines if line.startswith("::error")]
    assert errors[:3] == [
        "::error title=reads::wrong 0",
        "::error title=writes::wrong 0",
        "::error title=reads::wrong 1",
    ]
    assert [len(errors), sum(line.startswith("::warning") for line in lines), len(lines)] == [10, 10, 21]
    assert lines[-1].endswith("; 11 errors more not shown here; 1 warning more not shown here")


def test_the_whole_document_is_no_annotation_beside_its_parts():
    whole, part = Finding(message="the whole result differs", whole=True), Finding(message="is 1, not 2")
    assert written(outcome(findings=(part, whole)))[:-1] == ["::error title=reads::is 1, not 2"]
    assert written(outcome(findings=(whole,)))[:-1] == ["::error title=reads::the whole result differs"]
