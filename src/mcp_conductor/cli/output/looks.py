"""What a report to look at needs besides the results: the texts of test files, and command lines to go on with."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from mcp_conductor.checks.engine.grade import in_words
from mcp_conductor.checks.explain import rules
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.rerun import check_again, reach, verify_again
from mcp_conductor.report.model import Looks, Outcome, Report, run_id

if TYPE_CHECKING:
    from mcp_conductor.suites.running.plan import Plan
    from mcp_conductor.suites.running.trace import Trace

_MOST_SOURCES = 20_000_000  # characters of all test files


def looks_of_tests(
    given: Given, plan: "Plan", report: Report, again: Callable[[Outcome], str], trace: "Trace"
) -> Looks:
    """What there is to look at after a run of tests. AGAIN is the command line that runs a test again."""
    sources: dict[str, str] = {}
    ways: dict[str, str] = {"": reach(given, given.after)}
    room = _MOST_SOURCES
    for job in plan.jobs:
        file = job.suite.file
        ways[file] = reach(given, given.after, job.suite.server)
        document = job.cases[0].step.given.document if job.cases else None
        if document is not None and file not in sources and len(document.text) <= room:
            room -= len(document.text)
            sources[file] = "\n" * (document.begins - 1) + document.text
    commands = {run_id(each): again(each) for each in report.outcomes if each.findings and each.where is not None}
    return Looks(
        sources=sources,
        again=commands,
        reach=ways,
        remarks=tuple(trace.remarks),
        rules=rules(dict.fromkeys(each.requirement for each in trace.remarks if each.requirement is not None)),
        trace=trace.when,
    )


def looks_of_verify(given: Given, report: Report, file: str) -> Looks:
    """What there is to look at after a recording was played to a server: a part of it cannot be played alone."""
    command = verify_again(given, file)
    commands = {run_id(each): command for each in report.outcomes if each.findings}
    return Looks(again=commands, reach={"": reach(given, given.words)})


def looks_of_check(given: Given, report: Report) -> Looks:
    """What there is to look at after a check."""
    commands = {run_id(each): check_again(given, [each.id], each.version) for each in report.outcomes if each.findings}
    of_a_server = "--client" not in given and "--transcript" not in given
    return Looks(
        again=commands,
        reach={"": reach(given, given.words)} if of_a_server else {},
        grading=in_words("client" if "--client" in given else "server"),
    )
