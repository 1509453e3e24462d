"""JUnit XML by the schema of Jenkins (xunit-plugin, junit-10.xsd), and with `file` and `line`, which others read."""

from collections import Counter
from collections.abc import Iterable, Mapping

from mcp_conductor.report.formats import reporter
from mcp_conductor.report.formats.diagnostic import Style, findings, one_finding
from mcp_conductor.report.formats.wording import group_of, headline, report_name, statement, warning_text, warnings, why
from mcp_conductor.report.model import Outcome, Report
from mcp_conductor.text.visible import cut, harmless, printable

_STYLE = Style(width=1000)
_MAX_OUT = 20_000  # characters of system-out of one case
_TEXT = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_ATTRIBUTE = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\n": "&#10;", "\t": "&#9;"})
_ELEMENTS = {"failed": "failure", "errored": "error", "not-run": "error"}


@reporter("junit", suffix=".xml", escapes=True)
def junit(report: Report) -> str:
    """JUnit XML, for CI servers: a test suite per group, with the wire as system-out and stderr as system-err."""
    groups: dict[str, list[Outcome]] = {}
    for outcome in report.outcomes:
        groups.setdefault(group_of(outcome), []).append(outcome)
    counts = _counts(report.outcomes)
    del counts["skipped"]  # the schema has it for a suite, not for all of them
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        _open("testsuites", name=report.heading, **counts, time=f"{report.seconds:.3f}"),
    ]
    for group, outcomes in groups.items():
        lines += _suite(group, outcomes, report.started)
    if report.deselected:
        lines += _empty_suite("deselected", _properties({"deselected": report.deselected}))
    if "repeat" in report.metrics:
        told = {"repeat": report.metrics["repeat"], **report.metrics.get("flaky", {})}
        lines += _empty_suite("repeat", _properties(told))
    if report.warnings:
        text = [f"warning: {warning_text(each)}" for each in report.warnings]
        lines += _empty_suite("warnings", _block("system-out", text))
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _empty_suite(name: str, told: list[str]) -> list[str]:
    """What is TOLD of the whole run; the schema has a place for it only in a suite."""
    return [f"  {_open('testsuite', name=name, **_counts(()), time='0.000')}", *told, "  </testsuite>"]


def _properties(members: Mapping[str, object]) -> list[str]:
    lines = [f"      {_open('property', name=name, value=value)[:-1]}/>" for name, value in members.items()]
    return ["    <properties>", *lines, "    </properties>"]


def _suite(group: str, outcomes: list[Outcome], started: str) -> list[str]:
    time = f"{sum(outcome.seconds for outcome in outcomes):.3f}"
    head = _open("testsuite", name=group, **_counts(outcomes), time=time, timestamp=started or None)
    lines = [f"  {head}"]
    seen: Counter[str] = Counter()
    for outcome in outcomes:
        name = report_name(outcome)
        seen[name] += 1
        number = seen[name]
        # Jenkins, GitLab and others take cases of the same name for one.
        lines += _case(outcome, name if number == 1 else f"{name} ({number})")
    return [*lines, "  </testsuite>"]


def _counts(outcomes: Iterable[Outcome]) -> dict[str, object]:
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts["skipped" if outcome.failed_as_expected else outcome.status] += 1
    return {
        "tests": counts.total(),
        "failures": counts["failed"],
        "errors": counts["errored"] + counts["not-run"],
        "skipped": counts["skipped"],
    }


def _case(outcome: Outcome, name: str) -> list[str]:
    where = outcome.where
    head = _open(
        "testcase",
        classname=group_of(outcome),
        name=name,
        file=where and where.file,
        line=where and where.line,
        time=f"{outcome.seconds:.3f}",
    )
    inner = [*_verdict(outcome), *_stream_elements(outcome)]
    return [f"    {head}", *inner, "    </testcase>"] if inner else [f"    {head[:-1]}/>"]


def _verdict(outcome: Outcome) -> list[str]:
    if outcome.status == "skipped" or outcome.failed_as_expected:
        kind = "sdk" if outcome.framework is not None else "xfail" if outcome.failed_as_expected else None
        return [f"      {_open('skipped', type=kind, message=why(outcome))[:-1]}/>"]
    element = _ELEMENTS.get(outcome.status)
    if element is None:
        return []
    # One element for all findings: Jenkins keeps only one of several.
    first = next((headline(finding) for finding in outcome.findings if not finding.warning), outcome.reason or element)
    reason = why(outcome)
    rule = [] if outcome.level is None else [statement(outcome)]
    text = [*rule, *([] if reason is None else [reason]), *findings(outcome, _STYLE)]
    return _block(element, text, message=first, type=outcome.status)


def _stream_elements(outcome: Outcome) -> list[str]:
    """The streams; a warning has no element of its own, so the warning of a test that did not fail comes first."""
    told = [] if outcome.status in _ELEMENTS else [one_finding(each, _STYLE) for each in warnings(outcome)]
    if told and outcome.level is not None:
        told.insert(0, [statement(outcome)])
    out = "\n".join([*(line for lines in told for line in lines), *outcome.wire])
    return [
        *(_block("system-out", [cut(out, _MAX_OUT)]) if out else []),
        *(_block("system-err", outcome.stderr) if outcome.stderr else []),
    ]


def _block(element: str, lines: Iterable[str], **attributes: object) -> list[str]:
    text = _escaped("\n".join(lines), _TEXT)
    return [f"      {_open(element, **attributes)}{text}</{element}>"]


def _open(element: str, **attributes: object) -> str:
    """The opening tag; attributes that are None are left out."""
    parts = [f'{name}="{_escaped(str(value), _ATTRIBUTE)}"' for name, value in attributes.items() if value is not None]
    return f"<{' '.join([element, *parts])}>"


def _escaped(text: str, table: dict[int, str]) -> str:
    # Control characters are not legal in XML, not even as references.
    return harmless(printable(text).translate(table), lambda character: f"&#{ord(character)};")
