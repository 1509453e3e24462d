"""Which tests are run, of which files, on which servers: for every front end that runs tests of files."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TypeVar

from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.reading import no_collecting, read_bytes
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol.server_spec import ServerSpec, StdioSpec
from mcp_conductor.report.formats.wording import counted
from mcp_conductor.report.model import BAD, Finding, Outcome
from mcp_conductor.suites.language.suite import Case, Suite, load_suite
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.job import Job, variants
from mcp_conductor.suites.running.select import (
    FilePattern,
    chosen_by,
    files_of,
    no_files,
    no_jobs,
    no_tests,
    read_pattern,
    shard_of,
)
from mcp_conductor.values import dataclass

T = TypeVar("T")

_LAST_FAILED = os.path.join(".conductor", "last-failed.json")

# The server of a name that a test file says; None is the one that is meant where it says none.
ServerOf = Callable[[str | None], ServerSpec]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which tests are wanted, and in what order; texts are written as the flags of `conductor test` take them."""

    directory: str  # where patterns begin, and what is remembered of a run stands
    seed: int  # of everything that is random
    patterns: Sequence[str] = ()  # none: everything below the directory
    keyword: str | None = None
    tags: Sequence[str] = ()
    not_tags: Sequence[str] = ()
    filter: str | None = None
    shard: str | None = None
    last_failed: bool = False  # only those that failed in the run before
    shuffle: bool = False
    lenient: bool = False  # files of mcp-aegis are taken as they are
    in_ci: bool = False  # others rely on the run
    strict: bool = False
    allow_only: bool = False
    allow_outside: bool = False  # files outside the directories of the test files that name them


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run."""

    jobs: list[Job]
    suites: list[Suite]
    deselected: int
    only: Finding | None = None  # that `only` leaves out tests
    empty: str | None = None  # why nothing is run, where that is not a mistake

    @property
    def first_process(self) -> StdioSpec | None:
        """The server that is needed first, if it is a process and any of its tests is not skipped."""
        spec = self.jobs[0].spec if any(case.skip is None for case in self.jobs[0].cases) else None
        return spec.as_process() if spec is not None and spec.kind == "stdio" else None

    def warnings(self) -> Iterator[Finding]:
        """What is worth knowing of the files that are run, and of those of their tests that are."""
        return (finding for finding, _ in self._warnings_with_titles())

    def shared_out(self) -> tuple[list[Finding], dict[str, list[Finding]]]:
        """These warnings, apart: those that are about a file, and by the ids of outcomes, those about a test."""
        tests: dict[tuple[str, int], list[tuple[str, str]]] = {}  # the titles and ids of the tests on each line
        for job in self.jobs if any(suite.warnings for suite in self.suites) else ():
            for case in job.cases:
                first, last = case.lines
                for line in range(first, last + 1):
                    tests.setdefault((job.suite.file, line), []).append((case.title, job.identity(case)))
        of_files: list[Finding] = []
        of_tests: dict[str, list[Finding]] = {}
        for finding, wanted in self._warnings_with_titles():
            where = finding.where
            near = [] if where is None else tests.get((where.file, where.line), [])
            about = [identity for title, identity in near if wanted in (None, title)]
            for identity in about:
                of_tests.setdefault(identity, []).append(finding)
            if not about:
                of_files.append(finding)
        return of_files, of_tests

    def _warnings_with_titles(self) -> Iterator[tuple[Finding, str | None]]:
        """Each warning, and the title of the test that it names."""
        run = {(job.suite.file, case.title) for job in self.jobs for case in job.cases if case.skip is None}
        for suite in self.suites:
            for each in suite.warnings:
                if each.case is None or (suite.file, each.case) in run:
                    where = each.where or Location(suite.file, 1, 1)
                    yield Finding(message=each.message, where=where, warning=True), each.case


class Planning:
    """Reads the files that are wanted, as often as it is asked to.

    SERVER is asked for the server of each job; where it is None, jobs have none, and can only be listed. REFUSE is
    given all mistakes that were found in files, and raises the last of them, if there are any. SAY tells people what is
    worth knowing.
    """

    def __init__(
        self,
        wanted: Wanted,
        server: ServerOf | None,
        refuse: Callable[[list[UsageError]], None],
        say: Callable[[str], None],
    ) -> None:
        self._wanted = wanted
        self._server = server
        self._refuse = refuse
        self._say = say
        self.files: set[str] = set()  # that test files name, or that a mistake stands in
        self.refused: dict[str, UsageError] = {}  # why nothing is run, by the files that are to be changed

    def plan(self, variables: Variables) -> Plan:
        self.refused = {}
        suites = self._suites(variables)
        total = sum(_count(suite) for suite, _ in suites)
        if self._wanted.shard is not None:
            part, parts = shard_of(self._wanted.shard)
            files, suites = len(suites), suites[part - 1 :: parts]
            if not suites:  # there are more machines than files, which is not a mistake in the tests
                there = f"there {'is' if files == 1 else 'are'} {counted(files, 'file')}"
                return Plan([], [], total, empty=f"shard {part}/{parts} is empty: {there}")
        only, left_out = self._only([suite for suite, _ in suites])
        failed = self._last_failed() if self._wanted.last_failed else None
        jobs = self._jobs(suites, failed, only=only)
        if failed is not None and not jobs:
            self._say("--lf: none of these tests failed in the last run, so all of them are run")
            jobs = self._jobs(suites, None, only=only)
        if not jobs:
            error = no_jobs([suite for suite, _ in suites])
            if not any(suite.cases for suite, _ in suites):  # otherwise the filters leave none
                self.refused = {suite.file: error for suite, _ in suites}
            raise error
        deselected = total - sum(len(job.cases) for job in jobs)
        return Plan(jobs, [suite for suite, _ in suites], deselected, left_out)

    def _suites(self, variables: Variables) -> list[tuple[Suite, list[FilePattern]]]:
        """The files that are meant, each with the patterns that mean it; every bad file is reported."""
        patterns = [read_pattern(text) for text in self._wanted.patterns or (".",)]
        found: dict[str, list[FilePattern]] = {}
        for pattern in patterns:
            files = files_of(pattern, self._wanted.directory)
            if not files:
                raise no_files(pattern, self._wanted.directory)
            for file in files:
                found.setdefault(file, []).append(pattern)
        suites = []
        with no_collecting():
            for file, meant in found.items():
                shown = os.path.relpath(file, self._wanted.directory)
                try:
                    wanted = self._wanted
                    suite = load_suite(
                        file, variables, shown=shown, lenient=wanted.lenient, outside=wanted.allow_outside
                    )
                    suites.append((suite, meant))
                    self.files.update(suite.files)
                except UsageError as error:
                    self.refused[shown] = error
                    places = [each.where.file for each in (error, *error.more) if each.where is not None]
                    self.files.update(os.path.join(self._wanted.directory, place) for place in places)
        self._refuse(list(self.refused.values()))
        for pattern in patterns:
            near = [suite for suite, meant in suites if pattern in meant]
            if pattern.is_one and not any(pattern.tests(suite.cases) for suite in near):
                raise no_tests(pattern, near)
        return suites

    def _jobs(self, suites: list[tuple[Suite, list[FilePattern]]], failed: set[str] | None, *, only: bool) -> list[Job]:
        chosen = chosen_by(
            keyword=self._wanted.keyword,
            tags=self._wanted.tags,
            not_tags=self._wanted.not_tags,
            text=self._wanted.filter,
            failed=failed,
        )
        jobs: list[Job] = []
        for suite, patterns in suites:
            meant = {id(case) for pattern in patterns for case in pattern.tests(suite.cases)}
            cases = [
                case for case in suite.cases if chosen(suite, case) and id(case) in meant and (case.only or not only)
            ]
            if self._wanted.shuffle:
                _shuffle(cases, lambda case: case.name, f"{self._wanted.seed}:{suite.file}")
            if cases:
                jobs += self._jobs_of(suite, tuple(cases))
        if self._wanted.shuffle:
            _shuffle(jobs, lambda job: f"{job.suite.file}{job.suffix}", str(self._wanted.seed))
        return jobs

    def _only(self, suites: list[Suite]) -> tuple[bool, Finding | None]:
        """Whether a test says `only`, and what that leaves out; this is refused where others rely on the run."""
        wanted = self._wanted
        marked = [case for suite in suites for case in suite.cases if case.only]
        if not marked:
            return False, None
        left_out = sum(len(suite.cases) for suite in suites) - len(marked)
        if (wanted.in_ci or wanted.strict) and not wanted.allow_only and left_out:
            where = "CI is set" if wanted.in_ci else "--strict is given"
            error = UsageError(
                f"`only: true` would leave out {counted(left_out, 'test')}, and {where}",
                where=marked[0].where,
                hint="remove it, or give --allow-only",
            )
            self.refused = {suite.file: error for suite in suites if any(case is marked[0] for case in suite.cases)}
            raise error
        message = f"`only: true` leaves out {counted(left_out, 'test')}"
        return True, Finding(message=message, where=marked[0].where, warning=True) if left_out else None

    def _jobs_of(self, suite: Suite, cases: tuple[Case, ...]) -> Iterator[Job]:
        """One job for each server and revision that the file wants."""
        for name, protocol, suffix in variants(suite):
            spec = None if self._server is None else self._server(name)
            yield Job(suite=suite, cases=cases, spec=spec, protocol=protocol, suffix=suffix)  # type: ignore[arg-type]  # none is needed to list tests

    def _last_failed(self) -> set[str]:
        try:
            return set(json.loads(read_bytes(os.path.join(self._wanted.directory, _LAST_FAILED))))
        except (OSError, ValueError, TypeError, RecursionError):
            raise UsageError("--lf: no earlier run is recorded here", hint="run without --lf first") from None

    def remember(self, outcomes: list[Outcome]) -> None:
        failed = sorted({outcome.id for outcome in outcomes if outcome.status in BAD})
        path = os.path.join(self._wanted.directory, _LAST_FAILED)
        with suppress(UsageError):  # a run that cannot be remembered was still a run
            write_file(os.path.join(os.path.dirname(path), ".gitignore"), "*\n")  # it concerns this directory alone
            write_file(path, json.dumps(failed, indent=1))


def _shuffle(things: list[T], name: Callable[[T], str], seed: str) -> None:
    """Bring THINGS into a random order, which stays the same where others are left out."""
    from random import Random  # few runs need it

    things.sort(key=lambda thing: Random(f"{seed}:{name(thing)}").random())


def _count(suite: Suite) -> int:
    """How many tests a file is, on all servers and in all revisions that it wants."""
    return len(suite.cases) * sum(1 for _ in variants(suite))
