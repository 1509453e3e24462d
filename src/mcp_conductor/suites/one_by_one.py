"""The tests of one file, each when somebody asks for it: for runners that decide themselves what comes next.

A server is started for the first test and kept, as the file's isolation says. Where a test needs what another one
captures, and that has not been run, it is run first; what came of it is told when its turn comes.
"""

import asyncio
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any, Generic, TypeVar

from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.report import Finding, Outcome
from mcp_conductor.suites.cases import Cases, Memory
from mcp_conductor.suites.conversation import Conversation
from mcp_conductor.suites.run import Job, Options, learned, server_for
from mcp_conductor.suites.snapshots import Snapshots
from mcp_conductor.suites.suite import Case
from mcp_conductor.suites.variables import Variables

T = TypeVar("T")


class Held(Generic[T]):
    """Something that is open for longer than one call: a task of its own enters it, and leaves it again."""

    # The same task must do both: time-outs and task groups inside belong to the task that entered them.

    def __init__(self, what: AbstractAsyncContextManager[T]) -> None:
        self._what = what
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> T:
        opened: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold(opened))
        try:
            both: set[asyncio.Future[Any]] = {self._task, opened}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            self._task.cancel()
            await asyncio.wait({self._task})
            raise
        if not opened.done():
            self._task.result()  # raises what kept it from opening
        return opened.result()

    async def _hold(self, opened: "asyncio.Future[T]") -> None:
        async with self._what as value:
            opened.set_result(value)
            await self._stop.wait()

    async def close(self) -> None:
        self._stop.set()
        if self._task is not None:
            await self._task


class OneByOne:
    """The tests of one job, one at a time; whoever made it closes it."""

    def __init__(self, job: Job, options: Options, variables: Variables, snapshots: Snapshots) -> None:
        self._job = job
        self._options = options
        self._variables = variables
        suite = job.suite
        redactor = learned(options, job, variables)
        self._memory = Memory(variables.seeded_for(suite.file).defining(suite.vars), redactor)
        self._cases = Cases(suite, self._memory, snapshots, suffix=job.suffix, keep_wire=options.keep_wire)
        self._held: Held[Conversation] | None = None
        self._conversation: Conversation | None = None
        self._given_up: ConductorError | None = None  # why no server is started any more
        self._setup_failed: tuple[Finding, ...] = ()
        self._last: Case | None = None
        self._done: set[int] = set()  # tests that have been run
        self._early: dict[int, Outcome] = {}  # of tests that were run because others needed them

    def reply(self, case: Case) -> Json | None:
        """What the server answered to CASE, to be compared with the answer of another server."""
        return self._memory.replies.get(case.title)

    async def ready(self, case: Case) -> Outcome | None:
        """See that there is a server for CASE; the outcome, if there cannot be one."""
        if id(case) in self._early or case.skip is not None:
            return None
        if self._given_up is None and self._conversation is None and not self._setup_failed:
            await self._start()
        if self._given_up is not None:
            return self._cases.errored(case, self._given_up)
        if self._setup_failed:
            return self._cases.outcome(case, "errored", findings=self._setup_failed)
        return None

    async def run(self, case: Case) -> Outcome:
        """What came of CASE."""
        if id(case) in self._early:
            return self._early.pop(id(case))
        self._done.add(id(case))
        skipped = self._cases.skipped(case)
        if skipped is not None:
            return skipped
        for giver in self._givers(case):
            self._early[id(giver)] = await self._run_early(giver)
        errored = await self.ready(case)
        if errored is not None or self._conversation is None:
            assert errored is not None
            return errored
        self._last = case
        try:
            outcome, lost = await self._cases.run(case, self._conversation)
        except ConductorError as error:
            self._given_up = error
            await self._leave()
            return self._cases.errored(case, error)
        if lost is not None and not self._options.restart:
            self._given_up = lost
        if lost is not None or self._conversation.over:
            await self._leave()
        return outcome

    async def finish(self) -> Outcome | None:
        """End the server, if there is one; if teardown fails, that is an outcome of the last test."""
        if self._conversation is None:
            return None
        try:
            findings = await self._cases.hooks("teardown", self._job.suite.teardown, self._conversation)
        except ConductorError as error:
            findings = (Finding(message=f"teardown: {error.message}", hint=error.hint, where=error.where),)
        finally:
            await self._leave()
        return self._cases.outcome(self._last, "failed", findings=findings) if findings and self._last else None

    async def _run_early(self, case: Case) -> Outcome:
        outcome = await self.run(case)
        blamed = await self.finish() if self.isolation == "test" else None
        if blamed is None:
            return outcome
        return replace(outcome, status="failed", findings=(*outcome.findings, *blamed.findings))

    @property
    def isolation(self) -> str:
        return self._options.isolation or self._job.suite.isolation or "file"

    async def _start(self) -> None:
        held = Held(server_for(self._job, self._options, self._variables))
        try:
            self._conversation = await held.open()
            self._held = held
            self._setup_failed = await self._cases.hooks("setup", self._job.suite.setup, self._conversation)
        except ConductorError as error:
            self._given_up = error
        if self._given_up is not None or self._setup_failed:
            await self._leave()

    async def _leave(self) -> None:
        held, self._held, self._conversation = self._held, None, None
        if held is not None:
            await held.close()

    def _givers(self, case: Case) -> Iterator[Case]:
        """The tests that have to be run before CASE, for what they capture."""
        for name in sorted(case.step.needs):
            giver: Case | None = None
            for other in self._job.suite.cases:
                if other is case:
                    break
                if name in other.step.captures:
                    giver = other  # the last one before it: that is whose value it would have
            if giver is not None and id(giver) not in self._done:
                yield giver
