"""What is run: the tests of one file on one server, and how."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.suites import SUFFIXES
from mcp_conductor.suites.language.suite import Case, Suite
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.text.redaction import Redactor
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.client.session import Session
    from mcp_conductor.protocol.transcript import Frame
    from mcp_conductor.recording.folder import RecordingFolder
    from mcp_conductor.recording.writer import RecordingWriter
    from mcp_conductor.report.model import Remark

DEFAULT_SECONDS = 10.0  # for each request

Judge = Callable[["Session", "list[Frame]", ServerSpec], "list[Remark]"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How to run."""

    isolation: str | None = None  # None: as the file says, or one server per file
    jobs: int = 1
    timeout: float | None = None  # for each reply; None: as the server's settings or we say
    restart: bool = False  # continue with a new server when one has died
    max_failures: int | None = None
    keep_wire: bool = False
    trace: Any = None  # a `Trace`, if a report shows what was said in tests, and when they ran
    update_snapshots: bool = False
    frozen_snapshots: bool = False
    snapshot_paths: Mapping[str, str] = field(default_factory=dict)
    coverage: bool = False
    lenient: bool = False  # open conversations as mcp-aegis does
    judge: Judge | None = None  # what else there is to say of a server, by what was said
    redactor: Redactor = field(default_factory=Redactor)
    recordings: "RecordingFolder | None" = None  # where each conversation is recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The tests of one file on one server in one revision."""

    suite: Suite
    cases: tuple[Case, ...]
    spec: ServerSpec
    protocol: str | None = None
    suffix: str = ""  # what distinguishes it from other jobs of the same file

    def identity(self, case: Case) -> str:
        """What selects CASE, and its outcome."""
        return f"{self.suite.file}::{case.name}{self.suffix}"


def variants(suite: Suite) -> Iterator[tuple[str | None, str | None, str]]:
    """What SUITE wants to be run on: the name of a server and a revision, and what distinguishes it from the others."""
    protocols: tuple[str | None, ...] = suite.protocols or (None,)
    names: tuple[str | None, ...] = suite.transports or (suite.server,)
    for name in names:
        for protocol in protocols:
            parts = [name if suite.transports else None, protocol if suite.protocols else None]
            told = ", ".join(part for part in parts if part)
            yield name, protocol, f" [{told}]" if told and len(names) * len(protocols) > 1 else ""


def in_ci(environ: Mapping[str, str]) -> bool:
    """Whether this run is in CI, where others rely on it."""
    return environ.get("CI", "") not in ("", "false", "0")


def patience(job: Job, options: RunOptions) -> float:
    """How long each reply may take, in seconds."""
    # mcp-aegis waits as long for a reply as for the start.
    startup = job.spec.startup_timeout if options.lenient else None
    return job.suite.timeout or options.timeout or startup or DEFAULT_SECONDS


def recording_for(options: RunOptions, job: Job) -> "RecordingWriter | None":
    """Where what is said to the server of JOB is recorded, if that is wanted."""
    if options.recordings is None:
        return None
    file = os.path.relpath(job.suite.file) if os.path.isabs(job.suite.file) else job.suite.file
    name = next((file.removesuffix(suffix) for suffix in SUFFIXES if file.endswith(suffix)), file)
    return options.recordings.begin(name + job.suffix, job.spec)


def redactor_for(options: RunOptions, job: Job, variables: Variables) -> Redactor:
    """The redactor of the run, after it has learned the secrets of the variables and of the server's settings."""
    options.redactor.learn([*variables.secrets, *job.spec.secrets()])
    return options.redactor
