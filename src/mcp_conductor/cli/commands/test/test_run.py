"""One command line of `conductor test`, carried out.

What needs an event loop is imported when the tests are known, and the first server has been started.
"""

import os
import re
import time as clock
from collections.abc import Collection, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from mcp_conductor.checks.engine.listening import ListeningJudges
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import secrets_of_flags
from mcp_conductor.cli.flags.target import load_plugins, named_server, target
from mcp_conductor.cli.flags.values import number, time
from mcp_conductor.cli.output.run_output import Output
from mcp_conductor.cli.output.terminal import Terminal, tell_all
from mcp_conductor.cli.process.exit_codes import code_of
from mcp_conductor.errors import Location, UsageError
from mcp_conductor.files.settings_file import SettingsFile, nearest_settings
from mcp_conductor.protocol.server_spec import ServerSpec, server_name
from mcp_conductor.report.formats.wording import warning_text
from mcp_conductor.report.model import BAD, Finding, Outcome, Report, strict, strict_outcome
from mcp_conductor.suites.language.variables import Variables, from_command_line, of_settings
from mcp_conductor.suites.running.job import RunOptions, in_ci
from mcp_conductor.suites.running.plan import Plan, Planning, Wanted
from mcp_conductor.suites.running.select import files_of, read_pattern

if TYPE_CHECKING:
    from mcp_conductor.cli.process.interruptible import TimeLimit
    from mcp_conductor.recording.folder import RecordingFolder
    from mcp_conductor.suites.running.run import Run
    from mcp_conductor.suites.running.trace import Trace


_AEGIS_SETTINGS = "aegis.config.json"


class WantedTests:
    """The flags of `conductor test` that say what is run, and on what."""

    def __init__(self, given: Given, terminal: Terminal) -> None:
        self._given = given
        self._terminal = terminal
        seed = number(given, "--seed", 0, 10**9)
        self.seed = int.from_bytes(os.urandom(8)) % 10**6 if seed is None else seed
        self.lenient = "--compat" in given  # files of mcp-aegis are taken as they are
        self.in_ci = in_ci(terminal.environ)
        load_plugins(Given(given.after, given.values), terminal)
        self.specs: dict[str | None, ServerSpec] = {}

    def planning(self) -> Planning:
        """What finds the tests that are wanted."""
        given = self._given
        wanted = Wanted(
            directory=self._terminal.directory,
            seed=self.seed,
            patterns=given.words,
            keyword=given.one("--keyword"),
            tags=given.all("--tag"),
            not_tags=given.all("--not-tag"),
            filter=_filter(given, lenient=self.lenient),
            shard=given.one("--shard"),
            last_failed="--lf" in given,
            shuffle="--shuffle" in given,
            lenient=self.lenient,
            in_ci=self.in_ci,
            strict="--strict" in given,
            allow_only="--allow-only" in given,
            allow_outside="--allow-outside" in given,
        )
        return Planning(
            wanted,
            server=None if "--collect-only" in given else self._spec,
            refuse=lambda errors: tell_all(errors, self._terminal),
            say=self._terminal.say,
        )

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
        here, environ = self._terminal.directory, self._terminal.environ
        return of_settings(SettingsFile(path, shown=shown, here=here, environ=environ))

    def _spec(self, name: str | None) -> ServerSpec:
        if name not in self.specs:
            given = Given(self._given.after, self._given.values)
            if self.lenient and not given.words and "--config" not in given:
                aegis = os.path.join(self._terminal.directory, _AEGIS_SETTINGS)
                if os.path.isfile(aegis):
                    given = Given((), {**self._given.values, "--config": [_AEGIS_SETTINGS]})
            if name is None or given.words:  # what the command line names is what is meant
                spec = target(given, self._terminal, program="conductor test")
            else:
                spec = named_server(given, self._terminal, name)
            if self.coverage_folder is not None:
                from mcp_conductor.suites.running.server_coverage import with_coverage

                spec = with_coverage(spec, self.coverage_folder)
            self.specs[name] = spec
        return self.specs[name]

    @property
    def coverage_folder(self) -> str | None:
        folder = self._given.one("--server-coverage")
        return None if folder is None else os.path.join(self._terminal.directory, folder)


def _filter(given: Given, *, lenient: bool) -> str | None:
    """What names must contain; mcp-aegis ignores upper and lower case."""
    text = given.one("--filter")
    if text is None or not lenient:
        return text
    if text.startswith("/") and text.rfind("/") > 0:
        return f"{text}i" if text.endswith("/") else text
    return f"/{re.escape(text)}/i"


_TIME = "%Y-%m-%dT%H:%M:%SZ"
_TRACE_FOR_NOTHING = (
    "warning: --trace keeps what tests say for --report html, and there is no such report; "
    "--record DIR writes every conversation to a file"
)


class TestRun:
    """One command line of `conductor test`."""

    def __init__(self, given: Given, terminal: Terminal) -> None:
        self._given = given
        self._terminal = terminal
        terminal.learn(secrets_of_flags(given))
        self._wanted = WantedTests(given, terminal)
        self._planning = self._wanted.planning()
        self._least_coverage = number(given, "--min-coverage", 0, 100)
        self._output = Output(given, terminal)
        unheard = "--no-judge" in given or self._wanted.lenient or self._output.silent
        self._judging = None if unheard else ListeningJudges()
        self._options = self._read_options()
        self._variables = Variables()

    def _read_options(self) -> RunOptions:
        given, environ = self._given, self._terminal.environ
        text = given.one("--jobs") or ("auto" if "--parallel" in given else None)
        jobs = os.cpu_count() or 1 if text == "auto" else number(given, "--jobs", 1, 1000) or 1
        return RunOptions(
            isolation=given.one("--isolation"),
            jobs=jobs,
            timeout=time(given, "--step-timeout"),
            restart="--restart" in given,
            max_failures=1 if "--exitfirst" in given else number(given, "--max-failures"),
            keep_wire=self._output.wants_wire,
            trace=self._read_trace(),
            update_snapshots="--update-snapshots" in given,
            frozen_snapshots=self._wanted.in_ci and "--update-snapshots" not in given,
            snapshot_paths={self._terminal.directory: "<cwd>", environ.get("HOME") or "~": "<home>"},
            lenient=self._wanted.lenient,
            coverage="--coverage" in given or "--min-coverage" in given,
            judge=self._judging,
            redactor=self._terminal.redactor,
            recordings=self._recordings(),
        )

    def _recordings(self) -> "RecordingFolder | None":
        folder = self._given.one("--record")
        if folder is None:
            return None
        from mcp_conductor.recording.folder import RecordingFolder

        return RecordingFolder(
            os.path.join(self._terminal.directory, folder),
            self._terminal.redactor,
            shown=folder,
            complain=lambda text: self._terminal.say(f"warning: {text}"),
        )

    def _read_trace(self) -> "Trace | None":
        when = self._given.one("--trace") or "retain-on-failure"
        if not self._output.wants_looks:
            if "--trace" in self._given and when != "off":
                self._terminal.say(_TRACE_FOR_NOTHING)
            return None
        from mcp_conductor.suites.running.trace import Trace

        return Trace(when)

    # Running it.

    def plan(self) -> Plan:
        """The tests that are wanted. What is wrong with their files is raised, and written to the reports."""
        self._variables = self._wanted.variables()
        self._terminal.learn(self._variables.secrets)  # a mistake is shown with its line
        try:
            return self._planning.plan(self._variables)
        except UsageError:
            self._report_refusal()
            raise

    def begin(self, plan: Plan) -> bool:
        """Begin with PLAN: whether any test is to be run. If not, all is done."""
        if plan.empty is not None:
            self._terminal.say(plan.empty)
            tell_all(
                self._write_without_run(Report(kind="test", target="", deselected=plan.deselected)), self._terminal
            )
            return False
        if plan.only is not None and (self._output.silent or "--collect-only" in self._given):
            self._terminal.say(f"warning: {warning_text(plan.only)}")
        if "--collect-only" in self._given:
            tests = [job.identity(case) for job in plan.jobs for case in job.cases]
            self._terminal.answer("".join(f"{test}\n" for test in tests), {"tests": tests})
            return False
        if self._options.recordings is not None:
            self._options.recordings.make()
        self._output.begin(plan.jobs, self._wanted.seed)
        return True

    async def once(self, plan: Plan) -> int:
        """Run PLAN: the exit code."""
        from mcp_conductor.cli.process.interruptible import TimeLimit

        if self._options.trace is not None:
            self._options.trace.begin()
        began, started = clock.perf_counter(), clock.strftime(_TIME, clock.gmtime())
        limit = TimeLimit(time(self._given, "--timeout"), self._terminal)
        runs: list[Run] = []
        async with limit:  # it raises nothing: a stopped run reports itself what was not run
            for _ in range(number(self._given, "--repeat") or 1):
                runs.append(await self._round(plan, limit))
                if runs[-1].stopped is not None:
                    break
        report = self._report(runs, plan, started, clock.perf_counter() - began)
        self._planning.remember(list(report.outcomes))
        self._output.end(report, runs[-1].results)
        if self._output.wants_looks:
            from mcp_conductor.cli.output.rerun import looks_of_tests

            looks = looks_of_tests(self._given, plan, report, self._output.again, self._options.trace)
            report = replace(report, looks=looks)
        # A reader of the files would take those of an earlier run for ours: this is worse than a failed test.
        unwritten = [*runs[-1].unwritten, *self._output.write_reports(report)]
        self._explain(report, limit)
        tell_all(unwritten, self._terminal)
        limit.lift()
        if runs[-1].bug is not None:
            raise runs[-1].bug
        if report.stopped == "interrupted":
            from asyncio import CancelledError

            raise CancelledError  # which signal it was is known where it came
        return code_of(report)

    def _report_refusal(self) -> None:
        """Write the reports of a run that did not start because of mistakes in files: earlier reports are not true
        any more. On the console, the error itself shows the mistakes.
        """
        refused = self._planning.refused
        outcomes = tuple(_refusal(file, error) for file, error in refused.items())
        if outcomes:
            report = Report(kind="test", target=", ".join(refused), outcomes=outcomes)
            for problem in self._write_without_run(report):
                self._terminal.say_error(problem)

    def _write_without_run(self, report: Report) -> list[UsageError]:
        if "--collect-only" in self._given:
            return []
        return self._output.write_reports(replace(report, started=clock.strftime(_TIME, clock.gmtime())))

    async def _round(self, plan: Plan, limit: "TimeLimit") -> "Run":
        from mcp_conductor.suites.running.run import Run

        if self._judging is not None:
            self._judging.load()
        run = Run(
            plan.jobs,
            self._options,
            self._variables,
            deselected=plan.deselected,
            late=lambda: limit.expired,
            settle=partial(_strictly, plan.shared_out()[1]) if "--strict" in self._given else lambda outcome: outcome,
        )
        async with self._output.live(), aclosing(run.events()) as events:
            async for event in events:
                self._output.take(event)
        return run

    def _report(self, runs: "list[Run]", plan: Plan, started: str, seconds: float) -> Report:
        last, strictly = runs[-1].results, "--strict" in self._given
        rounds = [[outcome for result in run.results for outcome in result.outcomes] for run in runs]
        metrics: dict[str, object] = {}
        if self._options.coverage:
            from mcp_conductor.suites.running import coverage

            whole = coverage.merged([each.touched for each in last if each.touched is not None])
            metrics["coverage"] = coverage.figures(whole)
            metrics["coveragePercent"] = round(coverage.percentage(whole), 1)
        if self._wanted.coverage_folder is not None:
            from mcp_conductor.suites.running.server_coverage import figures

            metrics["serverCoverage"] = figures(next(iter(self._wanted.specs.values())), self._wanted.coverage_folder)
        if len(runs) > 1:
            metrics["repeat"] = len(runs)
            metrics["flaky"] = _flakes(rounds)
        if "--shuffle" in self._given:
            metrics["seed"] = self._wanted.seed
        server = next((each for each in last if each.server), None)
        report = Report(
            kind="test",
            target=", ".join(suite.file for suite in plan.suites),
            name=server_name(job.spec for job in plan.jobs),
            server={} if server is None else server.server,
            protocol_version=None if server is None else server.protocol_version,
            started=started,
            seconds=seconds,
            outcomes=(*_worst(rounds), *self._shortfall(metrics)),
            warnings=(*(plan.shared_out()[0] if strictly else plan.warnings()), *self._output.warned),
            deselected=plan.deselected,
            stopped=runs[-1].stopped,
            metrics=metrics,
        )
        if strictly:
            report = strict(report)
        # With --strict it was allowed, by a flag of its own.
        return report if plan.only is None else replace(report, warnings=(plan.only, *report.warnings))

    def _shortfall(self, metrics: Mapping[str, object]) -> Iterator[Outcome]:
        """Too little coverage is a failure like any other."""
        wanted, found = self._least_coverage, metrics.get("coveragePercent")
        if wanted is not None and float(str(found)) < wanted:
            finding = Finding(message=f"{found} % of them were used, less than {wanted} %")
            yield Outcome(
                id="--min-coverage", title="coverage", group="--min-coverage", status="failed", findings=(finding,)
            )

    def _explain(self, report: Report, limit: "TimeLimit") -> None:
        if report.stopped == "timeout":
            self._terminal.say(
                f"error: the run took longer than {limit.seconds:g} s\n  hint: --timeout TIME allows more"
            )

    def stamps(self, plugins: Collection[str]) -> dict[str, float]:
        """When each file changed that has to do with the run."""
        files = {*self._planning.files, *plugins}
        for text in self._given.words or (".",):
            files.update(files_of(read_pattern(text), self._terminal.directory))
        for spec in self._wanted.specs.values():
            cwd = getattr(spec, "cwd", None) or self._terminal.directory
            files.update(os.path.join(cwd, word) for word in getattr(spec, "command", ()))
        return {file: os.stat(file).st_mtime for file in files if os.path.isfile(file)}


def _refusal(file: str, error: UsageError) -> Outcome:
    """That FILE cannot be run."""
    findings = [Finding(message=each.message, hint=each.hint, where=each.where) for each in (error, *error.more)]
    if error.left_out:
        findings.append(Finding(message=f"there are {error.left_out} more mistakes in this file"))
    where = error.where or Location(file, 1, 1)
    return Outcome(id=file, title=file, group=file, status="errored", where=where, findings=tuple(findings))


def _strictly(warnings: Mapping[str, list[Finding]], outcome: Outcome) -> Outcome:
    return strict_outcome(outcome, warnings.get(outcome.id, ()))


def _worst(rounds: list[list[Outcome]]) -> list[Outcome]:
    """One outcome for each test: of several runs, one that was bad, if there was one."""
    if len(rounds) == 1:
        return rounds[0]
    found: dict[str, Outcome] = {}
    for outcome in (outcome for outcomes in rounds for outcome in outcomes):
        if outcome.id not in found or outcome.status in BAD:
            found[outcome.id] = outcome
    return list(found.values())


def _flakes(rounds: list[list[Outcome]]) -> dict[str, str]:
    """Tests that did not always come out the same: how often they failed."""
    counts: dict[str, list[bool]] = {}
    for outcome in (outcome for outcomes in rounds for outcome in outcomes):
        counts.setdefault(outcome.id, []).append(outcome.status in BAD)
    mixed = {name: failures for name, failures in counts.items() if 0 < sum(failures) < len(failures)}
    return {name: f"failed {sum(failures)} of {len(failures)}" for name, failures in mixed.items()}
