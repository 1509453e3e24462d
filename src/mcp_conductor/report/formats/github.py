"""Workflow commands of GitHub Actions, which become remarks at the lines of the files in a pull request."""

from collections.abc import Iterator
from itertools import zip_longest

from mcp_conductor.errors import Location
from mcp_conductor.report.formats import reporter
from mcp_conductor.report.formats.diagnostic import cut
from mcp_conductor.report.formats.folding import told_once
from mcp_conductor.report.formats.wording import (
    counted,
    failed,
    headline,
    level_of,
    not_run,
    report_name,
    summary,
    value_text,
    warning_text,
    warnings,
    why,
)
from mcp_conductor.report.model import NOTHING, Finding, Outcome, Report
from mcp_conductor.text.visible import visible

_LONGEST_VALUE = 400
_MOST = 10  # of each kind; GitHub takes no more of a step, and does not say so (actions/toolkit, problem-matchers.md)
# https://docs.github.com/actions/reference/workflow-commands-for-github-actions; actions/toolkit escapes the same.
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


@reporter("github", suffix=".txt", escapes=True)
def github(report: Report) -> str:
    """Annotations for GitHub Actions: errors and warnings at the lines of the test files; and a summary."""
    outcomes = told_once(report.outcomes)
    errors = list(_by_turns([list(_errors(outcome)) for outcome in outcomes if failed(outcome)]))
    for reason, them in not_run(report).items():
        errors.append(_command("error", them[0].where, "not run", f"{counted(len(them), 'test')} not run: {reason}"))
    told = list(_by_turns([list(_warnings(outcome)) for outcome in outcomes]))
    told += [_command("warning", each.where, "warning", warning_text(each)) for each in report.warnings]
    left = [(len(errors) - _MOST, "error"), (len(told) - _MOST, "warning")]
    more = "".join(f"; {counted(number, word)} more not shown here" for number, word in left if number > 0)
    notice = _command("notice", None, report.heading, summary(report) + more)
    return "\n".join([*errors[:_MOST], *told[:_MOST], notice]) + "\n"


def _by_turns(lines: list[list[str]]) -> Iterator[str]:
    """The first of each, then the second of each, and so on: every test is mentioned before one is shown in full."""
    for turn in zip_longest(*lines):
        yield from (line for line in turn if line is not None)


def _errors(outcome: Outcome) -> Iterator[str]:
    wrong = [finding for finding in outcome.findings if not finding.warning]
    for finding in [each for each in wrong if not each.whole] or wrong:
        yield _remark("error", outcome, finding)
    if not wrong:
        yield _command("error", outcome.where, _title(outcome), why(outcome) or outcome.status)


def _warnings(outcome: Outcome) -> Iterator[str]:
    for finding in warnings(outcome):
        yield _remark("warning", outcome, finding)


def _remark(command: str, outcome: Outcome, finding: Finding) -> str:
    lines = [headline(finding), *([] if outcome.level is None else [outcome.title])]
    for name, value in (("expected", finding.expected), ("actual", finding.actual)):
        if value is not NOTHING and not (isinstance(value, str) and value in finding.message):
            lines.append(f"{name}: {cut(value_text(value), _LONGEST_VALUE)}")
    if finding.hint:
        lines.append(f"hint: {finding.hint}")
    return _command(command, finding.where or outcome.where, _title(outcome), "\n".join(lines))


def _title(outcome: Outcome) -> str:
    return outcome.title if outcome.level is None else f"{report_name(outcome)} ({level_of(outcome)})"


def _command(command: str, where: Location | None, title: str, message: str) -> str:
    place = {} if where is None else {"file": where.file, "line": where.line, "col": where.column}
    properties = [f"{name}={_escaped(str(value), _PROPERTY)}" for name, value in {**place, "title": title}.items()]
    return f"::{command} {','.join(properties)}::{_escaped(message, _DATA)}"


def _escaped(text: str, table: dict[int, str]) -> str:
    return visible(text.translate(table))
