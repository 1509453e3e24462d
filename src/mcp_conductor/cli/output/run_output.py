"""Where the output of `conductor test` goes: text for people as it happens, reports at the end, never mixed."""

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.values import number
from mcp_conductor.cli.output.live import CheckInProgress, Live, RunInProgress, now_and_then
from mcp_conductor.cli.output.rerun import RerunCommands
from mcp_conductor.cli.output.terminal import ReaderGone, Terminal
from mcp_conductor.errors import ConductorError, InternalError, Location, UsageError
from mcp_conductor.files.writing import write_file
from mcp_conductor.protocol.server_spec import server_name
from mcp_conductor.report.events import CaseFinished, Event, FileFinished, FileStarted, Warned
from mcp_conductor.report.formats import REPORTERS
from mcp_conductor.report.formats.console import Console
from mcp_conductor.report.formats.wording import counted, warning_text
from mcp_conductor.report.model import BAD, Finding, Looks, Outcome, Report, Status, redacted, redacted_outcome
from mcp_conductor.suites import SUFFIXES

if TYPE_CHECKING:
    from mcp_conductor.report.event_log import EventLog
    from mcp_conductor.report.formats.check_console import CheckConsole
    from mcp_conductor.report.formats.folding import InRevisions
    from mcp_conductor.suites.running.job import Job
    from mcp_conductor.suites.running.run import Result


_DEFAULT_WIDTH = 100


class Output:
    """What a run shows."""

    def __init__(self, given: Given, terminal: Terminal) -> None:
        self._terminal = terminal
        self._redact = terminal.redactor.redact
        self._colour = _colour(given, terminal)
        self._reports = [_report(text, terminal) for text in given.all("--report")] + (
            [("json", None)] if "--json" in given else []
        )
        if sum(file is None for _, file in self._reports) > 1:
            raise UsageError("only one report can go to stdout", hint="--report KIND:FILE writes the others to files")
        _refuse_overwriting([file for _, file in self._reports if file is not None], terminal.directory)
        self._to_stderr = any(file is None for _, file in self._reports)
        # Whether a report shows what is kept only for those who look into it.
        self.wants_looks = any(REPORTERS.get(kind).looks for kind, _ in self._reports)
        self.wants_wire = "--wire" in given or any(kind == "junit" for kind, _ in self._reports)
        self.wants_all_said = "--wire" in given or bool(self._reports)  # also where nothing is wrong
        self._timing = "--timing" in given
        # Where warnings are failures, they are never left out.
        self._failures_alone = "--quiet" in given or "--errors-only" in given
        self.silent = self._failures_alone and "--strict" not in given
        self._durations = number(given, "--durations")
        self.again = RerunCommands(given)
        verbosity = 2 if "--wire" in given else 1 if "--verbose" in given else -1 if "--quiet" in given else 0
        width, max_errors = _width(terminal), number(given, "--max-errors")
        self._console = Console(
            colour=self._colour,
            verbosity=verbosity,
            width=width,
            max_errors=max_errors,
            errors_only="--errors-only" in given,
            timing=self._timing,
            again=self.again,
        )
        self._verbosity = verbosity
        self._max_errors = max_errors
        self._logs: list[EventLog] = []  # reports that are written as it happens
        self._progress = RunInProgress()
        live = not self._to_stderr and "--quiet" not in given and terminal.is_live()
        self._live = Live(terminal, self._progress.lines) if live else None
        self._one_by_one = True
        self._unread = False  # whether stdout was closed
        self.warned: list[Finding] = []  # what belongs to no single test
        self._told: dict[str, Status] = {}  # the outcomes that have been shown, or belong to a file that has
        self._shown: set[tuple[str, ...]] = set()  # the ids of failures that have been shown, and what was found

    def begin(self, jobs: "list[Job]", seed: int) -> None:
        live = [(kind, file) for kind, file in self._reports if REPORTERS.get(kind).live]
        self._logs = [self._log(file) for _, file in live]
        self._one_by_one = len(jobs) == 1
        if (name := server_name(job.spec for job in jobs)) and not self._failures_alone:
            self._show(f"{name}\n")
        self.again.about(jobs, seed)
        self.warned = []
        self._told = {}
        self._shown = set()

    def _log(self, file: str | None) -> "EventLog":
        """The events of the run, for a file or for stdout."""
        from mcp_conductor.report.event_log import EventLog, log_to_file

        terminal = self._terminal
        if file is not None:
            return log_to_file(os.path.join(terminal.directory, file), file, terminal.redactor)

        def write(text: str) -> None:
            try:
                terminal.write_report_as_it_is(text)
            except ReaderGone:
                raise UsageError("stdout was closed by its reader, so no more events can be written") from None

        return EventLog(write, terminal.redactor)

    def live(self) -> AbstractAsyncContextManager[None]:
        """Show what runs now, while the body of `with` runs, if there is a terminal."""
        return nullcontext() if self._live is None else self._live.shown()

    def live_check(self, progress: CheckInProgress) -> AbstractAsyncContextManager[None]:
        """Show what is checked now, while the body of `with` runs; without a terminal, a line from time to time."""
        if self._failures_alone:
            return nullcontext()
        if not self._terminal.is_live(on_stderr=self._to_stderr):
            if self._to_stderr:  # for a program, which reads the result
                return nullcontext()
            return now_and_then(lambda: self._terminal.say(f"checking {progress.line()}"))
        self._live = Live(self._terminal, progress.lines, on_stderr=self._to_stderr)
        return self._live.shown()

    def note(self, text: str) -> None:
        """Say on stderr what a person must know in addition to the results."""
        if self._live is not None:
            self._live.erase()
        self._terminal.say(text)

    def take(self, event: Event) -> None:
        """Show what happens, as far as people want to see it."""
        for log in self._logs:
            log.take(event)
        if self._live is not None:
            self._progress.take(event)
        match event:
            case FileStarted() if self._one_by_one:
                self._show(self._console.suite(event.title, Location(event.file, 1, 1)))
            case CaseFinished():
                if self._told.get(event.outcome.id) not in BAD:  # it may be run again, and then pass
                    self._told[event.outcome.id] = event.outcome.status
                if self._one_by_one:  # the outcomes of several files would mix
                    self._show_outcome(event.outcome)
            case FileFinished():
                self._file(event)
            case Warned():
                self.warned.append(Finding(message=event.message, where=event.where, warning=True))

    def _file(self, event: FileFinished) -> None:
        where = Location(event.file, 1, 1)
        if not self._one_by_one:
            self._show(self._console.suite(event.title, where))
            for each in event.outcomes:
                self._show_outcome(each)
        self._show(self._console.suite_done(event.title, where, event.outcomes))

    def _show_outcome(self, outcome: Outcome) -> None:
        """Show it; of a run that is repeated, where no lines separate the runs, the same failure only once."""
        if self._failures_alone:
            same = (outcome.id, outcome.status, *(finding.message for finding in outcome.findings))
            if same in self._shown:
                return
            self._shown.add(same)
        self._show(self._console.outcome(outcome))

    def end(self, report: Report, results: "list[Result]") -> None:
        report = self._clean(report)
        for outcome in report.outcomes:
            # Only the whole run shows that these are failures, such as warnings with --strict.
            if outcome.status in BAD and self._told.get(outcome.id) not in BAD:
                self._show(self._console.outcome(outcome))
        for warning in () if self.silent else report.warnings:
            self._show(f"warning: {warning_text(warning)}\n")
        for result in () if self.silent else results:
            if result.written:
                self._show(f"{result.job.suite.file}: {counted(result.written, 'snapshot')} written\n")
        if self._durations is not None:
            self._show(self._console.durations(report, self._durations))
        self._show(self._console.coverage(report.metrics))
        if "serverCoverage" in report.metrics:
            from mcp_conductor.suites.running.server_coverage import figures_text

            self._show(figures_text(report.metrics["serverCoverage"]))
        self._show(_flakes(report))
        if "seed" in report.metrics:
            self._show(f"shuffled with --seed {report.metrics['seed']}\n")
        self._show(self._console.end(report))

    @cached_property
    def _of_checks(self) -> "CheckConsole":
        from mcp_conductor.report.formats.check_console import CheckConsole  # a run of tests does not need it

        return CheckConsole(
            colour=self._colour,
            verbosity=-1 if self._failures_alone else self._verbosity,
            width=_width(self._terminal),
            max_errors=self._max_errors,
        )

    def show_revision(self, version: str, outcomes: Sequence[Outcome], seconds: float) -> None:
        """Show what came of one of several revisions, when it is done."""
        self._show(self._of_checks.revision(version, outcomes, seconds))

    def show_check(self, report: Report, shown: "Sequence[InRevisions]", again: str) -> None:
        """Show the report of a check. SHOWN are its outcomes, those that are alike in several revisions as one.

        AGAIN are the lines that say what to run next.
        """
        report = self._clean(report)
        shown = [replace(each, outcome=redacted_outcome(each.outcome, self._redact)) for each in shown]
        results = self._of_checks.results(report, shown)
        # Lines of revisions may stand above.
        above = "\n" if results and ", " in (report.protocol_version or "") else ""
        self._show(results and f"{above}{results}\n")
        migration = self._of_checks.migration(report)
        self._show(migration and f"{migration}\n")
        self._show(self._of_checks.summary(report, shown))
        self._show(_grade(report.metrics))
        self._show(again)

    def _clean(self, report: Report) -> Report:
        """REPORT without secrets; a run without secrets skips the search."""
        return redacted(report, self._redact) if self._terminal.redactor.knows_secrets else report

    def _show(self, text: str) -> None:
        if not text:
            return
        if self._to_stderr:
            if self._live is not None:
                self._live.erase()
            self._terminal.say(text.rstrip("\n"), colour=self._colour)
        elif not self._unread:
            try:
                if self._live is not None:
                    self._live.erase()
                self._terminal.show(text, colour=self._colour)
            except ReaderGone:
                self._unread = True  # `| head`: the verdict and the reports are wanted all the same

    def write_reports(self, report: Report, *, badge: tuple[str, str] | None = None) -> list[UsageError]:
        """Write all reports, and the BADGE (its file, and what is in it): what could not be written."""
        problems: list[UsageError] = []
        if not self._reports and badge is None:
            return problems
        from mcp_conductor.report.formats.github_actions import append_summary, from_root

        later = [(kind, file) for kind, file in self._reports if not self._logs or not REPORTERS.get(kind).live]
        while self._logs:
            log = self._logs.pop(0)
            log.end(report)
            problems += [log.problem] if log.problem else []
        report = self._clean(report)
        workspace = self._terminal.environ.get("GITHUB_WORKSPACE")
        rooted = from_root(report, self._terminal.directory, workspace or self._terminal.directory)

        def text_of(kind: str) -> str:
            return REPORTERS.get(kind).write(rooted if kind == "sarif" or (workspace and kind == "github") else report)

        wanted: list[tuple[str | None, Callable[[], str]]] = [(file, partial(text_of, kind)) for kind, file in later]
        if badge is not None:
            wanted.append((badge[0], lambda: badge[1]))
        for file, text in wanted:
            try:
                self._write(text(), file)
            except UsageError as error:
                problems.append(error)
            except ReaderGone:
                self._unread = True
        summary = self._terminal.environ.get("GITHUB_STEP_SUMMARY")
        # Markdown that was asked for by name stands there already.
        if summary and any(kind == "github" for kind, _ in later) and ("markdown", summary) not in self._reports:
            try:
                append_summary(summary, REPORTERS.get("markdown").write(rooted if workspace else report))
            except UsageError as error:
                problems.append(error)
        return problems

    def write_unusable(
        self, error: ConductorError, empty: Report, subject: str, began: float, *, badge: tuple[str, str] | None = None
    ) -> None:
        """Write the reports of a run that ERROR kept from beginning; EMPTY says what it would have been about."""
        if not self._reports and badge is None:
            return
        report = report_of(error, empty, subject, began)
        for problem in [] if report is None else self.write_reports(report, badge=badge):
            self._terminal.say_error(problem)

    def _write(self, text: str, file: str | None) -> None:
        if file is None:
            if self._terminal.stdout is None:  # from the start: not a reader that has read enough
                raise UsageError("cannot write the report to stdout: it is closed")
            self._terminal.write_report_as_it_is(text if text.endswith("\n") else text + "\n")
        else:
            write_file(os.path.join(self._terminal.directory, file), text, shown=f"the report to {file}")


def _grade(metrics: Mapping[str, Any]) -> str:
    """The grade of a check with its reason, or why the check has no grade."""
    if "grade" in metrics:
        found = metrics["grade"]
        told = f"grade {found['letter']} of the specification ({found['reason']}; {found['revision']})\n"
        if "gradeOfAll" in metrics:
            every, by = metrics["gradeOfAll"], metrics["framework"]
            told += f"  with what is of the {by['name']} {by['version']}: grade {every['letter']} ({every['reason']})\n"
        if "ofPlugins" in metrics:
            told += f"  what plugins require ({metrics['ofPlugins']}) does not count for the grade\n"
        return told
    return f"no grade: {metrics['ungraded']}\n" if "ungraded" in metrics else ""


def _flakes(report: Report) -> str:
    flaky = report.metrics.get("flaky")
    if "repeat" not in report.metrics:
        return ""
    if not isinstance(flaky, dict) or not flaky:
        return f"{report.metrics['repeat']} runs, all with the same outcomes\n"
    return "not always the same:\n" + "".join(f"  {name}: {what}\n" for name, what in flaky.items())


def _report(text: str, terminal: Terminal) -> tuple[str, str | None]:
    kind, colon, file = text.partition(":")
    REPORTERS.get(kind)
    if colon and not file:
        raise UsageError(f"--report {text} names no file", hint=f"--report {kind}:FILE, or --report {kind} for stdout")
    if not colon and terminal.is_shown() and REPORTERS.get(kind).suffix == ".html":
        hint = f"--report {kind}:report.html; --report {kind}:- prints it nevertheless"
        raise UsageError(f"--report {kind} is not for a terminal, and names no file", hint=hint)
    return kind, file if colon and file != "-" else None


def _refuse_overwriting(files: Sequence[str], directory: str) -> None:
    """A report must not overwrite another one, or a test file."""
    places = Counter(os.path.realpath(os.path.join(directory, file)) for file in files)
    for place, times in places.items():
        if times > 1 and (os.path.isfile(place) or not os.path.exists(place)):
            raise UsageError(f"{times} reports go to {os.path.basename(place)}: each needs its own file")
        if place.endswith(SUFFIXES):
            raise UsageError(f"a report would overwrite the test file {os.path.basename(place)}")


def _colour(given: Given, terminal: Terminal) -> bool:
    when = given.one("--color") or "auto"
    if when != "auto":
        return when == "always"
    return terminal.is_shown() and not terminal.environ.get("NO_COLOR") and terminal.environ.get("TERM") != "dumb"


def _width(terminal: Terminal) -> int:
    columns = terminal.environ.get("COLUMNS", "")
    if columns.isdecimal() and 40 <= int(columns[:4]) <= 1000:
        return int(columns[:4])
    return max(40, terminal.width() or _DEFAULT_WIDTH)


def report_of(error: ConductorError, report: Report, subject: str, began: float) -> Report | None:
    """REPORT, of a run that BEGAN then (`perf_counter`), with ERROR as its only outcome.

    None where the SUBJECT is not to blame: a wrong command line has no report, nor has a bug of ours.
    """
    if isinstance(error, (UsageError, InternalError)):
        return None
    frames = error.frames
    about = (0, len(frames)) if frames else None
    outcome = Outcome(
        id=subject,
        title=f"The {subject} can be used",
        group=subject,
        status="errored",
        findings=(Finding(message=error.message, hint=error.hint, where=error.where, framed=about),),
        stderr=tuple(error.stderr),
        cause="server",
        frames=frames,
    )
    metrics = {"ungraded": error.message} if report.kind == "check" else {}
    seconds = time.perf_counter() - began
    return replace(report, outcomes=(outcome,), seconds=seconds, metrics=metrics, looks=Looks(trace="on"))
