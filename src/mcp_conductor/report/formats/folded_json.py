"""JSON in few lines: indented where it does not fit on one, with `…` and a count for what is not marked."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from json import JSONDecoder

from mcp_conductor.files.source import Path
from mcp_conductor.report.excerpt import Range, wrapped
from mcp_conductor.report.formats.wording import counted
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.visible import CUT, blank
from mcp_conductor.values import dataclass

Line = tuple[str, list[Range]]  # with what is marked in it

_MAX_LINES = 24
_INDENT = 2
_MAX_STRING_LINES = 3  # of a string that is marked
_RUN_LINES = 4  # of members that are next to each other, where none in their object is marked; else one
_RUN_ITEM = 40  # columns of such a member, where another one is marked
_MAX_DEPTH = 3  # of what is indented although nothing in it is marked
_MORE = 12  # columns of ", … 999 more"
_MIN_ROOM = 24
_TOKEN = compiled_later(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+')


@dataclass(slots=True, eq=False)
class _Value:
    """A value in a JSON text, with its place there."""

    start: int
    end: int
    key: str = ""  # as it is written
    below: "list[_Value]" = field(default_factory=list)
    marked: bool = False  # itself
    around: bool = False  # something below it


def folded(text: str, paths: Iterable[Path], room: int) -> list[Line] | None:
    """TEXT in lines of ROOM columns, with the values at PATHS marked; None if it is not an object or an array."""
    try:
        if not isinstance(JSONDecoder().decode(text), dict | list):
            return None
        root = _tree(text)
        for path in paths:
            _mark(root, path)
        lines = _joined(list(_Layout(text, max(room, _MIN_ROOM)).lines(root, "", "", 0)), room)
    except (ValueError, RecursionError):
        return None
    more = len(lines) - _MAX_LINES
    return lines if more <= 0 else [*lines[:_MAX_LINES], (f"{CUT} {counted(more, 'more line')} (-vv)", [])]


def _joined(lines: list[Line], room: int) -> list[Line]:
    """LINES, of which the first has what belongs to any message, and what is opened there."""
    (first, marks), *rest = lines
    while rest and not marks and rest[0][0][:3].count(" ") == _INDENT and not rest[0][1]:
        space = "" if first in ("{", "[") else " "
        joined = first + space + rest[0][0].lstrip(" ")
        if _columns(joined) > room:
            break
        first, rest = joined, rest[1:]
    if len(rest) == len(lines) - 1 or not first.endswith(("{", "[")):
        return [(first, marks), *rest]
    return [(first, marks), *((line[_INDENT:], [(a - _INDENT, b - _INDENT) for a, b in marks]) for line, marks in rest)]


def _tree(text: str) -> _Value:
    """The values of TEXT, which is valid JSON."""
    outer: list[_Value] = [_Value(0, 0)]
    key = ""
    for found in _TOKEN.finditer(text):
        word = found[0]
        if word in ("}", "]"):
            outer.pop().end = found.end()
        elif word == ":":
            named = outer[-1].below.pop()
            key = text[named.start : named.end]
        elif word != ",":
            value = _Value(found.start(), found.end(), key)
            outer[-1].below.append(value)
            key = ""
            if word in ("{", "["):
                outer.append(value)
    return outer[0].below[0]


def _mark(root: _Value, path: Path) -> None:
    """Mark the value at PATH, or the innermost around it that is there, but never all of it."""
    way = [root]
    for step in path:
        found = _member(way[-1], step)
        if found is None:
            break
        way.append(found)
    if len(way) > 1:
        way[-1].marked = True
        for each in way[:-1]:
            each.around = True


def _member(value: _Value, step: str | int) -> _Value | None:
    if isinstance(step, int):
        return value.below[step] if 0 <= step < len(value.below) and not value.below[step].key else None
    return next((each for each in reversed(value.below) if each.key and JSONDecoder().decode(each.key) == step), None)


class _Layout:
    """The lines of one text."""

    def __init__(self, text: str, room: int) -> None:
        self._text = text
        self._room = room

    def lines(self, value: _Value, before: str, after: str, depth: int) -> Iterator[Line]:
        """VALUE between BEFORE and AFTER, which stand on its first and its last line."""
        indent = " " * min(_INDENT * depth, self._room // 3)
        written = self._text[value.start : value.end]
        before = indent + before + (f"{value.key}: " if value.key else "")
        if _columns(before + written + after) <= self._room:
            marks = [(each.start, each.end) for each in _innermost(value)]
            shift = len(before) - value.start
            yield before + written + after, [(start + shift, end + shift) for start, end in marks]
        elif not value.below:
            yield from self._string(written, before, after)
        else:
            start = len(before) - (len(value.key) + 2 if value.key else 0)
            yield before + written[0], [(start, len(before) + 1)] if value.marked and not value.around else []
            yield from self._inside(value, written[-1] + after, depth + 1)

    def _inside(self, value: _Value, after: str, depth: int) -> Iterator[Line]:
        """The members or elements of VALUE, with AFTER on the last line: those together that are not marked."""
        run: list[_Value] = []
        for place, each in enumerate(value.below):
            end = after if place == len(value.below) - 1 else ","
            if each.marked or each.around or self._deserves_lines(each, value, depth):
                yield from self._run(run, value, ",", depth)
                yield from self.lines(each, "", end, depth)
                run = []
            else:
                run.append(each)
        yield from self._run(run, value, after, depth)

    def _deserves_lines(self, value: _Value, within: _Value, depth: int) -> bool:
        """Whether VALUE is indented although nothing in it is marked: where nothing else is, and it is long."""
        taken = _INDENT * depth + len(value.key) + 3 + value.end - value.start
        return bool(value.below) and not within.around and depth <= _MAX_DEPTH and taken > self._room

    def _run(self, run: Sequence[_Value], value: _Value, after: str, depth: int) -> Iterator[Line]:
        """Members of VALUE that are not marked, as many as there is room for."""
        if not run:
            return
        indent = " " * min(_INDENT * depth, self._room // 3)
        room = self._room - len(indent) - len(after)
        most = 1 if value.around else _RUN_LINES
        lines = [""]
        for place, each in enumerate(run):
            left = len(run) - place
            item = self._short(each, min(room, _RUN_ITEM) if value.around else room)
            joined = f"{lines[-1]}, {item}" if lines[-1] else item
            if _columns(joined) + _MORE * (left > 1 and len(lines) == most) <= room:
                lines[-1] = joined
            elif lines[-1] and len(lines) < most:
                lines.append(item)
            else:
                lines[-1] += f"{', ' if lines[-1] else ''}{CUT} {left} more"
                break
        for line in lines[:-1]:
            yield f"{indent}{line},", []
        yield indent + lines[-1] + after, []

    def _short(self, value: _Value, room: int) -> str:
        """VALUE with its key, folded unless it fits."""
        key = f"{value.key}: " if value.key else ""
        written = self._text[value.start : value.end]
        if _columns(key + written) <= room:
            return key + written
        if value.below:
            unit = "member" if written[0] == "{" else "element"
            return f"{key}{written[0]}{CUT} {counted(len(value.below), unit)}{written[-1]}"
        kept = max(room - len(key) - _MORE - 4, 8)
        kept = max(written.rfind(" ", kept // 2, kept + 1), 0) or kept  # between words, if there are any
        quote = written[0] if written[0] == '"' else ""
        return f"{key}{written[:kept]}{quote}{CUT} {len(written) - kept - len(quote)} more"

    def _string(self, written: str, before: str, after: str) -> Iterator[Line]:
        """A marked string that does not fit on a line: the first lines of it."""
        room = max(self._room - len(before) - len(after) - _MORE, _MIN_ROOM)
        parts = list(wrapped(written, room if written.isascii() else room // 2))
        left = sum(map(len, parts[_MAX_STRING_LINES:]))
        shown = parts[:_MAX_STRING_LINES]
        for place, part in enumerate(shown):
            line = (" " * len(before) if place else before) + part
            end = "" if place < len(shown) - 1 else f"{CUT} {left} more{after}" if left else after
            yield line + end, [(len(before), len(line))]


def _innermost(value: _Value) -> Iterator[_Value]:
    """The values in VALUE that are marked, without those around others: a mark of the whole says nothing then."""
    if value.marked and not value.around:
        yield value
    for each in value.below if value.around else ():
        yield from _innermost(each)


def _columns(text: str) -> int:
    return len(text) if text.isascii() else len(blank(text))
