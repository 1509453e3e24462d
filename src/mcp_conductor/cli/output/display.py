"""What a person sees of a run besides the result: warnings, `--verbose`, progress; and what `--record` keeps.

All of it is a view of the transcript, frame by frame as they come, without secrets.
"""

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.message import render
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.text.redaction import LineRedactor

if TYPE_CHECKING:
    from mcp_conductor.recording.writer import RecordingWriter

# A one-shot call needs the end of the conversation for its messages, not all of it; a recording is written as we go.
BYTES_KEPT = 4_000_000
MOST_WARNINGS = 20

_ARROWS = {"client": "-->", "server": "<--", "stderr": "stderr:", "http": "http:", "process": "process:"}


class Display:
    """The side of a run that is on stderr, and the recording."""

    def __init__(
        self,
        given: Given,
        budgets: Budgets,
        terminal: Terminal,
        shown: Callable[[Frame], str] = lambda frame: frame.text,
        *,
        label: str = "",
        spec: ServerSpec | None = None,  # the server that is called
    ) -> None:
        self._shown = shown  # what is shown of a frame; a recording has all of it
        self._terminal = terminal
        self._label = f"{label}: " if label else ""  # which server it is about, where there are several
        self._verbose = "--verbose" in given
        self._progress = "--progress-token" in given
        self._warnings = 0
        self._writer = None if (file := given.one("--record")) is None else self._begin_recording(file, spec)
        self._recording = None if self._writer is None else self._writer.session()
        budgets = replace(budgets, transcript_bytes=BYTES_KEPT)
        self.transcript = Transcript((), self._take, budgets, terminal.redactor)
        self._stderr = LineRedactor(terminal.redactor)
        self._held: deque[Frame] = deque()
        self._held_bytes = 0
        self._holders = 0

    @contextmanager
    def holding_back(self) -> Iterator[None]:
        """Show and record nothing until this ends: a message may bring a secret that is known only then."""
        self._holders += 1
        try:
            yield
        finally:
            self._holders -= 1
            while self._held and not self._holders:
                self._show_oldest()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def show_progress(self, incoming: Incoming) -> None:
        """Progress that was asked for is shown while we wait."""
        if self._progress and incoming.message.method == "notifications/progress":
            self._say(f"{self._label}progress: {render(incoming.message.params)}")

    def _take(self, frame: Frame) -> None:
        if not self._holders:
            self._show(frame)
            return
        self._held.append(frame)
        self._held_bytes += frame.size
        while self._held_bytes > BYTES_KEPT and len(self._held) > 1:  # what is waited for is the newest
            self._show_oldest()

    def _show_oldest(self) -> None:
        """Show the oldest frame that was held back."""
        frame = self._held.popleft()
        self._held_bytes -= frame.size
        self._show(frame)

    def _show(self, frame: Frame) -> None:
        if self._recording is not None:
            self._recording.take(frame)
        if self._verbose:
            frame = frame.shown_after(self._stderr)
        if frame.source == "note":
            self._warn(frame.text)
        elif self._verbose:
            self._say(f"{frame.at:8.3f} {self._label}{_ARROWS[frame.source]} {self._shown(frame)}")

    def _begin_recording(self, file: str, spec: ServerSpec | None) -> "RecordingWriter":
        from mcp_conductor.recording.format import server_of
        from mcp_conductor.recording.writer import open_recording

        return open_recording(
            os.path.join(self._terminal.directory, file),
            self._terminal.redactor,
            shown=file,
            transport="" if spec is None else spec.kind,
            server=None if spec is None else server_of(spec),
            complain=self._warn,
        )

    def _warn(self, text: str) -> None:
        self._warnings += 1
        if self._warnings <= MOST_WARNINGS or self._verbose:
            self._say(f"warning: {self._label}{text}")
        elif self._warnings == MOST_WARNINGS + 1:
            self._say(f"warning: {self._label}more warnings follow; --verbose shows all of them")

    def _say(self, text: str) -> None:
        self._terminal.say(text)
