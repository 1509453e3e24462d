"""Workflow commands of GitHub Actions, which become remarks at the lines of the files in a pull request."""

from collections.abc import Iterator

from mcp_conductor.errors import Location
from mcp_conductor.report import NOTHING, Finding, Outcome, Report
from mcp_conductor.reporters import reporter
from mcp_conductor.reporters.diagnostic import cut
from mcp_conductor.reporters.wording import (
    counted,
    failed,
    headline,
    not_run,
    summary,
    value_text,
    warning_text,
    warnings,
    why,
)
from mcp_conductor.visible import visible

_LONGEST_VALUE = 400
# https://docs.github.com/actions/reference/workflow-commands-for-github-actions; actions/toolkit escapes the same.
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


@reporter("github", suffix=".txt", escapes=True)
def github(report: Report) -> str:
    """Annotations for GitHub Actions: errors and warnings at the lines of the test files, for stdout."""
    errors = [line for outcome in report.outcomes if failed(outcome) for line in _errors(outcome)]
    # Of each kind GitHub shows the first ten only: what counts comes first.
    for reason, them in not_run(report).items():
        errors.append(_command("error", them[0].where, "not run", f"{counted(len(them), 'test')} not run: {reason}"))
    told = [line for outcome in report.outcomes for line in _warnings(outcome)]
    told += [_command("warning", each.where, "warning", warning_text(each)) for each in report.warnings]
    notice = _command("notice", None, f"conductor {report.kind}", summary(report))
    return "\n".join([*errors, *told, notice]) + "\n"


def _errors(outcome: Outcome) -> Iterator[str]:
    wrong = [finding for finding in outcome.findings if not finding.warning]
    for finding in wrong:
        yield _remark("error", outcome, finding)
    if not wrong:
        yield _command("error", outcome.where, outcome.title, why(outcome) or outcome.status)


def _warnings(outcome: Outcome) -> Iterator[str]:
    for finding in warnings(outcome):
        yield _remark("warning", outcome, finding)


def _remark(command: str, outcome: Outcome, finding: Finding) -> str:
    lines = [headline(finding)]
    for name, value in (("expected", finding.expected), ("actual", finding.actual)):
        if value is not NOTHING:
            lines.append(f"{name}: {cut(value_text(value), _LONGEST_VALUE)}")
    if finding.hint:
        lines.append(f"hint: {finding.hint}")
    return _command(command, finding.where or outcome.where, outcome.title, "\n".join(lines))


def _command(command: str, where: Location | None, title: str, message: str) -> str:
    place = {} if where is None else {"file": where.file, "line": where.line, "col": where.column}
    properties = [f"{name}={_escaped(str(value), _PROPERTY)}" for name, value in {**place, "title": title}.items()]
    return f"::{command} {','.join(properties)}::{_escaped(message, _DATA)}"


def _escaped(text: str, table: dict[int, str]) -> str:
    return visible(text.translate(table))
