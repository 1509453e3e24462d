"""What a person sees: a line per suite or per test, each failure once with all there is to know, and a last line."""

import pytest

from mcp_conductor.errors import Location
from mcp_conductor.report.formats.console import Console
from mcp_conductor.report.model import Finding, Outcome, Report

FILE = "tests/files.test.mcp.yml"
SUITE = Location(FILE, 1, 1)


class Words(str):
    """What a matcher says of a value."""

    __slots__ = ()


def at(line: int, column: int = 5, source: str = "") -> Location:
    return Location(FILE, line, column, source)


def outcome(status="passed", title="lists files", **more) -> Outcome:
    return Outcome(id=f"{FILE}::{title}", title=title, group="files", status=status, **more)


def report(*outcomes: Outcome, **more) -> Report:
    return Report(kind="test", target="node server.js", outcomes=outcomes, **{"seconds": 0.42, **more})


FAILED = outcome(
    "failed",
    "reads an existing file",
    seconds=0.004,
    where=at(24, 5, "  - it: reads an existing file"),
    findings=(
        Finding(
            message="value differs",
            path="result.content[0].text",
            expected=Words('text that starts with "Hello"'),
            actual="Goodbye, MCP!",
            where=at(31, 11, '          text: "match:startsWith:Hello"'),
            hint="is it the right file?",
        ),
        Finding(message="the key stands twice", warning=True),
    ),
    wire=(
        '--> {"jsonrpc":"2.0","id":"read-1","method":"tools/call","params":{}}',
        '<-- {"jsonrpc":"2.0","id":"read-1","result":{}}',
    ),
    stderr=("starting", "ready"),
)


def test_a_failure_is_shown_with_all_there_is_to_know():
    assert (
        Console().outcome(FAILED)
        == """\
FAIL  tests/files.test.mcp.yml:24  reads an existing file
   --> tests/files.test.mcp.yml:31:11
   31 |           text: "match:startsWith:Hello"
      |           ^ value differs at result.content[0].text
      |   expected  text that starts with "Hello"
      |   actual    "Goodbye, MCP!"
    hint: is it the right file?
  warning: the key stands twice
  request   {"jsonrpc":"2.0","id":"read-1","method":"tools/call","params":{}}
  response  {"jsonrpc":"2.0","id":"read-1","result":{}}
                                                    ^^
  stderr    (2 lines)
    | starting
    | ready
  again: conductor test tests/files.test.mcp.yml:24

"""
    )


def test_a_run_is_shown_in_a_line_per_suite():
    console = Console()
    outcomes = [outcome(), outcome("skipped", "writes", reason="read-only", where=at(9)), outcome("passed", "sorts")]
    assert console.suite("files", SUITE) == ""
    assert [console.outcome(each) for each in outcomes] == ["", "", ""]
    assert (
        console.suite_done("files", SUITE, outcomes) == "ok    tests/files.test.mcp.yml  files  2 passed, 1 skipped\n"
    )
    assert (
        console.end(report(*outcomes))
        == """\
skip  tests/files.test.mcp.yml:9  writes  (read-only)
2 passed, 1 skipped in 0.42 s
"""
    )


def test_a_run_is_shown_in_a_line_per_test_where_that_is_wanted():
    console = Console(verbosity=1)
    outcomes = [
        outcome(title="reads an existing file", seconds=0.004),
        outcome("skipped", "writes", reason="read-only"),
        outcome("skipped", "deletes"),
        outcome("skipped", "sorts", reason="issue 12", findings=(Finding(message="unsorted"),)),
        outcome(title="waits", seconds=2, flaky=True),
        outcome("warned", "pings", level="SHOULD", findings=(Finding(message="slow"),)),
    ]
    text = console.suite("files", SUITE) + "".join(map(console.outcome, outcomes))
    assert (
        text
        == """\
tests/files.test.mcp.yml  files
  ok   reads an existing file  (4 ms)
  skip writes  (read-only)
  skip deletes
  skip sorts  (fails as expected: issue 12)
  ok   waits  (flaky, 2.00 s)
  warn pings  (SHOULD, 0 ms)
"""
    )
    assert console.suite_done("files", SUITE, outcomes) == ""
    assert (
        console.end(report(*outcomes))
        == """\
WARN  files::pings  pings
  slow
1 warned, 2 passed (1 flaky), 2 skipped, 1 xfailed in 0.42 s
""".replace("files::pings", f"{FILE}::pings")
    )


def test_the_wire_of_every_test_is_shown_where_all_is_wanted():
    line = '--> {"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert Console(verbosity=2).outcome(outcome(wire=(line,), seconds=0.001)) == (
        f"  ok   lists files  (1 ms)\n       request   {line[4:]}\n"
    )


@pytest.mark.parametrize("options", [{"errors_only": True}, {"verbosity": -1}, {"errors_only": True, "verbosity": 1}])
def test_only_failures_and_the_last_line_are_shown_where_nothing_else_is_wanted(options):
    console = Console(**options)
    good = outcome("skipped", reason="read-only", findings=(Finding(message="odd", warning=True),))
    assert console.suite("files", SUITE) + console.outcome(good) + console.suite_done("files", SUITE, [good]) == ""
    assert console.outcome(FAILED).startswith("FAIL  tests/files.test.mcp.yml:24  reads an existing file")
    assert console.end(report(good, FAILED)) == "1 failed, 1 skipped in 0.42 s\n"


def test_a_failure_is_not_repeated_at_the_end():
    assert Console().end(report(FAILED)) == "1 failed in 0.42 s\n"


def test_times_are_shown_where_they_are_wanted():
    console = Console(timing=True)
    assert console.outcome(FAILED).startswith("FAIL  tests/files.test.mcp.yml:24  reads an existing file  (4 ms)\n")
    assert (
        console.suite_done("files", None, [outcome(seconds=0.5), outcome(seconds=1)])
        == "ok    files  2 passed  (1.50 s)\n"
    )


@pytest.mark.parametrize(
    ("statuses", "mark"),
    [
        (["passed", "failed", "errored"], "ERROR"),
        (["passed", "failed", "warned"], "FAIL "),
        (["passed", "warned"], "warn "),
        (["passed", "skipped"], "ok   "),
        (["skipped"], "skip "),
        ([], "ok   "),
    ],
)
def test_a_suite_is_marked_by_the_worst_of_its_tests(statuses, mark):
    assert Console().suite_done("files", None, map(outcome, statuses)).startswith(f"{mark} files  ")


def test_a_test_that_could_not_run_says_so():
    found = Finding(message="the server went away: exit code 1")
    assert (
        Console().outcome(outcome("errored", findings=(found,), stderr=("panic",)))
        == """\
ERROR  files  lists files
  the server went away: exit code 1
  stderr    (1 line)
    | panic

"""
    )


def test_a_test_that_passes_although_it_should_not_says_why_it_should_not():
    text = Console().outcome(outcome("failed", reason="issue 12", findings=(Finding(message="it passed"),)))
    assert text == "FAIL  files  lists files\n  expected to fail: issue 12\n  it passed\n\n"


def test_a_check_is_called_by_its_id_and_cannot_be_run_again_by_its_place():
    check = Outcome(id="ping-empty", title="ping is answered", group="ping", status="failed", level="MUST", where=None)
    assert Console().outcome(check) == "FAIL  ping-empty  ping is answered\n\n"


def test_a_file_with_a_space_can_be_run_again_as_shown():
    text = Console().outcome(outcome("failed", where=Location("my tests/a.yml", 3, 1)))
    assert "  again: conductor test 'my tests/a.yml:3'\n" in text


def test_findings_beyond_the_limit_are_counted():
    found = tuple(Finding(message=f"wrong {number}") for number in range(9))
    text = Console(max_errors=2).outcome(outcome("failed", findings=found))
    assert text == "FAIL  files  lists files\n  wrong 0\n  wrong 1\n  … and 7 more (--max-errors)\n\n"


def test_reasons_that_are_the_same_are_told_once():
    outcomes = [
        outcome("skipped", "a", reason="no prompts"),
        outcome("skipped", "b", reason="no prompts"),
        outcome("passed", "c", reason="issue 12", where=at(7)),
        outcome("passed", "d", flaky=True, where=at(8)),
    ]
    assert (
        Console().end(report(*outcomes))
        == """\
skip  2 tests  (no prompts)
ok  tests/files.test.mcp.yml:7  c  (fails as expected: issue 12)
ok  tests/files.test.mcp.yml:8  d  (flaky)
2 passed (1 flaky), 2 skipped in 0.42 s
"""
    )


def test_warnings_are_told_at_the_end_up_to_a_limit():
    found = (Finding(message="odd", path="result.x", warning=True, where=at(7, 3, "  x: 1")),)
    outcomes = [outcome(title=f"test {number}", findings=found, where=at(number + 1)) for number in range(25)]
    lines = Console().end(report(*outcomes)).split("\n")
    assert lines[:5] == [
        "WARN  tests/files.test.mcp.yml:1  test 0",
        "  odd at result.x",
        "   --> tests/files.test.mcp.yml:7:3",
        "   7 |   x: 1",
        "     |   ^",
    ]
    assert lines[-3:] == ["… and 5 more with warnings (-v)", "25 passed in 0.42 s", ""]
    assert "more with warnings" not in Console(verbosity=1).end(report(*outcomes))


def test_many_different_reasons_are_told_up_to_a_limit():
    outcomes = [outcome("skipped", reason=f"reason {number}") for number in range(30)]
    assert Console().end(report(*outcomes)).split("\n")[-3:] == [
        "… and 10 more reasons (-v)",
        "30 skipped in 0.42 s",
        "",
    ]


def test_nothing_run_is_said():
    assert Console().end(report(seconds=0)) == "nothing was run in 0.00 s\n"


def test_the_slowest_are_listed():
    outcomes = [
        outcome(title=title, seconds=seconds, where=at(3)) for title, seconds in [("a", 0.004), ("b", 61), ("c", 1.5)]
    ]
    assert (
        Console().durations(report(*outcomes), 2)
        == """\
the slowest 2:
   1 min 1 s  tests/files.test.mcp.yml:3  b
      1.50 s  tests/files.test.mcp.yml:3  c
"""
    )
    assert Console().durations(report(outcome()), 2) == ""


def test_coverage_names_what_was_not_used():
    metrics = {
        "coverage": {
            "tools": {"total": 20, "untouched": [f"tool_{number}" for number in range(12)]},
            "resources": {"total": 2, "untouched": []},
            "prompts": {"total": 0, "untouched": []},
        }
    }
    names = ", ".join(f"tool_{number}" for number in range(10))
    assert (
        Console().coverage(metrics)
        == f"""\
coverage:
  tools      8 of 20 used; not used: {names}, … and 2 more (-v)
  resources  2 of 2 used
  prompts    none offered
"""
    )
    assert "tool_11" in Console(verbosity=1).coverage(metrics)
    assert Console().coverage({}) == ""


def test_colours_are_used_where_they_are_wanted_and_nowhere_else():
    console = Console(colour=True, verbosity=1)
    assert console.suite("files") == "\x1b[1mfiles\x1b[0m\n"
    assert console.outcome(outcome()) == "  \x1b[32mok\x1b[0m   lists files  \x1b[2m(0 ms)\x1b[0m\n"
    assert console.outcome(FAILED).startswith("\x1b[31mFAIL\x1b[0m  tests/files.test.mcp.yml:24  \x1b[1mreads")
    assert console.end(report(outcome())) == "\x1b[32;1m1 passed in 0.42 s\x1b[0m\n"
    assert console.end(report(FAILED)) == "\x1b[31;1m1 failed in 0.42 s\x1b[0m\n"
    assert "\x1b" not in Console(verbosity=1).outcome(FAILED)
