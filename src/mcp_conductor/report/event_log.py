"""The events of a run as lines of JSON, each written when it happens, without secrets."""

import os
from collections.abc import Callable
from typing import BinaryIO

from mcp_conductor.errors import UsageError
from mcp_conductor.files.writing import open_pipe
from mcp_conductor.protocol.message import render
from mcp_conductor.report.events import CaseFinished, Event, FileFinished, RunFinished, event_json
from mcp_conductor.report.model import Report, Status, redacted, redacted_outcome, redacted_value
from mcp_conductor.text.redaction import Redactor
from mcp_conductor.text.visible import json_escaped


class EventLog:
    """The events of one run: each line is given to WRITE, which raises UsageError when there can be no more of them."""

    def __init__(
        self, write: Callable[[str], None], redactor: Redactor, close: Callable[[], None] | None = None
    ) -> None:
        self._write_line = write
        self._redactor = redactor
        self._close = close
        self._told: dict[str, Status] = {}
        self.problem: UsageError | None = None  # why writing has stopped

    def take(self, event: Event) -> None:
        """Write EVENT; how the run ended is written by `end`."""
        if isinstance(event, CaseFinished):
            self._told[event.outcome.id] = event.outcome.status
        if not isinstance(event, RunFinished):
            self._write(event)

    def end(self, report: Report) -> None:
        """Write what only the whole run shows, and how it ended: REPORT is what all other reports say."""
        for outcome in report.outcomes:
            if self._told.get(outcome.id) != outcome.status:
                self._write(CaseFinished(outcome=outcome))
        self._write(RunFinished(report=report))
        if self._close is not None:
            self._close()

    def _write(self, event: Event) -> None:
        if self.problem is not None:
            return
        text = json_escaped(render(event_json(self._clean(event)))) + "\n"
        try:
            self._write_line(text)
        except UsageError as error:
            self.problem = error

    def _clean(self, event: Event) -> Event:
        redact = self._redactor.redact
        if not self._redactor.knows_secrets:
            return event
        if isinstance(event, CaseFinished):
            return CaseFinished(outcome=redacted_outcome(event.outcome, redact))
        if isinstance(event, RunFinished):
            return RunFinished(report=redacted(event.report, redact))
        if isinstance(event, FileFinished):  # of its outcomes only their number is written
            return event._replace(file=redact(event.file), title=redact(event.title))
        return event._replace(**{name: redacted_value(value, redact) for name, value in event._asdict().items()})


def log_to_file(path: str, shown: str, redactor: Redactor) -> EventLog:
    """A log in the file at PATH, which people call SHOWN."""

    def unwritten(error: OSError) -> UsageError:
        return UsageError(f"cannot write the report to {shown}: {error.strerror}")

    def write(text: str) -> None:
        try:
            rest = memoryview(text.encode(errors="backslashreplace"))
            while rest:
                rest = rest[file.write(rest) :]
        except OSError as error:
            raise unwritten(error) from error

    try:
        file = _open(path)
    except OSError as error:
        raise unwritten(error) from error
    return EventLog(write, redactor, file.close)


def _open(path: str) -> BinaryIO:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return open(path, "wb", buffering=0, opener=open_pipe)
