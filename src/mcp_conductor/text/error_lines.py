"""Which lines of what a program wrote are worth showing: those that tell why it failed."""

import re
from collections.abc import Callable, Iterator, Sequence

from mcp_conductor.text.patterns import compiled_later

_FIRST = 3
_LAST = 7
_MOST_CAUSES = 10
_AROUND_A_CAUSE = 1  # lines that follow it: they often say where
_LONGEST_SEARCHED = 2_000
_CAUSE = compiled_later(
    r"\b(?:\w*error|\w*exception|panic\w*|fatal|traceback|usage|cannot|can't|could not|not found|no such|denied|"
    r"refused|missing|invalid|unknown|failed|failure)\b",
    re.IGNORECASE,
)


def abridged(lines: Sequence[str], shown: Callable[[str], str], *, all_by: str = "") -> Iterator[str]:
    """Those of LINES that are worth showing, each as it is SHOWN, with remarks on how many are left out between them.

    ALL_BY says what would show all of them.
    """
    before = -1
    for index in _worth_showing(lines):
        left_out = index - before - 1
        if left_out:
            yield f"… {left_out} more lines{all_by}"
        yield f"| {shown(lines[index])}"
        before = index


# How a line begins that names the cause, in most languages: `Error: …`, `ModuleNotFoundError: …`, `[x] fatal: …`.
# Python draws the errors of a group as a tree. A line of the source that raises an error does not name it.
_HEADING = "Traceback (most recent call last)"
_TREE = " \t|+-"
_NAMES_THE_CAUSE = compiled_later(
    rf"[{_TREE}]*+(?!raise |throw |Exception Group Traceback)(?:\(stdout\) )?(?:npm ERR! |\[?\w*\]? ?)(?:Uncaught )?"
    r"[\w.]*(?:error|exception|panic\w*|fatal)\b(?:[^:]{0,80}:? \S|$)",
    re.IGNORECASE,
)


def cause(lines: Sequence[str]) -> str | None:
    """The one of LINES that most likely says why."""
    named = (line for line in lines if _NAMES_THE_CAUSE.match(line, 0, _LONGEST_SEARCHED))
    sounding = (line for line in lines if _CAUSE.search(line, 0, _LONGEST_SEARCHED) and _HEADING not in line)
    found = next(named, next(sounding, None))
    return None if found is None else found.lstrip(_TREE)


def _worth_showing(lines: Sequence[str]) -> list[int]:
    """The indexes of the LINES to show: the first ones, the last ones, and those that sound like a cause."""
    count = len(lines)
    kept = {*range(min(_FIRST, count)), *range(max(0, count - _LAST), count)}
    causes = 0
    for index, line in enumerate(lines):
        if causes == _MOST_CAUSES:
            break
        if index not in kept and _CAUSE.search(line, 0, _LONGEST_SEARCHED):
            causes += 1
            kept.update(range(index, min(index + 1 + _AROUND_A_CAUSE, count)))
    # A single line is no longer than the remark that it is missing.
    kept |= {index for index in range(1, count - 1) if index - 1 in kept and index + 1 in kept}
    return sorted(kept)


_TOP_HEADING = compiled_later(r"(?:  \+ Exception Group )?Traceback \(most recent call last\):")
_GROUP_HEADING = "Exception Group Traceback"
_FRAME = compiled_later(r'File "([^"]+)", line \d+, in (\S+)')
_OF_A_PACKAGE = compiled_later(r".*(?:(?:site|dist)-packages|lib/python3\.\d+)/")
_ERROR = compiled_later(r"([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt))(?::|$)")


def errors_of_traceback(lines: Sequence[str]) -> list[str]:
    """The errors of the last Python traceback in LINES, all of a group, each with its file and who called that.

    Nothing where there is none, or where a part of it is not understood.
    """
    start = max((at for at, line in enumerate(lines) if _TOP_HEADING.match(line)), default=len(lines))
    errors: list[str] = []
    places: list[tuple[str, str]] = []  # a file and a function
    tracebacks = 0
    for line in lines[start:]:
        text = line[:_LONGEST_SEARCHED].lstrip(_TREE)
        if text.startswith((_HEADING, _GROUP_HEADING)):
            tracebacks += text.startswith(_HEADING)
            places = []
        elif frame := _FRAME.match(text):
            places.append((_OF_A_PACKAGE.sub("", frame[1].replace("\\", "/")), frame[2]))
        elif places and (error := _ERROR.match(text)):
            file = places[-1][0]
            callers = (f", called by {function} of {each}" for each, function in reversed(places) if each != file)
            errors.append(f"{error[1]} in {file}{next(callers, '')}")
            places = []
    return errors if len(errors) == tracebacks else []
