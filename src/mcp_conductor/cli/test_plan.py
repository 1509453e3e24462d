"""What one command line of `conductor test` means: which tests, of which files, on which servers."""

import gc
import json
import os
import random
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.run_flags import choice, number
from mcp_conductor.cli.target import named_server, nearest_settings, target
from mcp_conductor.cli.terminal import Terminal, tell_all
from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.reading import read_bytes
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.report.formats.wording import counted
from mcp_conductor.report.model import BAD, Finding, Outcome
from mcp_conductor.suites.language.suite import Case, Suite, load_suite
from mcp_conductor.suites.language.variables import Variables, from_command_line, of_settings
from mcp_conductor.suites.running.job import Job, in_ci, variants
from mcp_conductor.suites.running.select import (
    Pattern,
    chosen_by,
    files_of,
    no_files,
    no_jobs,
    no_tests,
    read_pattern,
    shard_of,
)
from mcp_conductor.suites.running.server_coverage import covered

_LAST_FAILED = os.path.join(".conductor", "last-failed.json")
_AEGIS_SETTINGS = "aegis.config.json"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is run."""

    jobs: list[Job]
    suites: list[Suite]
    deselected: int
    only: Finding | None = None  # that `only` leaves out tests
    empty: str | None = None  # why nothing is run, where that is no mistake

    def warnings(self) -> Iterator[Finding]:
        """What is worth knowing of the files that are run, and of those of their tests that are."""
        return (finding for finding, _ in self._warned())

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
        for finding, wanted in self._warned():
            where = finding.where
            near = [] if where is None else tests.get((where.file, where.line), [])
            about = [identity for title, identity in near if wanted in (None, title)]
            for identity in about:
                of_tests.setdefault(identity, []).append(finding)
            if not about:
                of_files.append(finding)
        return of_files, of_tests

    def _warned(self) -> Iterator[tuple[Finding, str | None]]:
        """Each warning, and the title of the test that it names."""
        run = {(job.suite.file, case.title) for job in self.jobs for case in job.cases if case.skip is None}
        for suite in self.suites:
            for each in suite.warnings:
                if each.case is None or (suite.file, each.case) in run:
                    where = each.where or Location(suite.file, 1, 1)
                    yield Finding(message=each.message, where=where, warning=True), each.case


class Planning:
    """Reads flags and files, as often as it is asked to."""

    def __init__(self, given: Given, terminal: Terminal) -> None:
        self._given = given
        self._terminal = terminal
        seed = number(given, "--seed", 0, 10**9)
        self.seed = random.SystemRandom().randrange(10**6) if seed is None else seed
        self._compat = choice(given, "--compat", ("aegis",))
        self.specs: dict[str | None, ServerSpec] = {}
        self.files: set[str] = set()  # that test files name, or that a mistake stands in
        self.refused: dict[str, UsageError] = {}  # why nothing is run, by the files that are to be changed

    @property
    def lenient(self) -> bool:
        """Whether files of mcp-aegis are taken as they are."""
        return self._compat is not None

    def variables(self) -> Variables:
        given = self._given
        return from_command_line(
            files=[os.path.join(self._terminal.directory, file) for file in given.all("--vars-file")],
            pairs=given.all("--var"),
            secrets=given.all("--secret"),
            environ=self._terminal.environ,
            config=self._vars_of_settings(),
            seed=self.seed,
        )

    def _vars_of_settings(self) -> dict[str, object]:
        """Those of the settings file, also where the server is another than its own."""
        file = self._given.one("--config") or nearest_settings(self._terminal.directory)
        if file is None:
            return {}
        path = os.path.join(self._terminal.directory, os.path.expanduser(file))
        shown = self._given.one("--config") or os.path.relpath(path, self._terminal.directory)
        return of_settings(path, shown, self._terminal.environ)

    def _suites(self, variables: Variables) -> list[tuple[Suite, list[Pattern]]]:
        """The files that are meant, each with the patterns that mean it; every bad file is told of."""
        patterns = [read_pattern(text) for text in self._given.words or (".",)]
        found: dict[str, list[Pattern]] = {}
        for pattern in patterns:
            files = files_of(pattern, self._terminal.directory)
            if not files:
                raise no_files(pattern, self._terminal.directory)
            for file in files:
                found.setdefault(file, []).append(pattern)
        suites = []
        with _no_collecting():
            for file, meant in found.items():
                shown = os.path.relpath(file, self._terminal.directory)
                try:
                    suites.append((load_suite(file, variables, shown=shown, lenient=self.lenient), meant))
                    self.files.update(suites[-1][0].files)
                except UsageError as error:
                    self.refused[shown] = error
                    places = [each.where.file for each in (error, *error.more) if each.where is not None]
                    self.files.update(os.path.join(self._terminal.directory, place) for place in places)
        tell_all(list(self.refused.values()), self._terminal)
        for pattern in patterns:
            near = [suite for suite, meant in suites if pattern in meant]
            if not any(pattern.means(case) for suite in near for case in suite.cases) and pattern.is_one:
                raise no_tests(pattern, near)
        return suites

    def plan(self, variables: Variables) -> Plan:
        self.refused = {}
        suites = self._suites(variables)
        total = sum(_count(suite) for suite, _ in suites)
        if "--shard" in self._given:
            part, parts = shard_of(self._given.need("--shard"))
            files, suites = len(suites), suites[part - 1 :: parts]
            if not suites:  # there are more machines than files, which is no fault of the tests
                there = f"there {'is' if files == 1 else 'are'} {counted(files, 'file')}"
                return Plan([], [], total, empty=f"shard {part}/{parts} is empty: {there}")
        only, left_out = self._only([suite for suite, _ in suites])
        failed = self._last_failed() if "--lf" in self._given else None
        jobs = self._jobs(suites, failed, only=only)
        if failed is not None and not jobs:
            self._terminal.say("--lf: none of these tests failed in the last run, so all of them are run")
            jobs = self._jobs(suites, None, only=only)
        if not jobs:
            error = no_jobs([suite for suite, _ in suites])
            if not any(suite.cases for suite, _ in suites):  # otherwise the filters leave none
                self.refused = {suite.file: error for suite, _ in suites}
            raise error
        deselected = total - sum(len(job.cases) for job in jobs)
        return Plan(jobs, [suite for suite, _ in suites], deselected, left_out)

    def _jobs(self, suites: list[tuple[Suite, list[Pattern]]], failed: set[str] | None, *, only: bool) -> list[Job]:
        chosen = chosen_by(
            keyword=self._given.one("--keyword"),
            tags=self._given.all("--tag"),
            not_tags=self._given.all("--not-tag"),
            text=self._filter(),
            failed=failed,
        )
        jobs: list[Job] = []
        for suite, meant in suites:
            cases = [
                case
                for case in suite.cases
                if chosen(suite, case) and any(each.means(case) for each in meant) and (case.only or not only)
            ]
            if "--shuffle" in self._given:
                random.Random(f"{self.seed}:{suite.file}").shuffle(cases)
            if cases:
                jobs += self._jobs_of(suite, tuple(cases))
        if "--shuffle" in self._given:
            random.Random(self.seed).shuffle(jobs)
        return jobs

    def _filter(self) -> str | None:
        """What names must have; mcp-aegis does not care for upper and lower case."""
        text = self._given.one("--filter")
        if text is None or self._compat is None:
            return text
        if text.startswith("/") and text.rfind("/") > 0:
            return f"{text}i" if text.endswith("/") else text
        return f"/{re.escape(text)}/i"

    def _only(self, suites: list[Suite]) -> tuple[bool, Finding | None]:
        """Whether a test says `only`, and what that leaves out; it is never meant where others rely on the run."""
        marked = [case for suite in suites for case in suite.cases if case.only]
        if not marked:
            return False, None
        left_out = sum(len(suite.cases) for suite in suites) - len(marked)
        if (self.in_ci or "--strict" in self._given) and "--allow-only" not in self._given and left_out:
            where = "CI is set" if self.in_ci else "--strict is given"
            error = UsageError(
                f"`only: true` would leave out {counted(left_out, 'test')}, and {where}",
                where=marked[0].where,
                hint="take it away, or give --allow-only",
            )
            self.refused = {suite.file: error for suite in suites if any(case is marked[0] for case in suite.cases)}
            raise error
        message = f"`only: true` leaves out {counted(left_out, 'test')}"
        return True, Finding(message=message, where=marked[0].where, warning=True) if left_out else None

    @property
    def in_ci(self) -> bool:
        return in_ci(self._terminal.environ)

    def _jobs_of(self, suite: Suite, cases: tuple[Case, ...]) -> Iterator[Job]:
        """One job for each server and revision that the file wants."""
        for name, protocol, suffix in variants(suite):
            spec = None if "--collect-only" in self._given else self._spec(name)
            yield Job(suite=suite, cases=cases, spec=spec, protocol=protocol, suffix=suffix)  # type: ignore[arg-type]  # none is needed to list tests

    def _spec(self, name: str | None) -> ServerSpec:
        if name not in self.specs:
            given = Given(self._given.after, self._given.values)
            if self._compat is not None and not given.words and "--config" not in given:
                aegis = os.path.join(self._terminal.directory, _AEGIS_SETTINGS)
                if os.path.isfile(aegis):
                    given = Given((), {**self._given.values, "--config": [_AEGIS_SETTINGS]})
            if name is None or given.words:  # what the command line names is what is meant
                spec = target(given, self._terminal, program="conductor test")
            else:
                spec = named_server(given, self._terminal, name)
            self.specs[name] = spec if self.coverage_folder is None else covered(spec, self.coverage_folder)
        return self.specs[name]

    @property
    def coverage_folder(self) -> str | None:
        folder = self._given.one("--server-coverage")
        return None if folder is None else os.path.join(self._terminal.directory, folder)

    def _last_failed(self) -> set[str]:
        try:
            return set(json.loads(read_bytes(os.path.join(self._terminal.directory, _LAST_FAILED))))
        except (OSError, ValueError, TypeError, RecursionError):
            raise UsageError("--lf: nothing is known of an earlier run here", hint="run without --lf first") from None

    def remember(self, outcomes: list[Outcome]) -> None:
        failed = sorted({outcome.id for outcome in outcomes if outcome.status in BAD})
        path = os.path.join(self._terminal.directory, _LAST_FAILED)
        with suppress(UsageError):  # a run that cannot be remembered was still a run
            write_file(os.path.join(os.path.dirname(path), ".gitignore"), "*\n")  # it concerns this directory alone
            write_file(path, json.dumps(failed, indent=1))


@contextmanager
def _no_collecting() -> Iterator[None]:
    """Test files become many objects that stay to the end; to look for garbage among them takes a third as long as to
    read them, and finds none.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _count(suite: Suite) -> int:
    """How many tests a file is, on all servers and in all revisions that it wants."""
    return len(suite.cases) * sum(1 for _ in variants(suite))
