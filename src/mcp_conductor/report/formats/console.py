"""What a person sees of a run while it goes on, and at its end. Every failure is shown once, when it happens.

Each method returns whole lines, or nothing at all; who calls them decides where they go.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from shlex import quote
from typing import Any

from mcp_conductor.errors import Location
from mcp_conductor.report.formats import wording
from mcp_conductor.report.formats.diagnostic import Ink, Style, findings, one_finding, stderr
from mcp_conductor.report.formats.folding import worst_status
from mcp_conductor.report.formats.messages import messages
from mcp_conductor.report.formats.wording import counted, failed, not_run, place, span, tally, why
from mcp_conductor.report.model import Outcome, Report
from mcp_conductor.text.visible import one_line

_MOST_NOTES = 20
_MOST_NAMES = 10
_LEAST_LISTED = 2  # failures; a single one stands right above
_WIDEST_PLACE = 50
_MARKS: dict[str, tuple[str, Ink]] = {
    "passed": ("ok", "green"),
    "warned": ("warn", "yellow"),
    "skipped": ("skip", "cyan"),
    "failed": ("FAIL", "red"),
    "errored": ("ERROR", "red"),
    "not-run": ("not run", "red"),
}


class Console:
    """A run as text for people. VERBOSITY: -1 failures only, 0 a line per suite, 1 per test, 2 the whole wire too.

    AGAIN gives the command line that shows a failure again.
    """

    def __init__(
        self,
        *,
        colour: bool = False,
        verbosity: int = 0,
        width: int = 100,
        max_errors: int | None = None,
        errors_only: bool = False,
        timing: bool = False,
        again: Callable[[Outcome], str] | None = None,
    ) -> None:
        self._style = Style(colour=colour, width=width, whole=verbosity >= 2, max_errors=max_errors)
        self._verbosity = verbosity
        self._quiet = errors_only or verbosity < 0
        self._timing = timing or verbosity > 0
        self._apart = True  # whether what comes next stands apart from what was said before
        self._again = again or (lambda outcome: f"conductor test {quote(place(outcome))}")

    def suite(self, group: str, where: Location | None = None) -> str:
        """The line above the outcomes of a suite."""
        if self._quiet or self._verbosity < 1:
            return ""
        return _text([self._style.paint(_suite_name(group, where), "bold")])

    def outcome(self, outcome: Outcome) -> str:
        """The line of one outcome, where there is one; all there is to say of a failure."""
        if failed(outcome):
            before, self._apart = "" if self._apart else "\n", True
            return before + _text(self._failure(outcome)) + "\n"
        if self._quiet or self._verbosity < 1:
            return ""
        details = [f"       {line}" for line in messages(outcome, self._style)] if self._verbosity >= 2 else []
        return _text([self._line(outcome), *details])

    def suite_done(self, group: str, where: Location | None, outcomes: Iterable[Outcome]) -> str:
        """The one line for a suite, where its outcomes have none."""
        if self._quiet or self._verbosity > 0:
            return ""
        outcomes = list(outcomes)
        mark = self._mark(worst_status(outcomes), 5)
        time = f"  ({span(sum(outcome.seconds for outcome in outcomes))})" if self._timing else ""
        self._apart = False
        return _text([f"{mark} {_suite_name(group, where)}  {tally(outcomes)}{time}"])

    def end(self, report: Report) -> str:
        """What was not said before: warnings and reasons; and how many of each there were."""
        last = wording.summary(report)
        lines = [] if self._quiet else [*self._warnings(report.outcomes), *self._notes(report.outcomes)]
        if self._quiet:  # these are not shown elsewhere
            lines += [
                f"{self._mark('not-run')}  {_which(them)}  ({reason})" for reason, them in not_run(report).items()
            ]
        lines += self._failed_names(report)
        return _text([*lines, self._style.paint(last, "red" if report.red else "green", "bold")])

    def _failed_names(self, report: Report) -> list[str]:
        """The names of what failed: one screen of them is read before many screens of differences."""
        bad = [each for each in report.outcomes if failed(each) and each.level is None]
        if len(bad) < _LEAST_LISTED:
            return []
        places = [place(each) for each in bad]
        width = min(max(map(len, places)), _WIDEST_PLACE)
        lines = [f"  {where:<{width}}  {one_line(each.title)}" for where, each in zip(places, bad, strict=True)]
        return [self._style.paint("failed:", "red", "bold"), *lines]

    def durations(self, report: Report, count: int) -> str:
        """The COUNT slowest."""
        slowest = wording.slowest(report, count)
        lines = [f"{span(each.seconds):>12}  {place(each)}  {one_line(each.title)}" for each in slowest]
        return _text([f"the slowest {len(lines)}:" if len(lines) > 1 else "the slowest:", *lines]) if lines else ""

    def coverage(self, metrics: Mapping[str, Any]) -> str:
        """How much of what the server offers was used, if METRICS have it."""
        kinds = wording.coverage(metrics)
        lines = [f"  {each.kind:<10} {self._coverage_text(each)}" for each in kinds]
        return _text(["coverage:", *lines]) if lines else ""

    def _coverage_text(self, kind: wording.Coverage) -> str:
        if not kind.total:
            return "none offered"
        most = _MOST_NAMES if self._verbosity < 1 else len(kind.untouched)
        more = len(kind.untouched) - most
        names = ", ".join(kind.untouched[:most]) + (f", … and {more} more (-v)" if more > 0 else "")
        return f"{kind.touched} of {kind.total} used" + (f"; not used: {names}" if names else "")

    def _failure(self, outcome: Outcome) -> list[str]:
        style = self._style
        time = f"  ({span(outcome.seconds)})" if self._timing else ""
        lines = [
            f"{self._mark(outcome.status)}  {place(outcome)}  {style.paint(one_line(outcome.title), 'bold')}{time}"
        ]
        reason = why(outcome)
        details = [*([] if reason is None else [reason]), *findings(outcome, style)]
        details += [*messages(outcome, style), *stderr(outcome, style)]
        if outcome.where is not None and outcome.level is None:
            details.append(style.paint("again: ", "dim") + self._again(outcome))
        return lines + [f"  {line}" for line in details]

    def _line(self, outcome: Outcome) -> str:
        time = None if outcome.status in ("skipped", "not-run") else span(outcome.seconds)
        after = f"after {', '.join(map(repr, outcome.after))}" if outcome.after else None
        asides = [outcome.level, why(outcome), "flaky" if outcome.flaky else None, after, time]
        shown = ", ".join(aside for aside in asides if aside)
        told = self._style.paint(f"({shown})", "dim") if shown else ""
        return f"  {self._mark(outcome.status, 4)} {one_line(outcome.title)}  {told}".rstrip()

    def _warnings(self, outcomes: Iterable[Outcome]) -> list[str]:
        """Those of failures have been shown with them."""
        warned = [(each, found) for each in outcomes if not failed(each) and (found := wording.warnings(each))]
        most = _MOST_NOTES if self._verbosity < 1 else len(warned)
        lines: list[str] = []
        for outcome, found in warned[:most]:
            lines.append(f"{self._style.paint('WARN', 'yellow')}  {place(outcome)}  {one_line(outcome.title)}")
            for finding in found:
                lines += [f"  {line}" for line in one_finding(replace(finding, warning=False), self._style)]
        more = len(warned) - most
        return [*lines, f"… and {more} more with warnings (-v)"] if more > 0 else lines

    def _notes(self, outcomes: Iterable[Outcome]) -> list[str]:
        """Why outcomes were skipped, or expected to fail, or are not to be trusted; a line per reason."""
        if self._verbosity > 0:
            return []  # they stand in the lines of the outcomes
        reasons: dict[tuple[str, str], list[Outcome]] = {}
        for outcome in outcomes:
            reason = None if failed(outcome) else why(outcome)
            if reason is not None:
                reasons.setdefault((outcome.status, reason), []).append(outcome)
            if outcome.after:
                named = ", ".join(map(repr, outcome.after))
                reasons.setdefault((outcome.status, f"{named} was run first, for what it captures"), []).append(outcome)
            if outcome.flaky:
                reasons.setdefault((outcome.status, "flaky"), []).append(outcome)
        lines = [f"{self._mark(status)}  {_which(them)}  ({reason})" for (status, reason), them in reasons.items()]
        more = len(lines) - _MOST_NOTES
        return [*lines[:_MOST_NOTES], f"… and {counted(more, 'more reason')} (-v)"] if more > 0 else lines

    def _mark(self, status: str, width: int = 0) -> str:
        return mark(status, self._style, width)


def mark(status: str, style: Style, width: int = 0) -> str:
    """The word for STATUS that a line begins with."""
    word, ink = _MARKS[status]
    return style.paint(word, ink) + " " * (width - len(word))


def _which(outcomes: list[Outcome]) -> str:
    if len(outcomes) > 1:
        return counted(len(outcomes), "test" if outcomes[0].level is None else "check")
    return f"{place(outcomes[0])}  {one_line(outcomes[0].title)}"


def _suite_name(group: str, where: Location | None) -> str:
    if where is None or where.file == group:
        return one_line(group)
    return one_line(f"{where.file}  {group}")


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
