"""`conductor test`: declarative tests of MCP servers."""

import asyncio
import gc
import json
import os
import random
import threading
import time as clock
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mcp_conductor.cli.exit_codes import FAILED, NO_SERVER, TIMED_OUT
from mcp_conductor.cli.flags import Given, help_text, parse
from mcp_conductor.cli.interruptible import run_interruptibly
from mcp_conductor.cli.run_flags import FLAGS, ISOLATIONS, choice, number, time
from mcp_conductor.cli.run_output import Output
from mcp_conductor.cli.server_coverage import covered, figures
from mcp_conductor.cli.target import named_server, nearest_settings, secrets_of_flags, target
from mcp_conductor.cli.terminal import Terminal, diagnostic, tell_all
from mcp_conductor.cli.time_limit import TimeLimit
from mcp_conductor.errors import UsageError
from mcp_conductor.files import write_file
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.reading import read_bytes
from mcp_conductor.report import Outcome, Report
from mcp_conductor.session import Session
from mcp_conductor.suites import coverage
from mcp_conductor.suites.run import DEFAULT_SECONDS, Job, Options, Result, Runner, variants
from mcp_conductor.suites.select import Pattern, chosen_by, files_of, no_files, no_tests, read_pattern, shard_of
from mcp_conductor.suites.suite import Case, Suite, load_suite
from mcp_conductor.suites.variables import Variables, from_command_line, of_settings

_USAGE = """\
usage: conductor test [PATTERN …] [FLAGS] [-- COMMAND [ARGS …]]

Run declarative tests of an MCP server. A pattern is a file, a directory, a glob, FILE:LINE or FILE::NAME; without one,
all *.test.mcp.yml below the current directory. The server is that of conductor.config.json, or as the flags say.

"""
_EXIT_CODES = """\
Exit codes: 0 all passed, 1 some failed, 2 nothing could be run, or a report or snapshot could not be written,
3 a server could not be started or went away, 70 a bug of ours, 124 --timeout exceeded, 130 and 143 interrupted.
"""
_LAST_FAILED = os.path.join(".conductor", "last-failed.json")
_AEGIS_SETTINGS = "aegis.config.json"
_WATCH_SECONDS = 0.3


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor test`: the exit code."""
    given = parse(argv, FLAGS, server_words=False)
    if "--help" in given:
        terminal.show(_USAGE + help_text(FLAGS) + _EXIT_CODES)
        return 0
    run = _Run(given, terminal)
    return run_interruptibly(run.watch() if "--watch" in given else run.once())


class _Run:
    """One command line of `conductor test`."""

    def __init__(self, given: Given, terminal: Terminal) -> None:
        self._given = given
        self._terminal = terminal
        terminal.learn(secrets_of_flags(given))
        self._seed = number(given, "--seed", 0, 10**9)
        if self._seed is None:
            self._seed = random.SystemRandom().randrange(10**6) if "--shuffle" in given else 0
        self._compat = choice(given, "--compat", ("aegis",))
        self._least_coverage = number(given, "--min-coverage", 0, 100)
        self._output = Output(given, terminal)
        unheard = "--no-judge" in given or self._compat is not None or self._output.silent
        self._judging = None if unheard else _Judging()
        self._options = self._read_options()
        self._specs: dict[str | None, ServerSpec] = {}
        self._unwritten: list[UsageError] = []  # snapshots of the last round

    def _read_options(self) -> Options:
        given, environ = self._given, self._terminal.environ
        text = given.one("--jobs")
        jobs = os.cpu_count() or 1 if text == "auto" else number(given, "--jobs", 1, 1000) or 1
        return Options(
            isolation=choice(given, "--isolation", ISOLATIONS),
            jobs=jobs,
            timeout=time(given, "--step-timeout") or DEFAULT_SECONDS,
            restart="--restart" in given,
            max_failures=1 if "--exitfirst" in given else number(given, "--max-failures"),
            keep_wire=self._output.wants_wire,
            update_snapshots="--update-snapshots" in given,
            frozen_snapshots=bool(environ.get("CI")) and environ.get("CI") != "false",
            snapshot_paths={self._terminal.directory: "<cwd>", environ.get("HOME") or "~": "<home>"},
            lenient=self._compat is not None,
            coverage="--coverage" in given or "--min-coverage" in given,
            judge=self._judging,
            redactor=self._terminal.redactor,
        )

    # What is run.

    def _variables(self) -> Variables:
        given = self._given
        return from_command_line(
            files=[os.path.join(self._terminal.directory, file) for file in given.all("--vars-file")],
            pairs=given.all("--var"),
            secrets=given.all("--secret"),
            environ=self._terminal.environ,
            config=self._vars_of_settings(),
            seed=self._seed or 0,
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
        suites, errors = [], []
        with _no_collecting():
            for file, meant in found.items():
                try:
                    shown = os.path.relpath(file, self._terminal.directory)
                    suites.append((load_suite(file, variables, shown=shown, lenient=self._compat is not None), meant))
                except UsageError as error:
                    errors.append(error)
        tell_all(errors, self._terminal)
        for pattern in patterns:
            near = [suite for suite, meant in suites if pattern in meant]
            if not any(pattern.means(case) for suite in near for case in suite.cases) and pattern.is_one:
                raise no_tests(pattern, near)
        return suites

    def _jobs(self, variables: Variables) -> tuple[list[Job], list[Suite]]:
        suites = self._suites(variables)
        if "--shard" in self._given:
            part, parts = shard_of(self._given.need("--shard"))
            suites = suites[part - 1 :: parts]
        chosen = chosen_by(
            keyword=self._given.one("--keyword"),
            tags=self._given.all("--tag"),
            not_tags=self._given.all("--not-tag"),
            text=self._given.one("--filter"),
            failed=self._last_failed() if "--lf" in self._given else None,
        )
        only = any(case.only for suite, _ in suites for case in suite.cases)
        jobs: list[Job] = []
        for suite, meant in suites:
            cases = [
                case
                for case in suite.cases
                if chosen(suite, case) and any(each.means(case) for each in meant) and (case.only or not only)
            ]
            if "--shuffle" in self._given:
                random.Random(f"{self._seed}:{suite.file}").shuffle(cases)
            if cases:
                jobs += self._jobs_of(suite, tuple(cases))
        if "--shuffle" in self._given:
            random.Random(self._seed).shuffle(jobs)
        return jobs, [suite for suite, _ in suites]

    def _jobs_of(self, suite: Suite, cases: tuple[Case, ...]) -> Iterator[Job]:
        """One job for each server and revision that the file wants."""
        for name, protocol, suffix in variants(suite):
            spec = None if "--collect-only" in self._given else self._spec(name)
            yield Job(suite=suite, cases=cases, spec=spec, protocol=protocol, suffix=suffix)  # type: ignore[arg-type]  # none is needed to list tests

    def _spec(self, name: str | None) -> ServerSpec:
        if name not in self._specs:
            given = Given(self._given.after, self._given.values)
            if self._compat is not None and not given.words and "--config" not in given:
                aegis = os.path.join(self._terminal.directory, _AEGIS_SETTINGS)
                if os.path.isfile(aegis):
                    given = Given((), {**self._given.values, "--config": [_AEGIS_SETTINGS]})
            if name is None or given.words:  # what the command line names is what is meant
                spec = target(given, self._terminal, program="conductor test")
            else:
                spec = named_server(given, self._terminal, name)
            self._specs[name] = spec if self._coverage_folder is None else covered(spec, self._coverage_folder)
        return self._specs[name]

    @property
    def _coverage_folder(self) -> str | None:
        folder = self._given.one("--server-coverage")
        return None if folder is None else os.path.join(self._terminal.directory, folder)

    def _last_failed(self) -> set[str]:
        try:
            return set(json.loads(read_bytes(os.path.join(self._terminal.directory, _LAST_FAILED))))
        except (OSError, ValueError, TypeError, RecursionError):
            raise UsageError("--lf: nothing is known of an earlier run here", hint="run without --lf first") from None

    def _remember(self, outcomes: list[Outcome]) -> None:
        failed = sorted({outcome.id for outcome in outcomes if outcome.status in ("failed", "errored")})
        path = os.path.join(self._terminal.directory, _LAST_FAILED)
        with suppress(UsageError):  # a run that cannot be remembered was still a run
            write_file(os.path.join(os.path.dirname(path), ".gitignore"), "*\n")  # it concerns this directory alone
            write_file(path, json.dumps(failed, indent=1))

    # Running it.

    async def once(self) -> int:
        variables = self._variables()
        jobs, suites = self._jobs(variables)
        if not jobs:
            raise UsageError(
                "no test is left to run", hint="the filters leave none of them; --collect-only lists tests"
            )
        if "--collect-only" in self._given:
            for job in jobs:
                for case in job.cases:
                    self._terminal.show(f"{job.suite.file}::{case.title}{job.suffix}\n")
            return 0
        limit = time(self._given, "--timeout")
        began, started = clock.perf_counter(), clock.strftime("%Y-%m-%dT%H:%M:%SZ", clock.gmtime())
        self._output.begin(jobs)
        rounds: list[list[Result]] = []
        late = False
        time_limit = TimeLimit(limit, self._terminal)
        try:
            async with time_limit:
                for _ in range(number(self._given, "--repeat") or 1):
                    await self._round(jobs, variables, rounds)
        except TimeoutError:
            late = True
        report = self._report(rounds, suites, started, clock.perf_counter() - began)
        self._remember(list(report.outcomes))
        self._output.end(report, suites, rounds[-1])
        if late:
            self._terminal.say(f"error: the run took longer than {limit:g} s\n  hint: --timeout TIME allows more")
        verdict = TIMED_OUT if late else self._verdict(report, rounds, suites)
        # A reader of the files would take those of an earlier run for ours: this is worse than a failed test.
        tell_all([*self._unwritten, *self._output.write_reports(report)], self._terminal)
        time_limit.lift()
        return verdict

    async def _round(self, jobs: list[Job], variables: Variables, rounds: list[list[Result]]) -> None:
        """Run everything once; what came of it is in ROUNDS even if we are stopped."""
        if self._judging is not None:
            self._judging.load()
        runner = Runner(self._options, variables, self._output.outcome, self._output.done)
        try:
            await runner.run(jobs)
        finally:
            rounds.append(runner.results)
            self._unwritten = runner.unwritten

    def _report(self, rounds: list[list[Result]], suites: list[Suite], started: str, seconds: float) -> Report:
        last = rounds[-1]
        metrics: dict[str, object] = {}
        whole = coverage.merged([each.touched for each in last if each.touched is not None])
        if self._options.coverage:
            metrics["coverage"] = coverage.figures(whole)
            metrics["coveragePercent"] = round(coverage.percentage(whole), 1)
        if self._coverage_folder is not None:
            metrics["serverCoverage"] = figures(next(iter(self._specs.values())), self._coverage_folder)
        if len(rounds) > 1:
            metrics["repeat"] = len(rounds)
            metrics["flaky"] = _flakes(rounds)
        if "--shuffle" in self._given:
            metrics["seed"] = self._seed
        server = next((each for each in last if each.server), None)
        return Report(
            kind="test",
            target=", ".join(suite.file for suite in suites),
            server={} if server is None else server.server,
            protocol_version=None if server is None else server.protocol_version,
            started=started,
            seconds=seconds,
            outcomes=tuple(_worst(rounds)),
            metrics=metrics,
        )

    def _verdict(self, report: Report, rounds: list[list[Result]], suites: list[Suite]) -> int:
        summary = report.summary
        if any(result.could_not_run for results in rounds for result in results):
            return NO_SERVER
        wanted = self._least_coverage
        short = wanted is not None and float(str(report.metrics["coveragePercent"])) < wanted
        if short:
            self._terminal.say(f"error: {report.metrics['coveragePercent']} % were touched, less than {wanted} %")
        told = self._output.warnings(suites, [result.job for result in rounds[-1]])
        judged = any(result.remarks for result in rounds[-1])
        warned = "--strict" in self._given and (summary["warned"] or told or judged)
        if warned:
            self._terminal.say("error: there are warnings, and --strict makes them failures")
        return FAILED if summary["failed"] or summary["errored"] or short or warned else 0

    async def watch(self) -> int:
        """Run again whenever a test file, or a file that the server is started from, changes."""
        while True:
            try:
                await self.once()
            except UsageError as error:
                self._terminal.say(diagnostic(error))
            seen = self._stamps()
            self._terminal.say("waiting for a change; Ctrl-C ends")
            while self._stamps() == seen:  # noqa: ASYNC110  # there is no event for this in the standard library
                await asyncio.sleep(_WATCH_SECONDS)

    def _stamps(self) -> dict[str, float]:
        files: set[str] = set()
        for text in self._given.words or (".",):
            files.update(files_of(read_pattern(text), self._terminal.directory))
        for spec in self._specs.values():
            cwd = getattr(spec, "cwd", None) or self._terminal.directory
            files.update(os.path.join(cwd, word) for word in getattr(spec, "command", ()))
        return {file: os.stat(file).st_mtime for file in files if os.path.isfile(file)}


class _Judging:
    """What judges say of a server.

    They are many modules: these are imported while the first server starts, when there is nothing else to do.
    """

    def __init__(self) -> None:
        # No daemon: an interpreter that ends in the middle of an import may crash.
        self._loading = threading.Thread(target=_load_judges)

    def load(self) -> None:
        if self._loading.ident is None:
            self._loading.start()

    def __call__(self, session: Session, said: list[Frame], spec: ServerSpec) -> list[str]:
        self._loading.join()
        from mcp_conductor.checks.judging import remarks

        return remarks(session, said, spec)


def _load_judges() -> None:
    from mcp_conductor.checks import CHECKS
    from mcp_conductor.checks.requirements import requirements

    requirements()
    CHECKS.items()


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


def _worst(rounds: list[list[Result]]) -> list[Outcome]:
    """One outcome for each test: of several runs, the one that failed."""
    found: dict[str, Outcome] = {}
    for results in rounds:
        for outcome in (outcome for result in results for outcome in result.outcomes):
            if outcome.id not in found or outcome.status in ("failed", "errored"):
                found[outcome.id] = outcome
    return list(found.values())


def _flakes(rounds: list[list[Result]]) -> dict[str, str]:
    """Tests that did not always come out the same: how often they failed."""
    counts: dict[str, list[int]] = {}
    for results in rounds:
        for outcome in (outcome for result in results for outcome in result.outcomes):
            counts.setdefault(outcome.id, []).append(outcome.status in ("failed", "errored"))
    mixed = {name: failures for name, failures in counts.items() if 0 < sum(failures) < len(failures)}
    return {name: f"failed {sum(failures)} of {len(failures)}" for name, failures in mixed.items()}
