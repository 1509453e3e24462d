"""Lines of a file with marks and notes below them: the only printer of carets."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

from mcp_conductor.errors import Location
from mcp_conductor.text.visible import blank, one_line, visible
from mcp_conductor.values import dataclass

Paint = Callable[[str], str]
Range = tuple[int, int]  # of indexes into a line, the end excluded
_LEAST_ROOM = 50


@dataclass(frozen=True, slots=True)
class Note:
    """A note about a place in a file."""

    where: Location
    lines: Sequence[str] = ()  # the first one is next to the mark, or wrapped below it; others are not


def excerpt(
    notes: Iterable[Note], room: int | None = None, *, paint_mark: Paint = str, paint_note: Paint = str
) -> list[str]:
    """The first place of NOTES, which are of one file, and all their lines with marks and what is said of them.

    What is longer than ROOM is cropped around the mark, or wrapped.
    """
    ordered = sorted(notes, key=lambda note: (note.where.line, note.where.marked))
    lines = [one_line(f"--> {ordered[0].where}")]
    placed = [note for note in ordered if note.where.source]
    width = max((len(str(note.where.line)) for note in placed), default=0)
    inner = None if room is None else max(room - width - 3, _LEAST_ROOM)
    before = None
    for number, group in groupby(placed, lambda note: note.where.line):
        if before is not None and number > before + 1:
            lines.append(f"{' ' * width} :")
        before = number
        for source, below in _marked_lines(list(group), inner, paint_mark, paint_note):
            lines += [f"{number:>{width}} | {source}", *(f"{' ' * width} | {line}".rstrip() for line in below)]
    return lines


def _marked_lines(
    notes: list[Note], room: int | None, paint_mark: Paint, paint_note: Paint
) -> Iterator[tuple[str, list[str]]]:
    """A line of the file, as often as it takes to show all marks in it, with what stands below."""
    source = notes[0].where.source.rstrip("\r\n")
    shown: list[str] = []
    start = end = -1
    for note in notes:
        first, last = note.where.marked
        if not start <= first < end or end < last <= first + end - start:  # what fits is shown whole
            if start >= 0:
                yield _window(source, start, end), shown
            start, end, shown = *_part(source, first, last, room), []
        before = blank(("…" if start else "") + source[start:first])
        mark = _mark_below(source[first : min(last, end)]) or "^"
        shown += _beside(before, mark, note.lines, room, paint_mark, paint_note)
    yield _window(source, start, end), shown


def _mark_below(text: str) -> str:
    return "^" * len(blank(text).replace("\t", " "))


def carets(line: str, ranges: Iterable[Range]) -> str:
    """The marks below RANGES of a line."""
    below = list(" " * len(line) if line.isascii() else map(blank, line))
    for start, end in ranges:
        below[start:end] = map(_mark_below, line[start:end])
    return "".join(below).rstrip()


def _beside(
    before: str, mark: str, said: Sequence[str], room: int | None, paint_mark: Paint, paint_note: Paint
) -> Iterator[str]:
    first, *more = said or ("",)
    if "\n" not in first and (room is None or len(before) + len(mark) + 1 + len(first) <= room):
        yield f"{before}{paint_mark(mark)} {paint_note(first)}".rstrip()
    else:
        yield before + paint_mark(mark)
        # On one line if there is any way: people search for it.
        longest = max(map(len, first.split("\n")))
        indent = before if room is None or longest <= room - len(before) else "  "
        for line in wrapped(first, None if room is None else room - len(indent)):
            yield indent + paint_note(line)
    for text in more:
        yield f"  {text}"


def wrapped(text: str, room: int | None, *, words: bool = False) -> Iterator[str]:
    """TEXT in lines of at most ROOM characters, cut between words where there are any.

    With WORDS no word is cut, however long: a path can be copied from a line that the terminal breaks.
    """
    for line in text.split("\n"):
        rest = line
        while room is not None and len(rest) > room:
            at = rest.rfind(" ", room // 2, room + 1)
            if at < 0:
                at = rest.find(" ", room) if words else room
            if at < 0:
                break
            yield rest[:at]
            rest = rest[at:].removeprefix(" ")
        yield rest


def _part(source: str, first: int, last: int, room: int | None) -> tuple[int, int]:
    """Which part of SOURCE is shown, so that its columns FIRST to LAST are in it, or as many as there is room for."""
    if room is None or len(source) <= room:
        return 0, len(source)
    inner = room - 2  # there may be a mark at both ends
    start = max(0, min(first - max(8, (inner - (last - first)) // 2), len(source) - inner))
    return start, min(len(source), start + inner)


def _window(source: str, start: int, end: int) -> str:
    return visible(("…" if start > 0 else "") + source[start:end] + ("…" if end < len(source) else ""))
