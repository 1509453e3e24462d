"""How a count, a time, a place and a value are written: the same everywhere, and safe to show."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from heapq import nlargest
from typing import Any, Literal, NamedTuple

from mcp_conductor.protocol.message import render
from mcp_conductor.report.model import STATUSES, Finding, Outcome, Report, Status
from mcp_conductor.text.visible import one_line, visible

Counted = Status | Literal["xfailed", "sdk"]  # sdk: broken by the framework of the server, and not counted
_COUNTED: tuple[Counted, ...] = (*STATUSES, "xfailed", "sdk")
# The order in which a person wants to know.
_TALLY: tuple[Counted, ...] = ("failed", "errored", "not-run", "warned", "passed", "skipped", "xfailed", "sdk")


def value_text(value: Any) -> str:
    """VALUE as JSON on one line. A text of a class of its own is words about a value, which need no quotes."""
    if isinstance(value, str) and type(value) is not str:
        return one_line(value)
    return one_line(render(value))


def headline(finding: Finding) -> str:
    """What is wrong, and where in the document that was looked at, unless the message names or quotes the place."""
    message, path, actual = finding.message, finding.path, finding.actual
    quoted = isinstance(actual, str) and actual != "" and message.endswith(f": {actual}")
    if not path or quoted or re.search(rf"(?<![\w.]){re.escape(path)}(?!\w)", message):
        return visible(message)
    return visible(f"{message} at {path}")


def place(outcome: Outcome) -> str:
    """What a person calls the test or check by: the place in its file, or its id."""
    if outcome.where is not None:
        return one_line(f"{outcome.where.file}:{outcome.where.line}")
    return one_line(outcome.group if outcome.level is None else outcome.id)


def report_name(outcome: Outcome) -> str:
    """The name of a test or check in a report; that of a check is stable, for those who compare reports."""
    if outcome.level is None:
        return outcome.title
    return outcome.id if outcome.version is None else f"{outcome.id} [{outcome.version}]"


def statement(outcome: Outcome) -> str:
    """What a report says of a test or check in a line: its title, of a check after its id and level."""
    return outcome.title if outcome.level is None else f"{report_name(outcome)} ({level_of(outcome)}): {outcome.title}"


def level_of(outcome: Outcome) -> str:
    """MUST; in a check of both sides: MUST, of the client."""
    return (outcome.level or "") + (f", of the {outcome.side}" if outcome.side is not None else "")


def group_of(outcome: Outcome) -> str:
    """The group of a test or check; in a check of both sides, with the side."""
    return outcome.group if outcome.side is None else f"{outcome.side}: {outcome.group}"


def migration_heading(found: Mapping[str, Any]) -> str:
    """What the steps of a migration are."""
    return f"broken in {found['to']}, but not in {found['from']}" if found["spoken"] else f"to speak {found['to']}"


def words(status: Counted) -> str:
    """STATUS as a person writes it."""
    return "of the SDK" if status == "sdk" else status.replace("-", " ")


def not_run(report: Report) -> dict[str, list[Outcome]]:
    """The tests that were not run, by the reason, which many of them share."""
    found: dict[str, list[Outcome]] = {}
    for outcome in report.outcomes:
        if outcome.status == "not-run":
            found.setdefault(one_line(outcome.reason or ""), []).append(outcome)
    return found


def warning_text(warning: Finding) -> str:
    """A warning that belongs to no single test, on one line."""
    place = "" if warning.where is None else f"{warning.where}: "
    return one_line(f"{place}{warning.message}")


def failed(outcome: Outcome) -> bool:
    return outcome.status in ("failed", "errored")


def why(outcome: Outcome) -> str | None:
    """The reason of an outcome, in words that say what it is the reason for."""
    if outcome.reason is None:
        return None
    reason = one_line(outcome.reason)
    if outcome.framework is not None:
        return reason
    if outcome.failed_as_expected:
        return f"fails as expected: {reason}"
    return f"expected to fail: {reason}" if failed(outcome) else reason


def warnings(outcome: Outcome) -> list[Finding]:
    """What is worth knowing although it is not a failure; expected failures are left out, because they are known."""
    everything = outcome.status == "warned"
    return [finding for finding in outcome.findings if everything or finding.warning]


def tally(outcomes: Iterable[Outcome]) -> str:
    """3 failed, 41 passed (1 flaky), 2 skipped, 1 xfailed."""
    outcomes = list(outcomes)
    counts, flaky = numbers(outcomes), sum(outcome.flaky for outcome in outcomes)
    remark = f" ({flaky} flaky)" if flaky else ""
    parts = [f"{counts[each]} {words(each)}{remark if each == 'passed' else ''}" for each in _TALLY if counts[each]]
    return ", ".join(parts) or "nothing was run"


def numbers(outcomes: Iterable[Outcome]) -> dict[Counted, int]:
    """How many of OUTCOMES have each status; those that are skipped because they failed as expected are apart."""
    counts = Counter(map(counted_as, outcomes))
    return {each: counts[each] for each in _COUNTED}


def counted_as(outcome: Outcome) -> Counted:
    """What an outcome is counted as."""
    if outcome.framework is not None:
        return "sdk"
    return "xfailed" if outcome.status == "skipped" and outcome.failed_as_expected else outcome.status


def summary(report: Report) -> str:
    """3 failed, 41 passed, 2 skipped, 12 deselected in 0.42 s."""
    deselected = f", {report.deselected} deselected" if report.deselected else ""
    return f"{tally(report.outcomes)}{deselected} in {report.seconds:.2f} s"


def span(seconds: float) -> str:
    """SECONDS as a person would say them."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.2f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def counted(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def slowest(report: Report, count: int) -> list[Outcome]:
    """The outcomes that took longest, the longest first; those that took no time at all are none of them."""
    return nlargest(count, (each for each in report.outcomes if each.seconds > 0), key=lambda each: each.seconds)


class Coverage(NamedTuple):
    """How much of what a server offers of one kind was used."""

    kind: str  # tools, resources, prompts
    total: int
    untouched: list[str]

    @property
    def touched(self) -> int:
        return self.total - len(self.untouched)


def coverage(metrics: Mapping[str, Any]) -> list[Coverage]:
    """The coverage of each kind of thing in METRICS; empty if it was not measured."""
    return [
        Coverage(kind, measured["total"], [one_line(name) for name in measured["untouched"]])
        for kind, measured in metrics.get("coverage", {}).items()
    ]
