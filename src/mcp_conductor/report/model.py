"""The results of a run: one shape for tests, checks and every other engine; every reporter works for all.

A finding is a value: something that is not as it should be, with its place in the file that says so and in the document
that was looked at. Exit codes, colours and formats are the business of those who show a report.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from mcp_conductor.errors import Location
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import render
from mcp_conductor.text.redaction import redacted_lines
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.protocol.transcript import Frame

Status = Literal["passed", "failed", "warned", "skipped", "errored", "not-run"]
STATUSES: tuple[Status, ...] = ("passed", "failed", "warned", "skipped", "errored", "not-run")
BAD: tuple[Status, ...] = ("failed", "errored", "not-run")  # what makes a run red
Stop = Literal["timeout", "interrupted", "bug"]
_KEYS: dict[str, str] = {"not-run": "notRun"}  # in the summary, which has the names of JSON


class Words(str):
    """An expected value that is described, not quoted: text that starts with "Hello"."""

    __slots__ = ()


class _Nothing:
    """No value at all; null is one."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Final = _Nothing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it should be."""

    message: str
    path: str | None = None  # in the document that was looked at: result.content[0].text
    expected: Any = NOTHING
    actual: Any = NOTHING
    where: Location | None = None  # in the file that says what should be
    hint: str | None = None
    warning: bool = False  # worth knowing, but not a failure
    whole: bool = False  # it says no more than the others, but has the two documents that they are about
    beside: tuple[Any, ...] = ()  # of a check: other messages that prove it, or parts of them
    said: tuple[int, int] | None = None  # the first line of `wire` that it may be about, and the one after the last
    framed: tuple[int, int] | None = None  # the same of `frames`

    def to_json(self) -> Json:
        return {
            "message": self.message,
            **({} if self.path is None else {"path": self.path}),
            **({} if self.expected is NOTHING else {"expected": self.expected}),
            **({} if self.actual is NOTHING else {"actual": self.actual}),
            **_place(self.where),
            **({} if self.hint is None else {"hint": self.hint}),
            **({"warning": True} if self.warning else {}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The result of one test or check."""

    id: str  # what selects it: files.test.mcp.yml::reads a file
    title: str
    group: str  # its suite
    status: Status
    seconds: float = 0.0
    where: Location | None = None
    level: str | None = None  # MUST, SHOULD or MAY, of a check
    severity: str | None = None  # critical, major or minor, of a check
    framework: str | None = None  # of a check: whose fault it is, such as "TypeScript SDK 1.32.2"; not counted then
    version: str | None = None  # of a check in several revisions: the one that it is about
    elsewhere: bool = False  # of a check: found in what others said, so that it does not come again without these
    side: Literal["server", "client"] | None = None  # of a check of both sides: whose requirement it is
    findings: tuple[Finding, ...] = ()
    reason: str | None = None  # why it was skipped or not run, or why it was expected to fail
    cause: Literal["server"] | None = None  # of an error that is not the test's: there was no server
    after: tuple[str, ...] = ()  # tests that were not chosen, but run before, because it needs what they capture
    wire: tuple[str, ...] = ()  # what was said meanwhile: "--> …" by us, "<-- …" by the server
    stderr: tuple[str, ...] = ()  # what the server wrote to stderr meanwhile
    tags: tuple[str, ...] = ()
    flaky: bool = False  # it passed, but not at the first try
    # All that happened meanwhile, if it was kept (--trace), each a `protocol.transcript.Frame`; not part of the JSON.
    frames: tuple[Any, ...] = ()
    began: float | None = None  # seconds after the run did; not part of the JSON
    worker: int | None = None  # which worker ran it; not part of the JSON

    @property
    def failed_as_expected(self) -> bool:
        """Whether it was known to fail, and did: it counts as passed or skipped, and has a reason."""
        wrong = any(not finding.warning for finding in self.findings)
        return self.reason is not None and (self.status == "passed" or (self.status == "skipped" and wrong))

    def to_json(self) -> Json:
        place = _place(self.where)
        place.pop("column", None)
        return {
            "id": self.id,
            "title": self.title,
            "group": self.group,
            "status": self.status,
            **({} if self.level is None else {"level": self.level}),
            **({} if self.severity is None else {"severity": self.severity}),
            **({} if self.version is None else {"protocolVersion": self.version}),
            **({} if self.side is None else {"side": self.side}),
            "seconds": round(self.seconds, 6),
            **place,
            "findings": [finding.to_json() for finding in self.findings],
            **({} if self.reason is None else {"reason": self.reason}),
            **({} if self.framework is None else {"framework": self.framework}),
            **({"xfail": self.reason} if self.failed_as_expected and self.framework is None else {}),
            **({} if self.cause is None else {"cause": self.cause}),
            **({"after": list(self.after)} if self.after else {}),
            **({"tags": list(self.tags)} if self.tags else {}),
            **({"flaky": True} if self.flaky else {}),
            # What a test said is a report of its own; what proves that a requirement is broken belongs to the verdict.
            **({"wire": list(self.wire), "stderr": list(self.stderr)} if self.level and self.findings else {}),
        }


def run_id(outcome: Outcome) -> str:
    """The id of OUTCOME, which is used once in a run: of a check in several revisions, with the revision."""
    return outcome.id if outcome.version is None else f"{outcome.id} {outcome.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What an outcome is measured by, in the words of its catalogue."""

    id: str
    statement: str
    help: str = ""  # how it is checked, what to do
    remedy: str = ""  # what to do
    how: str = ""  # how it is checked
    address: str | None = None  # where the rule stands


class Remark(NamedTuple):
    """What is worth saying of a server, by the messages that show it."""

    message: str
    requirement: str | None = None  # that is broken
    proofs: tuple[str, ...] = ()  # the texts of those messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What a report shows to a person who looks into it, and no other report has; not part of the JSON."""

    sources: Mapping[str, str] = field(default_factory=dict)  # the texts of the test files, by their names
    again: Mapping[str, str] = field(default_factory=dict)  # the command line that runs an outcome again, by `run_id`
    reach: Mapping[str, str] = field(default_factory=dict)  # the words by which mcp-cli finds the server of a file
    grading: Mapping[str, str] = field(default_factory=dict)  # how a grade comes about, in sentences
    remarks: tuple[Remark, ...] = ()  # of judges
    rules: tuple[Rule, ...] = ()  # that these are about
    trace: str = "off"  # of which tests the frames were kept: on, off, retain-on-failure


NO_LOOKS = Looks()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All results of one run."""

    kind: str  # test, check
    target: str  # what was run against what, for people
    name: str = ""  # what the settings call the server
    server: Json = field(default_factory=dict)  # who the server says it is
    protocol_version: str | None = None
    started: str = ""  # ISO 8601
    seconds: float = 0.0
    outcomes: tuple[Outcome, ...] = ()
    warnings: tuple[Finding, ...] = ()  # that belong to no single outcome
    deselected: int = 0  # tests that were left out because others were chosen
    stopped: Stop | None = None  # why it ended early
    metrics: Mapping[str, Any] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()  # of a check: those that its outcomes are about; not part of the JSON
    source: str | None = None  # the file that outcomes belong to that have no place of their own
    looks: Looks = NO_LOOKS  # what only a report to look at needs

    @property
    def heading(self) -> str:
        """What was run, and the server's name in the settings."""
        return f"conductor {self.kind}: {self.name}" if self.name else f"conductor {self.kind}"

    @property
    def summary(self) -> dict[Status, int]:
        counts = Counter(outcome.status for outcome in self.outcomes)
        return {status: counts[status] for status in STATUSES}

    @property
    def red(self) -> bool:
        """Whether something failed, or was not run although it should have been."""
        return self.stopped is not None or any(outcome.status in BAD for outcome in self.outcomes)

    def to_json(self) -> Json:
        return {
            "kind": self.kind,
            "target": self.target,
            **({"name": self.name} if self.name else {}),
            "server": self.server,
            "protocolVersion": self.protocol_version,
            "started": self.started,
            "seconds": round(self.seconds, 6),
            "summary": {_KEYS.get(status, status): count for status, count in self.summary.items()}
            | {"deselected": self.deselected},
            **({} if self.stopped is None else {"stopped": self.stopped}),
            "warnings": [{**warning.to_json(), "warning": True} for warning in self.warnings],
            "outcomes": [outcome.to_json() for outcome in self.outcomes],
            "metrics": dict(self.metrics),
        }


def strict_outcome(outcome: Outcome, warnings: Iterable[Finding] = ()) -> Outcome:
    """OUTCOME with its own warnings, and the WARNINGS about its test, made failures; unless the test was not run."""
    if outcome.status not in ("passed", "warned", "failed") and not outcome.failed_as_expected:
        return outcome
    findings = (*outcome.findings, *warnings)
    if outcome.status != "warned" and len(findings) == len(outcome.findings):
        return outcome
    return replace(outcome, status="failed", findings=tuple(replace(each, warning=False) for each in findings))


def strict(report: Report) -> Report:
    """REPORT with every warning made a failure: those of tests, and those of files, each as an outcome of its own."""
    outcomes = [strict_outcome(each) for each in report.outcomes]
    for number, warning in enumerate(report.warnings, 1):
        where = warning.where
        file = "the run" if where is None else where.file
        outcomes.append(
            Outcome(
                id=f"{file}::warning {number}",
                title=f"warning {number}",
                group="--strict",
                status="failed",
                where=where,
                findings=(replace(warning, warning=False),),
            )
        )
    return replace(report, outcomes=tuple(outcomes), warnings=())


def _place(where: Location | None) -> Json:
    return {} if where is None else {"file": where.file, "line": where.line, "column": where.column}


def redacted(report: Report, redact: Callable[[str], str]) -> Report:
    """REPORT without what REDACT takes out of a text."""
    return replace(
        report,
        target=redact(report.target),
        name=redact(report.name),
        server=redacted_value(report.server, redact),
        outcomes=tuple(redacted_outcome(outcome, redact) for outcome in report.outcomes),
        warnings=tuple(_redacted_finding(warning, redact) for warning in report.warnings),
        metrics=redacted_value(report.metrics, redact),
        looks=_redacted_looks(report.looks, redact),
    )


def _redacted_looks(looks: Looks, redact: Callable[[str], str]) -> Looks:
    def texts(given: Mapping[str, str]) -> dict[str, str]:
        return {redact(name): redact(text) for name, text in given.items()}

    remarks = tuple(
        each._replace(message=redact(each.message), proofs=tuple(map(redact, each.proofs))) for each in looks.remarks
    )
    again = {name: redact(text) for name, text in looks.again.items()}  # of checks, whose names are never redacted
    return replace(
        looks, sources=texts(looks.sources), again=again | texts(looks.again), reach=texts(looks.reach), remarks=remarks
    )


def redacted_outcome(outcome: Outcome, redact: Callable[[str], str]) -> Outcome:
    """OUTCOME without what REDACT takes out of a text."""
    # The name of a requirement is ours, and programs look for it; so it is never redacted.
    own = str if outcome.level else redact
    return replace(
        outcome,
        id=own(outcome.id),
        title=own(outcome.title),
        group=own(outcome.group),
        findings=tuple(_redacted_finding(finding, redact) for finding in outcome.findings),
        where=_redacted_place(outcome.where, redact),
        reason=outcome.reason and redact(outcome.reason),
        wire=tuple(map(redact, outcome.wire)),
        stderr=tuple(redacted_lines(outcome.stderr, redact)),
        frames=_redacted_frames(outcome.frames, redact),
    )


def _redacted_frames(frames: "tuple[Frame, ...]", redact: Callable[[str], str]) -> "tuple[Frame, ...]":
    if not frames:
        return ()
    stderr = iter(redacted_lines([frame.text for frame in frames if frame.source == "stderr"], redact))
    return tuple(
        frame._replace(text=next(stderr) if frame.source == "stderr" else redact(frame.text)) for frame in frames
    )


def _redacted_finding(finding: Finding, redact: Callable[[str], str]) -> Finding:
    return replace(
        finding,
        message=redact(finding.message),
        path=finding.path and redact(finding.path),
        expected=redacted_value(finding.expected, redact),
        actual=redacted_value(finding.actual, redact),
        where=_redacted_place(finding.where, redact),
        hint=finding.hint and redact(finding.hint),
    )


def _redacted_place(where: Location | None, redact: Callable[[str], str]) -> Location | None:
    return where and replace(where, source=redact(where.source))


def redacted_value(value: Any, redact: Callable[[str], str]) -> Any:
    """A value of JSON without what REDACT takes out: of names too, and of numbers, which may be secrets as well."""
    try:
        return _redacted_copy(value, redact)
    except RecursionError:
        return redact(render(value))


def _redacted_copy(value: Any, redact: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return type(value)(redact(value))
    if isinstance(value, Mapping):
        return {redact(name): _redacted_copy(member, redact) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_redacted_copy(item, redact) for item in value]
        # Numbers of bytes, letters and parts of a text are a secret only together.
        return items if any(isinstance(item, (Mapping, list)) for item in items) else _as_written(items, redact)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _as_written(value, redact)
    return value


def _as_written(value: Any, redact: Callable[[str], str]) -> Any:
    """VALUE; or, if there is a secret in what is written for it, that text without it."""
    written = render(value)
    shown = redact(written)
    return value if shown == written else shown
