"""The messages that led to a failure, whole if they are not too long, with marks below the parts that are wrong."""

from collections.abc import Iterable, Iterator

from mcp_conductor.files.source import JsonPlaces, Path
from mcp_conductor.protocol.message import parse
from mcp_conductor.report.excerpt import Range, carets
from mcp_conductor.report.formats.diagnostic import Style
from mcp_conductor.report.formats.wording import counted
from mcp_conductor.report.model import Outcome
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.visible import blank, one_line

_MOST_MESSAGES = 10
_MOST_CHARACTERS = 2_048  # of one message
_MOST_MARKED_LINES = 3  # below one value
_MOST_SEARCHED = 200_000  # characters, of a message in which a path is looked for
_STEP = compiled_later(r"""\.?([^.\[\]"'\s]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]""")

_PARTS = ("", "result.", "error.", "params.")
_HTTP = ("HTTP ", "GET ", "POST ", "PUT ", "DELETE ", "OPTIONS ")  # how the lines begin that are not messages


def messages(outcome: Outcome, style: Style) -> list[str]:
    """The messages of a test, each with the word for its kind."""
    count = len(outcome.wire)
    us = "our" if outcome.side is None else "client"  # who said what has the arrow -->
    places = _ends(count, count if style.whole else _MOST_MESSAGES)
    said = [(place, *_label(outcome.wire[place], us)) for place in places]
    width = max((len(label) for _, label, _ in said), default=0)
    width = max(width, len("response")) + 2
    blocks = [
        list(_message(label, one_line(text), _paths(outcome, place), width, style)) for place, label, text in said
    ]
    if len(said) < count:
        blocks.insert(len(said) // 2, [f"… {counted(count - len(said), 'more message')} (-vv)"])
    return [line for block in blocks for line in block]


def _paths(outcome: Outcome, place: int) -> list[str]:
    """The paths that are wrong in line PLACE of the messages, if the server sent it."""
    arrow = "--> " if outcome.side == "client" else "<-- "
    if not outcome.wire[place].startswith(arrow) or (outcome.level is None and not _is_answer(outcome.wire[place])):
        return []
    about = [each for each in outcome.findings if each.said is None or each.said[0] <= place < each.said[1]]
    paths = list({each.path: None for each in about if each.path and not each.whole})
    # The paths of checks begin where the value does that they are about.
    return paths if outcome.level is None else [f"{part}{path}" for path in paths for part in _PARTS]


def _is_answer(line: str) -> bool:
    return parse(line[4:]).kind in ("result", "error")


def _message(label: str, text: str, paths: Iterable[str], width: int, style: Style) -> Iterator[str]:
    marks = [] if len(text) > _MOST_SEARCHED else _innermost(_ranges(text, paths))
    if not style.whole and len(text) > _MOST_CHARACTERS:
        text, marks = _cropped(text, marks)
    room = len(text) if style.whole else style.room(width + 2) or len(text)
    for start, end in _parts(text, max(room, 2)):
        line = text[start:end]
        yield style.paint(f"{label if not start else '':<{width}}", "dim") + line
        below = carets(line, [(first - start, last - start) for first, last in marks], room * _MOST_MARKED_LINES)
        if below:
            yield " " * width + style.paint(below, "red")


def _parts(text: str, room: int) -> Iterator[Range]:
    """The parts of TEXT that take ROOM columns of a terminal each, or what is left."""
    if text.isascii():
        yield from ((start, start + room) for start in range(0, max(len(text), 1), room))
        return
    start = taken = 0
    for place, character in enumerate(text):
        wide = len(blank(character))
        if taken + wide > room:
            yield start, place
            start, taken = place, 0
        taken += wide
    yield start, len(text)


def _innermost(ranges: Iterable[Range]) -> list[Range]:
    """RANGES in order, without those around others: where a part is wrong, a mark of the whole says nothing."""
    ordered = sorted(set(ranges))
    return [
        outer
        for outer in ordered
        if not any(outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1] for inner in ordered)
    ]


def _ranges(text: str, paths: Iterable[str]) -> Iterator[Range]:
    """Where the values at PATHS stand in TEXT, which is JSON; those that are not there have no place."""
    wanted = [steps for steps in map(_steps, paths) if steps is not None]
    if not wanted or not text.startswith("{"):
        return
    try:
        places = JsonPlaces(text)
    except (ValueError, IndexError, RecursionError):  # it is not JSON
        return
    for steps in wanted:
        place, value = places.find(steps)
        if place:
            yield value


def _steps(path: str) -> Path | None:
    """The steps of a path as messages spell it; None if it is not a path."""
    steps: list[str | int] = []
    at = 0
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            return None
        name, index, quoted = found.groups()
        steps.append(int(index) if index else name or quoted)
        at = found.end()
    return tuple(steps)


def _cropped(text: str, marks: list[Range]) -> tuple[str, list[Range]]:
    """Part of TEXT: around the first mark, or without its middle; and the marks in it."""
    if not marks:
        head = _MOST_CHARACTERS * 2 // 3
        tail = _MOST_CHARACTERS - head
        left_out = len(text) - _MOST_CHARACTERS
        return f"{text[:head]} … {left_out:,} more characters (-vv) … {text[-tail:]}", []
    first = marks[0][0]
    start = max(0, min(first - _MOST_CHARACTERS // 3, len(text) - _MOST_CHARACTERS))
    end = start + _MOST_CHARACTERS
    before = f"… {start:,} characters … " if start else ""
    after = f" … {len(text) - end:,} more characters (-vv)" if end < len(text) else ""
    moved = [(each[0] - start + len(before), min(each[1], end) - start + len(before)) for each in marks]
    return before + text[start:end] + after, [each for each in moved if len(before) <= each[0] < each[1]]


def _ends(count: int, most: int) -> list[int]:
    """The places of the first and the last of COUNT lines, MOST in all."""
    if count <= most:
        return list(range(count))
    return [*range(most // 2), *range(count - (most - most // 2), count)]


def _label(line: str, us: str) -> tuple[str, str]:
    arrow, text = line[:4], line[4:]
    if arrow not in ("--> ", "<-- "):
        return "", line
    if text.startswith(_HTTP):
        return "response" if arrow == "<-- " else "request", text
    kind = parse(text).kind
    word = "response" if kind in ("result", "error") else kind
    # What goes the usual way needs no word for its direction.
    if arrow == "--> ":
        return (f"{us} " if word in ("response", "notification") else "") + word, text
    return ("server " if word == "request" else "") + word, text
