"""What was found, for the person who must act: what is wrong, where the file says so, what came instead, what to do.

The form is that of our errors: a headline, `--> file:line:column`, the source line, a caret.
"""

from dataclasses import dataclass
from typing import Any, Literal

from mcp_conductor.errors import Location
from mcp_conductor.protocol.message import parse
from mcp_conductor.report import NOTHING, Finding, Outcome
from mcp_conductor.reporters.difference import alike, difference
from mcp_conductor.reporters.wording import counted, headline, value_text
from mcp_conductor.visible import blank, one_line, visible

Ink = Literal["red", "green", "yellow", "cyan", "bold", "dim"]

_INKS: dict[Ink, int] = {"red": 31, "green": 32, "yellow": 33, "cyan": 36, "bold": 1, "dim": 2}
_MOST_DIFF_LINES = 60
_MOST_WIRE_LINES = 10
_FIRST_STDERR_LINES = 3
_LAST_STDERR_LINES = 7
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
        """How many characters fit beside those that are TAKEN; None where nothing is cut."""
        return None if self.whole else max(self.width - taken, _NARROWEST)


def excerpt(where: Location, room: int | None = None) -> list[str]:
    """The place, and the source line with a caret below, if it is known; a line longer than ROOM is shown in part."""
    lines = [one_line(f"--> {where}")]
    if not where.source:
        return lines
    source, at = where.source.rstrip("\r\n"), where.column - 1
    start = 0 if room is None or len(source) <= room else max(0, min(at - room // 3, len(source) - room))
    number, before = str(where.line), _window(source[:at], start, None)
    return [*lines, f"{number} | {visible(_window(source, start, room))}", f"{' ' * len(number)} | {blank(before)}^"]


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
    """All that was found, as far as STYLE wants it."""
    shown = outcome.findings if style.max_errors is None else outcome.findings[: style.max_errors]
    lines = [line for finding in shown for line in one_finding(finding, style)]
    more = len(outcome.findings) - len(shown)
    return [*lines, f"… and {more} more (--max-errors)"] if more else lines


def one_finding(finding: Finding, style: Style) -> list[str]:
    """One thing that is not as it should be."""
    first, *others = headline(finding).split("\n")
    lines = [style.paint("warning: ", "yellow") + first if finding.warning else style.paint(first, "bold")]
    lines += [f"  {line}" for line in others]
    if finding.where is not None:
        place, *source = excerpt(finding.where, style.room(12))
        lines += [f" {style.paint(place, 'cyan')}", *(f" {line}" for line in source)]
    lines += [_BELOW + line for line in _values(finding, style)]
    if finding.hint:
        lines += [_BELOW + line for line in visible(f"hint: {finding.hint}").split("\n")]
    return lines


def _values(finding: Finding, style: Style) -> list[str]:
    """What was expected and what came: both in full where they are documents, else side by side."""
    expected, actual = finding.expected, finding.actual
    if expected is not NOTHING and actual is not NOTHING:
        changes = difference(expected, actual)
        if changes:
            return _diff(changes, style)
    texts = _beside(expected, actual, style.room(18))
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


def wire(outcome: Outcome, style: Style) -> list[str]:
    """What was said meanwhile, each message with the word for what it is."""
    count = len(outcome.wire)
    said = [_label(line) for line in _ends(outcome.wire, count if style.whole else _MOST_WIRE_LINES)]
    width = max((len(label) for label, _ in said), default=0)
    width = max(width, len("response")) + 2
    lines = [
        style.paint(f"{label:<{width}}", "dim") + cut(one_line(text), style.room(width + 2)) for label, text in said
    ]
    if len(said) < count:
        half = len(said) // 2
        lines.insert(half, f"… {counted(count - len(said), 'more message')} (-vv)")
    return lines


def _ends(lines: tuple[str, ...], most: int) -> list[str]:
    """The first and the last of LINES, MOST in all."""
    if len(lines) <= most:
        return list(lines)
    return [*lines[: most // 2], *lines[-(most - most // 2) :]]


def _label(line: str) -> tuple[str, str]:
    arrow, text = line[:4], line[4:]
    if arrow not in ("--> ", "<-- "):
        return "", line
    kind = parse(text).kind
    word = "response" if kind in ("result", "error") else kind
    # What goes the usual way needs no word for its direction.
    if arrow == "--> ":
        return ("our " if word in ("response", "notification") else "") + word, text
    return ("server " if word == "request" else "") + word, text


def stderr(outcome: Outcome, style: Style) -> list[str]:
    """What the server wrote to stderr meanwhile: how it began, and more of how it ended."""
    count = len(outcome.stderr)
    if not count:
        return []
    shown = [f"  | {_cut_with_count(one_line(line), style.room(6))}" for line in outcome.stderr]
    left_out = 0 if style.whole else count - _FIRST_STDERR_LINES - _LAST_STDERR_LINES
    if left_out > 1:  # one line is no shorter than the remark that it is missing
        shown[_FIRST_STDERR_LINES : count - _LAST_STDERR_LINES] = [f"  … {left_out} more lines (-vv)"]
    return [style.paint("stderr    ", "dim") + f"({counted(count, 'line')})", *shown]


def _cut_with_count(text: str, room: int | None) -> str:
    """As `cut`, and of a very long line with how much is missing: it may be nearly all."""
    if room is None or len(text) <= 2 * room:
        return cut(text, room)
    kept = room - _LONGEST_MARK
    head = kept * 2 // 3
    return f"{text[:head]} … {len(text) - kept} more characters … {text[head - kept :]}"
