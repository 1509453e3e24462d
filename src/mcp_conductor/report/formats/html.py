"""A report as a page to look at: one file for a browser, that needs no network and nothing else."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import parse, render
from mcp_conductor.report.formats import reporter
from mcp_conductor.report.formats.diagnostic import documents_of, is_below
from mcp_conductor.report.formats.difference import difference
from mcp_conductor.report.formats.folding import shape
from mcp_conductor.report.formats.wording import counted_as, coverage, group_of, migration_heading, summary
from mcp_conductor.report.model import NOTHING, Finding, Looks, Outcome, Report, Rule, run_id
from mcp_conductor.report.page import page
from mcp_conductor.text.visible import cut

_MOST_FILES = 3  # in a title
_MOST_FINDINGS = 200  # of one outcome
_LONGEST_VALUE = 20_000  # characters of an expected or actual value
_MOST_DIFF_LINES = 2_000
_LONGEST_LINE = 2_000  # characters of a line of a difference
_LONGEST_NAME = 300  # characters
_STOPPED = {
    "timeout": "the limit of --timeout was reached",
    "interrupted": "it was interrupted",
    "bug": "a bug of ours",
}
_ARROWS = {"--> ": "client", "<-- ": "server"}


@reporter("html", suffix=".html", escapes=True, looks=True)
def html(report: Report) -> str:
    """A page for a browser, in one file that needs no network: filters, each test with its conversation, a timeline."""
    return page(report_data(report))


def report_data(report: Report) -> Json:
    """REPORT as `page` takes it."""
    looks, metrics = report.looks, report.metrics
    sources = {file: text.split("\n") for file, text in looks.sources.items()}
    server = " ".join(str(report.server[key]) for key in ("name", "version") if key in report.server)
    return {
        "kind": report.kind,
        "title": f"conductor {report.kind}: {_target(report)}",
        "server": {"name": cut(server, _LONGEST_NAME)} if server else {},
        "protocolVersion": report.protocol_version,
        "started": report.started,
        "seconds": report.seconds,
        "red": report.red,
        "summaryLine": summary(report),
        "stopped": None if report.stopped is None else _STOPPED[report.stopped],
        "warnings": [{"message": each.message, **_place(each)} for each in report.warnings],
        "grade": metrics.get("grade"),
        "gradeOfAll": metrics.get("gradeOfAll"),
        "framework": _framework(metrics.get("framework")),
        "ungraded": metrics.get("ungraded"),
        "grading": dict(looks.grading),
        "migration": _migration(metrics.get("migration")),
        "flaky": metrics.get("flaky") or {},
        "coverage": [
            {"kind": each.kind, "total": each.total, "touched": each.touched, "untouched": each.untouched}
            for each in coverage(metrics)
        ],
        "sources": dict(looks.sources),
        "reach": dict(looks.reach),
        "trace": looks.trace,
        "remarks": _proven(looks),
        "rules": {rule.id: _rule(rule) for rule in (*report.rules, *looks.rules)},
        "outcomes": [_outcome(each, looks, sources) for each in report.outcomes],
    }


def _target(report: Report) -> str:
    files = report.target.split(", ")
    target = f"{len(files)} files" if report.kind == "test" and len(files) > _MOST_FILES else report.target
    return f"{report.name}: {target}" if report.name else target


def _proven(looks: Looks) -> list[Json]:
    """What judges say: to be shown at the messages that prove it, wherever these are."""
    proven = [each for each in looks.remarks if each.proofs]
    return [{"message": each.message, "requirement": each.requirement, "texts": list(each.proofs)} for each in proven]


def _rule(rule: Rule) -> Json:
    return {"statement": rule.statement, "remedy": rule.remedy, "how": rule.how, "address": rule.address}


def _framework(found: Any) -> Json | None:
    return {**found, "title": f"{found['name']} {found['version']}"} if isinstance(found, dict) else None


def _migration(found: Any) -> Json | None:
    return {**found, "heading": migration_heading(found)} if isinstance(found, dict) and found.get("steps") else None


def _outcome(outcome: Outcome, looks: Looks, sources: Mapping[str, Sequence[str]]) -> Json:
    where = outcome.where
    members = {
        "id": outcome.id,
        "title": outcome.title,
        "group": group_of(outcome),
        "status": counted_as(outcome),
        "seconds": round(outcome.seconds, 6),
        "level": outcome.level,
        "severity": outcome.severity,
        "version": outcome.version,
        "began": None if outcome.began is None else round(outcome.began, 6),
        "worker": outcome.worker,
        "reason": outcome.reason,
        "known": outcome.failed_as_expected,
        "cause": outcome.cause,
        "after": list(outcome.after),
        "tags": list(outcome.tags),
        "flaky": outcome.flaky,
        "findings": list(_findings(outcome)) if outcome.findings else None,
        "diffs": _diffs(outcome) if outcome.findings else None,
        "frames": _frames(outcome),
        "stderr": list(outcome.stderr),
        "again": looks.again.get(run_id(outcome)),
    }
    if where is not None:
        members |= {"file": where.file, "line": where.line}
        members["last"] = _last_line(sources.get(where.file, ()), where.line)
    # Most outcomes have few of these members, and there may be very many outcomes.
    return {name: value for name, value in members.items() if value is not None and value is not False and value != []}


def _place(finding: Finding) -> Json:
    where = finding.where
    if where is None:
        return {}
    first, last = where.marked
    return {"file": where.file, "line": where.line, "column": where.column, "from": first, "to": last}


def _findings(outcome: Outcome) -> Iterator[Json]:
    shown = documents_of(outcome.findings)
    kinds: dict[tuple[str, bool], int] = {}
    for finding in outcome.findings[:_MOST_FINDINGS]:
        told = any(is_below(finding, each) for each in shown) and finding.where is not None
        frame = _pinned_frame(finding, outcome)
        values = {
            name: _value(value)
            for name, value in (("expected", finding.expected), ("actual", finding.actual))
            if value is not NOTHING and not told and not (frame is not None and _is_message(value))
        }
        yield {
            "message": cut(finding.message, _LONGEST_VALUE),
            "kind": kinds.setdefault((shape(finding), finding.warning), len(kinds)),  # those that say the same
            **({} if finding.path is None else {"path": finding.path}),
            **values,
            **_place(finding),
            **({} if finding.hint is None else {"hint": finding.hint}),
            **({"warning": True} if finding.warning else {}),
            **({"whole": True} if finding.whole else {}),
            **({} if frame is None else {"frame": frame}),
        }
    if (left_out := len(outcome.findings) - _MOST_FINDINGS) > 0:
        yield {"message": f"{left_out} more findings are left out here; the JSON report has all of them"}


def _is_message(value: Any) -> bool:
    """Whether VALUE is a whole message, which is shown in the conversation."""
    return isinstance(value, Mapping) and "jsonrpc" in value


def _value(value: Any) -> Json:
    """VALUE as JSON, or as words about a value."""
    if isinstance(value, str) and type(value) is not str:
        return {"words": value}
    return {"json": cut(render(value), _LONGEST_VALUE)}


def _diffs(outcome: Outcome) -> list[Json]:
    return [
        {"path": finding.path, "lines": [cut(line, _LONGEST_LINE) for line in _difference(finding)]}
        for finding in documents_of(outcome.findings)
    ]


def _difference(finding: Finding) -> list[str]:
    return difference(finding.expected, finding.actual)[:_MOST_DIFF_LINES]


def _frames(outcome: Outcome) -> list[Json]:
    """What was said: all frames of a test, or the messages that prove something, of which no times are known."""
    if outcome.frames:
        return [{"at": round(frame.at, 6), "source": frame.source, "text": frame.text} for frame in outcome.frames]
    lines = outcome.wire
    return [{"at": None, "source": _ARROWS[line[:4]], "text": line[4:]} for line in lines if line[:4] in _ARROWS]


def _pinned_frame(finding: Finding, outcome: Outcome) -> int | None:
    """The one frame that FINDING is shown at: the answer, if it is about a part of that; else what was asked."""
    if outcome.frames:
        said = [(frame.source, frame.text) for frame in outcome.frames]
        part = finding.framed
    else:
        said = [(_ARROWS.get(line[:4], ""), line[4:]) for line in outcome.wire]
        part = finding.said
    if part is None:
        return None
    places = range(part[0], min(part[1], len(said)))
    heard = [place for place in places if said[place][0] == "server"]
    sent = [place for place in places if said[place][0] == "client"]
    answers = [place for place in heard if parse(said[place][1]).kind in ("result", "error")]
    if outcome.level is None:
        order = (answers, heard, sent) if finding.path else (sent, answers, heard)
    else:
        order = (heard, sent, sent)
    return next((chosen[-1] for chosen in order if chosen), None)


def _last_line(lines: Sequence[str], line: int) -> int:
    """The last line of the test that begins on LINE: what is indented more than its dash belongs to it."""
    if not 0 < line <= len(lines):
        return line
    margin, last = _margin(lines[line - 1]), line
    for number in range(line + 1, len(lines) + 1):
        written = lines[number - 1]
        if written.strip():
            if _margin(written) <= margin:
                break
            last = number
    return last


def _margin(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
