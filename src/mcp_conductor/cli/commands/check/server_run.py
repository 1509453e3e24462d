"""One run of `conductor check`: what is checked, in which revisions, and what is reported."""

import asyncio
import os
import time
from collections.abc import Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from threading import Thread

from mcp_conductor.checks.engine.check import CHECKS
from mcp_conductor.checks.engine.expected_failures import Told, read_expected, so_far, with_expected
from mcp_conductor.checks.engine.exploration import ALL
from mcp_conductor.checks.engine.first_session import connect_to_explore, may_be_explored
from mcp_conductor.checks.engine.grade import Grade, grade, metrics, unseen
from mcp_conductor.checks.engine.judging import Trigger
from mcp_conductor.checks.engine.migration import migration
from mcp_conductor.checks.engine.remarks import mostly_unseen, without_sessions
from mcp_conductor.checks.engine.run import Options, Verdicts, check
from mcp_conductor.checks.engine.sessions import LATEST, Sessions, heard_up_to_a_flood
from mcp_conductor.checks.frameworks import KnownFramework, known_framework
from mcp_conductor.checks.requirements import LEVELS, check_names, of_plugin, requirements
from mcp_conductor.cli.commands.check.flags import checked_server
from mcp_conductor.cli.commands.mcp_cli.plan import json_of
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import secrets_of_flags
from mcp_conductor.cli.flags.target import source_file
from mcp_conductor.cli.flags.values import time as time_of
from mcp_conductor.cli.output.live import CheckInProgress
from mcp_conductor.cli.output.rerun import next_lines
from mcp_conductor.cli.output.run_output import Output
from mcp_conductor.cli.output.terminal import Terminal, tell_all
from mcp_conductor.cli.process.exit_codes import code_of
from mcp_conductor.client.session import Session
from mcp_conductor.errors import (
    ConductorError,
    HttpStatusError,
    MethodError,
    ProtocolError,
    TransportError,
    UsageError,
)
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, NEWEST_HANDSHAKE
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.report.formats.badge import badge
from mcp_conductor.report.formats.folding import once_for_all
from mcp_conductor.report.model import Finding, Outcome, Report
from mcp_conductor.transport.process_tree import Command

_DEFAULT_SECONDS = 2.0
_NOT_ALL = ("--only", "--skip", "--level")  # flags that leave requirements out


class CheckRun:
    """One command line of `conductor check`."""

    subject = "server"
    default_seconds = _DEFAULT_SECONDS
    _framework: KnownFramework | None = None  # of the server, where that is certain
    _first: Session | None = None  # of which the revision is known, and nothing else was asked yet

    def __init__(self, given: Given, terminal: Terminal) -> None:
        self._given = given
        self._terminal = terminal
        terminal.learn(secrets_of_flags(given))
        self._protocol = given.one("--protocol") or "auto"
        self._target = self._aim()
        self._output = Output(given, terminal)
        self._progress = CheckInProgress()
        known = given.one("--expected-failures")
        self._expected = [] if known is None else read_expected(os.path.join(terminal.directory, known), known)
        level = given.one("--level") or "may"
        check_names((*given.all("--only"), *given.all("--skip")))
        whole = {"--level"} if level == LEVELS[-1].lower() else set()
        self._left_out = next((flag for flag in _NOT_ALL if flag in given and flag not in whole), None)
        if self._left_out is not None and "--badge" in given:
            raise UsageError(
                f"--badge shows the grade of a whole check, but {self._left_out} leaves something out",
                hint="what is known to fail can be named by --expected-failures",
            )
        calls = given.all("--call-tools")
        self._options = Options(
            timeout=time_of(given, "--timeout") or self.default_seconds,
            call=ALL if ALL in calls else frozenset(calls),
            triggers=tuple(_trigger(text) for text in given.all("--trigger")),
            levels=LEVELS[: LEVELS.index(level.upper()) + 1],
            only=frozenset(given.all("--only")),
            skip=frozenset(given.all("--skip")),
            keep_wire="--wire" in given,
        )

    def _aim(self) -> str:
        """Find out what is to be checked: its name."""
        self._spec = checked_server(self._given, self._terminal)
        return self._spec.label

    async def run(self) -> int:
        from mcp_conductor.checks.explain import rules

        if self.subject == "server":  # which is starting, while there is nothing else to do
            Thread(target=CHECKS.items, daemon=True).start()
        began, started = time.perf_counter(), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        try:
            async with AsyncExitStack() as self._stack, self._output.live_check(self._progress):
                verdicts = await self._all_verdicts()
        except asyncio.CancelledError:
            self._output.note("interrupted: a check that did not end has no result, and no report is written")
            raise
        except ConductorError as error:
            empty = Report(kind="check", target=self._target, started=started)
            self._output.write_unusable(error, empty, self.subject, began, badge=self._badge(None))
            raise
        if not verdicts:
            raise ProtocolError(f"the {self.subject} speaks none of the revisions that were asked for")
        remarks = list(dict.fromkeys(remark for each in verdicts for remark in each.remarks))
        for remark in remarks:
            self._output.note(f"warning: {remark}")
        told = self._attributed(with_expected(verdicts, self._expected, datetime.now(UTC).date()))
        outcomes = [replace(outcome, version=version) if len(verdicts) > 1 else outcome for version, outcome in told]
        found = self._grades(verdicts)
        report = Report(
            kind="check",
            target=self._target,
            server=verdicts[-1].server,
            protocol_version=", ".join(each.version for each in verdicts),
            started=started,
            seconds=time.perf_counter() - began,
            outcomes=tuple(outcomes),
            warnings=tuple(Finding(message=remark, warning=True) for remark in remarks),
            rules=rules(dict.fromkeys(outcome.id for outcome in outcomes)),
            source=source_file(self._given, self._terminal.directory),
            metrics=found and {**found, **_unseen(verdicts), **self._migration(verdicts, told)},
        )
        if self._output.wants_looks:
            from mcp_conductor.cli.output.rerun import looks_of_check

            report = replace(report, looks=looks_of_check(self._given, report))
        order = {name: index for index, name in enumerate(requirements())}
        shown = once_for_all(sorted(told, key=lambda each: (each[1].side == "client", order[each[1].id])))
        self._output.show_check(report, shown, next_lines(self._given, shown))
        return self._write_results(report)

    async def _all_verdicts(self) -> list[Verdicts]:
        """The verdicts for each revision that is to be checked and that the server supports."""
        versions, verdicts = await self._versions(), []
        for version in versions:
            began = time.perf_counter()
            self._progress.begin(version, versions)
            verdict = await self._verdicts(version)
            if verdict is not None:
                verdicts.append(verdict)
                self._framework = self._framework or self._known_framework(verdict.commands)
                if len(versions) > 1:
                    told = [(version, each) for each in so_far(verdict, self._expected, datetime.now(UTC).date())]
                    outcomes = [outcome for _, outcome in self._attributed(told)]
                    self._output.show_revision(version, outcomes, time.perf_counter() - began)
        return verdicts

    def _known_framework(self, commands: Sequence[Command]) -> KnownFramework | None:
        """What the server is built on, where that is certain and its faults are not to be counted."""
        if any(flag in self._given for flag in ("--all-findings", "--client", "--transcript")):
            return None
        if not commands and (spec := self._spec.as_process()) is not None:  # a system that does not show them
            path = {**os.environ, **spec.env}.get("PATH", "")
            commands = [Command(tuple(spec.command), spec.cwd or self._terminal.directory, path)]
        return known_framework(dict.fromkeys(commands))

    def _attributed(self, told: Iterable[Told]) -> list[Told]:
        """What was TOLD, of which the framework's is not counted."""
        framework = self._framework
        return [(version, each if framework is None else framework.attributed(each)) for version, each in told]

    def _grades(self, verdicts: Sequence[Verdicts]) -> Json:
        """The grade of what is the author's, and beside it that of everything, where the framework is known."""
        why = self._why_ungraded(verdicts)
        everything = grade_of(verdicts, why)
        if self._framework is None or not everything:
            return everything
        of_the_author = []
        for each in verdicts:
            told = self._attributed((each.version, outcome) for outcome in each.outcomes)
            of_the_author.append(replace(each, outcomes=[outcome for _, outcome in told]))
        found = {**grade_of(of_the_author, why), "framework": self._framework.to_json()}
        excused = any(outcome.framework is not None for each in of_the_author for outcome in each.outcomes)
        return found | ({"gradeOfAll": everything["grade"]} if excused and "grade" in everything else {})

    def _migration(self, verdicts: Iterable[Verdicts], told: Iterable[Told]) -> Json:
        """What the server lacks for the newest era, where all revisions were asked for."""
        if self._protocol != "all" or self.subject != "server":
            return {}
        outcomes: dict[str, list[Outcome]] = {}
        for version, outcome in told:
            if not of_plugin(outcome.id):
                outcomes.setdefault(version, []).append(outcome)
        traits = {each.version: each.traits for each in verdicts if each.traits is not None}
        found = migration(outcomes, traits, self._options)
        return {} if found is None else {"migration": found}

    def _write_results(self, report: Report) -> int:
        """Write what was asked for: the exit code."""
        file, graded = self._given.one("--badge"), report.metrics.get("grade")
        tell_all(self._output.write_reports(report, badge=self._badge(graded)), self._terminal)
        if not report.metrics:
            self._terminal.say("error: nothing was checked, so there is no grade")
            if not report.outcomes:
                self._terminal.say("  hint: what was asked for holds on another transport, or in another revision")
        elif "unseen" in report.metrics:
            self._terminal.say(f"error: {report.metrics['unseen']}")
        elif file is not None and graded is None:
            self._terminal.say(f"warning: {file} shows that there is no grade: {report.metrics['ungraded']}")
        return code_of(report)

    def _badge(self, graded: Json | None) -> tuple[str, str] | None:
        """The file of the picture, if it is wanted, and what is in it."""
        file = self._given.one("--badge")
        return None if file is None else (file, badge(graded))

    def _why_ungraded(self, checked: Iterable[Verdicts]) -> str | None:
        """Why what was CHECKED is not the whole, if it is not."""
        if self._left_out is not None:
            return f"{self._left_out} leaves something out"
        reasons = (each.partial or without_sessions(each.outcomes) or mostly_unseen(each.outcomes) for each in checked)
        return next((reason for reason in reasons if reason is not None), None)

    async def _versions(self) -> list[str]:
        """The revisions to check: all, the one that was asked for, or what the server prefers."""
        if self._protocol == "all":
            return list(DIALECTS)
        if self._protocol in DIALECTS:
            return [self._protocol]
        at_url = self._spec.as_http()
        if at_url is not None and at_url.sse:  # it is up already: its first event is late where any answer would be
            seconds = min(at_url.endpoint_timeout, LATEST * self._options.timeout)
            self._spec = replace(at_url, endpoint_timeout=seconds)
        spec = heard_up_to_a_flood(Sessions(self._spec, self._options.timeout).patient_spec)
        heard = Transcript(spec.secrets(), budgets=spec.budgets)
        try:
            async with AsyncExitStack() as stack:
                opening = connect_to_explore(spec, self._protocol, heard, self._options.timeout)
                session = await stack.enter_async_context(opening)
                if may_be_explored(session, spec):
                    self._first = session
                    self._stack.push_async_exit(stack.pop_all())
                return [session.dialect.version]
        except ProtocolError:
            return [self._version_of_opening()]  # what is wrong with its opening is reported there
        except HttpStatusError as error:
            if error.status != 401:
                raise
            return [NEWEST_HANDSHAKE.version]  # it is looked at from outside
        except TransportError:
            stream = any(frame.source == "http" and frame.text.startswith("HTTP 200") for frame in heard.frames)
            old = self._spec.as_http() if self._spec.kind == "sse" and stream else None
            if old is not None:  # a stream without an endpoint; it has had its time to start
                self._spec = replace(old, endpoint_timeout=self._options.timeout)
            elif not any(heard.messages("server")):
                raise
            return [self._version_of_opening()]  # it answers, but not in a way that we can use

    def _version_of_opening(self) -> str:
        """A revision that has all requirements on how a conversation begins: HTTP+SSE is only in the first."""
        return next(iter(DIALECTS)) if self._spec.kind == "sse" else NEWEST_HANDSHAKE.version

    async def _check(self, version: str) -> Verdicts:
        return await check(self._spec, version, self._options, self._progress.take, self._first)

    async def _verdicts(self, version: str) -> Verdicts | None:
        try:
            verdicts = await self._check(version)
        except (ProtocolError, MethodError, TransportError) as error:
            # How a server answers a revision that it does not support is not judged, as long as it can be reached.
            unreached = isinstance(error, TransportError) and self._options.started_in is None
            if self._protocol != "all" or unreached:
                raise
            self._output.note(f"{version}: not spoken ({error.message})")
            return None
        self._options = replace(self._options, started_in=verdicts.started_in)
        return verdicts


def _unseen(verdicts: Iterable[Verdicts]) -> Json:
    """Why a check says little of the server, if it does: it is not green then."""
    reasons = (mostly_unseen(each.outcomes) for each in verdicts)
    reason = next((reason for reason in reasons if reason is not None), None)
    return {} if reason is None else {"unseen": reason}


def grade_of(verdicts: Iterable[Verdicts], ungraded: str | None) -> Json:
    """The grade, which is about the specification: what plugins require does not count.

    Where both sides were judged it is the server's.
    """
    grades: dict[str, Grade | None] = {}
    foreign = 0
    client: Json = {}
    for each in verdicts:
        counted = [outcome for outcome in each.outcomes if not of_plugin(outcome.id) and outcome.side != "client"]
        grades[each.version] = grade(counted, each.version)
        if any(outcome.side == "client" and outcome.status != "skipped" for outcome in each.outcomes):
            client = {"client": {"info": each.client or {}}}
        seen = (outcome.id for outcome in each.outcomes if outcome.status != "skipped")
        foreign = max(foreign, sum(map(of_plugin, seen)))
    about = metrics([found for found in grades.values() if found is not None], ungraded or unseen(grades))
    if foreign and not about:
        about = {"ungraded": "only requirements of plugins were checked"}
    elif client and not about:
        about = {"ungraded": ungraded or "nothing was seen of the server"}
    return {**about, **client, **({"ofPlugins": foreign} if foreign else {})}


def _trigger(text: str) -> Trigger:
    """What TOOL or TOOL=JSON spells."""
    tool, equals, written = text.partition("=")
    if not tool:
        raise UsageError(f"--trigger takes TOOL or TOOL=JSON, not {text!r}")
    if not equals:
        return Trigger(tool)
    arguments = json_of(f"what --trigger gives to {tool!r}", written)
    if not isinstance(arguments, dict):
        raise UsageError(f"what --trigger gives to {tool!r} must be a JSON object, not {kind_of(arguments)}")
    return Trigger(tool, arguments)
