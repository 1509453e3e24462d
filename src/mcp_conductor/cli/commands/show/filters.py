"""What of a recording is to be shown, as flags say it, and what is said about the rest."""

import math
from typing import get_args

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.values import number
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.duration import offset
from mcp_conductor.protocol.transcript import Source
from mcp_conductor.recording.selection import Wanted

_FILTERS = ("--method", "--name", "--failed", "--source", "--since", "--until")


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
