"""The Test Anything Protocol, version 14; the values of its YAML blocks are JSON, which is YAML too."""

from typing import Any

from mcp_conductor.protocol.message import render
from mcp_conductor.report.formats import reporter
from mcp_conductor.report.formats.wording import group_of, headline, statement, summary, warning_text
from mcp_conductor.report.model import BAD, Finding, Outcome, Report
from mcp_conductor.text.visible import one_line, visible

_SEVERITIES = {"failed": "fail", "errored": "error", "not-run": "error"}  # others are warnings


@reporter("tap", suffix=".tap")
def tap(report: Report) -> str:
    """TAP 14, for test harnesses: a line per test, with YAML diagnostics; expected failures are TODO."""
    lines = ["TAP version 14", f"1..{len(report.outcomes)}" + ("" if report.outcomes else " # nothing was run")]
    for number, outcome in enumerate(report.outcomes, 1):
        lines.append(_line(number, outcome))
        if outcome.findings:
            lines += _block(outcome)
    lines += [f"# warning: {warning_text(each)}" for each in report.warnings]
    return "\n".join([*lines, f"# {summary(report)}"]) + "\n"


def _line(number: int, outcome: Outcome) -> str:
    todo = outcome.failed_as_expected
    verdict = "not ok" if outcome.status in BAD or todo else "ok"
    directive = "TODO" if todo else "SKIP" if outcome.status == "skipped" else None
    described = _escaped(f"{group_of(outcome)}: {statement(outcome)}")
    if outcome.status == "not-run":
        described += f" (not run: {_escaped(outcome.reason or '')})"
    reason = f" # {directive} {_escaped(outcome.reason or '')}".rstrip() if directive else ""
    return f"{verdict} {number} - {described}{reason}"


def _escaped(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace("#", "\\#")


def _block(outcome: Outcome) -> list[str]:
    members: dict[str, Any] = {
        **({} if outcome.level is None else {"id": outcome.id, "level": outcome.level}),
        "message": headline(outcome.findings[0]),
        "severity": "todo" if outcome.failed_as_expected else _SEVERITIES.get(outcome.status, "warning"),
        "duration_ms": round(outcome.seconds * 1000, 3),
    }
    if outcome.where is not None:
        members["at"] = {"file": outcome.where.file, "line": outcome.where.line, "column": outcome.where.column}
    lines = [f"{name}: {_yaml(value)}" for name, value in members.items()]
    lines.append("findings:")
    for finding in outcome.findings:
        lines += _item(finding)
    return ["  ---", *(f"  {line}" for line in lines), "  ..."]


def _item(finding: Finding) -> list[str]:
    members = finding.to_json()
    if members.pop("warning", False):
        members["severity"] = "warning"
    lines = [f"{name}: {_yaml(value)}" for name, value in members.items()]
    return [f"{'    ' if number else '  - '}{line}" for number, line in enumerate(lines)]


def _yaml(value: Any) -> str:
    # JSON may hold what YAML calls unprintable; made visible, it is an escape in a quoted scalar.
    return visible(render(value))
