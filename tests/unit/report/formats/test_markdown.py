"""A summary in Markdown fits into a comment, and shows foreign text as text."""

from mcp_conductor.errors import Location
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.model import Finding, Outcome, Report

FILE = "tests/files.test.mcp.yml"


def outcome(status="failed", title="reads", **more) -> Outcome:
    return Outcome(id=f"{FILE}::{title}", title=title, group="files", status=status, **more)


def written(*outcomes: Outcome, **more) -> str:
    return REPORTERS.get("markdown").write(Report(kind="test", target="node server.js", outcomes=outcomes, **more))


def test_a_report_is_written_like_this():
    where = Location(FILE, 24, 5, "  - it: reads")
    differs = Finding(
        message="value differs",
        path="result.text",
        expected="Hello",
        actual="Bye",
        where=Location(FILE, 31, 11, "          text: Hello"),
    )
    text = written(
        outcome(
            seconds=0.004,
            findings=(differs, Finding(message="more")),
            where=where,
            wire=('--> {"id":1,"jsonrpc":"2.0","method":"x"}',),
            stderr=("oh",),
        ),
        outcome("passed", title="lists", seconds=1.25),
        outcome("warned", title="pings", findings=(Finding(message="slow"),)),
        outcome("skipped", title="writes", reason="no prompts"),
        server={"name": "files", "version": "1.0"},
        protocol_version="2025-11-25",
        started="2026-07-28T10:00:00Z",
        seconds=1.5,
        metrics={
            "coverage": {"tools": {"total": 3, "untouched": ["delete"]}, "prompts": {"total": 0, "untouched": []}}
        },
    )
    assert (
        text
        == """\
## conductor test: 1 failed, 1 warned, 1 passed, 1 skipped in 1.50 s

<code>node server.js</code>, files 1.0, MCP 2025-11-25, 2026-07-28T10:00:00Z

| passed | failed | warned | skipped | errored | not run |
| --- | --- | --- | --- | --- | --- |
| 1 | 1 | 1 | 1 | 0 | 0 |

### Failures

| where | what | status | why |
| --- | --- | --- | --- |
| <code>tests/files.test.mcp.yml:24</code> | reads | failed | value differs at result.text (and 1 more) |

<details><summary>tests/files.test.mcp.yml:24  reads</summary>

```text
more
 --> tests/files.test.mcp.yml:31:11
 31 |           text: Hello
    |           ^ value differs at result.text
    |   expected  "Hello"
    |   actual    "Bye"
request   {"id":1,"jsonrpc":"2.0","method":"x"}
stderr    (1 line)
  | oh
```

</details>

### Warnings

| where | what | status | why |
| --- | --- | --- | --- |
| <code>files</code> | pings | warned | slow |

### Slowest

| time | where | what |
| --- | --- | --- |
| 1.25 s | <code>files</code> | lists |
| 4 ms | <code>tests/files.test.mcp.yml:24</code> | reads |

### Coverage

| kind | used | not used |
| --- | --- | --- |
| tools | 2 of 3 | <code>delete</code> |
| prompts | 0 of 0 |  |
"""
    )


def test_a_run_without_failures_is_short():
    assert (
        written(outcome("passed"))
        == """\
## conductor test: 1 passed in 0.00 s

<code>node server.js</code>

| passed | failed | warned | skipped | errored | not run |
| --- | --- | --- | --- | --- | --- |
| 1 | 0 | 0 | 0 | 0 | 0 |
"""
    )


def test_text_is_text_and_stays_in_its_cell():
    text = written(outcome(title="a|b\n<img> @team *x* [y](http://z) &amp; 😀\ud800"))
    row = next(line for line in text.split("\n") if "failed |" in line and "😀" in line)
    assert row.count("|") == 5
    assert "a&#124;b &#60;img&#62; @&#8203;team &#42;x&#42; &#91;y&#93;(http:&#8203;//z) &#38;amp; 😀&#92;ud800" in row


def test_a_fence_is_longer_than_any_in_what_it_holds():
    text = written(outcome(findings=(Finding(message="````\n</details>"),)))
    assert "`````text\n````\n  </details>\n`````\n" in text


def test_a_thousand_failures_still_fit_into_a_comment():
    finding = Finding(message="x" * 50, actual="y" * 10_000)
    failures = [
        outcome(title=f"reads {number}", findings=(finding,) * 30, stderr=("z" * 1000,) * 50) for number in range(1000)
    ]
    text = written(*failures)
    assert len(text) < 65_536
    assert "… and 950 more" in text
    assert "Details of 980 more failures are left out." in text


def test_what_was_not_the_same_in_all_runs_is_a_table():
    text = written(outcome(), metrics={"repeat": 4, "flaky": {"a::b": "failed 2 of 4"}})
    assert (
        "### Not the same in all 4 runs\n\n| which | how often |\n| --- | --- |\n| <code>a::b</code> | failed 2 of 4 |\n"
        in text
    )
    assert "4 runs" not in written(outcome(), metrics={"repeat": 4, "flaky": {}})


def test_what_failed_as_expected_is_counted_apart_as_in_the_title():
    known = outcome("skipped", reason="known", findings=(Finding(message="is wrong"),))
    text = written(known, outcome("skipped", reason="no tools"))
    assert text.startswith("## conductor test: 1 skipped, 1 xfailed in ")
    assert "| skipped | errored | not run | xfailed |" in text
    assert "| 1 | 0 | 0 | 1 |" in text
