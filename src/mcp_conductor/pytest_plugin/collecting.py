"""Test files in pytest: a file is a collector, which has the server; each of its tests is an item."""

import os
import re
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from mcp_conductor.checks.engine.listening import ListeningJudges
from mcp_conductor.errors import ConductorError, UsageError
from mcp_conductor.plugins import load_those_of_settings
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.duration import seconds
from mcp_conductor.pytest_plugin.hosting import loop_of
from mcp_conductor.pytest_plugin.servers import read_settings, server_near, setting, settings_near
from mcp_conductor.pytest_plugin.suite_warning import SuiteWarning
from mcp_conductor.pytest_plugin.texts import error_text, failure_text
from mcp_conductor.report.events import Event, Warned
from mcp_conductor.report.formats.wording import counted
from mcp_conductor.report.model import BAD, Outcome
from mcp_conductor.suites.language.suite import Case, Suite, load_suite
from mcp_conductor.suites.language.variables import Variables, from_command_line, of_settings
from mcp_conductor.suites.running.file_run import FileRun
from mcp_conductor.suites.running.job import DEFAULT_SECONDS, Job, RunOptions, in_ci, variants
from mcp_conductor.suites.running.run import obsolete
from mcp_conductor.suites.running.snapshots import Snapshots
from mcp_conductor.suites.running.transports import with_comparison
from mcp_conductor.text.visible import visible

T = TypeVar("T")
# Random values are others in each run; but all processes of pytest-xdist must have the same.
_SEED = os.environ.get("PYTEST_XDIST_TESTRUNUID") or os.urandom(8).hex()
_NOT_IN_A_MARK = re.compile(r"[^\w:+.-]+")  # -m takes these, and little else
_MARKS_OF_PYTEST = {"conductor_server", "filterwarnings", "parametrize", "skip", "skipif", "usefixtures", "xfail"}
Variant = tuple[
    str | None, str | None, str
]  # the name of a server, a revision, and what distinguishes it from the others
_CHOSEN: pytest.StashKey[dict[tuple["SuiteFile", Variant], list[Case]]] = pytest.StashKey()
_JUDGING: pytest.StashKey[ListeningJudges] = pytest.StashKey()
_WARNED: pytest.StashKey[set[Warned]] = pytest.StashKey()


class SuiteFile(pytest.File):
    """One test file, and the server that its tests are run on."""

    suite: Suite
    _in_use = False  # whether it is set up, and not torn down yet

    def collect(self) -> Iterator[pytest.Item]:
        try:
            self._variables = _variables(self.config, self.path)
            self._options = _options(self.config)
            shown = os.path.relpath(self.path, self.config.invocation_params.dir)
            outside = self.config.getoption("--conductor-allow-outside")
            self.suite = load_suite(str(self.path), self._variables, shown=shown, outside=outside)
        except UsageError as error:
            raise self.CollectError(error_text(error)) from None
        only = next((case for case in self.suite.cases if case.only), None)
        if only is not None and in_ci(os.environ) and not self.config.getoption("--conductor-allow-only"):
            message = "`only: true` would leave out other tests, and CI is set"
            hint = "remove it, or give --conductor-allow-only"
            raise self.CollectError(error_text(UsageError(message, where=only.where, hint=hint)))
        self.extra_keyword_matches.add(self.suite.description)
        for warning in self.suite.warnings:
            place = self.suite.file if warning.where is None else str(warning.where)
            _warn(self, f"{place}: {warning.message}")
        seen: Counter[str] = Counter()
        for variant in variants(self.suite):
            for case in self.suite.cases:
                name = _name(case, variant[2])
                seen[name] += 1
                # What a name may not have is left out of it, so two names can become one.
                name += f"#{seen[name]}" if seen[name] > 1 else ""
                yield SuiteItem.from_parent(self, name=name, case=case, variant=variant)

    # What its tests share. pytest sets a collector up before the first of them, and tears it down after the last.

    def setup(self) -> None:
        if self._in_use:  # a plugin that runs a test again may set it up twice: its server goes on
            return
        self._now: tuple[Variant, FileRun] | None = None
        self._news: list[Warned] = []  # from the thread of the servers
        self._replies: dict[tuple[Variant, str], Json] = {}
        with _in_our_words():
            self._snapshots = Snapshots(
                str(self.path),
                update=self._options.update_snapshots,
                frozen=self._options.frozen_snapshots,
                paths=self._options.snapshot_paths,
                outside=self.suite.outside,
            )
        self._in_use = True

    def ready(self, item: "SuiteItem", *, again: bool) -> Outcome | None:
        """See that there is a server for ITEM; the outcome, if there cannot be one."""
        tests = self._tests_on(item.variant)
        if again:
            tests.try_again()
        return self._do(tests.ready(item.case))

    def run(self, item: "SuiteItem") -> Outcome:
        tests = self._tests_on(item.variant)
        outcome = self._do(tests.run(item.case))
        if not self.suite.transports:
            return outcome
        reply, name = tests.replies.get(item.case.name), item.case.name
        if reply is not None:
            self._replies[item.variant, name] = reply
        first = next(each for each in variants(self.suite) if each[1] == item.variant[1])
        if first == item.variant:
            return outcome
        replies = (reply, self._replies.get((first, name)))
        paths = self._options.snapshot_paths
        return with_comparison(outcome, self.suite, item.case, *replies, other=first[2], paths=paths)

    def _tests_on(self, variant: Variant) -> FileRun:
        """The tests on one of the servers that the file wants; one of them runs at a time."""
        if self._now is not None and self._now[0] == variant:
            return self._now[1]
        self._finish()
        name, protocol, suffix = variant
        if self._options.judge is not None:
            _judging(self.config).load()
        with _in_our_words():
            spec = server_near(self.config, self.path, name)
            cases = _selected_tests(self.session).get((self, variant), [])
            job = Job(suite=self.suite, cases=tuple(cases), spec=spec, protocol=protocol, suffix=suffix)
            file = FileRun(job, self._options, self._variables, self._snapshots, tell=self._on_event)
            self._now = (variant, file)
        return file

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        """Wait for WORK, and then show the warnings that came meanwhile."""
        try:
            return loop_of(self.config).run(work)
        finally:
            news, self._news = self._news, []
            self._warn_once(news)

    def _warn_once(self, news: list[Warned]) -> None:
        """Warn once: a server makes the same mistake in every file."""
        known = self.config.stash.setdefault(_WARNED, set())
        for warning in news:
            if warning not in known:
                known.add(warning)
                _warn(self, warning.message if warning.where is None else f"{warning.where}: {warning.message}")

    def _on_event(self, event: Event) -> None:
        if isinstance(event, Warned):
            self._news.append(event)

    def finish_test(self) -> None:
        """End the server, if each test has its own."""
        if self._now is not None and self._now[1].isolation == "test":
            self._tell(self._do(self._now[1].finish()))

    def teardown(self) -> None:
        self._in_use = False
        try:
            self._finish()
        finally:
            warning = obsolete(self._snapshots, self.suite)
            with _in_our_words():
                self._snapshots.save({case.name for case in self.suite.cases})
        self._warn_once([] if warning is None else [warning])

    def _finish(self) -> None:
        now, self._now = self._now, None
        if now is not None:
            self._tell(self._do(now[1].finish()))

    def _tell(self, outcome: Outcome | None) -> None:
        if outcome is not None:
            text = failure_text(self.config, outcome, self.nodeid)
            raise pytest.fail.Exception(text, pytrace=False)


class SuiteItem(pytest.Item):
    """One test of a file, on one of its servers."""

    parent: SuiteFile

    def __init__(self, *, case: Case, variant: Variant, **members: Any) -> None:
        super().__init__(**members)
        self.case = case
        self.variant = variant
        self.leaves_out = 0  # how many tests are not run because it says `only`
        self._attempted = False
        for tag in sorted(case.tags):
            self.add_marker(_mark(self.config, tag))
        if case.skip is not None:
            self.add_marker(pytest.mark.skip(reason=case.skip))

    def setup(self) -> None:
        if self.leaves_out:
            _warn(self, f"{self.case.where}: `only: true` leaves out {counted(self.leaves_out, 'test')}")
        again, self._attempted = self._attempted, True
        outcome = self.parent.ready(self, again=again)
        if outcome is not None:
            raise self._failure(outcome)

    def runtest(self) -> None:
        outcome = self.parent.run(self)
        if outcome.after:
            self.add_report_section("call", "run first", f"{', '.join(outcome.after)}: for what this test needs")
        self._conclude(outcome)

    def teardown(self) -> None:
        self.parent.finish_test()

    def _conclude(self, outcome: Outcome) -> None:
        """Tell pytest of OUTCOME in the ways that it has."""
        xfail, as_others = self.case.xfail, self.config.getoption("runxfail", default=False)
        if outcome.status == "skipped" and not (xfail and outcome.findings):
            raise pytest.skip.Exception(outcome.reason or "", _use_item_location=True)
        if xfail is not None and outcome.status == "skipped" and not as_others:
            pytest.xfail(xfail)
        if outcome.status == "failed" and outcome.reason is not None and outcome.reason == xfail and as_others:
            return  # then it is not a failure that it passes
        if outcome.status in (*BAD, "skipped"):
            raise self._failure(outcome)
        for finding in outcome.findings:
            _warn(self, f"{outcome.id}: {finding.message}")
        if outcome.flaky:
            _warn(self, f"{outcome.id}: it passed, but not at the first try")

    def _failure(self, outcome: Outcome) -> BaseException:
        # This is pytest's own way to say that a traceback would not help.
        return pytest.fail.Exception(failure_text(self.config, outcome, self.nodeid), pytrace=False)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        shown = super().repr_failure(excinfo, style)
        crash = getattr(shown, "reprcrash", None)
        if isinstance(excinfo.value, pytest.fail.Exception) and crash is not None:
            # What the last lines of a run say of it.
            crash.path, crash.lineno = self.parent.suite.file, self.reportinfo()[1] + 1
            crash.message = str(excinfo.value)
        return shown

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.case.lines[0] - 1, self.name


def _selected_tests(session: pytest.Session) -> dict[tuple[SuiteFile, Variant], list[Case]]:
    """The tests that are run, of every file; those that were deselected are not among them."""
    if _CHOSEN not in session.stash:
        found = session.stash[_CHOSEN] = {}
        for item in session.items:
            if isinstance(item, SuiteItem):
                found.setdefault((item.parent, item.variant), []).append(item.case)
    return session.stash[_CHOSEN]


def _warn(node: pytest.Item | pytest.Collector, text: str) -> None:
    """Warn; where warnings are errors, the error is shown without a traceback."""
    try:
        node.warn(SuiteWarning(visible(text)))
    except SuiteWarning as warning:
        raise pytest.fail.Exception(f"SuiteWarning: {warning}", pytrace=False) from None


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Show an error of ours as such, and not as an error of Python."""
    try:
        yield
    except ConductorError as error:
        raise pytest.fail.Exception(error_text(error), pytrace=False) from None


def _name(case: Case, suffix: str) -> str:
    """The name of a test as pytest writes it: `reads a file[empty]`, `reads a file[empty-2025-11-25]`."""
    title = str(case.step.given.value["it"])
    row = case.title.removeprefix(title).strip().removeprefix("[").removesuffix("]")
    number = str(case.number) if case.number > 1 else ""
    told = "-".join(part for part in (row, number, suffix.strip(" []").replace(", ", "-")) if part)
    # Two colons would end the name on the command line of pytest. Names may come from servers, by `discover`.
    name = " ".join(title.split()).replace("::", ":")
    return visible(f"{name}[{told}]" if told else name)


def _mark(config: pytest.Config, tag: str) -> Any:
    """The mark for a tag, known to pytest from now on."""
    name = _NOT_IN_A_MARK.sub("_", tag).lstrip("_") or "tag"
    if name in _MARKS_OF_PYTEST:
        name = f"tag_{name}"  # a tag says what a test is about, not what is done with it
    line = f"{name}: a tag of test files"
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)
    return getattr(pytest.mark, name)


def keep_only(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where a test says `only`, no other test of any file is run; Python's are."""
    ours = [item for item in items if isinstance(item, SuiteItem)]
    marked = [item for item in ours if item.case.only]
    left_out = [item for item in ours if not item.case.only] if marked else []
    if not left_out:
        return
    marked[0].leaves_out = len(left_out)
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _variables(config: pytest.Config, path: Path) -> Variables:
    here = config.invocation_params.dir
    settings = settings_near(config, path)
    if settings is not None and not setting(config, "command"):  # it names the server
        load_those_of_settings(read_settings(settings, str(here)))
    return from_command_line(
        files=[os.path.join(here, file) for file in config.getoption("--conductor-vars-file")],
        pairs=config.getoption("--conductor-var"),
        secrets=config.getoption("--conductor-secret"),
        environ=os.environ,
        config={} if settings is None else of_settings(read_settings(settings, str(here))),
        seed=_SEED,
    )


def _options(config: pytest.Config) -> RunOptions:
    text = setting(config, "timeout")
    timeout = DEFAULT_SECONDS if text is None else seconds(text)
    if timeout is None:
        raise UsageError(f"--conductor-timeout takes a time above 0, such as 500ms, 2s or 1m, not {text!r}")
    here, update = str(config.invocation_params.dir), config.getoption("--conductor-update-snapshots")
    return RunOptions(
        timeout=timeout,
        update_snapshots=update,
        frozen_snapshots=in_ci(os.environ) and not update,
        snapshot_paths={here: "<cwd>", os.environ.get("HOME") or "~": "<home>"},
        judge=None if config.getoption("--conductor-no-judge") else _judging(config),
    )


def _judging(config: pytest.Config) -> ListeningJudges:
    """The judges of this run."""
    return config.stash.setdefault(_JUDGING, ListeningJudges())
