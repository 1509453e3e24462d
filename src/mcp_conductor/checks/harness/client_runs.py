"""All starts of one client: which scenarios it meets, how many at a time, and when there have been enough of them."""

import asyncio
import os
from collections.abc import Callable, Collection
from typing import Self

from mcp_conductor.checks.harness.client_record import UNANSWERED, ClientRecord
from mcp_conductor.checks.harness.joined import joined, joint_scenario, record_for
from mcp_conductor.checks.harness.run_client import Command, run_client
from mcp_conductor.checks.harness.scenario import PLAIN, SCENARIOS, Scenario

AT_ONCE = 3  # clients that work at the same time, or one more than there are cores
_AT_ONCE_WAITING = 6  # the same for clients that do not end by themselves: they mostly wait
_MOST_AT_ONCE = 24  # clients that run at the same time, with those that only wait for something
_MOST_LIMITS = 12  # all starts together take at most this many times the limit of one
_HOPELESS = 3  # the polite server's start, and two others, had to be broken off: the rest would be no better
_BROKEN_OFF = ("late", "flooded")
_CONVINCED = 3  # second chances that changed nothing: it is not the machine that is slow


class RunProgress:
    """What is told how far the runs are."""

    def started(self, names: list[str], done: int, total: int) -> None:
        """These scenarios run now, after DONE others."""

    def finished(self, record: ClientRecord) -> None:
        """This one is over."""


class ClientRuns:
    """The starts of one client in one revision."""

    def __init__(self, command: Command, directory: str, timeout: float, progress: RunProgress) -> None:
        self.records: dict[str, ClientRecord] = {}
        self.given_up: str | None = None  # why no more scenarios are played
        self.left_out: list[str] = []  # those which were not
        self._command = command
        self._directory = directory
        self._timeout = timeout
        self._progress = progress
        self._running: list[str] = []
        self._total = 1
        self._clock = asyncio.get_running_loop().time
        self._last_start = self._clock() + timeout * (_MOST_LIMITS - 1)

    async def begin(self, version: str | None) -> ClientRecord:
        """Let the client meet the polite server."""
        plain = await self._run(PLAIN, version, None)
        if plain.outcome != "ended" and any(connection.reused_ids for connection in plain.connections):
            self.given_up = "the client hung with the polite server, after it had used an id for two requests"
        return plain

    async def go_on(
        self, version: str, names: Collection[str], plain: ClientRecord, shows: Callable[[ClientRecord], bool] | None
    ) -> None:
        """Run all other scenarios, as far as that leads anywhere.

        Some are played in one start, if SHOWS is given, which tells whether such a start shows that all is well with
        the scenario of a record. Where it does not, that scenario is played once more by itself.
        """
        self._total += len(names)
        working = max(_AT_ONCE_WAITING if plain.outcome == "quiet" else AT_ONCE, (os.cpu_count() or 1) + 1)
        gate = asyncio.Semaphore(min(working, _MOST_AT_ONCE))
        all_of_them = asyncio.Semaphore(_MOST_AT_ONCE)

        async def one(name: str) -> None:
            async with all_of_them, _Turn(gate) as turn:
                if self._goes_on():
                    await self._run(name, version, plain, turn.over)
                else:
                    self.left_out.append(name)

        async def several(together: tuple[str, ...], shows: Callable[[ClientRecord], bool]) -> None:
            async with all_of_them, _Turn(gate) as turn:
                left = await self._run_together(together, version, plain, shows, turn.over)
            for name in left:
                group.create_task(one(name))

        groups = joined(names) if shows is not None and plain.outcome not in _BROKEN_OFF else []
        # Those that take longest first, then those of which some may have to be played once more.
        alone = set(names).difference(*groups)
        ordered = sorted(alone, key=lambda name: (-(SCENARIOS.get(name).seconds or 0), name))
        waiting = [name for name in ordered if SCENARIOS.get(name).seconds is not None]
        async with asyncio.TaskGroup() as group:
            for name in waiting:
                group.create_task(one(name))
            for together in groups:
                assert shows is not None
                group.create_task(several(together, shows))
            for name in ordered[len(waiting) :]:
                group.create_task(one(name))
        await self._try_again(version, sorted(names), plain)

    async def _try_again(self, version: str, names: list[str], plain: ClientRecord) -> None:
        """Where the client may only have been slow, because others ran, give it a second chance, alone."""
        confirmed = 0
        for name in names:
            if name not in self.records or not self._is_doubtful(self.records[name], plain):
                continue
            if confirmed < _CONVINCED and self._goes_on():
                record = await self._run(name, version, plain)
                record.confirmed = True
                confirmed += self._is_doubtful(record, plain)
            else:
                self.records[name].confirmed = confirmed >= _CONVINCED

    async def _run_together(
        self,
        names: tuple[str, ...],
        version: str,
        plain: ClientRecord,
        shows: Callable[[ClientRecord], bool],
        on_idle: Callable[[], None],
    ) -> list[str]:
        """Play several scenarios in one start, and keep what it shows: those of NAMES that are left."""
        if not self._goes_on():
            return list(names)
        record = await self._start(joint_scenario(names), version, plain, on_idle)
        left = []
        for name in names:
            part = record_for(name, record)
            part.others = self.records
            if self._is_doubtful(part, plain) or not shows(part):
                left.append(name)
            else:
                self._keep(part)
        return left

    async def _run(
        self, name: str, version: str | None, plain: ClientRecord | None, on_idle: Callable[[], None] = lambda: None
    ) -> ClientRecord:
        record = await self._start(SCENARIOS.get(name), version, plain, on_idle)
        record.others = self.records
        self._keep(record)
        return record

    async def _start(
        self, scenario: Scenario, version: str | None, plain: ClientRecord | None, on_idle: Callable[[], None]
    ) -> ClientRecord:
        first, *more = scenario.name.split(",")
        shown = f"{first} and {len(more)} more" if more else first
        self._running.append(shown)
        self._progress.started(list(self._running), len(self.records), self._total)
        try:
            return await run_client(scenario, version, self._command, self._directory, self._timeout, plain, on_idle)
        finally:
            self._running.remove(shown)

    def _keep(self, record: ClientRecord) -> None:
        self.records[record.name] = record
        self._progress.finished(record)

    def _goes_on(self) -> bool:
        """Whether another start makes sense."""
        broken_off = [each for each in self.records.values() if each.outcome in _BROKEN_OFF]
        hopeless = len(broken_off) >= _HOPELESS and self.records[PLAIN] in broken_off
        if self.given_up is None and hopeless:
            late = broken_off[0].outcome == "late"
            how = f"was still busy after {self._timeout:g} s" if late else "said too much"
            self.given_up = f"the client {how} with the polite server, and in {len(broken_off) - 1} other scenarios"
        if self.given_up is None and self._clock() > self._last_start:
            self.given_up = f"the check had taken almost {self._timeout * _MOST_LIMITS:g} s"
        return self.given_up is None

    def _is_doubtful(self, record: ClientRecord, plain: ClientRecord) -> bool:
        """Whether it may be the machine that made the client slow here."""
        hung = record.outcome != "ended" and plain.outcome == "ended"
        silent = any(moment.startswith(UNANSWERED) for moment in record.moments)
        # Perhaps it cannot run twice at the same time.
        kept_out = not record.connections and bool(plain.connections)
        return kept_out or ((hung or silent) and not record.takes_time)


class _Turn:
    """One of the places for clients that work; it is given back when the client begins to wait."""

    def __init__(self, gate: asyncio.Semaphore) -> None:
        self._gate = gate
        self._held = False

    async def __aenter__(self) -> Self:
        await self._gate.acquire()
        self._held = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.over()

    def over(self) -> None:
        if self._held:
            self._held = False
            self._gate.release()
