"""A recording as lines: when, from whom, what."""

from collections.abc import Collection, Iterator

from mcp_conductor.recording.reader import Recording

_ARROWS = {"client": "-->", "server": "<--"}


def lines(recording: Recording, sessions: Collection[int]) -> Iterator[str]:
    """The frames of SESSIONS, each on a line, with the number of its session where there are several."""
    several, chosen = len(recording.sessions()) > 1, set(sessions)
    for entry in recording.entries:
        if entry.session in chosen:
            frame, label = entry.frame, f"{entry.session:>3} " if several else ""
            text = " | ".join(frame.text.split("\n"))
            yield f"{frame.at:8.3f} {label}{_ARROWS.get(frame.source, f'{frame.source}:')} {text}\n"
