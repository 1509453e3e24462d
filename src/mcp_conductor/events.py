"""What happens in a run, as it happens: the interface between an engine and whatever shows, writes or counts it."""

from dataclasses import dataclass
from typing import ClassVar

from mcp_conductor.errors import Location
from mcp_conductor.protocol import Json
from mcp_conductor.report import Outcome, Report

VERSION = 1  # of the events as JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """The files are read; the first server has not been started."""

    name: ClassVar = "run-started"
    kind: str  # test, check
    tests: int
    files: int
    deselected: int = 0

    def to_json(self) -> Json:
        return {"kind": self.kind, "tests": self.tests, "files": self.files, "deselected": self.deselected}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStarted:
    """One of the workers begins with a file."""

    name: ClassVar = "file-started"
    file: str
    title: str
    tests: int
    worker: int

    def to_json(self) -> Json:
        return {"file": self.file, "title": self.title, "tests": self.tests, "worker": self.worker}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStarted:
    """A server has answered the handshake."""

    name: ClassVar = "server-started"
    file: str
    server: Json
    protocol_version: str | None

    def to_json(self) -> Json:
        return {"file": self.file, "server": self.server, "protocolVersion": self.protocol_version}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLost:
    """A server could not be started, or went away although it was needed."""

    name: ClassVar = "server-lost"
    file: str
    message: str

    def to_json(self) -> Json:
        return {"file": self.file, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseStarted:
    """A test begins."""

    name: ClassVar = "case-started"
    id: str
    title: str
    worker: int

    def to_json(self) -> Json:
        return {"id": self.id, "title": self.title, "worker": self.worker}


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFinished:
    """What came of a test, or that it was not run."""

    name: ClassVar = "case-finished"
    outcome: Outcome

    def to_json(self) -> Json:
        return {"outcome": self.outcome.to_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """Something that is worth knowing, and belongs to no single test."""

    name: ClassVar = "warned"
    message: str
    where: Location | None = None

    def to_json(self) -> Json:
        place = {} if self.where is None else {"file": self.where.file, "line": self.where.line}
        return {"message": self.message, **place}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFinished:
    """All tests of a file have an outcome."""

    name: ClassVar = "file-finished"
    file: str
    title: str
    outcomes: tuple[Outcome, ...]

    def to_json(self) -> Json:
        return {"file": self.file, "title": self.title, "tests": len(self.outcomes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """There is nothing more to come."""

    name: ClassVar = "run-finished"
    report: Report

    def to_json(self) -> Json:
        whole = self.report.to_json()
        del whole["outcomes"]  # they have been told one by one
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


def event_json(event: Event) -> Json:
    """EVENT as one line of `--report events`."""
    return {"v": VERSION, "event": event.name, **event.to_json()}
