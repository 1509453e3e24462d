"""What a person sees of a check: groups, then warnings, then failures, then one summary, so that the last screen is
what matters.

A line about a requirement begins with its id. What is the same in several revisions or tools is shown once.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcp_conductor.protocol import Json
from mcp_conductor.report.excerpt import wrapped
from mcp_conductor.report.formats.console import mark
from mcp_conductor.report.formats.diagnostic import Ink, Style, beside_the_wire, one_finding, stderr
from mcp_conductor.report.formats.folding import Alike, InRevisions, folded, together, worst, worst_status
from mcp_conductor.report.formats.messages import in_brief, messages
from mcp_conductor.report.formats.wording import (
    failed,
    group_of,
    headline,
    level_of,
    migration_heading,
    span,
    tally,
    why,
)
from mcp_conductor.report.model import Finding, Outcome, Report
from mcp_conductor.text.visible import cut_to_columns, one_line

_MOST_WARNINGS = 10
_MOST_NAMES = 4
_MOST_FINDINGS = 10  # of one requirement that are not alike
_MOST_REASONS = 10
_MOST_PROOFS = 3  # of one requirement: requests with their replies
_MOST_FAILED = 30  # ids in the summary: one screen
_WIDEST_ID = 48
_INDENT = 6  # below the word that a line begins with


class CheckConsole:
    """A check as text for people. VERBOSITY: -1 failures only, 0 a line per group, 1 per requirement, 2 the wire too.

    WIDTH is that of the terminal: what is longer is wrapped or cut.
    """

    def __init__(
        self, *, colour: bool = False, verbosity: int = 0, width: int = 100, max_errors: int | None = None
    ) -> None:
        self._style = Style(colour=colour, width=width, whole=verbosity >= 2, max_errors=max_errors)
        self._verbosity = verbosity
        self._width = width
        self._remedies: dict[str, str] = {}  # by the ids of requirements

    def revision(self, version: str, outcomes: Sequence[Outcome], seconds: float) -> str:
        """What came of one of several revisions, as soon as it is known."""
        if self._verbosity < 0:
            return ""
        # Where nothing was run, nothing is in order.
        status = worst_status(outcomes) if outcomes else "skipped"
        return f"{self._mark(status)} {version}  {tally(outcomes)}  ({span(seconds)})\n"

    def results(self, report: Report, shown: Sequence[InRevisions]) -> str:
        """All but the summary: the groups, the warnings, the failures."""
        of = len(_versions(report))
        self._remedies = {rule.id: rule.remedy for rule in report.rules}
        parts = [_text(self._failure(each, of)) for each in shown if failed(each.outcome)]
        if self._verbosity >= 0:
            parts = [self._groups(shown, of), self._warnings(shown, of), *parts, self._of_frameworks(shown, of)]
        return "\n".join(part for part in parts if part)

    def migration(self, report: Report) -> str:
        """What the server lacks for the newest era, if that was asked."""
        found = report.metrics.get("migration")
        if found is None or self._verbosity < 0:
            return ""
        older, newest, steps = found["from"], found["to"], found["steps"]
        if not steps:
            return f"nothing that holds in {older} is broken in {newest}\n" if found["spoken"] else ""
        lines = [f"{migration_heading(found)}:"]
        for step in steps:
            lines += [f"  {line}" for line in _hanging(_step(step), self._style.room(2), 4)]
        return _text(lines)

    def summary(self, report: Report, shown: Sequence[InRevisions]) -> str:
        """Which requirements failed, and how many of each there are; each is counted once, by its worst outcome."""
        of = len(_versions(report))
        counted = tally(worst(shown))
        if self._verbosity < 1:
            counted = counted.replace(" skipped", " skipped (-v)")
        revisions = f" in {of} revisions," if of > 1 else " in"
        last = f"{counted}{revisions} {report.seconds:.2f} s"
        lines = [*self._failed_names(shown, of), *self._expected_failures(shown)]
        ink: Ink = "red" if report.red else "green" if any(map(_counts, report.outcomes)) else "yellow"
        return _text([*lines, self._style.paint(last, ink, "bold")])

    # Groups.

    def _groups(self, shown: Sequence[InRevisions], of: int) -> str:
        groups: dict[str, list[InRevisions]] = {}
        for each in shown:
            groups.setdefault(group_of(each.outcome), []).append(each)
        lines: list[str] = []
        if self._verbosity > 0:
            for group, members in groups.items():
                lines.append(self._style.paint(group, "bold"))
                lines += [line for each in members for line in self._line(each, of)]
            return _text(lines)
        once = {group: [each for each in worst(members) if _counts(each)] for group, members in groups.items()}
        widest = max((len(group) for group, members in once.items() if members), default=0)
        for group, told in once.items():
            if told:
                lines.append(f"{self._mark(worst_status(told))} {group:<{widest}}  {tally(told)}")
        return _text(lines or self._why_nothing(shown))

    def _why_nothing(self, shown: Sequence[InRevisions]) -> list[str]:
        """Where everything of a check was skipped, the reasons are shown."""
        reasons: dict[str, list[str]] = {}
        for each in shown:
            reasons.setdefault(why(each.outcome) or "", []).append(one_line(each.outcome.id))
        lines = []
        for reason, ids in list(reasons.items())[:_MOST_REASONS]:
            more = f" and {len(ids) - 1} more" if ids[1:] else ""
            lines += _hanging(f"{self._mark('skipped')} {ids[0]}{more}  ({reason})", self._style.room(0), _INDENT)
        return lines

    def _line(self, each: InRevisions, of: int) -> list[str]:
        """One requirement; of one that was skipped, the whole reason, which says more than the statement."""
        start, name, reason = (
            f"  {self._mark(each.outcome.status)} ",
            f"{_name_with_level(each, of)}  ",
            why(each.outcome),
        )
        if reason is None:
            return [start + name + self._cut(one_line(each.outcome.title), 8 + len(name))]
        first, *others = _hanging(name + reason, self._style.room(8), 2)
        return [start + first, *(" " * 8 + line for line in others)]

    # Warnings.

    def _warnings(self, shown: Sequence[InRevisions], of: int) -> str:
        warned = [each for each in shown if each.outcome.status == "warned"]
        warned.sort(key=lambda each: each.outcome.level == "MAY")
        if self._verbosity > 0:
            return "\n".join(_text(self._whole("WARN", each, of)) for each in warned)
        lines = [line for each in warned[:_MOST_WARNINGS] for line in self._brief_warning(each, of)]
        if left := warned[_MOST_WARNINGS:]:
            names = ", ".join(dict.fromkeys(each.outcome.id for each in left))
            more = f"… and {len(left)} more with warnings (-v): {names}"
            lines += _hanging(more, self._style.room(2), 2)
        return _text(lines)

    def _brief_warning(self, each: InRevisions, of: int) -> list[str]:
        """What was found, the request and the answer in a line each, and the remedy: more would hide the failures."""
        first, *rest = _hanging(_name_with_level(each, of), self._style.room(_INDENT), 2)
        lines = [self._style.paint("WARN", "yellow") + f"  {first}", *(" " * _INDENT + line for line in rest)]
        for alike in folded(each.outcome.findings):
            told = _hanging(headline(alike.first), self._style.room(_INDENT), 2)
            lines += [" " * _INDENT + line for line in (*told, *(f"  {line}" for line in self._others(alike)))]
        below = [*in_brief(each.outcome, self._style), *self._remedy(each.outcome)]
        return [*lines, *(" " * _INDENT + line for line in below)]

    def _remedy(self, outcome: Outcome) -> list[str]:
        remedy = self._remedies.get(outcome.id)
        mended = any(finding.where is not None for finding in outcome.findings)  # an entry that is no longer true
        if not remedy or mended or outcome.status == "errored":  # a fault of the check
            return []
        first, *others = wrapped(remedy, self._style.room(_INDENT + 10), words=True)
        return [self._style.paint(f"{'remedy':<10}", "dim") + first, *(" " * 10 + line for line in others)]

    # What the framework of the server does.

    def _of_frameworks(self, shown: Sequence[InRevisions], of: int) -> str:
        """What is not counted, a line for each: with -v it stands in the groups as well."""
        lines: list[str] = []
        for name in dict.fromkeys(each.outcome.framework for each in shown if each.outcome.framework is not None):
            lines.append(self._style.paint(f"of the {one_line(name)}, not counted (--all-findings counts it):", "bold"))
            for each in shown:
                if each.outcome.framework == name:
                    start = f"  {_name_with_level(each, of)}  "
                    lines.append(start + self._cut(_first(each.outcome), len(start)))
        return _text(lines)

    # Failures.

    def _failure(self, each: InRevisions, of: int) -> list[str]:
        return self._whole("FAIL" if each.outcome.status == "failed" else "ERROR", each, of)

    def _whole(self, word: str, each: InRevisions, of: int) -> list[str]:
        """All there is to say of one outcome."""
        outcome, style = each.outcome, self._style
        ink = style.paint(word, "yellow" if word == "WARN" else "red")
        name = _name_with_level(each, of)
        heading = _hanging(f"{name}  {one_line(outcome.title)}", style.room(_INDENT), 0)
        lines = [f"{ink}  {style.paint(name, 'bold')}{heading[0][len(name) :]}"]
        lines += [" " * _INDENT + line for line in heading[1:]]
        reason = why(outcome)
        details = [*([] if reason is None else [reason]), *self._findings(outcome)]
        details += [*self._evidence(outcome), *stderr(outcome, style), *self._remedy(outcome)]
        return lines + [f"  {line}" for line in details]

    def _findings(self, outcome: Outcome) -> list[str]:
        found = beside_the_wire(outcome.findings[: self._style.max_errors], outcome)
        groups = [Alike(each) for each in found] if self._style.whole else folded(found)
        most = len(groups) if self._style.whole else _MOST_FINDINGS
        lines: list[str] = []
        for alike in groups[:most]:
            told = "\n".join(_hanging(headline(alike.first), self._style.room(4), 0))
            lines += one_finding(replace(alike.first, message=told, warning=False), self._style)
            lines += [f"  {line}" for line in self._others(alike)]
        if groups[most:]:
            lines.append(f"… and {len(groups) - most} more findings (-vv)")
        if len(found) < len(outcome.findings):
            lines.append(f"… and {len(outcome.findings) - len(found)} more (--max-errors)")
        return lines

    def _evidence(self, outcome: Outcome) -> list[str]:
        """What proves the findings: each part of what was said once, however many findings are about it."""
        found = outcome.findings[: self._style.max_errors]
        if self._style.whole or any(each.said is None for each in found):
            return messages(outcome, self._style)
        parts: dict[tuple[str, ...], list[Finding]] = {}
        for finding in found:
            lines = outcome.wire[slice(*finding.said or ())]
            parts.setdefault(lines, []).append(replace(finding, said=(0, len(lines))))
        shown = list(dict.fromkeys(outcome.wire[slice(*alike.first.said or ())] for alike in folded(found)))
        told = [
            line
            for lines in shown[:_MOST_PROOFS]
            for line in messages(replace(outcome, wire=lines, findings=tuple(parts[lines])), self._style)
        ]
        return [*told, f"… and what proves {len(shown) - _MOST_PROOFS} more (-vv)"] if shown[_MOST_PROOFS:] else told

    def _others(self, alike: Alike) -> list[str]:
        if not alike.others:
            return []
        names = alike.names
        most = len(names) if self._verbosity > 0 else _MOST_NAMES
        told = ", ".join([*map(one_line, names[:most]), *(["…"] if names[most:] else [])])
        text = f"and {len(alike.others)} more like this" + (f": {told}" if told else "")
        return _hanging(text, self._style.room(8), 2)

    # The summary.

    def _failed_names(self, shown: Sequence[InRevisions], of: int) -> list[str]:
        bad = [each for each in shown if failed(each.outcome)]
        if not bad:
            return []
        names = [one_line(each.outcome.id) + _where(each, of) for each in bad]
        width = min(max(map(len, names)), _WIDEST_ID)
        lines = [
            f"  {name:<{width}}  {self._cut(_first(each.outcome), 4 + max(width, len(name)))}"
            for name, each in list(zip(names, bad, strict=True))[:_MOST_FAILED]
        ]
        more = [f"  … and {len(bad) - _MOST_FAILED} more"] if bad[_MOST_FAILED:] else []
        return [self._style.paint("failed:", "red", "bold"), *lines, *more]

    def _expected_failures(self, shown: Sequence[InRevisions]) -> list[str]:
        """What failed as expected: nothing to do, but still shown."""
        known = [each.outcome for each in shown if each.outcome.failed_as_expected and each.outcome.framework is None]
        told = dict.fromkeys(f"{one_line(each.id)} ({one_line(each.reason or '')})" for each in known)
        return _hanging(f"failed as expected: {', '.join(told)}", self._style.room(0), 2) if told else []

    def _mark(self, status: str) -> str:
        return mark(status, self._style, 5)

    def _cut(self, text: str, taken: int) -> str:
        """TEXT, as much of it as fits on the line; nothing where not even a few words fit."""
        room = self._width - taken
        return text if self._style.whole else cut_to_columns(text, room) if room > 10 else ""


def _step(step: Json) -> str:
    """logging: send messages only … (it declares logging; logging-modern-opt-in and 1 more)."""
    because = f"{step['because']}; " if "because" in step else ""
    first, *others = step["ids"]
    if first == step["name"]:
        return one_line(f"{first}: {step['what']}")
    more = f" and {len(others)} more" if others else ""
    return one_line(f"{step['name']}: {step['what']} ({because}{first}{more})")


def _name_with_level(each: InRevisions, of: int) -> str:
    """tools-item-name (MUST, in all 4 revisions)."""
    told = level_of(each.outcome)
    if of > 1:
        told += f", in {together(each.versions, of)}"
    return f"{one_line(each.outcome.id)} ({told})"


def _where(each: InRevisions, of: int) -> str:
    """Which revisions, unless it is all of them."""
    return "" if len(each.versions) == of else f" ({', '.join(each.versions)})"


def _counts(outcome: Outcome) -> bool:
    """Whether it is shown without -v; what was skipped is only a number in the summary."""
    return outcome.status != "skipped" or outcome.failed_as_expected


def _versions(report: Report) -> list[str]:
    return (report.protocol_version or "").split(", ")


def _first(outcome: Outcome) -> str:
    """What is wrong, in one line."""
    found = folded(outcome.findings)
    if not found:
        return why(outcome) or ""
    others = sum(1 + len(alike.others) for alike in found) - 1
    return one_line(headline(found[0].first)) + (f" (and {others} more)" if others else "")


def _hanging(text: str, room: int | None, indent: int) -> list[str]:
    """TEXT in lines of at most ROOM characters, those after the first indented."""
    first, *others = wrapped(text, room if room is None else room - indent, words=True)
    return [first, *(" " * indent + line for line in others)]


def _text(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
