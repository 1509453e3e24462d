"""A check of one server: a walk to judge, probes to provoke, and what came of each requirement."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from mcp_conductor.checks import CHECKS, Check, NotSeen
from mcp_conductor.checks.authorization import Stranger
from mcp_conductor.checks.probe import Found, Probe, patient, transport_of
from mcp_conductor.checks.record import Record
from mcp_conductor.checks.requirements import Requirement, requirements
from mcp_conductor.checks.walk import walk
from mcp_conductor.errors import ConductorError, HttpStatusError, RequestTimeout, TransportError
from mcp_conductor.opening import connect
from mcp_conductor.protocol.answers import Answers
from mcp_conductor.protocol.dialect import DIALECTS, TASKS_EXTENSION
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.report import Finding, Outcome, Status
from mcp_conductor.session import Session

AT_ONCE = 4  # sessions of probes that run at the same time
MOST_FINDINGS = 5  # of one requirement that are shown
PROTECTED = "auth-server"  # the group of requirements that can be seen without a login
NEEDS_A_SESSION = "auths-token-every-request"
WEIGHTS = {"MUST": 10, "SHOULD": 3, "MAY": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to check."""

    timeout: float = 2.0
    call: Collection[str] | str = ()
    levels: Collection[str] = ("MUST", "SHOULD", "MAY")
    only: Collection[str] = ()  # groups or ids
    skip: Collection[str] = ()


@dataclass(slots=True)
class Verdicts:
    """What was found out about one server in one revision."""

    version: str
    server: dict[str, object] = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)


def chosen(options: Options, version: str, transport: str, subject: str = "server") -> list[tuple[Requirement, Check]]:
    """The requirements that are to be checked here, with how."""
    found = []
    for name, each in requirements().items():
        wanted = not options.only or name in options.only or each.group in options.only
        left_out = name in options.skip or each.group in options.skip
        fits = each.subject == subject and each.level in options.levels and each.holds_for(version, transport)
        if wanted and not left_out and fits and name in CHECKS:
            found.append((each, CHECKS.get(name)))
    return found


async def check(
    spec: ServerSpec, version: str, options: Options, on_outcome: Callable[[Outcome], None] = lambda _: None
) -> Verdicts:
    """Check the server of SPEC in the revision VERSION. Raises when no conversation can be opened at all."""
    return await _Checking(spec, version, options, on_outcome).run()


class _Checking:
    def __init__(self, spec: ServerSpec, version: str, options: Options, on_outcome: Callable[[Outcome], None]) -> None:
        self._spec = spec
        self._version = version
        self._options = options
        self._on_outcome = on_outcome
        self._records: list[Record] = []
        self._verdicts = Verdicts(version)

    async def run(self) -> Verdicts:
        wanted = chosen(self._options, self._version, transport_of(self._spec))
        try:
            await self._inside(wanted)
        except HttpStatusError as error:
            if error.status != 401:
                raise
            await self._outside(wanted)
        order = {name: index for index, name in enumerate(requirements())}
        self._verdicts.outcomes.sort(key=lambda outcome: order[outcome.id])
        return self._verdicts

    async def _outside(self, wanted: list[tuple[Requirement, Check]]) -> None:
        """A server that lets nobody in: only how it refuses can be seen."""
        stranger: Any = Stranger(self._spec, DIALECTS[self._version], self._options.timeout)
        for requirement, each in wanted:
            if requirement.group == PROTECTED and requirement.id != NEEDS_A_SESSION and each.probe is not None:
                await self._probed(requirement, each, stranger)
            else:
                self._conclude(requirement, [], reason="the server wants a token: --token, or --header")

    async def _inside(self, wanted: list[tuple[Requirement, Check]]) -> None:
        async with self._connected() as session:
            found = await walk(session, self._options.call)
            probe = Probe(session, self._spec, found, self._options.timeout)
            record = probe.record()
            self._records.append(record)
            self._verdicts.server = session.server
            for requirement, each in wanted:
                if each.probe is not None and not each.alone:
                    await self._probed(requirement, each, probe)
            await self._alone([pair for pair in wanted if pair[1].probe is not None and pair[1].alone], probe)
            # Last: what the server said to probes is judged too.
            for requirement, each in wanted:
                if each.judge is not None:
                    self._judged(requirement, each, record)

    def _connected(self) -> AbstractAsyncContextManager[Session]:
        answers = Answers(roots=[], sampling="auto", elicitation="auto")
        return connect(
            patient(self._spec),
            protocol=self._version,
            answers=answers,
            timeout=self._options.timeout,
            extensions={TASKS_EXTENSION: {}},
        )

    async def _alone(self, wanted: list[tuple[Requirement, Check]], probe: Probe) -> None:
        """Probes that need a session of their own; some at a time."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(requirement: Requirement, each: Check) -> None:
            async with gate:
                await self._probed(requirement, each, probe)

        await asyncio.gather(*(one(requirement, each) for requirement, each in wanted))

    async def _probed(self, requirement: Requirement, each: Check, probe: Probe) -> None:
        assert each.probe is not None
        if each.needs is not None and not probe.declares(each.needs):
            self._conclude(requirement, [], reason=f"the server does not declare {each.needs}")
            return
        began = perf_counter()
        found: list[Finding] = []
        reason: str | None = None
        try:
            async for finding in each.probe(probe):
                found.append(finding)  # noqa: PERF401  # what was found before a failure counts
        except NotSeen as nothing:
            reason = str(nothing)
        except RequestTimeout as error:
            found.append(Finding(message=f"{error.message}: the server is silent", hint=error.hint))
        except TransportError as error:
            found.append(Finding(message=error.message, hint=error.hint))
        except ConductorError as error:
            found.append(Finding(message=error.message, hint=error.hint))
        self._conclude(requirement, found, reason=reason, seconds=perf_counter() - began)

    def _judged(self, requirement: Requirement, each: Check, record: Record) -> None:
        assert each.judge is not None
        if each.needs is not None and not record.declares(each.needs):
            self._conclude(requirement, [], reason=f"the server does not declare {each.needs}")
            return
        reason: str | None = None
        found: list[Finding] = []
        try:
            for finding in each.judge(record):
                found.append(finding)  # noqa: PERF402  # what was found before there was nothing more to see counts
        except NotSeen as nothing:
            reason = str(nothing)
        self._conclude(requirement, found, reason=reason)

    def _conclude(
        self, requirement: Requirement, found: Iterable[Finding], *, reason: str | None = None, seconds: float = 0.0
    ) -> None:
        findings = tuple(found)
        status: Status = "skipped" if reason is not None else "passed"
        if findings:
            status = "failed" if requirement.level == "MUST" else "warned"
        outcome = Outcome(
            id=requirement.id,
            title=requirement.statement,
            group=requirement.group,
            status=status,
            level=requirement.level,
            seconds=seconds,
            findings=findings[:MOST_FINDINGS],
            reason=reason if status == "skipped" else None,
        )
        self._verdicts.outcomes.append(outcome)
        self._on_outcome(outcome)


def score(outcomes: Iterable[Outcome]) -> float:
    """0 to 100: what is kept of all that could be seen, a MUST counting 10, a SHOULD 3 and a MAY 1."""
    seen = [outcome for outcome in outcomes if outcome.status != "skipped"]
    total = sum(WEIGHTS[outcome.level or "MAY"] for outcome in seen)
    kept = sum(WEIGHTS[outcome.level or "MAY"] for outcome in seen if outcome.status == "passed")
    return 100.0 if not total else round(100 * kept / total, 1)


__all__ = ["Found", "Options", "Verdicts", "check", "chosen", "score"]
