"""What happens in a run, as it happens: the interface between an engine and its consumers.

Events are named tuples, because as many dataclasses would add 5 ms to the start of a program.
"""

from typing import NamedTuple

from mcp_conductor.errors import Location
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import Outcome, Report

VERSION = 1  # of the events as JSON


class RunStarted(NamedTuple):
    """The files are read; the first server has not been started."""

    kind: str  # test, check
    tests: int
    files: int
    deselected: int = 0

    def to_json(self) -> Json:
        return {"kind": self.kind, "tests": self.tests, "files": self.files, "deselected": self.deselected}


class FileStarted(NamedTuple):
    """One of the workers begins with a file."""

    file: str
    title: str
    tests: int
    worker: int

    def to_json(self) -> Json:
        return {"file": self.file, "title": self.title, "tests": self.tests, "worker": self.worker}


class ServerStarted(NamedTuple):
    """A server has answered the handshake."""

    file: str
    server: Json
    protocol_version: str | None

    def to_json(self) -> Json:
        return {"file": self.file, "server": self.server, "protocolVersion": self.protocol_version}


class ServerLost(NamedTuple):
    """A server could not be started, or went away although it was needed."""

    file: str
    message: str

    def to_json(self) -> Json:
        return {"file": self.file, "message": self.message}


class CaseStarted(NamedTuple):
    """A test begins."""

    id: str
    title: str
    worker: int

    def to_json(self) -> Json:
        return {"id": self.id, "title": self.title, "worker": self.worker}


class CaseFinished(NamedTuple):
    """The outcome of a test, also of one that was not run."""

    outcome: Outcome

    def to_json(self) -> Json:
        return {"outcome": self.outcome.to_json()}


class Warned(NamedTuple):
    """Something that is worth knowing, and belongs to no single test."""

    message: str
    where: Location | None = None

    def to_json(self) -> Json:
        place = {} if self.where is None else {"file": self.where.file, "line": self.where.line}
        return {"message": self.message, **place}


class FileFinished(NamedTuple):
    """All tests of a file have an outcome."""

    file: str
    title: str
    outcomes: tuple[Outcome, ...]

    def to_json(self) -> Json:
        return {"file": self.file, "title": self.title, "tests": len(self.outcomes)}


class RunFinished(NamedTuple):
    """There is nothing more to come."""

    report: Report

    def to_json(self) -> Json:
        whole = self.report.to_json()
        del whole["outcomes"]  # they have been reported one by one
        return whole


Event = (
    RunStarted
    | FileStarted
    | ServerStarted
    | ServerLost
    | CaseStarted
    | CaseFinished
    | Warned
    | FileFinished
    | RunFinished
)

_NAMES: dict[type[Event], str] = {
    RunStarted: "run-started",
    FileStarted: "file-started",
    ServerStarted: "server-started",
    ServerLost: "server-lost",
    CaseStarted: "case-started",
    CaseFinished: "case-finished",
    Warned: "warned",
    FileFinished: "file-finished",
    RunFinished: "run-finished",
}


def event_json(event: Event) -> Json:
    """EVENT as one line of `--report events`."""
    return {"v": VERSION, "event": _NAMES[type(event)], **event.to_json()}
