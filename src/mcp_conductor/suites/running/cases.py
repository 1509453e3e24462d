"""One test, from its conditions to its outcome: hooks, captures, retries, expected failures."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import field, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from mcp_conductor.bounded.worker import at_once, without_blocking
from mcp_conductor.errors import CannotTellError, ConductorError, TransportError, UsageError
from mcp_conductor.files.fields import Field
from mcp_conductor.protocol import Json
from mcp_conductor.report.model import NOTHING, Finding, Outcome, Status, redacted_outcome
from mcp_conductor.suites.language.expectations import Observed, answered_error, stray
from mcp_conductor.suites.language.script import NOTHING_SCRIPTED
from mcp_conductor.suites.language.steps import Repetition, Step
from mcp_conductor.suites.language.suite import Case, Suite
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.suites.running.asking import Asked
from mcp_conductor.suites.running.attempts import Attempt, doubting, finding_of, in_hook, in_step, refusals
from mcp_conductor.suites.running.conversation import Conversation, Done
from mcp_conductor.suites.running.normalization import comparable
from mcp_conductor.suites.running.server_lists import may_be_unknown, refused_name
from mcp_conductor.suites.running.skip_conditions import holds
from mcp_conductor.suites.running.snapshots import Snapshots
from mcp_conductor.text.redaction import Redactor
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.suites.running.trace import Trace

_MOST_WIRE = 200  # lines of what was said that an outcome keeps
_MOST_EVIDENCE = 1_000_000  # characters of that, and of what was written to stderr


@dataclass(slots=True)
class Memory:
    """What the tests of one file share: variables, captures, replies."""

    variables: Variables  # the file's
    redactor: Redactor  # the run's
    captured: dict[str, Any] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # names that were to be captured, and by which test
    replies: dict[str, Json] = field(default_factory=dict)  # by test, to be compared with those of another transport


class Cases:
    """Runs the tests of one file on one conversation after the other."""

    def __init__(
        self,
        suite: Suite,
        memory: Memory,
        snapshots: Snapshots,
        *,
        suffix: str,
        keep_wire: bool,
        trace: "Trace | None" = None,
    ) -> None:
        self._suite = suite
        self._memory = memory
        self._snapshots = snapshots
        self._suffix = suffix
        self._keep_wire = keep_wire
        self._trace = trace
        self._ids = suite.ids
        self._plainly = not suite.before_each and not suite.after_each and suite.script is NOTHING_SCRIPTED

    def identity(self, case: Case) -> str:
        return f"{self._suite.file}::{case.name}{self._suffix}"

    def outcome(self, case: Case, status: Status, **members: Any) -> Outcome:
        return self.clean(self._outcome(case, status, **members))

    def redact(self, text: str) -> str:
        return self._memory.redactor.redact(text)

    def clean(self, outcome: Outcome) -> Outcome:
        """OUTCOME without what must not be shown."""
        if not outcome.findings and not outcome.wire and not outcome.stderr and not outcome.frames:
            return outcome
        return redacted_outcome(outcome, self.redact)

    def _outcome(self, case: Case, status: Status, **members: Any) -> Outcome:
        return Outcome(
            id=self.identity(case),
            title=case.title + self._suffix,
            group=self._suite.description,
            status=status,
            where=case.where,
            tags=tuple(sorted(case.tags)) if case.tags else (),
            **members,
        )

    def error_outcome(self, case: Case, error: ConductorError, **members: Any) -> Outcome:
        outcome = self._outcome(case, "errored", findings=(finding_of(error),), stderr=tuple(error.stderr), **members)
        return self.clean(outcome if self._trace is None else self._trace.unopened(outcome, error))

    def teardown(self, title: str, step: Step, findings: tuple[Finding, ...]) -> Outcome:
        """What went wrong after the tests: an outcome of its own, because no test caused it."""
        return self.clean(
            Outcome(
                id=f"{self._suite.file}::{title}{self._suffix}",
                title=title + self._suffix,
                group=self._suite.description,
                status="failed",
                where=step.given.document.locate(step.given.path),
                findings=findings,
            )
        )

    def skip_outcome(self, case: Case) -> Outcome | None:
        """The outcome of a test that needs no server to be left out."""
        if case.skip is None:
            return None
        self._miss(case.title, case.step.captures)
        return self.outcome(case, "skipped", reason=case.skip)

    def _miss(self, title: str, names: Iterable[str]) -> None:
        """Remember that what the test of this TITLE should have captured is missing."""
        for name in names:
            if name not in self._memory.captured:
                self._memory.missing.setdefault(name, title)

    async def run(
        self, case: Case, conversation: Conversation, following: Case | None = None
    ) -> tuple[Outcome, TransportError | None]:
        """The outcome of CASE, and the error if the server went away. FOLLOWING is run next, if that is certain."""
        conversation.avoid(self._ids)
        reason = self._reason_to_skip(case, conversation)
        if reason is not None:
            self._miss(case.title, case.step.captures)
            return self.outcome(case, "skipped", reason=reason), None
        start = conversation.start
        began = perf_counter()
        try:
            if self._plainly and case.step.plain:
                attempt = await self._attempt_plainly(case, conversation, following)
            else:
                attempt = await self._persist(case.step, conversation, partial(self._attempt, case, conversation))
        except UsageError as error:  # what a placeholder stands for is known only now
            attempt = Attempt((finding_of(error),), 0.0)
        seconds = attempt.seconds or perf_counter() - began
        outcome = self._outcome_of(case, attempt, seconds)
        if self._trace is not None:
            outcome = self._trace.traced(outcome, conversation, attempt.end)
        if outcome.findings or outcome.frames or self._keep_wire:
            outcome = self._with_evidence(outcome, conversation, start, attempt)
        if attempt.refused is not None and attempt.failed and outcome.status == "failed" and not conversation.lost:
            outcome = self.clean(doubting(outcome, await conversation.listed.doubt(*attempt.refused)))
            conversation.untold = conversation.session.transcript.mark  # what we asked belongs to no test
        if attempt.lost is not None and not outcome.stderr:  # it said why before this test began
            outcome = self.clean(replace(outcome, stderr=attempt.lost.stderr))
        if attempt.reply is not None and self._suite.transports:
            self._memory.replies[case.name] = attempt.reply
        return outcome, attempt.lost

    def _reason_to_skip(self, case: Case, conversation: Conversation) -> str | None:
        lacking = sorted(case.step.needs & self._memory.missing.keys()) if self._memory.missing else ()
        if lacking:
            return f"needs {lacking[0]}, which {self._memory.missing[lacking[0]]!r} did not capture"
        if case.skip_if is not None and holds(case.skip_if, conversation, self._memory.variables.environ):
            return "skip_if: " + ", ".join(f"{key} {' or '.join(values)}" for key, values in case.skip_if.items())
        return None

    async def _attempt_plainly(self, case: Case, conversation: Conversation, following: Case | None) -> Attempt:
        """The one attempt at a plain test, where hooks, retries, captures and scripts need not be looked for.

        Nearly all tests of a long file are plain: what they need is asked and judged here by the same functions as
        elsewhere. When all has been seen that belongs to the test, the request of the one that follows is sent, and the
        server works while we judge. If there was more than a reply, the usual way goes on from there.
        """
        step, variables = case.step, self._memory.variables
        start, asked = await conversation.ask_plainly(step, variables)
        reply = asked.reply
        if reply is None or not conversation.saw_nothing_else(start, step.expects[0], variables):
            return await self._do(step, case, conversation, variables, asked=(start, asked))
        unknown = may_be_unknown(reply)  # then the server may be asked what it knows
        if not unknown and following is not None and _can_be_sent_ahead(following):
            conversation.ask_ahead(following.step, variables)
        done = Done(Observed(conversation.session.dialect, reply, asked.seconds), [])
        findings = at_once(self.findings, step, [done], variables)
        if findings is None:
            findings = await without_blocking(self.findings, step, [done], variables, now=False)
        found = tuple(replace(each, said=(start, start + 2)) for each in findings) if findings else ()
        refused = refused_name(asked.told()) if unknown else None
        return Attempt(found, asked.seconds, reply=reply, refused=refused, end=start + 2)

    async def _persist(
        self, step: Step, conversation: Conversation, attempt_it: Callable[[], Awaitable[Attempt]]
    ) -> Attempt:
        """Attempt STEP, again if it says so: what came of it in the end."""
        attempt = await attempt_it()
        again: Repetition | None = step.until or step.retry
        tries, deadline = 1, perf_counter() + (again.within or 0) if again is not None else 0.0
        while again is not None and attempt.failed and attempt.lost is None and not conversation.over:
            if (again.times is not None and tries > again.times) or (
                again.within is not None and perf_counter() > deadline
            ):
                break
            await asyncio.sleep(again.interval)
            attempt = await attempt_it()
            tries += 1
        return replace(attempt, again=True) if tries > 1 and step.until is None else attempt

    async def _attempt(self, case: Case, conversation: Conversation) -> Attempt:
        variables = self._memory.variables.with_(self._memory.captured).with_(case.row)
        variables = variables.defining(case.step.vars)
        for hook in self._suite.before_each:
            done = await self._hook_of_each("before_each", hook, conversation, variables)
            if done.failed or done.lost is not None:
                return done
            variables = variables.with_(self._memory.captured)
        attempt = await self._once(case, conversation, variables)
        if attempt.lost is None and not conversation.over:
            for hook in self._suite.after_each:
                known = variables.with_(self._memory.captured)
                done = await self._hook_of_each("after_each", hook, conversation, known)
                findings, hooks = attempt.findings + done.findings, attempt.hooks + done.hooks
                attempt = replace(attempt, findings=findings, hooks=hooks, lost=done.lost)
        return attempt

    async def _hook_of_each(self, name: str, step: Step, conversation: Conversation, variables: Variables) -> Attempt:
        try:
            done = await self._hook(step, conversation, variables)
        except UsageError as error:
            done = Attempt((finding_of(error),), 0.0)
        findings = tuple(in_hook(name, each) for each in done.findings)
        return replace(done, findings=findings, hooks=findings)

    async def _once(self, case: Case, conversation: Conversation, variables: Variables) -> Attempt:
        if not case.step.steps:
            return await self._do(case.step, case, conversation, variables)
        whole, replies = Attempt((), 0.0), []
        for number, step in enumerate(case.step.steps, 1):
            before = {name for each in case.step.steps[: number - 1] for name in each.captures}
            known = variables.with_({name: self._memory.captured[name] for name in before})
            do = partial(self._do, step, case, conversation, known.defining(step.vars), number)
            since = conversation.session.transcript.mark
            done = await self._persist(step, conversation, do)
            findings = (*whole.findings, *(in_step(number, step, each) for each in done.findings))
            replies.append(comparable(done.reply or {}))
            seconds, again = whole.seconds + done.seconds, whole.again or done.again
            whole = replace(done, findings=findings, seconds=seconds, again=again, reply={"steps": replies})
            if done.failed or done.lost is not None:
                whole = replace(whole, since=since)
                self._miss(case.title, (name for each in case.step.steps[number:] for name in each.captures))
                break
        return whole

    async def _do(
        self,
        step: Step,
        case: Case,
        conversation: Conversation,
        variables: Variables,
        number: int | None = None,
        asked: tuple[int, Asked] | None = None,
    ) -> Attempt:
        """Do a test, or the step of it that has this NUMBER, or what is left of it after it was ASKED."""
        scripts = (self._suite.script, *(() if number is None else (case.step.script,)))
        start = conversation.session.transcript.mark if asked is None else asked[0]
        done = await conversation.perform(step, scripts, variables, asked)
        said = (start, conversation.session.transcript.mark)
        findings = await without_blocking(self.findings, step, done, variables)
        for place, (expect, each) in enumerate(zip(step.expects, done, strict=True), 1):
            if expect is not None and expect.snapshot and each.observed.reply is not None:
                name = case.name + self._suffix + ("" if number is None else f" step {number}")
                name += f" ({place})" if len(done) > 1 else ""
                reply, sound = each.observed.reply, not findings
                findings += self._snapshots.findings(name, reply, expect.given, self.redact, sound=sound)
        told = {each.message for each in findings}
        findings += [each for each in await self._capture(step, case.title, done[0]) if each.message not in told]
        lost = next((each.lost for each in done if each.lost is not None), None)
        if lost is not None:
            findings.append(Finding(message=lost.message, hint=lost.hint))
        seconds = max(each.observed.seconds for each in done)
        refused = next((each.observed.refused for each in done if each.observed.refused is not None), None)
        found = tuple(replace(each, said=said) for each in findings)
        return Attempt(found, seconds, lost, done[0].observed.reply, refused)

    async def _hook(self, step: Step, conversation: Conversation, variables: Variables) -> Attempt:
        variables = variables.defining(step.vars)
        start = conversation.session.transcript.mark
        done = await conversation.perform(step, (self._suite.script,), variables)
        said = (start, conversation.session.transcript.mark)
        findings = await without_blocking(self.findings, step, done, variables)
        findings += refusals(step, done)
        findings += await self._capture(step, "a hook", done[0])
        lost = next((each.lost for each in done if each.lost is not None), None)
        if lost is not None:
            findings.append(Finding(message=lost.message, hint=lost.hint))
        return Attempt(tuple(replace(each, said=said) for each in findings), done[0].observed.seconds, lost)

    async def hooks(self, name: str, steps: tuple[Step, ...], conversation: Conversation) -> tuple[Finding, ...]:
        """Do the steps of setup or teardown: what went wrong in them."""
        conversation.avoid(self._ids)
        for step in steps:
            variables = self._memory.variables.with_(self._memory.captured)
            done = await self._hook(step, conversation, variables)
            if done.failed or done.lost is not None:
                return tuple(in_hook(name, each) for each in done.findings)
        return ()

    def findings(self, step: Step, done: list[Done], variables: Variables) -> list[Finding]:
        found: list[Finding] = []
        for action, expect, each in zip(step.actions, step.expects, done, strict=True):
            found += each.findings
            each.observed.silent = bool(each.findings)
            if expect is not None and each.lost is None:
                found += expect.findings(each.observed, variables, verbatim=action.verbatim)
            elif expect is None:
                found += map(stray, each.observed.stray)
                found += [Finding(message=note, warning=True) for note in each.observed.notes]
        return found

    async def _capture(self, step: Step, title: str, done: Done) -> list[Finding]:
        found: list[Finding] = []
        for name, capture in step.captures.items():
            message = f"nothing was found at {capture.source}"
            try:
                value = NOTHING
                if done.observed.reply is not None:
                    value = await without_blocking(capture.value, done.observed.document)
                    message = capture.nothing(done.observed.document) if value is NOTHING else ""
            except CannotTellError as error:
                message = error.message
            if value is NOTHING:
                self._memory.missing[name] = title
                self._memory.captured.pop(name, None)
                where = capture.given.document.locate(capture.given.path)
                told = None if done.observed.reply is None else answered_error(done.observed.reply)
                found.append(
                    replace(
                        told or Finding(message=f"capture {name!r}: {message}", path=capture.path.text), where=where
                    )
                )
                continue
            self._memory.missing.pop(name, None)
            self._memory.captured[name] = value
            if capture.secret:
                self._memory.variables = self._memory.variables.with_secrets({name: value})
                self._memory.redactor.learn(self._memory.variables.secrets)
        return found

    def _outcome_of(self, case: Case, attempt: Attempt, seconds: float) -> Outcome:
        if case.xfail is not None:
            if any(not each.warning for each in attempt.hooks):  # which is not what was expected to fail
                return self.outcome(case, "failed", seconds=seconds, findings=attempt.hooks)
            if attempt.failed:
                return self.outcome(case, "skipped", seconds=seconds, reason=case.xfail, findings=attempt.findings)
            message = f"the test passed, although it was expected to fail: {case.xfail}"
            finding = Finding(message=message, where=_key(case.step.given, "xfail"), hint="remove xfail")
            return self.outcome(case, "failed", seconds=seconds, reason=case.xfail, findings=(finding,))
        if attempt.failed:
            return self.outcome(case, "failed", seconds=seconds, findings=attempt.findings)
        status: Status = "warned" if attempt.findings else "passed"
        return self.outcome(case, status, seconds=seconds, findings=attempt.findings, flaky=attempt.again)

    def _with_evidence(self, outcome: Outcome, conversation: Conversation, start: int, attempt: Attempt) -> Outcome:
        """OUTCOME with the messages and the stderr lines of its time."""
        since, end = attempt.since or start, attempt.end
        frames = conversation.frames(start, end)
        stderr = _within([frame.text for frame in reversed(frames) if frame.source == "stderr"], self.redact)
        lines = conversation.wire(since, end)
        wire = _within(lines[:_MOST_WIRE], self.redact)
        marks = {mark for each in outcome.findings if each.said is not None for mark in each.said}
        # An attempt counts frames of the transcript, of which only some are lines.
        places = {mark: max(0, len(lines) - len(conversation.wire(mark, end))) for mark in marks}
        findings = tuple(
            each if each.said is None else replace(each, said=(places[each.said[0]], places[each.said[1]]))
            for each in outcome.findings
        )
        return self.clean(replace(outcome, findings=findings, wire=tuple(wire), stderr=tuple(reversed(stderr))))


def _can_be_sent_ahead(case: Case) -> bool:
    """Whether nothing has to be known before CASE is begun, and the time of its reply does not matter."""
    if case.skip is not None or case.skip_if is not None or not case.step.plain:
        return False
    expect = case.step.expects[0]
    return expect is not None and expect.slowest is None and expect.quickest is None


def _within(lines: Sequence[str], redact: Callable[[str], str]) -> list[str]:
    """The first of LINES, as far as there is room for them; the line for which there is too little is cut."""
    room = _MOST_EVIDENCE
    kept: list[str] = []
    for line in lines:
        if len(line) > room:
            kept.append(f"{redact(line)[:room]} … {len(line) - room} more characters")
            return kept
        kept.append(line)
        room -= len(line) + 1
    return kept


def _key(given: Field, key: str) -> Any:
    return given.document.locate((*given.path, key))
