"""A check of one client: a polite scenario to find out what it does, then all others, and what came of it."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import Any

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.checks.engine.evidence import CAME, SENT, Line, lines_of
from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.judging import (
    CheckResult,
    Options,
    Verdicts,
    asked_for,
    outcome_of,
    without_consequences,
)
from mcp_conductor.checks.harness.client_record import (
    ANYTHING,
    NEVER,
    ClientConnection,
    ClientRecord,
    HttpRequest,
    meta_of,
    never,
)
from mcp_conductor.checks.harness.client_runs import ClientRuns, RunProgress
from mcp_conductor.checks.harness.run_client import Command
from mcp_conductor.checks.harness.scenario import PLAIN, SCENARIOS, WATCHED, Watched, look_of
from mcp_conductor.checks.requirements import Requirement
from mcp_conductor.errors import ProtocolError, TransportError, UsageError
from mcp_conductor.protocol.dialect import META, NEWEST_HANDSHAKE
from mcp_conductor.report.model import Finding, Outcome
from mcp_conductor.text.error_lines import cause
from mcp_conductor.text.visible import cut

_MOST_FRAMES = 2000  # in which a proof is looked for
_EXPECTED = (
    "CMD names the server by {server}, {url} or {config}, or the client reads CONDUCTOR_SERVER_COMMAND, CONDUCTOR_URL "
    "or CONDUCTOR_CONFIG"
)


async def check_client(
    command: Command,
    version: str | None,
    options: Options,
    scenarios: Collection[str] = (),
    progress: RunProgress | None = None,
) -> Verdicts:
    """Check the client that COMMAND starts, in VERSION or in the revision that it wants itself.

    With SCENARIOS, only what they show is judged; the polite one is played before them in any case.
    Raises when it cannot be started, never connects, or does not speak VERSION.
    """
    try:
        directory = tempfile.mkdtemp(prefix="conductor-")
    except OSError as error:
        hint = "TMPDIR names another place for them"
        raise UsageError(f"cannot write temporary files: {error.strerror}", hint=hint) from error
    try:
        runs = ClientRuns(command, directory, options.timeout, progress or RunProgress())
        return await _Checking(command, version, options, scenarios, runs).run()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def wanted_checks(options: Options, version: str, transport: str) -> list[tuple[Requirement, Watched]]:
    """The requirements that are to be checked here, with how."""
    found = []
    for each in asked_for(options, "client"):
        # A client that speaks HTTP may fall back to HTTP+SSE, also where it prefers another transport.
        old = transport == "http" and each.transports == ("sse",)
        if (old or each.holds_for(version, transport)) and each.id in WATCHED:
            found.append((each, WATCHED.get(each.id)))
    return found


class _Checking:
    def __init__(
        self, command: Command, version: str | None, options: Options, scenarios: Collection[str], runs: ClientRuns
    ) -> None:
        self._command = command
        self._version = version
        self._options = options
        self._scenarios = scenarios
        self._runs = runs

    async def run(self) -> Verdicts:
        plain = await self._runs.begin(self._version)
        try:
            version = self._spoken_revision(plain)
        except ProtocolError:
            # What cannot be read cannot be answered; but it can be judged.
            if not any(message.kind == "invalid" for message in plain.said):
                raise
            version = self._version or NEWEST_HANDSHAKE.version
            chosen = self._chosen_requirements(version, plain)
        else:
            chosen = self._chosen_requirements(version, plain)
            names = {name for _, each in chosen for name in self._names(each)} - {PLAIN}
            fitting = {name for name in names if SCENARIOS.get(name).fits(version, plain.connection.transport)}
            shows = None if self._scenarios else _no_fault_in(chosen, plain)
            await self._runs.go_on(version, fitting, plain, shows)
        outcomes, pace = [], Pace()
        for requirement, each in chosen:
            outcomes.append(outcome_of(requirement, self._judge(each)))
            await pace.keep()
        outcomes = without_consequences(outcomes, look_of)
        partial = "--scenario leaves something out" if self._scenarios else None
        if plain.is_idle and plain.requests():  # who sends no request at all is judged by what it sends instead
            partial = never(ANYTHING)
        return Verdicts(
            version,
            _introduction(plain),
            outcomes,
            _remarks(self._runs, outcomes),
            transport=plain.connection.transport,
            partial=self._runs.given_up if self._runs.left_out else partial,
        )

    def _chosen_requirements(self, version: str, plain: ClientRecord) -> list[tuple[Requirement, Watched]]:
        found = wanted_checks(self._options, version, plain.connection.transport)
        return [(requirement, each) for requirement, each in found if not each.scenarios or self._names(each)]

    def _names(self, each: Watched) -> tuple[str, ...]:
        """The scenarios in which a requirement is judged, of those that are asked for."""
        names = each.scenarios or (tuple(self._scenarios) or tuple(self._runs.records))
        return tuple(name for name in names if not self._scenarios or name in self._scenarios)

    def _spoken_revision(self, plain: ClientRecord) -> str:
        """The revision of the polite scenario."""
        if not plain.connections:
            raise _never_connected(self._command, plain)
        dialect = plain.connection.dialect
        asked = plain.connection.initialize.get("protocolVersion")
        if dialect is not None and (plain.connection.went_on or asked == dialect.version):
            return dialect.version
        if dialect is not None and self._version is None:
            raise ProtocolError("the client went away as soon as it was connected", hint=_last_words(plain))
        if dialect is None and plain.outcome == "flooded":
            raise ProtocolError("the client said too much, or connected too often, before it agreed on a revision")
        spoken = self._version or "any revision that is known here"
        raise ProtocolError(f"the client does not speak {spoken}", hint=_last_words(plain))

    def _judge(self, each: Watched) -> CheckResult:
        """What is found in the scenarios of a requirement, or the reason why there was nothing to see."""
        records = [self._runs.records[name] for name in self._names(each) if name in self._runs.records]
        if not each.scenarios:
            records = _one_for_each_start(records)
        told: set[str] = set()
        result = CheckResult([])
        reasons: list[str] = []
        for record in records:
            part = CheckResult([])  # each is proven by what was said in its own scenario
            try:
                for finding in each.judge(record):
                    if finding.message not in told:
                        told.add(finding.message)
                        part.findings.append(_with_place(finding, record))
            except NotSeen as nothing:
                reasons.append((record.lacking() if each.scenarios else None) or str(nothing))
            if part.findings:
                lines = [*_lines_of(record), *_http_lines(part.findings)]
                part.findings = [replace(each, beside=tuple(map(_in_line, each.beside))) for each in part.findings]
                part.prove(lines, alone=False, whole=self._options.keep_wire)
                result.add(part)
        if not records:
            left_out = set(self._names(each)) & set(self._runs.left_out)
            left_out_because = self._runs.given_up if left_out else None
            reasons.append(left_out_because or "its scenario is not for this transport and revision")
        if not told and len(reasons) >= max(1, len(records)):
            result.reason = reasons[0]
        return result


def _lines_of(record: ClientRecord) -> list[str]:
    """What was said in RECORD, on all connections; as much of it as a proof is looked for in."""
    frames = (frame for each in record.connections for frame in each.transcript.frames)
    return lines_of(islice(frames, _MOST_FRAMES))


def _http_lines(findings: list[Finding]) -> list[str]:
    """The requests over HTTP that FINDINGS blame, each with the status of its answer."""
    blamed = {id(each): each for finding in findings for each in finding.beside if isinstance(each, HttpRequest)}
    lines: list[str] = []
    for each in sorted(blamed.values(), key=lambda one: one.at):
        lines.append(Line(SENT + each.line, each.at))
        if each.status:
            lines.append(Line(f"{CAME}HTTP {each.status}", each.at))
    return lines


def _in_line(value: Any) -> Any:
    return value.line if isinstance(value, HttpRequest) else value


def _one_for_each_start(records: list[ClientRecord]) -> list[ClientRecord]:
    """The first of RECORDS for each start of the client, which may have shown several scenarios."""
    found: dict[int, ClientRecord] = {}
    for record in records:
        found.setdefault(id(record.connections), record)
    return list(found.values())


def _no_fault_in(chosen: list[tuple[Requirement, Watched]], plain: ClientRecord) -> Callable[[ClientRecord], bool]:
    """What tells whether the record of a scenario that was played with others shows that all is well with it.

    The client did all that it does with the polite server, and nothing is found that is not found there. What it gave
    no occasion for, it would not do in a start of its own either.
    """
    everywhere = [(each, _messages(each, plain)) for _, each in chosen if not each.scenarios]
    starts: list[tuple[list[ClientConnection], bool]] = []  # and whether nothing is wrong with what was said in each

    def is_right(record: ClientRecord) -> bool:
        for connections, right in starts:
            if connections is record.connections:
                return right
        starts.append((record.connections, not any(_messages(each, record) - known for each, known in everywhere)))
        return starts[-1][1]

    def shows(record: ClientRecord) -> bool:
        if record.outcome != plain.outcome or record.stopped_short() is not None:
            return False
        own = (each for _, each in chosen if record.name in each.scenarios)
        return is_right(record) and not any(_messages(each, record) for each in own)

    return shows


def _messages(each: Watched, record: ClientRecord) -> set[str]:
    """What is found in one record."""
    found = set()
    with suppress(NotSeen):
        for finding in each.judge(record):
            found.add(finding.message)
    return found


def _remarks(runs: ClientRuns, outcomes: list[Outcome]) -> list[str]:
    """What many checks lacked, a line for each reason."""
    told = []
    if runs.left_out:
        told.append(f"{runs.given_up}: {_count_of(len(runs.left_out), 'scenario')} could not be played")
    reasons = Counter(each.reason for each in outcomes if each.status == "skipped" and each.reason is not None)
    lacks = [(reason, times) for reason, times in reasons.most_common() if reason.startswith(NEVER)]
    return told + [f"{reason}: {_count_of(times, 'check')} could not run" for reason, times in lacks]


def _count_of(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _with_place(finding: Finding, record: ClientRecord) -> Finding:
    if record.name == PLAIN or finding.hint is not None:
        return finding
    return replace(finding, hint=f"in the scenario {record.name!r}")


def _never_connected(command: Command, plain: ClientRecord) -> TransportError | UsageError:
    """Why there is nothing to check: the client was not told where the server is, or did not get there."""
    how = "did not end in time" if plain.exit_code is None else f"ended with exit code {plain.exit_code}"
    message = f"the client never connected to the server; it {how}"
    if command.has_place:
        return TransportError(message, hint=_last_words(plain))
    return UsageError(message, hint=_EXPECTED)


def _last_words(plain: ClientRecord) -> str | None:
    lines = [line.strip() for line in plain.out + plain.err if line.strip()]
    if why := cause(lines):
        return f"it said: {cut(why, 300)}"
    return f"its last words: {cut(lines[-1], 300)}" if lines else None


def _introduction(plain: ClientRecord) -> dict[str, object]:
    """Who the client says it is."""
    named: Iterator[Any] = (meta_of(each).get(f"{META}clientInfo") for each in plain.requests())
    for found in (plain.connection.initialize.get("clientInfo"), *named):
        if isinstance(found, dict):
            return found
    return {}


__all__ = ["Command", "check_client", "wanted_checks"]
