"""GitHub's Markdown. A title or a message always stays text: it makes no link, no mention and no table cell."""

import re
from collections.abc import Iterable

from mcp_conductor.report.formats import reporter
from mcp_conductor.report.formats.diagnostic import Style, findings, stderr
from mcp_conductor.report.formats.folding import told_once
from mcp_conductor.report.formats.messages import messages
from mcp_conductor.report.formats.wording import (
    counted,
    coverage,
    failed,
    headline,
    level_of,
    migration_heading,
    not_run,
    numbers,
    place,
    report_name,
    slowest,
    span,
    statement,
    summary,
    warning_text,
    warnings,
    why,
    words,
)
from mcp_conductor.report.model import Outcome, Report
from mcp_conductor.text.visible import one_line, visible

# A comment on a pull request holds 65,536 characters.
_MOST_ROWS = 50
_MOST_DETAILS = 20
_LONGEST_DETAIL = 2000
_SLOWEST = 5
_STYLE = Style(width=160, max_errors=10)
_SPECIAL = re.compile(r"[\\`*_~{}\[\]<>|&#$!]")


@reporter("markdown", suffix=".md")
def markdown(report: Report) -> str:
    """A summary in Markdown, for pull requests and $GITHUB_STEP_SUMMARY: failures, the slowest, coverage."""
    outcomes = told_once(report.outcomes)
    bad = [outcome for outcome in outcomes if failed(outcome)]
    warned = [outcome for outcome in outcomes if not failed(outcome) and warnings(outcome)]
    parts = [
        f"## conductor {_plain(report.kind)}: {summary(report)}",
        _about(report),
        _grade(report),
        _counts(report),
        _table("Failures", bad),
        *(_details(outcome) for outcome in bad[:_MOST_DETAILS]),
        f"Details of {counted(len(bad) - _MOST_DETAILS, 'more failure')} are left out." if bad[_MOST_DETAILS:] else "",
        _not_run(report),
        _flaky(report),
        _table("Warnings", warned),
        "\n".join(f"- warning: {_plain(warning_text(each))}" for each in report.warnings),
        _migration(report),
        _slowest(report),
        _coverage(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _about(report: Report) -> str:
    server = " ".join(str(report.server[key]) for key in ("name", "version") if key in report.server)
    return ", ".join(
        [
            *([_plain(report.name)] if report.name else []),
            _code(report.target),
            *([_plain(server)] if server else []),
            *([f"MCP {_plain(report.protocol_version)}"] if report.protocol_version else []),
            *([_plain(report.started)] if report.started else []),
        ]
    )


def _grade(report: Report) -> str:
    """The result of a check as a whole: the grade, or why it has no grade."""
    grade = report.metrics.get("grade")
    if isinstance(grade, dict) and "letter" in grade:
        reason = f": {_plain(str(grade['reason']))}" if grade.get("reason") else ""
        every = report.metrics.get("gradeOfAll")
        beside = f" ({every['letter']} with what is of the SDK)" if isinstance(every, dict) else ""
        return f"**Grade {_plain(str(grade['letter']))}**{beside}{reason}"
    if "ungraded" in report.metrics:
        return f"No grade: {_plain(str(report.metrics['ungraded']))}"
    return ""


def _counts(report: Report) -> str:
    counts = {
        each: count for each, count in numbers(report.outcomes).items() if count or each not in ("xfailed", "sdk")
    }
    return _rows([words(each) for each in counts], [[str(count) for count in counts.values()]])


def _table(heading: str, outcomes: list[Outcome]) -> str:
    if not outcomes:
        return ""
    more = f"\n\n… and {len(outcomes) - _MOST_ROWS} more" if outcomes[_MOST_ROWS:] else ""
    if outcomes[0].level is not None:
        told = outcomes[:_MOST_ROWS]
        rows = [[_code(report_name(each)), level_of(each), _first(each), _plain(each.title)] for each in told]
        return f"### {heading}\n\n{_rows(['id', 'level', 'what is wrong', 'what should be'], rows)}{more}"
    rows = [[_code(place(each)), _plain(each.title), each.status, _first(each)] for each in outcomes[:_MOST_ROWS]]
    return f"### {heading}\n\n{_rows(['where', 'what', 'status', 'why'], rows)}{more}"


def _not_run(report: Report) -> str:
    rows = [[_plain(reason), str(len(them)), _plain(them[0].title)] for reason, them in not_run(report).items()]
    return f"### Not run\n\n{_rows(['why', 'tests', 'the first'], rows)}" if rows else ""


def _flaky(report: Report) -> str:
    """What was not always the same, of a run that was repeated."""
    flaky = report.metrics.get("flaky") or {}
    rows = [[_code(name), _plain(told)] for name, told in list(flaky.items())[:_MOST_ROWS]]
    more = f"\n\n… and {len(flaky) - _MOST_ROWS} more" if len(flaky) > _MOST_ROWS else ""
    heading = f"### Not the same in all {report.metrics.get('repeat')} runs"
    return f"{heading}\n\n{_rows(['which', 'how often'], rows)}{more}" if rows else ""


def _first(outcome: Outcome) -> str:
    shown = [headline(finding) for finding in outcome.findings if not (failed(outcome) and finding.warning)]
    shown = shown or [why(outcome) or ""]
    return _plain(shown[0]) + (f" (and {len(shown) - 1} more)" if shown[1:] else "")


def _details(outcome: Outcome) -> str:
    lines = [*findings(outcome, _STYLE), *messages(outcome, _STYLE), *stderr(outcome, _STYLE)]
    text = visible("\n".join(lines))
    if len(text) > _LONGEST_DETAIL:
        text = text[:_LONGEST_DETAIL] + "\n…"
    # A fence must be longer than any in the text.
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    title = _plain(f"{place(outcome)}  {outcome.title}" if outcome.level is None else statement(outcome))
    return f"<details><summary>{title}</summary>\n\n{fence}text\n{text}\n{fence}\n\n</details>"


def _migration(report: Report) -> str:
    found = report.metrics.get("migration")
    if not isinstance(found, dict) or not found.get("steps"):
        return ""
    heading = migration_heading(found).capitalize()
    rows = [
        [*(_plain(each.get(member, "")) for member in ("name", "what", "because")), ", ".join(map(_code, each["ids"]))]
        for each in found["steps"]
    ]
    return f"### {_plain(heading)}\n\n{_rows(['what', 'how', 'because', 'requirements'], rows)}"


def _slowest(report: Report) -> str:
    if report.kind == "check":
        return ""  # it says more of us than of the server
    rows = [[span(each.seconds), _code(place(each)), _plain(each.title)] for each in slowest(report, _SLOWEST)]
    return f"### Slowest\n\n{_rows(['time', 'where', 'what'], rows)}" if len(rows) > 1 else ""


def _coverage(report: Report) -> str:
    rows = [
        [_plain(each.kind), f"{each.touched} of {each.total}", ", ".join(map(_code, each.untouched))]
        for each in coverage(report.metrics)
    ]
    return f"### Coverage\n\n{_rows(['kind', 'used', 'not used'], rows)}" if rows else ""


def _rows(head: list[str], rows: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def _plain(text: str) -> str:
    """TEXT as text and nothing else; mentions and links are broken up by a space of no width."""
    return _escaped(text).replace("@", "@&#8203;").replace("://", ":&#8203;//")


def _code(text: str) -> str:
    # Not backticks: a table ends a cell at a bar even between them.
    return f"<code>{_escaped(text)}</code>"


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", one_line(text))
