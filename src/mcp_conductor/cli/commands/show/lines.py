"""A recording as lines on stdout: when, from whom, what; or, with --json, as the lines of a recording."""

from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.recording.format import Entry, Header, entry_line, header_line

_ARROWS = {"client": "-->", "server": "<--"}


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
