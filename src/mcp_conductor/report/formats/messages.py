"""The messages that led to a failure, indented and folded where they are long, with marks below what is wrong."""

from collections.abc import Iterable, Iterator

from mcp_conductor.files.source import Path
from mcp_conductor.protocol.message import parse
from mcp_conductor.report.excerpt import carets, wrapped
from mcp_conductor.report.formats.diagnostic import Style
from mcp_conductor.report.formats.folded_json import Line, folded
from mcp_conductor.report.formats.wording import counted
from mcp_conductor.report.model import Outcome
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.text.visible import cut_to_columns, one_line

_MOST_MESSAGES = 10
_BRIEF_WIDTH = 10  # of a label, at least
_MAX_CHARACTERS = 2_048  # of one that is not JSON
_MAX_SEARCHED = 200_000  # characters, of a message in which a path is looked for
_STEP = compiled_later(r"""\.?([^.\[\]"'\s]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]""")

_PARTS = ("", "result.", "error.", "params.")
_HTTP = ("HTTP ", "GET ", "POST ", "PUT ", "DELETE ", "OPTIONS ")  # how the lines begin that are not messages


def messages(outcome: Outcome, style: Style) -> list[str]:
    """The messages of a test, each with the word for its kind."""
    count = len(outcome.wire)
    us = "our" if outcome.level is None else "client"  # who said what has the arrow -->
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


def in_brief(outcome: Outcome, style: Style) -> list[str]:
    """The request and the answer that prove the first finding, each on one line: the part that is wrong."""
    first, last = (outcome.findings[0].said if outcome.findings else None) or (0, len(outcome.wire))
    room = style.room(16)
    said: list[tuple[str, str]] = []
    for arrow in ("--> ", "<-- "):
        places = [place for place in range(first, min(last, len(outcome.wire))) if outcome.wire[place][:4] == arrow]
        if not places:
            continue
        label, text = _label(outcome.wire[places[-1]], "client")
        text = one_line(text[:_MAX_SEARCHED])
        if room is not None and len(text) > room:
            marked = (line.strip() for line, marks in _lines(text, _paths(outcome, places[-1]), room) if marks)
            text = next((f"… {line}" for line in marked), text)
        said.append((label, text))
    width = max([_BRIEF_WIDTH, *(len(label) + 2 for label, _ in said)])
    room = style.room(6 + width)
    return [style.paint(f"{label:<{width}}", "dim") + cut_to_columns(text, room or len(text)) for label, text in said]


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
    room = None if style.whole else style.room(width + 2)
    lines = list(_lines(text, paths, room))
    for place, (line, marks) in enumerate(lines):
        yield style.paint(f"{'' if place else label:<{width}}", "dim") + line
        below = carets(line, marks)
        if below:
            yield " " * width + style.paint(below, "red")


def _lines(text: str, paths: Iterable[str], room: int | None) -> Iterable[Line]:
    """TEXT in lines of ROOM columns, with what is marked in each; on one line where there is no limit."""
    marked = [steps for steps in map(_steps, paths) if steps]
    lines = folded(text, marked, room or 2 * len(text)) if len(text) <= _MAX_SEARCHED else None
    if lines is not None:
        return lines
    if room is None:
        return [(text, [])]
    return ((line, []) for line in wrapped(_cropped(text), room if text.isascii() else room // 2))


def _steps(path: str) -> Path:
    """The steps of a path as messages spell it, as far as they lead to one value."""
    steps: list[str | int] = []
    at = 0
    while found := _STEP.match(path, at):
        name, index, quoted = found.groups()
        steps.append(int(index) if index else name or quoted)
        at = found.end()
    return tuple(steps)


def _cropped(text: str) -> str:
    """TEXT without its middle, if it is long."""
    if len(text) <= _MAX_CHARACTERS:
        return text
    head = _MAX_CHARACTERS * 2 // 3
    tail = _MAX_CHARACTERS - head
    return f"{text[:head]} … {len(text) - _MAX_CHARACTERS:,} more characters (-vv) … {text[-tail:]}"


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
