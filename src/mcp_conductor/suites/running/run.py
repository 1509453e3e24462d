"""A run: files against servers, several at a time, each with its own server unless the options say otherwise.

`Run.events` yields what happens as it happens (`report.events`). A run that is cancelled, by a limit of time or
by a signal, still yields the rest: what was not run, and the end of each file.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import field, replace
from time import perf_counter

from mcp_conductor.errors import ConductorError, Location, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.report.events import CaseFinished, CaseStarted, Event, FileFinished, FileStarted, RunStarted, Warned
from mcp_conductor.report.model import Outcome, Stop
from mcp_conductor.suites.language.suite import Case, Suite
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.coverage import Touched
from mcp_conductor.suites.running.file_run import FileRun, SharedServers
from mcp_conductor.suites.running.job import Job, RunOptions
from mcp_conductor.suites.running.snapshots import Snapshots
from mcp_conductor.values import dataclass

_EVENTS_SECONDS = 0.01  # how long an event may wait to be yielded
_WHY = {"timeout": "the limit of --timeout was reached", "bug": "conductor has a bug"}  # tests were not run


@dataclass(slots=True)
class Result:
    """What came of one job."""

    job: Job
    outcomes: list[Outcome] = field(default_factory=list)
    left: deque[Case] = field(default_factory=deque)  # tests that have no outcome yet, in order
    running: Case | None = None
    replies: dict[str, Json] = field(default_factory=dict)
    server: Json = field(default_factory=dict)
    protocol_version: str | None = None
    touched: Touched | None = None
    written: int = 0  # snapshots
    finished: bool = False


class Run:
    """Runs jobs once; `events` can be asked for once. Afterwards there are results, and why it stopped, if it did."""

    def __init__(
        self,
        jobs: list[Job],
        options: RunOptions,
        variables: Variables,
        *,
        deselected: int = 0,
        late: Callable[[], bool] = lambda: False,  # whether it is a limit of time that cancels us
        settle: Callable[[Outcome], Outcome] = lambda outcome: outcome,  # what an outcome counts as
    ) -> None:
        self._late = late
        self._settle = settle
        self._options = options
        self._variables = variables
        self._deselected = deselected
        self._told: deque[Event] = deque()  # and not taken yet
        self._news = asyncio.Event()
        self._waking = False
        self._began = perf_counter()
        self._failures = 0
        self._snapshots: dict[str, Snapshots] = {}
        self._jobs_left = Counter(job.suite.file for job in jobs)
        self._warned: list[Warned] = []  # a server makes the same mistake in every file: it is reported once
        self.results = [Result(job, left=deque(job.cases)) for job in jobs]
        self.unwritten: list[UsageError] = []  # why snapshots could not be written
        self.stopped: Stop | None = None
        self.bug: Exception | None = None  # in us, which ended the run

    async def events(self) -> AsyncGenerator[Event, None]:
        tests = sum(len(result.left) for result in self.results)
        yield RunStarted(kind="test", tests=tests, files=len(self.results), deselected=self._deselected)
        work = asyncio.ensure_future(self._work())
        work.add_done_callback(lambda _: self._news.set())
        try:
            while True:
                while self._told:
                    yield self._told.popleft()
                if work.done():
                    break
                self._news.clear()
                try:
                    await self._news.wait()
                except asyncio.CancelledError:  # passed on to the work, which then ends
                    self.stopped = self.stopped or ("timeout" if self._late() else "interrupted")
                    work.cancel()
            if self.stopped is None:
                self._conclude(work)
            for event in self._rest():
                yield event
            while self._told:
                yield self._told.popleft()
        finally:
            if not work.done():
                work.cancel()
                await asyncio.wait({work})

    def _conclude(self, work: asyncio.Future[None]) -> None:
        """Raise what ended WORK; but a bug of ours is raised by our caller, after all reports."""
        error = work.exception()
        if isinstance(error, Exception) and not isinstance(error, (ConductorError, MemoryError, OSError)):
            self.stopped, self.bug = "bug", error
        else:
            work.result()

    def _rest(self) -> Iterator[Event]:
        """The events that are still missing when a run was stopped."""
        why = _WHY.get(self.stopped or "", "the run was interrupted")
        for result in self.results:
            if result.finished:
                continue
            file = self._file_run(result)
            for case in result.left:
                reason = f"{why} while it ran" if case is result.running else why
                outcome = self._settle(file.not_run(case, reason))
                result.outcomes.append(outcome)
                yield CaseFinished(outcome=outcome)
            yield self._finished_event(result)

    # What workers do.

    def _tell(self, event: Event) -> None:
        if isinstance(event, Warned):
            if event in self._warned:
                return
            self._warned.append(event)
        self._told.append(event)
        if not self._waking:  # a turn of the event loop for every event would cost as much as a test
            self._waking = True
            asyncio.get_running_loop().call_later(_EVENTS_SECONDS, self._wake)

    def _wake(self) -> None:
        self._waking = False
        self._news.set()

    @property
    def _enough(self) -> bool:
        """Whether there have been as many failures as `max_failures` allows."""
        return self._options.max_failures is not None and self._failures >= self._options.max_failures

    async def _work(self) -> None:
        units = list(reversed(list(self._units())))
        shared = None
        workers = min(self._options.jobs, len(units))
        if self._options.isolation == "run":
            shared, workers = SharedServers([each.job for each in self.results], self._options, self._variables), 1

        async def work(worker: int) -> None:
            while units:
                for result in units.pop():
                    await self._run_file(result, worker, shared)

        tasks = [asyncio.ensure_future(work(number)) for number in range(workers)]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if shared is not None:
                await shared.close()

    def _units(self) -> Iterator[list[Result]]:
        """What one worker does in turn: where the replies of servers are compared, all jobs of that file."""
        together: dict[tuple[str, str | None], list[Result]] = {}
        for result in self.results:
            suite = result.job.suite
            if not suite.transports:
                yield [result]
                continue
            key = (suite.file, result.job.protocol)
            if key not in together:
                together[key] = []
                yield together[key]
            together[key].append(result)

    def _file_run(self, result: Result, shared: SharedServers | None = None) -> FileRun:
        file = result.job.suite.file
        if file not in self._snapshots:
            self._snapshots[file] = Snapshots(
                file,
                update=self._options.update_snapshots,
                frozen=self._options.frozen_snapshots,
                paths=self._options.snapshot_paths,
                outside=result.job.suite.outside,
            )
        return FileRun(
            result.job, self._options, self._variables, self._snapshots[file], shared=shared, tell=self._tell
        )

    async def _run_file(self, result: Result, worker: int, shared: SharedServers | None) -> None:
        suite, file = result.job.suite, self._file_run(result, shared)
        title = suite.description + result.job.suffix
        self._tell(FileStarted(file=suite.file, title=title, tests=len(result.left), worker=worker))
        first = self._first(result)
        try:
            while result.left:
                case = result.running = result.left[0]
                if self._enough:
                    failures = f"{self._failures} failure{'' if self._failures == 1 else 's'}"
                    outcome = file.not_run(case, f"the run was stopped after {failures}")
                else:
                    identity, title = result.job.identity(case), case.title + result.job.suffix
                    self._tell(CaseStarted(id=identity, title=title, worker=worker))
                    outcome = await file.run(case, self._following(result))
                    if self._options.trace is not None:
                        began = perf_counter() - self._began - outcome.seconds  # without the start of a server
                        outcome = replace(outcome, began=max(began, 0.0), worker=worker)
                    if first is not None:
                        from mcp_conductor.suites.running.transports import with_comparison

                        replies = (file.replies.get(case.name), first.replies.get(case.name))
                        paths = self._options.snapshot_paths
                        outcome = with_comparison(outcome, suite, case, *replies, other=first.job.suffix, paths=paths)
                self._add(result, outcome)
                result.left.popleft()
                if file.isolation == "test":
                    self._add(result, await file.finish())
            result.running = None
            self._add(result, await file.finish())
        finally:
            await file.close()
            self._take(result, file)
        self._tell(self._finished_event(result))

    def _following(self, result: Result) -> Case | None:
        """The test that is run after this one, however this one comes out."""
        return result.left[1] if len(result.left) > 1 and self._options.max_failures is None else None

    def _first(self, result: Result) -> Result | None:
        """The job with whose replies those of RESULT are compared, if there is one."""
        job = result.job
        for other in self.results if job.suite.transports else ():
            if other is result:
                return None
            if other.job.suite is job.suite and other.job.protocol == job.protocol:
                return other
        return None

    def _add(self, result: Result, outcome: Outcome | None) -> None:
        if outcome is not None:
            outcome = self._settle(outcome)
            result.outcomes.append(outcome)
            self._failures += outcome.status in ("failed", "errored")
            self._tell(CaseFinished(outcome=outcome))

    def _take(self, result: Result, file: FileRun) -> None:
        """Keep the results of FILE when it has finished."""
        result.replies, result.touched = file.replies, file.touched
        result.server, result.protocol_version = file.server, file.protocol_version

    def _finished_event(self, result: Result) -> FileFinished:
        suite = result.job.suite
        result.finished = True
        self._jobs_left[suite.file] -= 1
        if not self._jobs_left[suite.file]:
            self._keep_snapshots(result)
        title = suite.description + result.job.suffix
        return FileFinished(file=suite.file, title=title, outcomes=tuple(result.outcomes))

    def _keep_snapshots(self, result: Result) -> None:
        """The jobs of one file share them; RESULT is the last one."""
        snapshots = self._snapshots[result.job.suite.file]
        titles = {case.name for case in result.job.suite.cases}
        if (warning := obsolete(snapshots, result.job.suite)) is not None:
            self._tell(warning)
        try:
            snapshots.save(titles)
            result.written = snapshots.written
        except UsageError as error:
            self.unwritten.append(error)


def obsolete(snapshots: Snapshots, suite: Suite) -> Warned | None:
    """A warning of SNAPSHOTS that no test of SUITE has, unless they are dropped now."""
    names = snapshots.obsolete({case.name for case in suite.cases})
    if not names or snapshots.update:
        return None
    message = f"snapshots of tests that do not exist: {', '.join(map(repr, names))}"
    return Warned(message=message, where=Location(suite.file, 1, 1))
