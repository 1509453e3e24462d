"""Which frames of a recording `conductor show` writes, and each as a line."""

import math
from typing import get_args

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.values import number
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.duration import offset
from mcp_conductor.protocol.transcript import Source
from mcp_conductor.recording.format import Entry, Header, entry_line, header_line
from mcp_conductor.recording.selection import Wanted

_FILTERS = ("--method", "--name", "--failed", "--source", "--since", "--until")
_ARROWS = {"client": "-->", "server": "<--"}


def wanted_frames(given: Given) -> Wanted:
    """What the flags ask for."""
    known = get_args(Source)
    for source in given.all("--source"):
        if source not in known:
            raise UsageError(f"--source must be one of {', '.join(known)}, not {source!r}")
    since, until = _moment(given, "--since", -math.inf), _moment(given, "--until", math.inf)
    if since > until:
        raise UsageError(f"--since {given.one('--since')} is after --until {given.one('--until')}")
    return Wanted(
        methods=tuple(given.all("--method")),
        names=tuple(given.all("--name")),
        errors="--failed" in given,
        sources=tuple(given.all("--source")),
        since=since,
        until=until,
        session=number(given, "--session", 1),
    )


def _moment(given: Given, flag: str, default: float) -> float:
    """The time given to FLAG: a bare number is seconds, as in the first column of what is shown."""
    text = given.one(flag)
    if text is None:
        return default
    moment = offset(text)
    if moment is None:
        raise UsageError(f"{flag} takes seconds since the recording began, such as 12.5, 500ms or 2m, not {text!r}")
    return moment


def told(given: Given, shown: int, seen: int) -> str | None:
    """What to say about frames that are left out; None if no flag leaves any out."""
    flags = [flag for flag in _FILTERS if flag in given]
    if not flags:
        return None
    if shown == 0:
        return f"no frame of {seen} fits {' and '.join(flags)}"
    return f"{shown} of {seen} frames shown"


class ShownLines:
    """Frames, each on a line, with the number of its session where there are several."""

    def __init__(self, terminal: Terminal, *, as_json: bool, several: bool = False) -> None:
        self._terminal = terminal
        self._as_json = as_json
        self.several = several

    def begin(self, header: Header | None) -> None:
        """A recording begins here."""
        if self._as_json and header is not None:
            self._terminal.write_result(f"{header_line(header)}\n")

    def put(self, entry: Entry) -> None:
        """Show one frame."""
        if self._as_json:
            self._terminal.write_result(f"{entry_line(entry)}\n")
            return
        frame, label = entry.frame, f"{entry.session:>3} " if self.several else ""
        text = " | ".join(frame.text.split("\n"))
        self._terminal.show(f"{frame.at:8.3f} {label}{_ARROWS.get(frame.source, f'{frame.source}:')} {text}\n")
