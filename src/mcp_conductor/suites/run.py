"""A run: files against servers, so many at a time, each with a server of its own unless told otherwise."""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from mcp_conductor.errors import ConductorError, TransportError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.server_spec import ServerSpec, secrets_of_server
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.redaction import Redactor
from mcp_conductor.report import Finding, Outcome
from mcp_conductor.session import Session
from mcp_conductor.suites.cases import Cases, Memory
from mcp_conductor.suites.conversation import Conversation, converse
from mcp_conductor.suites.coverage import Touched
from mcp_conductor.suites.snapshots import Snapshots
from mcp_conductor.suites.suite import Case, Suite
from mcp_conductor.suites.variables import Variables
from mcp_conductor.worker import without_blocking

DEFAULT_SECONDS = 10.0  # for each request

Judge = Callable[[Session, list[Frame], ServerSpec], list[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to run."""

    isolation: str | None = None  # None: as the file says, or one server per file
    jobs: int = 1
    timeout: float = DEFAULT_SECONDS
    restart: bool = False  # go on with a new server when one has died
    max_failures: int | None = None
    keep_wire: bool = False
    update_snapshots: bool = False
    frozen_snapshots: bool = False
    snapshot_paths: Mapping[str, str] = field(default_factory=dict)
    coverage: bool = False
    lenient: bool = False  # open conversations as mcp-aegis does
    judge: Judge | None = None  # what else there is to say of a server, by what was said
    redactor: Redactor = field(default_factory=Redactor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The tests of one file on one server in one revision."""

    suite: Suite
    cases: tuple[Case, ...]
    spec: ServerSpec
    protocol: str | None = None
    suffix: str = ""  # what tells it from other jobs of the same file


def variants(suite: Suite) -> Iterator[tuple[str | None, str | None, str]]:
    """What SUITE wants to be run on: the name of a server and a revision, and what tells it from the others."""
    protocols: tuple[str | None, ...] = suite.protocols or (None,)
    names: tuple[str | None, ...] = suite.transports or (suite.server,)
    for name in names:
        for protocol in protocols:
            parts = [name if suite.transports else None, protocol if suite.protocols else None]
            told = ", ".join(part for part in parts if part)
            yield name, protocol, f" [{told}]" if told and len(names) * len(protocols) > 1 else ""


def learned(options: Options, job: Job, variables: Variables) -> Redactor:
    """The redactor of the run, which knows what must not be shown of the variables and of the server's settings."""
    options.redactor.learn([*variables.secrets, *secrets_of_server(job.spec)])
    return options.redactor


def server_for(job: Job, options: Options, variables: Variables) -> AbstractAsyncContextManager[Conversation]:
    """A server for the tests of one file."""
    return converse(
        job.spec,
        protocol=job.protocol,
        kinds=job.suite.kinds,
        timeout=job.suite.timeout or options.timeout,
        redactor=learned(options, job, variables),
        lenient=options.lenient,
    )


@dataclass(slots=True)
class Result:
    """What came of one job."""

    job: Job
    outcomes: list[Outcome] = field(default_factory=list)
    replies: dict[str, Json] = field(default_factory=dict)
    server: Json = field(default_factory=dict)
    protocol_version: str | None = None
    touched: Touched | None = None
    could_not_run: bool = False  # a server could not be started, or went away
    obsolete: list[str] = field(default_factory=list)  # snapshots
    written: int = 0  # snapshots
    remarks: list[str] = field(default_factory=list)  # of the judge


class Runner:
    """Runs jobs, and tells of each outcome as it comes."""

    def __init__(
        self,
        options: Options,
        variables: Variables,
        on_outcome: Callable[[Job, Outcome], None],
        on_done: Callable[[Job, list[Outcome]], None],
    ) -> None:
        self._options = options
        self._variables = variables
        self._on_outcome = on_outcome
        self._on_done = on_done
        self._failures = 0
        self._snapshots: dict[str, Snapshots] = {}
        self.unwritten: list[UsageError] = []  # why snapshots could not be written
        self.results: list[Result] = []  # of the jobs that have begun, and of those that have not

    @property
    def stopped(self) -> bool:
        """Whether there have been as many failures as one wants to see."""
        return self._options.max_failures is not None and self._failures >= self._options.max_failures

    async def run(self, jobs: list[Job]) -> list[Result]:
        self.results = results = [Result(job) for job in jobs]
        if self._options.isolation == "run":
            await self._run_together(results)
        else:
            await self._run_apart(results)
        _compare_transports(results)
        self._keep_snapshots(results)
        for result in results:
            if result.job.suite.transports:  # only now are their outcomes what they are
                self._on_done(result.job, result.outcomes)
        return results

    def _keep_snapshots(self, results: list[Result]) -> None:
        for result in results:
            snapshots = self._snapshots.get(result.job.suite.file)
            if snapshots is None:
                continue
            titles = {case.title for case in result.job.suite.cases}
            result.obsolete = snapshots.obsolete(titles)
            try:
                snapshots.save(titles)
                result.written = snapshots.written
            except UsageError as error:
                self.unwritten.append(error)
            del self._snapshots[result.job.suite.file]  # jobs of one file share them

    async def _run_apart(self, results: list[Result]) -> None:
        waiting = list(reversed(results))

        async def work() -> None:
            while waiting and not self.stopped:
                await self._run_file(waiting.pop())

        workers = [asyncio.ensure_future(work()) for _ in range(min(self._options.jobs, len(results)))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    async def _run_together(self, results: list[Result]) -> None:
        """All files on one server, for each server and revision."""
        kinds: set[str] = set().union(*(result.job.suite.kinds for result in results))
        shared: dict[Any, list[Result]] = {}
        for result in results:
            shared.setdefault((id(result.job.spec), result.job.protocol), []).append(result)
        for some in shared.values():
            async with AsyncExitStack() as stack:
                conversation: Conversation | None = None
                for result in some:
                    if self.stopped:
                        return
                    if conversation is None or conversation.over or conversation.lost:
                        conversation = await self._opened(result, stack, kinds)
                    await self._run_file(result, conversation)

    async def _opened(self, result: Result, stack: AsyncExitStack, kinds: set[str]) -> Conversation | None:
        job = result.job
        try:
            return await stack.enter_async_context(
                converse(
                    job.spec,
                    protocol=job.protocol,
                    kinds=kinds,
                    timeout=self._options.timeout,
                    redactor=learned(self._options, job, self._variables),
                    lenient=self._options.lenient,
                )
            )
        except ConductorError:
            return None  # the file will find out, and say so

    # One file.

    async def _run_file(self, result: Result, shared: Conversation | None = None) -> None:
        suite = result.job.suite
        redactor = learned(self._options, result.job, self._variables)
        memory = Memory(self._variables.seeded_for(suite.file).defining(suite.vars), redactor)
        chosen = {id(case) for case in result.job.cases}
        for case in suite.cases:
            if id(case) not in chosen:  # a test that was not chosen gives nothing to those that were
                memory.missing.update(dict.fromkeys(case.step.captures, case.title))
        snapshots = self._snapshots.get(suite.file)
        if snapshots is None:
            snapshots = self._snapshots[suite.file] = Snapshots(
                suite.file,
                update=self._options.update_snapshots,
                frozen=self._options.frozen_snapshots,
                paths=self._options.snapshot_paths,
            )
        cases = Cases(suite, memory, snapshots, suffix=result.job.suffix, keep_wire=self._options.keep_wire)
        await self._run_cases(result, cases, shared)
        result.replies = memory.replies
        if not suite.transports:
            self._on_done(result.job, result.outcomes)

    async def _run_cases(self, result: Result, cases: Cases, shared: Conversation | None) -> None:
        left = list(reversed(result.job.cases))
        isolation = self._options.isolation or result.job.suite.isolation or "file"
        while left and not self.stopped:
            skipped = cases.skipped(left[-1])
            if skipped is not None:
                self._tell(result, skipped)
                left.pop()
                continue
            try:
                if shared is not None:
                    lost = await self._on_one_server(result, cases, left, shared, one=False)
                    shared = None
                else:
                    async with server_for(result.job, self._options, self._variables) as conversation:
                        lost = await self._on_one_server(result, cases, left, conversation, one=isolation == "test")
            except ConductorError as error:
                lost = error
            goes_on = self._options.restart and isinstance(lost, TransportError) and bool(result.outcomes)
            if lost is not None and left and not goes_on:
                self._give_up(result, cases, left, lost)

    async def _on_one_server(
        self, result: Result, cases: Cases, left: list[Case], conversation: Conversation, *, one: bool
    ) -> ConductorError | None:
        """Run the cases that are LEFT, as far as this server will do: why it is gone, if it is."""
        suite, session = result.job.suite, conversation.session
        start = session.transcript.mark
        result.server, result.protocol_version = session.server, session.dialect.version
        if self._options.coverage and result.touched is None:
            result.touched = await Touched.of(session)  # now: a test may end the server
        failed = await cases.hooks("setup", suite.setup, conversation)
        if failed:
            self._fail_all(result, cases, left, failed)
            return None
        lost: TransportError | None = None
        while left and not self.stopped and lost is None and not conversation.over:
            skipped = cases.skipped(left[-1])
            if skipped is None:
                outcome, lost = await cases.run(left.pop(), conversation)
            else:
                outcome = skipped
                left.pop()
            self._tell(result, outcome)
            if one:
                break
        if lost is None and not conversation.over:
            for finding in await cases.hooks("teardown", suite.teardown, conversation):
                self._blame_last(result, cases, finding)
        if result.touched is not None:
            result.touched.use(session.transcript)
        if forgotten := str(session.transcript.forgotten):
            result.remarks.append(f"{suite.file}: {forgotten}")
        if self._options.judge is not None:
            said = session.transcript.since(start)
            result.remarks += await without_blocking(self._options.judge, session, said, result.job.spec)
        return lost

    def _give_up(self, result: Result, cases: Cases, left: list[Case], error: ConductorError) -> None:
        result.could_not_run = True
        while left:
            case = left.pop()
            self._tell(result, cases.skipped(case) or cases.errored(case, error))

    def _fail_all(self, result: Result, cases: Cases, left: list[Case], findings: tuple[Finding, ...]) -> None:
        while left:
            case = left.pop()
            self._tell(result, cases.skipped(case) or cases.outcome(case, "errored", findings=findings))

    def _blame_last(self, result: Result, cases: Cases, finding: Finding) -> None:
        """What goes wrong in teardown is a failure of the file; it is shown with its last test."""
        if result.outcomes:
            last = result.outcomes[-1]
            self._failures += last.status not in ("failed", "errored")
            result.outcomes[-1] = cases.clean(replace(last, status="failed", findings=(*last.findings, finding)))
            self._on_outcome(result.job, result.outcomes[-1])

    def _tell(self, result: Result, outcome: Outcome) -> None:
        result.outcomes.append(outcome)
        self._failures += outcome.status in ("failed", "errored")
        self._on_outcome(result.job, outcome)


def _compare_transports(results: list[Result]) -> None:
    """The same test must be answered in the same way, whichever way leads to the server."""
    first: dict[tuple[str, str | None], Result] = {}
    for result in results:
        if not result.job.suite.transports:
            continue
        other = first.setdefault((result.job.suite.file, result.job.protocol), result)
        if other is result:
            continue
        for index, outcome in enumerate(result.outcomes):
            title = outcome.title.removesuffix(result.job.suffix)
            result.outcomes[index] = compared(
                outcome, result.replies.get(title), other.replies.get(title), other.job.suffix
            )


def compared(outcome: Outcome, mine: Json | None, theirs: Json | None, suffix: str) -> Outcome:
    """OUTCOME, which is a failure if the same test was answered otherwise by the server that SUFFIX tells of."""
    if mine is None or theirs is None or _comparable(mine) == _comparable(theirs):
        return outcome
    message = f"the reply differs from that of{suffix or ' the first server'}"
    finding = Finding(message=message, expected=_comparable(theirs), actual=_comparable(mine))
    return replace(outcome, status="failed", findings=(*outcome.findings, finding))


def _comparable(reply: Json) -> Json:
    return {key: value for key, value in reply.items() if key not in ("jsonrpc", "id")}
