"""What judges make of a conversation, live or recorded; and which requirements are meant at all."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import cache
from itertools import takewhile
from typing import Any, Self

from mcp_conductor.bounded.worker import checkpoint
from mcp_conductor.checks.engine.check import CHECKS, JUDGES, RECORDED, Act, Check
from mcp_conductor.checks.engine.evidence import CAME, Said, excerpted, excerpted_from, frames_of, lines_of, proven
from mcp_conductor.checks.engine.findings import FailedCheck, NotSeen
from mcp_conductor.checks.engine.record import SMALL, Record, Traits, judged_part, transport_of
from mcp_conductor.checks.requirements import LEVELS, Requirement, requirements, requirements_of
from mcp_conductor.client.session import Session
from mcp_conductor.errors import UsageError
from mcp_conductor.plugins import cleared_with_plugins
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import TASKS_EXTENSION, Dialect, named_in
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.recording.opening import opening_of
from mcp_conductor.report.model import NOTHING, Finding, Outcome, Remark, Status
from mcp_conductor.text.error_lines import errors_of_traceback
from mcp_conductor.text.visible import cut
from mcp_conductor.transport.process_tree import Command
from mcp_conductor.values import dataclass

_LONGEST_TEXT = 1_000_000  # characters in the value of a finding
MOST_FINDINGS = 100  # of one requirement that are reported; those that are alike are shown as one
_LEVELS_IN_TESTS = ("MUST",)
_TOLD_BY_TESTS = ("stdio-stdout-clean-server",)  # noise is a finding of the test during which it came
ONLY_RECORDED = "a recording shows only what was said in it"  # why it has no grade
OURS = "conductor"  # what the names of methods begin with that exist nowhere
_REMOVED = ("resources/subscribe", "resources/unsubscribe")  # from features that there still are
# What makes a reply wrong by itself, whatever it answers: its form, and its error code.
_FORMS = (
    "base-error-shape-server",
    "base-error-shape-client",
    "base-response-result-xor-error-server",
    "base-response-result-xor-error-client",
)
_CODES = (
    "errors-reserved-range-server",
    "errors-retired-codes-server",
    "errors-legacy-range-server",
    "errors-application-codes",
    "base-internal-error-server",
)
MOST_FRAMES = 400  # that are judged after a run of tests: what a server says wrong, it says wrong soon


Wanted = list[tuple[Requirement, Check]]


@dataclass(frozen=True, slots=True)
class Trigger:
    """A tool to call because it changes something; without arguments, with some that fit its schema."""

    tool: str
    arguments: Json | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to check."""

    timeout: float = 2.0
    call: Collection[str] | str = ()
    triggers: Collection[Trigger] = ()
    levels: Collection[str] = ("MUST", "SHOULD", "MAY")
    only: Collection[str] = ()  # groups or ids
    skip: Collection[str] = ()
    started_in: float | None = None  # seconds that the server needed to start before, if it did
    keep_wire: bool = False  # all that a probe said and heard, also where nothing is wrong


@dataclass(slots=True)
class Verdicts:
    """What was found out about one server in one revision."""

    version: str
    server: Json = field(default_factory=dict)
    outcomes: list[Outcome] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)  # on what was not judged
    transport: str | None = None  # stdio, http or sse
    partial: str | None = None  # why most of it could not be seen
    traits: Traits | None = None  # of a server to which a conversation was opened
    started_in: float | None = None  # seconds until the server had answered its opening
    commands: list[Command] = field(default_factory=list)  # of the server that was started
    client: Json | None = None  # who the client says it is, where both sides are judged


@dataclass(frozen=True, slots=True)
class ServerEnd:
    """How a server went away while something was checked."""

    how: str
    stderr: tuple[str, ...] = ()  # its last lines

    @property
    def alike(self) -> tuple[str, str]:
        """What is the same where a server goes away twice for the same reason."""
        # The name of an exception; what it says may differ each time. The last line of a group of them names none.
        last = self.stderr[-1].partition(":")[0] if self.stderr else ""
        return self.how, ", ".join(each.partition(" in ")[0] for each in errors_of_traceback(self.stderr)) or last


@dataclass(slots=True)
class CheckResult:
    """What came of one check."""

    findings: list[Finding]
    reason: str | None = None  # why it could not be seen, or no more of it
    silence: str | None = None  # what was not answered in time
    unanswered_method: str | None = None  # and its method
    owed: bool = False  # it asked for what does not exist, so that nothing but the server can have kept the answer
    gone: bool = False  # the server went away, or a status was all that it answered
    server_end: ServerEnd | None = None  # how the server ended meanwhile
    died: list[Session] = field(default_factory=list)  # in which its process did, once it had said something
    elsewhere: bool = False  # found in what other checks said
    wire: list[str] = field(default_factory=list)  # what proves the findings, or all that was said

    def proven_in(self, transcript: Transcript) -> Self:
        """This, with what was said last as its proof."""
        self.prove(lines_of(transcript.frames), alone=True)
        return self

    def prove(self, lines: list[str], *, alone: bool, whole: bool = False) -> None:
        """Take from LINES what proves the findings; the WHOLE of them, if that is wanted."""
        if whole:
            self.findings, self.wire = proven(self.findings, lines, alone=alone), lines
        elif self.findings:
            self.findings, self.wire = excerpted(self.findings, lines, alone=alone, nearest=not alone)
        self._shorten()

    def add(self, other: "CheckResult") -> None:
        """Add the findings of OTHER, with their proofs."""
        start = len(self.wire)
        for each in other.findings:
            said = None if each.said is None else (each.said[0] + start, each.said[1] + start)
            self.findings.append(replace(each, said=said))
        self.wire += other.wire

    def prove_by(self, said: Sequence[Said]) -> None:
        """Take what proves the findings from what was SAID by any probes or clients."""
        self.findings, self.wire = excerpted_from(self.findings, said, alone=False)
        self._shorten()

    def _shorten(self) -> None:
        """Keep no long text that a finding is about: the report would have it as often as there are findings."""
        for number, each in enumerate(self.findings):
            if each.actual is not NOTHING and (actual := _shortened(each.actual)) is not each.actual:
                self.findings[number] = replace(each, actual=actual)


def _shortened(value: Any, depth: int = 20) -> Any:
    """VALUE with only the beginning of very long texts; itself, if it has none."""
    if isinstance(value, str):
        return cut(value, _LONGEST_TEXT) if len(value) > _LONGEST_TEXT else value
    if not depth or not isinstance(value, (dict, list)):
        return value
    items = list(value.items() if isinstance(value, dict) else enumerate(value))
    changed = {key: new for key, each in items if (new := _shortened(each, depth - 1)) is not each}
    if not changed:
        return value
    return value | changed if isinstance(value, dict) else [changed.get(index, each) for index, each in items]


def asked_for(options: Options, subject: str, among: Iterable[Requirement] | None = None) -> Iterator[Requirement]:
    """The requirements on servers, or on clients, that OPTIONS mean; all or AMONG some."""
    for each in requirements().values() if among is None else among:
        names = {each.id, each.group}
        wanted = not options.only or not names.isdisjoint(options.only)
        fits = each.subject == subject and each.level in options.levels
        if wanted and fits and names.isdisjoint(options.skip):
            yield each


def chosen_checks(options: Options, version: str, transport: str) -> list[tuple[Requirement, Check]]:
    """The requirements that are to be checked here, with how."""
    return [
        (each, CHECKS.get(each.id))
        for each in asked_for(options, "server")
        if each.holds_for(version, transport) and each.id in CHECKS
    ]


def chosen_judges(options: Options, version: str, transport: str, *, recorded: bool = False) -> Wanted:
    """Those that can be judged by listening, also to a recording; neither probes nor their requirements are needed."""
    known = {name: each for name, each in CHECKS.known_from(JUDGES).items() if each.judge is not None}
    known |= RECORDED.known_from(JUDGES) if recorded else {}
    among = requirements_of(known, options.levels)
    return [
        (each, known[each.id]) for each in asked_for(options, "server", among) if each.holds_for(version, transport)
    ]


def judge(transcript: Transcript, options: Options | None = None) -> Verdicts:
    """Judge a recorded conversation, as far as that can be done by listening."""
    dialect, opened = recorded_opening(transcript)
    record = Record(transcript, dialect, recorded_transport(transcript), opened)
    verdicts = Verdicts(dialect.version, record.server, transport=record.transport, partial=ONLY_RECORDED)
    for requirement, each in chosen_judges(options or Options(), dialect.version, record.transport, recorded=True):
        verdicts.outcomes.append(outcome_of(requirement, apply_judge(each, record)))
    verdicts.outcomes = without_consequences(verdicts.outcomes)
    return verdicts


def apply_judge(each: Check, record: Record) -> CheckResult:
    """What a judge finds in a conversation."""
    assert each.judge is not None
    if each.needs is not None and not record.declares(each.needs):
        return CheckResult([], f"the server does not declare {each.needs}")
    seen = CheckResult([])
    try:
        for finding in each.judge(record):
            seen.findings.append(finding)  # what was found before there was nothing more to see counts
            if len(seen.findings) == MOST_FINDINGS:
                break
    except NotSeen as nothing:
        seen.reason = str(nothing)
    if seen.reason is None and not seen.findings and not record.heard:
        seen.reason = "the server said nothing"  # that a judge found nothing wrong means nothing then
    if seen.findings:
        seen.prove_by(record.said)
    return seen


def outcome_of(requirement: Requirement, seen: CheckResult, seconds: float = 0.0) -> Outcome:
    """What is concluded about a requirement."""
    status: Status = "skipped" if seen.reason is not None else "passed"
    if seen.findings:
        # That a server goes away is a failure, however it was provoked.
        status = "failed" if requirement.level == "MUST" or seen.server_end is not None else "warned"
        status = "errored" if isinstance(seen.findings[-1], FailedCheck) else status
    server_end = seen.server_end if seen.findings else None
    frames = frames_of(seen.wire) if seen.findings else ()
    findings = [replace(each, framed=each.said) for each in seen.findings] if frames else seen.findings
    if frames and server_end is not None:
        frames = (*frames, Frame(frames[-1].at, "process", server_end.how))
    return Outcome(
        id=requirement.id,
        title=requirement.statement,
        group=requirement.group,
        status=status,
        level=requirement.level,
        severity=requirement.severity if server_end is None else "critical",
        seconds=seconds,
        findings=tuple(findings),
        reason=seen.reason if status == "skipped" else None,
        cause=None if server_end is None else "server",
        elsewhere=seen.elsewhere,
        stderr=() if server_end is None else server_end.stderr,
        wire=tuple(map(str, seen.wire)),
        frames=frames,
    )


def without_consequences(
    outcomes: list[Outcome], look: Callable[[str], tuple[object, Iterable[str]]] | None = None
) -> list[Outcome]:
    """OUTCOMES, each fault told once: under the strongest of those that look at the same, and under what it follows.

    LOOK tells what a requirement is judged by, and what it follows from; without it, they are those on servers.
    """
    outcomes = _without_faults_of_replies(list(outcomes))
    seen = {each.id: (look or _look)(each.id) for each in outcomes if each.findings}
    bad = {each.id: each for each in outcomes if each.findings}
    first: dict[object, str] = {}
    for each in sorted(bad.values(), key=lambda one: LEVELS.index(one.level or "MAY")):
        first.setdefault(seen[each.id][0], each.id)
    return [
        _told_elsewhere(each, first[seen[each.id][0]], seen[each.id][1], bad) if each.findings else each
        for each in outcomes
    ]


def _without_faults_of_replies(outcomes: list[Outcome]) -> list[Outcome]:
    """OUTCOMES without findings about a reply whose own fault is told as such: its form, or its error code."""
    roots = [each for each in outcomes if each.findings and each.id in (*_FORMS, *_CODES)]
    codes = {each.id: [_error_of(finding.actual).get("code") for finding in each.findings] for each in roots}
    for root in roots:
        for place, each in enumerate(outcomes):
            weaker = LEVELS.index(each.level or "MAY") >= LEVELS.index(root.level or "MAY")
            if each.id in (*_FORMS, *_CODES) or not each.findings or not weaker:
                continue
            left = tuple(
                finding
                for finding in each.findings
                if not (
                    _is_malformed(finding.actual)
                    if root.id in _FORMS
                    else "error" in _reply(finding.actual) and _error_of(finding.actual).get("code") in codes[root.id]
                )
            )
            if not left:
                outcomes[place] = _told_elsewhere(each, each.id, [root.id], [root.id])
            elif len(left) < len(each.findings):
                outcomes[place] = replace(each, findings=left)
    return outcomes


def _reply(raw: object) -> Json:
    return raw if isinstance(raw, dict) and "method" not in raw else {}


def _error_of(raw: object) -> Json:
    error = _reply(raw).get("error")
    return error if isinstance(error, dict) else {}


def _is_malformed(raw: object) -> bool:
    """Whether RAW is a reply with an error that is none, or with a result as well."""
    reply, error = _reply(raw), _error_of(raw)
    right = type(error.get("code")) is int and isinstance(error.get("message"), str)
    return "error" in reply and ("result" in reply or not right)


def _told_elsewhere(outcome: Outcome, same: str, roots: Iterable[str], bad: Collection[str]) -> Outcome:
    """OUTCOME, whose findings are left out where they are those of another one, or follow from them."""
    root = next((each for each in roots if each in bad), None)
    if same != outcome.id:
        reason = f"the same fault as {same}"
    elif root is not None and outcome.cause is None:  # that the server died is told, whatever else is wrong
        reason = f"it follows from {root}, which is broken"
    else:
        return outcome
    bare = replace(outcome, findings=(), cause=None, stderr=(), wire=(), frames=())
    return replace(bare, status="skipped", reason=reason)


def _look(name: str) -> tuple[object, tuple[str, ...]]:
    """What tells whether a requirement is kept, a function that may be for several; and what it follows from."""
    check = CHECKS.get(name)
    return check.judge or check.probe, check.roots


# What can be read from a recording.


def recorded_opening(transcript: Transcript) -> tuple[Dialect, Json]:
    """The revision that was spoken, and the result that opened the conversation."""
    opening = opening_of((each.request, each.reply) for each in transcript.exchanges())
    if opening is not None:
        return opening.dialect, opening.result
    raise UsageError("nothing in the recording says which revision is spoken", hint="record from the beginning on")


def recorded_transport(transcript: Transcript) -> str:
    """HTTP+SSE begins with the stream of a GET, Streamable HTTP with a POST; any client may look around first."""
    heads = [frame.text for frame in transcript.frames if frame.source == "http"]
    if not heads:
        return "stdio"
    before = list(takewhile(lambda text: not text.startswith("POST "), heads))
    answers = [text for text in before if text.startswith("HTTP ")]
    opened = before and (not answers or any(map(_may_be_stream, answers)))
    return "sse" if opened and before[0].startswith("GET ") else "http"


def _may_be_stream(answer: str) -> bool:
    first, _, headers = answer.lower().partition("\n")
    return first.startswith("http 200") and ("content-type:" not in headers or "text/event-stream" in headers)


# After a run of tests.


def remarks(session: Session, said: list[Frame], spec: ServerSpec) -> list[Remark]:
    """Which MUST a server has broken by what it SAID, however it was asked: a line for each."""
    transport = transport_of(spec)
    frames = judged_part(said[:MOST_FRAMES])
    if sum(frame.size for frame in frames) > SMALL:
        checkpoint()
    transcript = Transcript.of(polite(frames, session.dialect, session.capabilities))
    record = Record(transcript, session.dialect, transport, session.opened)
    told = []
    for requirement, each in _heard_in_tests(session.dialect.version, transport):
        try:
            seen = apply_judge(each, record)
            found = seen.findings
        except Exception as error:  # noqa: BLE001  # a mistake of ours must not end a run of tests, nor go unseen
            told.append(Remark(f"{requirement.id} could not be judged: {error!r}"))
            continue
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            message = f"the server breaks {requirement.id}: {session.redact(found[0].message)}{more}"
            told.append(Remark(message, requirement.id, tuple(line[4:] for line in seen.wire if line.startswith(CAME))))
    return told


def load_judges() -> None:
    """Import and make what `remarks` needs in any revision."""
    requirements_of(CHECKS.known_from(JUDGES), _LEVELS_IN_TESTS)


@cache
def _heard_in_tests(version: str, transport: str) -> list[tuple[Requirement, Check]]:
    """What is judged after each file of tests."""
    return chosen_judges(Options(levels=_LEVELS_IN_TESTS, skip=_TOLD_BY_TESTS), version, transport)


cleared_with_plugins(_heard_in_tests.cache_clear)


def polite(frames: list[Frame], dialect: Dialect, capabilities: Json) -> list[Frame]:
    """FRAMES without requests that are not as they should be, and without what answers them: who tests is rude.

    So are requests for what the server does not declare in its CAPABILITIES, or what no revision has.
    """
    rude: set[object] = set()
    for frame in frames:
        for message in frame.messages() if frame.source == "client" else ():
            if _rude(message, dialect, capabilities):
                # What is not a request may be answered without an id.
                rude |= {message.id} if message.kind == "request" else {message.id, None}
    return [frame for frame in frames if not rude or not any(each in rude for each in _ids_in(frame))]


def _rude(message: Message, dialect: Dialect, capabilities: Json) -> bool:
    if message.kind != "request":
        return message.kind in ("invalid", "batch")
    if _is_unwanted(message.method, dialect, capabilities):
        return True
    return message.problem is not None or (not dialect.handshake and named_in(message.params) is not dialect)


def _is_unwanted(method: str, dialect: Dialect, capabilities: Json) -> bool:
    """Whether a server need not know this method: it may say anything to that, as far as other rules go."""
    feature = method.partition("/")[0]
    if feature == "tasks":
        extensions = capabilities.get("extensions")
        return "tasks" not in capabilities and not (isinstance(extensions, dict) and TASKS_EXTENSION in extensions)
    if feature in ("tools", "resources", "prompts"):
        return feature not in capabilities or (not dialect.handshake and method in _REMOVED)
    known = ("server", "subscriptions", *(("completion",) if "completions" in capabilities else ()))
    return feature == OURS or (not dialect.handshake and feature not in known)


def _ids_in(frame: Frame) -> Iterator[object]:
    """The ids of what the client said and of the server's answers; None for an answer to what is not a request."""
    for message in frame.messages():
        answers = isinstance(message.raw, dict) and "method" not in message.raw
        if frame.source == "client" or answers:
            yield message.id


def by_act(wanted: Wanted) -> dict[Act, Wanted]:
    """The probes, each once, with the requirements that it is for."""
    found: dict[Act, Wanted] = {}
    for requirement, each in wanted:
        if each.probe is not None:
            found.setdefault(each.probe, []).append((requirement, each))
    return found
