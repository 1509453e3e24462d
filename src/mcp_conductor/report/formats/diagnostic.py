"""What was found, for the person who must act: what is wrong, where the file says so, what came instead, what to do.

The form is that of our errors: a headline, `--> file:line:column`, the source line, a caret.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from mcp_conductor.report.excerpt import Note, excerpt, wrapped
from mcp_conductor.report.formats.difference import alike, difference
from mcp_conductor.report.formats.wording import counted, headline, value_text
from mcp_conductor.report.model import NOTHING, Finding, Outcome
from mcp_conductor.text.error_lines import abridged, cause
from mcp_conductor.text.visible import one_line, visible
from mcp_conductor.values import dataclass

Ink = Literal["red", "green", "yellow", "cyan", "bold", "dim"]

_INKS: dict[Ink, int] = {"red": 31, "green": 32, "yellow": 33, "cyan": 36, "bold": 1, "dim": 2}
_MOST_FINDINGS = 30
_FEW_LINES = 2  # of stderr, which need no summary
_MOST_CAUSE_LINES = 6
_PRINTED = "(stdout) "  # before a line that was written there, among those of stderr
_LABEL = 10  # characters of the word before what was said
_MOST_DIFF_LINES = 60
_NARROWEST = 40
_LONGEST_MARK = 32  # of what stands for what is left out of a line, with its number
_BELOW = " " * 4  # under the bar of an excerpt whose line number has two digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How much is shown, and with which means."""

    colour: bool = False
    width: int = 100
    whole: bool = False  # nothing is cut, however long
    max_errors: int | None = None  # findings of one outcome

    def paint(self, text: str, *inks: Ink) -> str:
        if not self.colour or not inks:
            return text
        return f"\x1b[{';'.join(str(_INKS[ink]) for ink in inks)}m{text}\x1b[0m"

    def room(self, taken: int) -> int | None:
        """How many characters fit next to those that are TAKEN; None where nothing is cut."""
        return None if self.whole else max(self.width - taken, _NARROWEST)


def _window(text: str, start: int, room: int | None) -> str:
    """At most ROOM characters of TEXT from START on, with a mark where some are missing."""
    end = len(text) if room is None else start + room
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def cut(text: str, room: int | None) -> str:
    """TEXT without its middle, if it is longer than ROOM: the end of a message says as much as its beginning."""
    if room is None or len(text) <= room:
        return text
    head = (room - 3) * 2 // 3
    return f"{text[:head]} … {text[head + 3 - room :]}"


def findings(outcome: Outcome, style: Style) -> list[str]:
    """All that was found, as far as STYLE wants it: one excerpt of a file with all marks in it, then one difference."""
    every = [finding for finding in outcome.findings if not finding.whole]
    shown = every[: style.max_errors or (None if style.whole else _MOST_FINDINGS)]
    alone, by_file = _by_file(shown)
    about = [each for together in by_file.values() for each in together]
    documents = documents_of([*(each for each in outcome.findings if each.whole), *about])
    alone = beside_the_wire(alone, outcome)
    lines = [line for finding in alone if not finding.warning for line in one_finding(finding, style)]
    for together in by_file.values():
        lines += _marked_excerpt(together, documents, style)
    if len(shown) < len(every):
        lines.append(f"… and {len(every) - len(shown)} more ({'--max-errors' if style.max_errors else '-vv'})")
    for finding in documents:
        lines += [f"  {line}" for line in _diff(difference(finding.expected, finding.actual), style)]
    hints = dict.fromkeys(finding.hint for finding in about if finding.hint)
    lines += [f"  {line}" for hint in hints for line in _hint(hint, style)]
    return lines + [line for finding in alone if finding.warning for line in one_finding(finding, style)]


def beside_the_wire(found: Sequence[Finding], outcome: Outcome) -> list[Finding]:
    """FOUND, those of a check without what came: that is shown below, whole, with what it answers."""
    if not outcome.wire or outcome.level is None:
        return list(found)
    return [each if each.said is None else replace(each, actual=NOTHING) for each in found]


def _hint(hint: str, style: Style) -> list[str]:
    return list(wrapped(visible(f"hint: {hint}"), style.room(len(_BELOW) + 2), words=True))


def _by_file(found: list[Finding]) -> tuple[list[Finding], dict[str, list[Finding]]]:
    """Those that are shown by themselves, and those that can be marks in an excerpt of their file."""
    alone: list[Finding] = []
    by_file: dict[str, list[Finding]] = {}
    for finding in found:
        if finding.where is None or not finding.where.source or finding.warning:
            alone.append(finding)
        else:
            by_file.setdefault(finding.where.file, []).append(finding)
    return alone, by_file


def _marked_excerpt(together: list[Finding], documents: list[Finding], style: Style) -> list[str]:
    notes = []
    for finding in together:
        assert finding.where is not None
        told = _is_told(finding) or any(is_below(finding, each) for each in documents)
        notes.append(Note(finding.where, [headline(finding), *([] if told else _beside_each_other(finding, style))]))
    place, *source = excerpt(
        notes,
        style.room(4),
        paint_mark=lambda mark: style.paint(mark, "red"),
        paint_note=lambda note: style.paint(note, "bold"),
    )
    return [f" {style.paint(place, 'cyan')}", *(f" {line}" for line in source)]


def _is_told(finding: Finding) -> bool:
    """Whether the message has the values."""
    values = [each for each in (finding.expected, finding.actual) if each is not NOTHING]
    return all(value_text(each).strip('"') in finding.message for each in values)


def documents_of(found: Sequence[Finding]) -> list[Finding]:
    """Those of which the difference is shown: no part of what another one shows, and the outermost first."""
    chosen: list[Finding] = []
    for finding in sorted(found, key=lambda each: (not each.whole, len(each.path or ""))):
        if finding.expected is NOTHING or finding.actual is NOTHING:
            continue
        if not any(is_below(finding, other) for other in chosen) and difference(finding.expected, finding.actual):
            chosen.append(finding)
    return chosen


def is_below(finding: Finding, other: Finding) -> bool:
    path, outer = finding.path or "", other.path or ""
    return (path.startswith(outer) and path[len(outer) :][:1] in ("", ".", "[")) or not outer


def one_finding(finding: Finding, style: Style) -> list[str]:
    """One thing that is not as it should be, by itself."""
    first, *others = headline(finding).split("\n")
    lines = [style.paint("warning: ", "yellow") + first if finding.warning else style.paint(first, "bold")]
    lines += [f"  {line}" for line in others]
    if finding.where is not None:
        place, *source = excerpt([Note(finding.where)], style.room(4))
        lines += [f" {style.paint(place, 'cyan')}", *(f" {line}" for line in source)]
    lines += [_BELOW + line for line in _values(finding, style)]
    if finding.hint:
        lines += [_BELOW + line for line in _hint(finding.hint, style)]
    return lines


def _values(finding: Finding, style: Style) -> list[str]:
    """What was expected and what came: both in full where they are documents, else side by side."""
    if finding.expected is not NOTHING and finding.actual is not NOTHING:
        changes = difference(finding.expected, finding.actual)
        if changes:
            return _diff(changes, style)
    return _beside_each_other(finding, style)


def _beside_each_other(finding: Finding, style: Style) -> list[str]:
    texts = _beside(finding.expected, finding.actual, style.room(24))
    return [f"{name:<10}{text}" for name, text in zip(("expected", "actual"), texts, strict=True) if text is not None]


def _diff(changes: list[str], style: Style) -> list[str]:
    most = len(changes) if style.whole else _MOST_DIFF_LINES
    lines = [f"{style.paint('- expected', 'red')}  {style.paint('+ actual', 'green')}"]
    lines += [style.paint(cut(line, style.room(8)), *_DIFF_INKS.get(line[0], ())) for line in changes[:most]]
    more = len(changes) - most
    return [*lines, f"… and {counted(more, 'more line')} (-vv)"] if more > 0 else lines


_DIFF_INKS: dict[str, tuple[Ink, ...]] = {"-": ("red",), "+": ("green",)}


def _beside(expected: Any, actual: Any, room: int | None) -> tuple[str | None, str | None]:
    """Both values as text; where they are long, the part where they begin to differ."""
    one = None if expected is NOTHING else value_text(expected)
    other = None if actual is NOTHING else value_text(actual)
    if room is None or max(len(one or ""), len(other or "")) <= room:
        return one, other
    if one is None or other is None:
        return one and cut(one, room), other and cut(other, room)
    start = max(0, alike(one, other) - room // 3)
    return _window(one, start, room), _window(other, start, room)


def stderr(outcome: Outcome, style: Style) -> list[str]:
    """What the server wrote to stderr meanwhile: the line with the cause of an error first, and what matters."""
    count = len(outcome.stderr)
    if not count:
        return []

    def shown(line: str) -> str:
        return _cut_with_count(one_line(line), style.room(6))

    name, said = _streams(outcome.stderr)
    lines = [style.paint(f"{name:<{_LABEL}}", "dim") + f"({counted(count, 'line')})"]
    if style.whole:
        lines += [f"  | {shown(line)}" for line in said]
    else:
        lines += [f"  {line}" for line in abridged(said, shown, all_by=" (-vv)")]
    why = cause(said) if outcome.cause == "server" and count > _FEW_LINES else None
    return lines if why is None else [*_cause(one_line(why.strip()), style), *lines]


def _streams(lines: Sequence[str]) -> tuple[str, Sequence[str]]:
    """What LINES were written to, and LINES; what was printed by a server that never began to talk is among them."""
    printed = sum(line.startswith(_PRINTED) for line in lines)
    if printed < len(lines):
        return ("output" if printed else "stderr"), lines
    return "stdout", [line.removeprefix(_PRINTED) for line in lines]


def _cause(line: str, style: Style) -> list[str]:
    """The one line that must be read: whole, unless it is very long."""
    room = style.room(_LABEL + 2)
    first, *more = wrapped(line if room is None else _cut_with_count(line, room * _MOST_CAUSE_LINES), room, words=True)
    return [style.paint(f"{'cause':<{_LABEL}}", "dim") + first, *(" " * _LABEL + each for each in more)]


def _cut_with_count(text: str, room: int | None) -> str:
    """As `cut`, and of a very long line with how much is missing: it may be nearly all."""
    if room is None or len(text) <= 2 * room:
        return cut(text, room)
    kept = room - _LONGEST_MARK
    head = kept * 2 // 3
    return f"{text[:head]} … {len(text) - kept} more characters … {text[head - kept :]}"
