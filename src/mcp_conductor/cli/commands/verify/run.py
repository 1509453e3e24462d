"""One run of `conductor verify`: a recording is read, played, compared and reported."""

import asyncio
import os
import time
from dataclasses import replace
from typing import NamedTuple

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import read_secrets, secrets_of_flags
from mcp_conductor.cli.flags.sessions import chosen_session
from mcp_conductor.cli.flags.target import load_plugins, target
from mcp_conductor.cli.flags.values import time as time_of
from mcp_conductor.cli.output.live import telling
from mcp_conductor.cli.output.run_output import Output
from mcp_conductor.cli.output.terminal import Terminal, tell_all
from mcp_conductor.cli.process.exit_codes import code_of
from mcp_conductor.cli.process.interruptible import run_interruptibly
from mcp_conductor.errors import ConductorError, UsageError
from mcp_conductor.files.reading import no_collecting
from mcp_conductor.recording.dialogue import Dialogue
from mcp_conductor.recording.flows import flows
from mcp_conductor.recording.reader import Recording, began, read_recording
from mcp_conductor.report.events import CaseFinished, FileFinished, FileStarted, RunFinished, RunStarted
from mcp_conductor.report.model import Report
from mcp_conductor.suites.running.job import DEFAULT_SECONDS
from mcp_conductor.suites.verifying.alignment import Alignment
from mcp_conductor.suites.verifying.besides import Ending
from mcp_conductor.suites.verifying.playing import Played, play, refuse_mixed, refuse_redacted
from mcp_conductor.suites.verifying.verification import Verification, nowhere, read_ignored


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor verify`: the exit code."""
    if not given.words:
        raise UsageError("no recording is given", hint="conductor verify FILE -- COMMAND")
    file, *words = given.words
    given = read_secrets(Given((*words, *given.after), given.values, (), given.program), terminal)
    load_plugins(given, terminal)
    return run_interruptibly(VerifyRun(file, given, terminal).run())


class VerifyRun:
    """One command line of `conductor verify`."""

    def __init__(self, file: str, given: Given, terminal: Terminal) -> None:
        self._file = file
        self._given = given
        self._terminal = terminal
        terminal.learn(secrets_of_flags(given))
        self._output = Output(given, terminal)
        self._ignored = read_ignored(given.all("--ignore"))
        self._timeout = time_of(given, "--timeout") or DEFAULT_SECONDS
        with no_collecting():
            self._read()

    def _read(self) -> None:
        file, given, terminal = self._file, self._given, self._terminal
        recording = read_recording(os.path.join(terminal.directory, file), shown=file)
        if recording.warning is not None:
            terminal.say(f"warning: {recording.warning}")
        if given.one("--session") == "all" and len(known := recording.sessions()) > 1:
            self._parts = list(filter(None, (self._part(recording, session, among=True) for session in known)))
            if not self._parts:
                raise UsageError(f"{file} has no request that was answered, so that there is nothing to compare")
        else:
            values = {flag: each for flag, each in given.values.items() if flag != "--session" or each != ["all"]}
            session = chosen_session(recording, given.with_values(values), terminal, does="plays", done="played")
            self._parts = list(filter(None, [self._part(recording, session)]))
        self._spec = target(given, terminal, program="conductor verify FILE")

    def _part(self, recording: Recording, session: int | None, *, among: bool = False) -> "_Part | None":
        """SESSION of RECORDING, ready to be played; None if it is one AMONG several, and has nothing to compare."""
        file, terminal = self._file, self._terminal
        frames = [entry.frame for entry in recording.entries if session in (None, entry.session)]
        dialogue = Dialogue.of(frames)
        name = f"{file} session {session}" if among else file
        if among and not any(asked.awaited for asked in dialogue.asked):
            terminal.say(f"note: session {session} has no request that was answered, and is not played")
            return None
        if not dialogue.asked:
            raise UsageError(f"{file} has no requests of a client, so that there is nothing to play")
        if not any(asked.awaited for asked in dialogue.asked):
            raise UsageError(f"{file} has no request that was answered, so that there is nothing to compare")
        if dialogue.unusable:
            terminal.say(f"warning: {dialogue.unusable} lines of the client are no messages, and are not played")
        refuse_mixed(recording, session)
        refuse_redacted(dialogue)
        alignment = Alignment(began=began(recording), now=time.time(), strict="--strict" in self._given)
        return _Part(name, dialogue, Ending.of(frames), alignment)

    async def run(self) -> int:
        started, clock = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), time.perf_counter()
        try:
            async with telling(self._terminal) as tell:
                played = [
                    await play(
                        self._spec,
                        part.dialogue,
                        flows(part.dialogue),
                        alignment=part.alignment,
                        timeout=self._timeout,
                        redactor=self._terminal.redactor,
                        tell=tell,
                    )
                    for part in self._parts
                ]
        except asyncio.CancelledError:
            self._output.note("interrupted: a recording that was not played to its end has no result")
            raise
        except ConductorError as error:
            empty = Report(kind="verify", target=f"{self._file} on {self._spec.label}", started=started)
            self._output.write_unusable(error, empty, "server", clock)
            raise
        report = self._report(played, started, time.perf_counter() - clock)
        if self._output.wants_looks:
            from mcp_conductor.cli.output.rerun import looks_of_verify

            report = replace(report, looks=looks_of_verify(self._given, report, self._file))
        self._show(report)
        tell_all(self._output.write_reports(report), self._terminal)
        return code_of(report)

    def _report(self, played: list[Played], started: str, seconds: float) -> Report:
        found = [
            Verification(
                part.dialogue,
                part.ending,
                each,
                alignment=part.alignment,
                ignored=self._ignored,
                group=part.name,
                over_http=self._spec.as_http() is not None,
                keeps_all=self._output.wants_all_said,
            )
            for part, each in zip(self._parts, played, strict=True)
        ]
        outcomes = tuple(outcome for each in found for outcome in each.outcomes())
        best = next((each for each in played if each.version is not None), played[0])
        return Report(
            kind="verify",
            target=f"{self._file} on {self._spec.label}",
            server=best.server,
            protocol_version=best.version,
            started=started,
            seconds=seconds,
            outcomes=outcomes,
            warnings=(*(warning for each in found for warning in each.warnings()), *nowhere(self._ignored)),
            source=self._file,
            metrics={"carried": sum(len(each.carried) for each in played)},
        )

    def _show(self, report: Report) -> None:
        output, outcomes = self._output, report.outcomes
        output.begin([], 0)
        output.take(RunStarted("verify", len(outcomes), len(self._parts)))
        for part in self._parts:
            mine = tuple(outcome for outcome in outcomes if outcome.group == part.name)
            output.take(FileStarted(part.name, part.name, len(mine), 0))
            for outcome in mine:
                output.take(CaseFinished(outcome))
            output.take(FileFinished(part.name, part.name, mine))
        output.end(report, [])
        output.take(RunFinished(report))


class _Part(NamedTuple):
    """A conversation that is played."""

    name: str
    dialogue: Dialogue
    ending: Ending
    alignment: Alignment
