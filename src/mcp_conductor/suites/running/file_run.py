"""The tests of one file on one server, each when it is asked for: the engine of `conductor test` and of pytest.

A server is started for the first test and kept, as the file's isolation says. Where a test needs what another one
captures, and that has not been run, the other one is run first.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.client.held_context import HeldContext
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.report.events import Event, ServerLost, ServerStarted, Warned
from mcp_conductor.report.model import BAD, Finding, Outcome
from mcp_conductor.suites.language.suite import Case
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.cases import Cases, Memory
from mcp_conductor.suites.running.connecting import converse
from mcp_conductor.suites.running.conversation import Conversation
from mcp_conductor.suites.running.coverage import Touched
from mcp_conductor.suites.running.job import Job, RunOptions, patience, recording_for, redactor_for
from mcp_conductor.suites.running.snapshots import Snapshots


def _server(
    job: Job, options: RunOptions, variables: Variables, kinds: set[str]
) -> AbstractAsyncContextManager[Conversation]:
    return converse(
        job.spec,
        protocol=job.protocol,
        kinds=kinds,
        timeout=patience(job, options),
        redactor=redactor_for(options, job, variables),
        lenient=options.lenient,
        recording=recording_for(options, job),
    )


class SharedServers:
    """One server for all files that have the same spec and revision: `isolation: run`."""

    def __init__(self, jobs: Collection[Job], options: RunOptions, variables: Variables) -> None:
        self._options = options
        self._variables = variables
        self._kinds: set[str] = set().union(*(job.suite.kinds for job in jobs))
        self._open: dict[tuple[int, str | None], tuple[HeldContext[Conversation], Conversation]] = {}

    async def conversation(self, job: Job) -> Conversation:
        """The server for JOB: a new one if none runs, or if it is gone."""
        key = (id(job.spec), job.protocol)
        if key in self._open:
            held, conversation = self._open[key]
            if not conversation.over and not conversation.lost:
                return conversation
            del self._open[key]
            await held.close()
        held = HeldContext(_server(job, self._options, self._variables, self._kinds))
        conversation = await held.open()
        self._open[key] = (held, conversation)
        return conversation

    async def close(self) -> None:
        while self._open:
            held, _ = self._open.popitem()[1]
            await held.close()


class FileRun:
    """The tests of one job, one at a time, in any order; its creator closes it."""

    def __init__(
        self,
        job: Job,
        options: RunOptions,
        variables: Variables,
        snapshots: Snapshots,
        *,
        chosen: Collection[Case] | None = None,  # the tests whose outcomes are reported; None: all of the job
        shared: SharedServers | None = None,
        tell: Callable[[Event], None],
    ) -> None:
        suite = job.suite
        self._job = job
        self._options = options
        self._variables = variables
        self._shared = shared
        self._tell = tell
        self._chosen = {id(case) for case in (job.cases if chosen is None else chosen)}
        self._memory = Memory(
            variables.seeded_for(suite.file).defining(suite.vars), redactor_for(options, job, variables)
        )
        self._cases = Cases(
            suite, self._memory, snapshots, suffix=job.suffix, keep_wire=options.keep_wire, trace=options.trace
        )
        self._places = {id(case): place for place, case in enumerate(suite.cases)}
        self._captures: dict[str, list[int]] = {}  # the places of the tests that capture a name
        for place, case in enumerate(suite.cases):
            for name in case.step.captures:
                self._captures.setdefault(name, []).append(place)
        self._held: HeldContext[Conversation] | None = None
        self._conversation: Conversation | None = None
        self._start = 0  # the frame with which our part of the conversation begins
        self._failure: ConductorError | None = None  # why no server is started any more
        self._setup: tuple[Finding, ...] = ()  # what went wrong in setup
        self._told = False  # whether one of these two has been reported as an outcome
        self._why = ""  # the same in words, for the tests that are not run because of it
        self._last: Case | None = None
        self._done: set[int] = set()  # tests that have been run
        self._early: dict[int, Outcome] = {}  # of tests that were run because others needed them
        self._after: dict[int, list[str]] = {}  # what was run early for a test, and is reported only there
        self.server: Json = {}
        self.protocol_version: str | None = None
        self.touched: Touched | None = None

    @property
    def isolation(self) -> str:
        return self._options.isolation or self._job.suite.isolation or "file"

    @property
    def replies(self) -> dict[str, Json]:
        """What the server answered, by test, to be compared with the answers of another server."""
        return self._memory.replies

    def not_run(self, case: Case, why: str) -> Outcome:
        """The outcome of a test that was to be run, and is not; unless it has been, because another one needed it."""
        known = self._early.pop(id(case), None) or self._cases.skip_outcome(case)
        return known or self._cases.outcome(case, "not-run", reason=why)

    def try_again(self) -> None:
        """Start a server for the next test, although one could not be started, or was lost."""
        self._failure, self._setup, self._told = None, (), False

    async def ready(self, case: Case) -> Outcome | None:
        """Give CASE a server and what it needs from other tests; returns an outcome if that is impossible."""
        if id(case) in self._early or case.skip is not None:
            return None
        for giver in self._givers(case):
            outcome = await self._run_early(giver)
            if id(giver) in self._chosen:
                self._early[id(giver)] = outcome
                continue
            self._after.setdefault(id(case), []).append(giver.title)
            if outcome.status in BAD:  # which is not reported elsewhere
                findings = outcome.findings
                if outcome.cause is None:
                    findings = tuple(_in_giver(giver, finding) for finding in findings)
                return self._cases.outcome(
                    case, "errored", findings=findings, stderr=outcome.stderr, cause=outcome.cause
                )
        if self._conversation is None and self._failure is None and not self._setup:
            await self._open()
        if self._failure is None and not self._setup:
            return None
        if self._told:
            return self._cases.outcome(case, "not-run", reason=self._why, cause=self._cause)
        self._told = True
        if self._failure is not None:
            return self._cases.error_outcome(case, self._failure, cause="server")
        return self._cases.outcome(case, "errored", findings=self._setup)

    @property
    def _cause(self) -> str | None:
        return None if self._failure is None else "server"

    async def run(self, case: Case, following: Case | None = None) -> Outcome:
        """Run CASE: its outcome. FOLLOWING is the one that is run next, if that is certain."""
        if id(case) in self._early:
            return self._early.pop(id(case))
        self._done.add(id(case))
        skipped = self._cases.skip_outcome(case)
        if skipped is not None:
            return skipped
        # Nearly always a server is there, and no test needs another.
        unready = await self.ready(case) if self._conversation is None or self._captures else None
        if unready is not None:
            return unready
        if self._captures or self.isolation == "test":
            following = None  # another one may come first, or another server
        outcome = await self._run_one(case, following)
        after = self._after.pop(id(case), None)
        return replace(outcome, after=tuple(after)) if after else outcome

    async def _run_one(self, case: Case, following: Case | None) -> Outcome:
        assert self._conversation is not None  # case is ready
        self._last = case
        lost: ConductorError | None
        try:
            outcome, lost = await self._cases.run(case, self._conversation, following)
        except ConductorError as error:
            outcome, lost = self._cases.error_outcome(case, error), error
        if lost is not None and not self._goes_on:
            self._give_up(lost, case)
            if outcome.status in BAD:  # that a server goes away may be the failure that a test expects
                outcome = replace(outcome, cause="server")
        if lost is not None or self._conversation.over:
            await self._leave()
        return outcome

    @property
    def _goes_on(self) -> bool:
        """Whether the next test gets a new server, although the server of this one is gone."""
        return self._options.restart or self.isolation == "test"

    def _give_up(self, error: ConductorError, case: Case) -> None:
        self._lose_server(error)
        self._told = True
        line = f" (line {case.where.line})" if case.where is not None else ""
        self._why = f"the server went away after {case.title!r}{line}"

    def _lose_server(self, error: ConductorError) -> None:
        self._failure = error
        self._tell(ServerLost(file=self._job.suite.file, message=self._cases.redact(error.message)))

    async def finish(self) -> Outcome | None:
        """End our use of the server, if there is one; if teardown fails, that is an outcome."""
        if self._conversation is None:
            return None
        steps = self._job.suite.teardown
        try:
            findings = await self._cases.hooks("teardown", steps, self._conversation)
        except ConductorError as error:
            findings = (Finding(message=f"teardown: {error.message}", hint=error.hint, where=error.where),)
        finally:
            await self._leave()
        if not findings or self._last is None:
            return None
        title = f"teardown after {self._last.name!r}" if self.isolation == "test" else "teardown"
        return self._cases.teardown(title, steps[0], findings)

    async def close(self) -> None:
        """End the server, without teardown; a run that is stopped must not wait for judges."""
        await self._leave(judged=False)

    async def _run_early(self, case: Case) -> Outcome:
        outcome = await self.run(case)
        teardown = await self.finish() if self.isolation == "test" else None
        if teardown is None:
            return outcome
        return replace(outcome, status="failed", findings=(*outcome.findings, *teardown.findings))

    # The server.

    async def _open(self) -> None:
        try:
            if self._shared is not None:
                self._conversation = await self._shared.conversation(self._job)
            else:
                held = HeldContext(_server(self._job, self._options, self._variables, self._job.suite.kinds))
                self._conversation = await held.open()
                self._held = held
            session = self._conversation.session
            self._start = session.transcript.mark
            self.server, self.protocol_version = session.server, session.dialect.version
            file = self._job.suite.file
            self._tell(ServerStarted(file=file, server=self.server, protocol_version=self.protocol_version))
            if self._options.coverage and self.touched is None:
                self.touched = await Touched.of(session)  # now: a test may end the server
            self._setup = await self._cases.hooks("setup", self._job.suite.setup, self._conversation)
            self._why = "setup failed"
        except ConductorError as error:
            self._lose_server(error)
            self._why = (
                "the server could not be started" if self._conversation is None else "the server went away in setup"
            )
        if self._failure is not None or self._setup:
            await self._leave()

    async def _leave(self, *, judged: bool = True) -> None:
        held, conversation = self._held, self._conversation
        self._held = self._conversation = None
        try:
            if conversation is not None:
                await self._conclude(conversation, judged=judged)
        finally:
            if held is not None:
                await held.close()

    async def _conclude(self, conversation: Conversation, *, judged: bool) -> None:
        """Report what concerns a conversation as a whole."""
        session = conversation.session
        if self.touched is not None:
            self.touched.use(session.transcript)
        if forgotten := str(session.transcript.forgotten):
            self._tell(Warned(message=f"{self._job.suite.file}: {forgotten}"))
        if judged and self._options.judge is not None:
            said = session.transcript.since(self._start)
            for remark in await without_blocking(self._options.judge, session, said, self._job.spec):
                self._tell(Warned(message=remark.message))
                if self._options.trace is not None:
                    self._options.trace.remarks.append(remark)

    def _givers(self, case: Case) -> Iterator[Case]:
        """The tests that have to be run before CASE, for what they capture."""
        cases = self._job.suite.cases
        for name in sorted(case.step.needs & self._captures.keys()) if self._captures else ():
            before = bisect_left(self._captures[name], self._places[id(case)])
            giver = cases[self._captures[name][before - 1]] if before else None  # the last one: it has the value
            if giver is not None and id(giver) not in self._done:
                yield giver


def _in_giver(giver: Case, finding: Finding) -> Finding:
    return replace(finding, message=f"{giver.title!r}, which was run first for what it captures: {finding.message}")
