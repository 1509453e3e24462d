"""A check of one server: an exploration to judge, probes to provoke, and what came of each requirement."""

import asyncio
import os
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import replace
from time import perf_counter
from typing import Any

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.checks.engine.acting import result_of_act
from mcp_conductor.checks.engine.check import EVERYWHERE, JUDGES, Act, Check
from mcp_conductor.checks.engine.evidence import lines_of
from mcp_conductor.checks.engine.exploration import BUSY, answer_to_nothing, explore
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.first_session import connect_to_explore, end_server, start_seconds
from mcp_conductor.checks.engine.http_probe import UnopenedServer
from mcp_conductor.checks.engine.judging import (
    MOST_FINDINGS,
    CheckResult,
    Options,
    ServerEnd,
    Verdicts,
    Wanted,
    apply_judge,
    by_act,
    chosen_checks,
    outcome_of,
    polite,
    without_consequences,
)
from mcp_conductor.checks.engine.probe import Found, Probe
from mcp_conductor.checks.engine.record import MOST_BYTES, SMALL, Record, judged_part, transport_of
from mcp_conductor.checks.engine.remarks import FLOODED, STOPPED, UNREAD, on_calls, on_the_rest, refuse_unknown_tools
from mcp_conductor.checks.engine.sessions import Sessions, heard_up_to_a_flood, silent
from mcp_conductor.checks.engine.timing import INCONCLUSIVE, is_slow, timer_lag
from mcp_conductor.checks.engine.triggers import calls_of
from mcp_conductor.checks.engine.unanswered import BUSY_PART
from mcp_conductor.checks.requirements import LEVELS, Requirement, requirements
from mcp_conductor.client.session import Session
from mcp_conductor.errors import (
    ConductorError,
    Flooded,
    HttpStatusError,
    ProtocolError,
    TransportError,
)
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.size import size_text
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.report.events import CaseFinished, CaseStarted, Event, RunStarted
from mcp_conductor.transport import meanwhile
from mcp_conductor.transport.children import running_commands

AT_ONCE = 8  # probes that run at the same time: they wait more than they work
AT_ONCE_SHARING = 20  # the same on stdio, where most of them wait for a session that they share
OLD_TRANSPORT = "sse"  # the group, and the transport, of what can be seen without a conversation
PROTECTED = "auth-server"  # the group of requirements that can be seen without a login
NEEDS_A_SESSION = "auths-token-every-request"
MOST_TOO_SLOW = 2  # checks that are inconclusive, before the rest is too
MOST_LARGE = 400_000_000  # bytes of messages over a megabyte, before nothing more is asked
SECOND_LOOKS = 30  # times the time for an answer: how long all second looks may take together
ECHO = "base-response-id-echo-server"
ONCE = "base-response-once-server"
FRAMING = "stdio-newline-framing-server"
AT_ONCE_REFUSED = ("tools-call-unknown-tool", "prompts-unknown-name")  # there is nothing to do before the refusal
WAITED = 0.9  # of the time for an answer: timers are not exact
Look = tuple[CheckResult, float]  # what came of a probe, and how long it took


async def check(
    spec: ServerSpec,
    version: str,
    options: Options,
    on_event: Callable[[Event], None] = lambda _: None,
    first: Session | None = None,
) -> Verdicts:
    """Check the server of SPEC in the revision VERSION. Raises when no conversation can be opened at all.

    ON_EVENT is told how many requirements there are, which probe begins, and what came of each. FIRST is a session to
    explore in, if there is one; it is not closed here.
    """
    return await _Checking(spec, version, options, on_event, first).run()


class _Checking:
    def __init__(
        self,
        spec: ServerSpec,
        version: str,
        options: Options,
        on_event: Callable[[Event], None],
        first: Session | None,
    ) -> None:
        self._spec = spec = heard_up_to_a_flood(spec)
        self._first = first
        self._version = version
        self._options = options
        self._on_event = on_event
        self._transcript = first.transcript if first else Transcript(spec.secrets(), budgets=spec.budgets)
        self._flood: Flooded | None = None  # after which nothing more is asked
        self._silence: str | None = None  # the first thing that a server did not answer that answers nothing any more
        self._unanswered: CheckResult | None = None  # what any client asks, and the server did not answer
        self._judges_once = False
        self._found = Found()
        self._capabilities: Collection[str] = ()  # of the server
        self._looking_again = 0.0  # seconds
        self._patient = True  # no late reply was waited for in vain
        self._too_slow = 0  # how often late could not be told from wrong
        self._server_ends: dict[tuple[str, str], str] = {}  # how the server went away, and under which id that is told
        self._told_deaths: set[Session] = set()
        self._verdicts = Verdicts(version, transport=transport_of(spec))
        self._everywhere = EVERYWHERE.known_from(JUDGES)
        self._probed: dict[str, Look] = {}  # by requirement: without a finding, and other sessions are yet to be judged

    async def run(self) -> Verdicts:
        wanted = chosen_checks(self._options, self._version, transport_of(self._spec))
        self._judges_once = any(requirement.id == ONCE for requirement, _ in wanted)
        self._on_event(RunStarted("check", len(wanted), 0))
        try:
            await self._inside(wanted)
        except HttpStatusError as error:
            if error.status != 401:
                raise
            await self._outside(wanted)
        except (ProtocolError, TransportError) as error:
            await self._judge_opening(wanted, error)
        self._verdicts.outcomes = without_consequences(self._verdicts.outcomes)
        order = {name: index for index, name in enumerate(requirements())}
        self._verdicts.outcomes.sort(key=lambda outcome: order[outcome.id])
        return self._verdicts

    async def _outside(self, wanted: Wanted) -> None:
        """A server that lets no client in: only how it refuses can be seen."""
        self._verdicts.partial = "the server wants a token: --token, or --header"
        for requirement, each in wanted:
            if requirement.group == PROTECTED and requirement.id != NEEDS_A_SESSION and each.probe is not None:
                self._conclude(requirement, await self._checked_outside(each.probe))
            else:
                self._conclude(requirement, CheckResult([], self._verdicts.partial))

    async def _checked_outside(self, act: Act) -> CheckResult:
        unopened: Any = UnopenedServer(self._spec, DIALECTS[self._version], self._options.timeout)
        result = await result_of_act(act, unopened)
        result.prove(unopened.trail.lines(), alone=True, whole=self._options.keep_wire)
        return result

    async def _judge_opening(self, wanted: Wanted, error: ConductorError) -> None:
        """A server whose opening is so wrong that no conversation begins: only that can be judged.

        Raises ERROR where nothing is wrong: a server need not speak every revision.
        """
        dialect = DIALECTS[self._version]
        said = Transcript.read(judged_part(self._transcript.frames))
        record = Record(said, dialect, transport_of(self._spec), {}, whole=not self._transcript.forgotten.frames)
        unasked_answer = answer_to_nothing(said) if record.whole else None
        agreed = any(result.get("protocolVersion") in DIALECTS for _, result in record.results("initialize"))
        # What does not answer server/discover with a result does not speak the modern era, and need not.
        foreign = not dialect.handshake and unasked_answer is None and not any(record.results("server/discover"))
        if agreed or foreign or self._verdicts.outcomes:
            raise error
        if unasked_answer is not None:
            wanted = self._without_echo(wanted, unasked_answer)
        why = f"no conversation began: {error.message}"
        self._verdicts.remarks.append(f"{why}; {error.hint}" if error.hint else why)
        if isinstance(error, Flooded):
            wanted = self._conclude_first(wanted, ONCE, _told(error))
        for requirement, each in wanted:
            result = CheckResult([])
            if each.judge is not None and each.needs is None:
                result = apply_judge(each, record)
            elif each.probe is not None and requirement.group == OLD_TRANSPORT:
                result = await self._checked_outside(each.probe)
            self._conclude(requirement, result if result.findings else CheckResult([], why))
        if not any(outcome.status == "failed" for outcome in self._verdicts.outcomes):
            raise error

    async def _inside(self, wanted: Wanted) -> None:
        async with Sessions(self._spec, self._options.timeout) as sessions, AsyncExitStack() as stack:
            if self._options.started_in is not None:
                sessions.started_in(self._options.started_in)
            session = self._first
            if session is None:
                session = await stack.enter_async_context(self._connect(sessions, self._transcript))
            self._verdicts.started_in = start_seconds(session)
            sessions.started_in(self._verdicts.started_in)
            found = await explore(session, self._options.call)
            self._verdicts.commands = running_commands() if self._spec.as_process() else []
            if found.silence is None and found.lost is None:
                found.triggers = await without_blocking(calls_of, self._options.triggers, found)
            probe = Probe(session, sessions, found)
            self._verdicts.server = session.server
            self._verdicts.partial = found.unlisted or found.uncalled
            self._silence = found.silence
            self._found, self._capabilities = found, session.capabilities
            sessions.unanswered = found.unanswered_requests
            refuse_unknown_tools(self._options.call, found)
            self._verdicts.remarks += on_calls(found, self._options.timeout)
            if found.unasked_answer is not None:
                wanted = self._without_echo(wanted, found.unasked_answer)
            if found.spread is not None:
                several = CheckResult([fault("a message is not exactly one line", found.spread)])
                several.prove([], alone=True)
                wanted = self._conclude_first(wanted, FRAMING, several)
            self._notice_flood(probe)
            if found.lost is not None and self._flood is None:
                wanted = await self._without_answers(wanted, found.lost, probe)
            probe = await self._run_probes(by_act(wanted), probe, stack)
            sessions.begin_to_close()
            sessions.note_death(probe.session)
            await end_server(probe.session)
            # Last: what the server said to probes, and at its end, is judged too; but not what it said to requests that
            # are wrong on purpose: that is for the probes that sent them.
            self._verdicts.traits = probe.record().traits
            explored = [self._record_of(each) for each in (*probe.earlier, probe.session)]
            conversations = [*(record for record in explored if record.whole), *sessions.conversations]
            await self._judge(wanted, [_polite(record) for record in explored], conversations, sessions.died)
            self._verdicts.remarks += found.remarks
            self._verdicts.remarks += on_the_rest(session, self._verdicts.outcomes)

    def _record_of(self, session: Session) -> Record:
        """What was said in a SESSION that was explored."""
        transcript = session.transcript
        frames = transcript.since(0)
        said = Transcript.read(judged_part(frames) if transcript.size > SMALL else frames)
        whole = not transcript.forgotten.frames
        return Record(said, session.dialect, transport_of(self._spec), session.opened, whole=whole)

    async def _run_probes(self, probes: dict[Act, Wanted], probe: Probe, stack: AsyncExitStack) -> Probe:
        """Carry out the probes: first, one by one, those that use the session of the exploration or its substitute."""
        last = {act: probes.pop(act) for act in [act for act, pairs in probes.items() if pairs[0][1].last]}
        async with meanwhile(self._prepare(probes, probe)):
            probe = await self._run_in_session(probes, probe, stack)
            await self._run_alone({act: pairs for act, pairs in probes.items() if pairs[0][1].alone}, probe)
        for act, pairs in last.items():
            self._conclude_all(pairs, *await self._carry_out(act, pairs, probe.again()))  # these look twice themselves
        return probe

    async def _prepare(self, probes: dict[Act, Wanted], probe: Probe) -> None:
        """Start what probes will share while others work; on a single core it would not be there sooner."""
        if probe.transport == "stdio" and (os.cpu_count() or 1) > 1 and self._silence is None:
            checks = [pairs[0][1] for pairs in probes.values()]
            uses = [each.prepared for each in checks if each.prepared is not None]
            await probe.sessions.prepare(uses, probe.dialect)

    async def _run_in_session(self, probes: dict[Act, Wanted], probe: Probe, stack: AsyncExitStack) -> Probe:
        """Carry out those that use the session of the exploration, one by one: it, or its last substitute."""
        for act, pairs in probes.items():
            if not pairs[0][1].alone:
                probe = await self._living_probe(probe, stack)
                own = probe.again()
                look = await self._carry_out(act, pairs, own)
                if self._is_doubtful(own, *look):
                    probe = await self._living_probe(probe, stack)
                    look = self._surer(look, await self._second_look(act, pairs, probe, look[0]))
                self._conclude_all(pairs, *look)
        return probe

    async def _living_probe(self, probe: Probe, stack: AsyncExitStack) -> Probe:
        """PROBE; or one with another process, if the server of this one has ended: the others are not to blame."""
        if not probe.session.ended or self._silence is not None:
            return probe
        try:
            fresh = Transcript(self._spec.secrets(), budgets=self._spec.budgets)
            session = await stack.enter_async_context(self._connect(probe.sessions, fresh))
        except ConductorError as error:
            self._silence = f"{probe.session.how_it_ended}, and then: {error.message}"
            return probe
        probe.sessions.note_death(probe.session)
        return probe.taken_on(session)

    def _notice_flood(self, probe: Probe) -> bool:
        """Whether the server has said far more than it was asked, in any session: then it is asked nothing more."""
        flood = self._flood or probe.session.flood or probe.sessions.flood
        if flood is not None and self._flood is None:
            self._flood, self._silence = flood, self._silence or flood.flood
            self._unanswered = _told(flood)
        return flood is not None

    def _without_echo(self, wanted: Wanted, unasked_answer: Message) -> Wanted:
        """Report that answers do not have the ids of their requests: then nothing else can be asked."""
        found = fault("an answer has an id that no request had, and requests have no answer", unasked_answer.raw)
        return self._conclude_first(wanted, ECHO, CheckResult([found]))

    async def _without_answers(self, wanted: Wanted, lost: str, probe: Probe) -> Wanted:
        """Report that the server went away while it was used as any client uses it."""
        result = CheckResult([fault(lost)]).proven_in(probe.session.transcript)
        await self._find_server_end(result, probe)
        if probe.transport != "stdio" and self._silence is None and not await _answers(probe):
            self._silence = lost
        return self._conclude_first(wanted, ONCE, result)

    def _conclude_first(self, wanted: Wanted, name: str, result: CheckResult) -> Wanted:
        """WANTED without the requirement NAME, which is concluded, if it was wanted."""
        named = [pair for pair in wanted if pair[0].id == name]
        self._conclude_all(named, result, 0.0)
        return [pair for pair in wanted if pair not in named]

    def _connect(self, sessions: Sessions, transcript: Transcript) -> AbstractAsyncContextManager[Session]:
        return connect_to_explore(sessions.patient_spec, self._version, transcript, self._options.timeout)

    async def _run_alone(self, probes: dict[Act, Wanted], probe: Probe) -> None:
        """Probes that do not use the session of the exploration; some at a time."""
        at_once = AT_ONCE_SHARING if probe.transport == "stdio" else AT_ONCE
        gate = asyncio.Semaphore(at_once if probe.session.transcript.large < MOST_BYTES else 1)  # to save memory
        doubtful: dict[Act, Look] = {}

        async def one(act: Act, pairs: Wanted) -> None:
            async with gate:
                own = probe.again()
                try:
                    look = await self._carry_out(act, pairs, own)
                finally:
                    for use in pairs[0][1].hands_on:
                        probe.sessions.expect_no_more(use)
                if look[0].findings and own.trail.second_hand:
                    own = probe.again(private=True)
                    look = self._surer(look, await self._carry_out(act, pairs, own))
                if self._is_doubtful(own, *look):
                    doubtful[act] = look
                else:
                    self._conclude_all(pairs, *look)

        # Those that hand sessions on come first, since others wait for that, and those that spoil them last.
        ordered = sorted(probes.items(), key=lambda each: (each[1][0][1].spoils, not each[1][0][1].hands_on))
        if probe.transport == "stdio":
            for _, pairs in ordered:
                for use in pairs[0][1].hands_on:
                    probe.sessions.expect(use)
        await asyncio.gather(*(one(act, pairs) for act, pairs in ordered))
        # By now nothing else keeps the machine busy. What is told once is told under what weighs most.
        for act, pairs in sorted(probes.items(), key=lambda each: min(LEVELS.index(one.level) for one, _ in each[1])):
            if act in doubtful:
                known = {each.id for each in self._verdicts.outcomes if each.findings}
                follows = not known.isdisjoint(pairs[0][1].roots)  # then it is no finding of its own
                first = doubtful[act]
                look = first
                if not follows:
                    look = self._surer(first, await self._second_look(act, pairs, probe, first[0]))
                self._conclude_all(pairs, *look)

    def _is_doubtful(self, probe: Probe, result: CheckResult, seconds: float) -> bool:
        """Whether what was found may come from a busy machine, and not from the server.

        What took no longer than one answer may take was not late, so there is no doubt about it.
        """
        waited = _was_late(probe, result) or seconds - probe.trail.opening > WAITED * probe.timeout
        return bool(result.findings) and (waited or result.gone or result.server_end is not None)

    def _surer(self, first: Look, second: Look) -> Look:
        """The SECOND look; or the FIRST, if the server died only then, and that would be told nowhere else."""
        if second[0].died and second[0].findings:
            second[0].died += first[0].died  # of the same
        return first if first[0].died and not second[0].findings and not self._judges_once else second

    async def _second_look(self, act: Act, pairs: Wanted, probe: Probe, before: CheckResult) -> Look:
        """Look at what is in doubt once more, by itself. Late twice on a busy machine is inconclusive, never wrong."""
        if self._looking_again > SECOND_LOOKS * probe.timeout:
            return CheckResult([], f"{INCONCLUSIVE}: there was no time left for a second look"), 0.0
        probe.sessions.forget_what_was_made()
        own = probe.again(private=True)
        # A late reply is told from a missing one by waiting for it; a wait in vain is not repeated.
        doubtful = before.silence is not None and not before.gone and not self._is_plain_silence(before)
        own.trail.patient = doubtful and self._patient
        async with timer_lag() as measured:
            result, seconds = await self._carry_out(act, pairs, own)
        self._looking_again += seconds
        late = _was_late(own, result) and not result.gone and result.server_end is None
        if own.trail.patient and result.findings and not own.trail.came_late:
            self._patient = False
        slow = own.trail.came_late or measured.worst > BUSY_PART * probe.timeout
        slow = slow or probe.unanswered.is_slow(before.unanswered_method, probe.timeout)
        # What was answered before may only be late now, which one who does not wait cannot tell.
        unsure = doubtful and not own.trail.patient
        slow = slow or (unsure and probe.unanswered.has_answered(before.unanswered_method))
        if result.findings and late and (slow or await is_slow(probe)):
            self._too_slow += 1
            result = CheckResult([], f"{INCONCLUSIVE}: late cannot be told from wrong ({result.findings[0].message})")
        elif own.trail.patient and result.silence is not None:
            result.owed = pairs[0][0].id in AT_ONCE_REFUSED and self._judges_once
            self._found.unanswered_requests.told_under = ONCE if result.owed else pairs[0][0].id
        return result, seconds

    async def _carry_out(self, act: Act, pairs: Wanted, probe: Probe) -> Look:
        """Carry out one probe: what came of it, and how long it took."""
        began = perf_counter()
        first = pairs[0][0]
        self._on_event(CaseStarted(first.id, first.statement, 0))
        reason = self._reason_not_to(pairs[0][1], probe)
        was_dead = probe.session.ended
        result = CheckResult([], reason) if reason is not None else await result_of_act(act, probe)
        if reason is None and self._notice_flood(probe):
            return CheckResult([], self._reason_not_to(pairs[0][1], probe)), perf_counter() - began
        if probe.trail.cut_short and result.silence is not None:
            result.findings.pop()  # the silence, which was not waited for as long as would prove it
            result.silence = None
        result.died = [] if was_dead else [each for each in probe.ended_sessions if probe.sessions.has_died(each)]
        if result.died and not result.findings and result.reason is None:
            result.findings.append(fault(_end_of(result.died[0]).how))  # which the probe took for a refusal
        if not result.findings and result.reason is None and probe.trail.missed:
            missed = probe.trail.missed[0]  # that nothing wrong came says nothing then
            told = ONCE if self._judges_once and self._found.unanswered_requests.is_silent(missed.method) else None
            told = told or (self._found.unanswered_requests.told_under if probe.trail.cut_short else None)
            result.reason = f"{missed.message}: see {told}" if told else f"{INCONCLUSIVE}: {missed.message}"
        if result.findings or (self._options.keep_wire and reason is None):
            result.findings = probe.trail.with_requests(result.findings)
            result.prove(probe.trail.lines_for(result.findings), alone=True, whole=self._options.keep_wire)
        if (
            result.silence is not None
            and not self._silence
            and await silent(probe.session, BUSY * probe.timeout, probe.unanswered)
        ):
            self._silence = result.silence
        seconds = perf_counter() - began
        if result.findings:
            await self._find_server_end(result, probe)
        return result, seconds

    async def _find_server_end(self, result: CheckResult, probe: Probe) -> None:
        """Find out whether the server went away meanwhile, and how."""
        ended_sessions = probe.ended_sessions
        if ended_sessions:
            result.server_end = _end_of(ended_sessions[0])
            if result.server_end.how not in result.findings[0].message:
                told = f"{result.findings[0].message}: {result.server_end.how}"
                result.findings[0] = replace(result.findings[0], message=told)
        elif result.gone and probe.transport != "stdio" and (self._silence or not await probe.reachable()):
            result.server_end = ServerEnd("the server can no longer be reached")
            self._silence = self._silence or result.findings[-1].message

    def _conclude_all(self, pairs: Wanted, result: CheckResult, seconds: float) -> None:
        """Conclude the requirements that one probe is for. That a server goes away for the same reason is told once."""
        if result.findings and result.silence is not None and self._silence is not None and result.server_end is None:
            result.server_end = ServerEnd("the server answers nothing any more")
        for requirement, _ in pairs:
            told = result
            self._told_deaths.update(result.died if result.findings else ())
            if self._is_plain_silence(result):
                if self._unanswered is None:
                    if not result.owed:
                        self._prove_silence(result)
                    self._unanswered = result
                told = CheckResult([], f"{result.silence}: see {ONCE}")
            elif result.findings and result.server_end is not None:
                under = self._server_ends.setdefault(result.server_end.alike, requirement.id)
                if under != requirement.id:
                    told = CheckResult([], f"{result.server_end.how} here too: see {under}")
            if requirement.id in self._everywhere and not told.findings:
                self._probed[requirement.id] = told, seconds
            else:
                self._conclude(requirement, told, seconds=seconds)

    def _prove_silence(self, result: CheckResult) -> None:
        """Show the request that was not answered: where that was known, RESULT has no such request."""
        lines = self._found.unanswered_requests.proof(result.unanswered_method or "")
        if lines and not self._options.keep_wire:
            result.prove(lines, alone=True)

    def _is_plain_silence(self, result: CheckResult) -> bool:
        """Whether a server did not answer what any client asks: that is one fault, for all that it was asked.

        Where something else came over HTTP than such an answer, so it does to other requests, for the same reason.
        """
        method = result.unanswered_method or ""
        feature = {"completion": "completions"}.get(method.partition("/")[0], method.partition("/")[0])
        known = method in DIALECTS[self._version].methods and (feature == "ping" or feature in self._capabilities)
        unanswered = self._found.unanswered_requests
        plain = self._silence is not None or result.owed or (known and unanswered.is_silent(method))
        plain = plain or (result.gone and unanswered.is_any_broken())
        return bool(result.findings) and result.silence is not None and plain and self._judges_once

    def _reason_not_to(self, each: Check, probe: Probe) -> str | None:
        if self._flood is not None:
            return f"{FLOODED}: {self._flood.flood}" + (f": see {ONCE}" if self._judges_once else "")
        if each.needs is not None and not probe.declares(each.needs):
            return f"the server does not declare {each.needs}"
        if (large := probe.session.transcript.large + probe.sessions.large) > MOST_LARGE:
            return f"{INCONCLUSIVE}: large messages of the server had {size_text(large)} before"
        # One finding tells enough of a server that says nothing any more; each further one would take its time.
        told = self._unanswered or any(outcome.status == "failed" for outcome in self._verdicts.outcomes)
        if self._silence and told:
            return f"{UNREAD}: see {FRAMING}" if self._found.spread else f"{STOPPED}: {self._silence}"
        return f"{INCONCLUSIVE}: it is too slow" if self._too_slow >= MOST_TOO_SLOW else None

    async def _judge(
        self, wanted: Wanted, explored: list[Record], conversations: list[Record], died: list[Session]
    ) -> None:
        """Judge the polite part of what was EXPLORED; some requirements in all CONVERSATIONS of the run.

        That the server DIED in a session, and the probe that was at work did not tell so, is told here.
        """
        pace = Pace()
        for requirement, each in wanted:
            if each.judge is None and requirement.id not in self._probed:
                continue
            result, seconds = self._probed.get(requirement.id, (CheckResult([]), 0.0))
            if each.judge is not None:
                result = await _first_fault(each, explored)
            if requirement.id == ONCE and self._unanswered is not None:
                result = self._unanswered
                result.elsewhere = True
            if requirement.id in self._everywhere and not result.findings:
                fit = [each for each in conversations if requirement.holds_for(each.dialect.version, each.transport)]
                result = await _first_fault(self._everywhere[requirement.id], fit, result)
                result.elsewhere = bool(result.findings)
            if requirement.id == ONCE:
                self._add_untold_deaths(result, died)
            self._conclude(requirement, result, seconds=seconds)
            await pace.keep()

    def _add_untold_deaths(self, result: CheckResult, died: list[Session]) -> None:
        """Add to RESULT how the server DIED in ways that nothing tells of yet."""
        for session in died:
            end = _end_of(session)
            if session not in self._told_deaths and end.alike not in self._server_ends:
                self._server_ends[end.alike] = ONCE
                result.server_end = result.server_end or end
                result.elsewhere = True
                result.add(CheckResult([fault(end.how)]).proven_in(session.transcript))

    def _conclude(self, requirement: Requirement, result: CheckResult, *, seconds: float = 0.0) -> None:
        outcome = outcome_of(requirement, result, seconds)
        self._verdicts.outcomes.append(outcome)
        self._on_event(CaseFinished(outcome))


async def _first_fault(check: Check, records: Iterable[Record], seen: CheckResult | None = None) -> CheckResult:
    """The first fault in any of RECORDS; or what was SEEN before, or in the first where anything is to be seen."""
    for record in records:
        found = await without_blocking(apply_judge, check, record, now=record.transcript.size < SMALL)
        if found.findings:
            return found
        if seen is None or (found.reason is None and _is_blank(seen)):
            seen = found
    return seen or CheckResult([])


def _is_blank(result: CheckResult) -> bool:
    """Whether there was nothing to look at."""
    return result.reason is not None and not result.reason.startswith(INCONCLUSIVE)


def _polite(record: Record) -> Record:
    """RECORD without what is wrong on purpose, and without what answers it."""
    frames = polite(record.frames, record.dialect, record.capabilities)
    return Record(Transcript.read(frames), record.dialect, record.transport, record.opened, whole=record.whole)


def _end_of(session: Session) -> ServerEnd:
    return ServerEnd(str(session.how_it_ended), session.transcript.stderr_tail())


async def _answers(probe: Probe) -> bool:
    """Whether the server answers in a session of its own."""
    try:
        async with probe.polite_session() as other:
            return await other.alive()
    except (NotSeen, ConductorError):
        return False


def _told(flood: Flooded) -> CheckResult:
    """That a server said far more than it was asked, with the beginning of it."""
    result = CheckResult([fault(flood.flood)])
    result.prove(lines_of(flood.first), alone=True, whole=True)
    return result


def _was_late(probe: Probe, result: CheckResult) -> bool:
    """Whether something that was waited for did not come."""
    return bool(probe.trail.late) or result.silence is not None


__all__ = ["MOST_FINDINGS", "Options", "Verdicts", "check", "chosen_checks"]
