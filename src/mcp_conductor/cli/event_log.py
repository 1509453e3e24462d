"""`--report events`: what happens in a run as lines of JSON, each written when it happens."""

import os
from typing import BinaryIO

from mcp_conductor.cli.terminal import ReaderGone, Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.files.writing import open_pipe
from mcp_conductor.protocol.message import render
from mcp_conductor.report.events import CaseFinished, Event, FileFinished, RunFinished, event_json
from mcp_conductor.report.model import Report, Status, redacted, redacted_outcome, redacted_value
from mcp_conductor.text.visible import json_escaped


class EventLog:
    """The events of one run, for a file or (FILE is None) for stdout."""

    def __init__(self, file: str | None, terminal: Terminal) -> None:
        self._shown = file
        self._terminal = terminal
        self._file: BinaryIO | None = None if file is None else self._open(os.path.join(terminal.directory, file))
        self._told: dict[str, Status] = {}
        self.problem: UsageError | None = None  # why there is no more of it

    def _open(self, path: str) -> BinaryIO:
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            return open(path, "wb", buffering=0, opener=open_pipe)
        except OSError as error:
            raise self._unwritten(error) from error

    def _unwritten(self, error: OSError) -> UsageError:
        return UsageError(f"cannot write the report to {self._shown}: {error.strerror}")

    def take(self, event: Event) -> None:
        """Write EVENT; how the run ended is told at its `end`."""
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
        if self._file is not None:
            self._file.close()

    def _write(self, event: Event) -> None:
        if self.problem is not None:
            return
        text = json_escaped(render(event_json(self._clean(event)))) + "\n"
        try:
            if self._file is None:
                self._terminal.write_report_as_it_is(text)
            else:
                rest = memoryview(text.encode(errors="backslashreplace"))
                while rest:
                    rest = rest[self._file.write(rest) :]
        except ReaderGone:
            self.problem = UsageError("the events are not read any more")
        except OSError as error:
            self.problem = self._unwritten(error)

    def _clean(self, event: Event) -> Event:
        redact = self._terminal.redactor.redact
        if not self._terminal.redactor.knows_secrets:
            return event
        if isinstance(event, CaseFinished):
            return CaseFinished(outcome=redacted_outcome(event.outcome, redact))
        if isinstance(event, RunFinished):
            return RunFinished(report=redacted(event.report, redact))
        if isinstance(event, FileFinished):  # of its outcomes only their number is told
            return event._replace(file=redact(event.file), title=redact(event.title))
        return event._replace(**{name: redacted_value(value, redact) for name, value in event._asdict().items()})
