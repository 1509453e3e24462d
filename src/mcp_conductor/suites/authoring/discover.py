"""A first suite for any server: what it offers, tried once, and written down as tests that pass.

Every case is tried before it is written, by the code that will run it, since a schema does not show whether a generated
argument is accepted. What failed is written as a case to be skipped, with the reason: it is no test that a tool refuses
arguments that we made up. Tools are called only if they are marked read-only, or if that is asked for; the others are
to be skipped too, so that the suite never does what we did not try. Where expectations are recorded or tools may change
something, everything is tried twice: what differs is not pinned.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from time import time
from typing import Any

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.paging import LIST_MEMBERS
from mcp_conductor.protocol.schema import complaints
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.report.model import redacted_value
from mcp_conductor.suites.authoring.case_drafts import LONGEST_NAME, CaseDraft, drafts, with_own_titles
from mcp_conductor.suites.authoring.command_values import Places, command_values
from mcp_conductor.suites.authoring.exploring import Explorer
from mcp_conductor.suites.authoring.given_arguments import GivenArguments
from mcp_conductor.suites.authoring.known_values import KnownValues
from mcp_conductor.suites.authoring.personal import NOTHING_PERSONAL, Personal
from mcp_conductor.suites.authoring.recorder import Recorder, plain_text
from mcp_conductor.suites.authoring.trials import Trials, Tried, as_field
from mcp_conductor.suites.authoring.yaml_text import is_writable
from mcp_conductor.suites.language.actions import read_action
from mcp_conductor.suites.language.expectations import Observed, error_of, plain, read_expect
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.text.redaction import Redactor
from mcp_conductor.text.visible import cut
from mcp_conductor.values import dataclass

_NO_VARIABLES = Variables()
_LONGEST_REASON = 200
_MOST_LOOKS = 1_000_000  # at items, to see that a list has what it had
_PLAIN_NAME = re.compile(r"[A-Za-z][\w./:{}?&=,*+#;-]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """How a suite is to be written."""

    record: bool = False  # what came back is expected again
    writes: bool = False  # tools that are not marked read-only are called too
    arguments: tuple[tuple[str, str], ...] = ()  # NAME or TOOL.NAME, and the value
    timeout: float = 10.0  # for each request
    personal: Personal = NOTHING_PERSONAL  # not to be expected of a server, and not to be written
    redactor: Redactor = field(default_factory=Redactor)


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """A case that can be written: what is sent, and what is to be expected of it."""

    draft: CaseDraft
    expect: Json
    remark: str = ""  # what a reader should know about what came back


@dataclass(frozen=True, slots=True)
class Discovery:
    """What a server offers, as cases; those that have a `gap` cannot be written, and some are to be skipped."""

    server: Json
    cases: tuple[WrittenCase, ...]
    places: Mapping[str, str] = field(default_factory=dict)  # variables for directories that the cases name

    @property
    def left_out(self) -> list[CaseDraft]:
        return [case.draft for case in self.cases if case.draft.gap is not None]

    @property
    def skipped(self) -> list[CaseDraft]:
        return [case.draft for case in self.cases if case.draft.gap is None and case.draft.skip is not None]

    @property
    def written(self) -> list[WrittenCase]:
        return [case for case in self.cases if case.draft.gap is None]


def _untold(_: str) -> None:
    """Nothing is done with it."""


async def discover(spec: ServerSpec, wishes: Wishes, tell: Callable[[str], None] = _untold) -> Discovery:
    """Ask the server for everything, and try it; raises what keeps us from reaching the server.

    TELL is called with what is done now, in words.
    """
    wishes.redactor.learn(spec.secrets())
    redact = wishes.redactor.redact
    async with _trials(spec, wishes) as trials:
        tell("connecting to the server")
        session = await trials.session()
        found = await drafts(session, tell, writes=wishes.writes)
        known = _known(spec, wishes, found)
        explored = await Explorer(trials, known, tell).explored(found)
    filled = list(with_own_titles(each.draft for each in explored))
    to_try = [draft for draft in filled if draft.gap is None and draft.skip is None]
    if wishes.record or wishes.writes:
        rounds = [await _try_all(spec, wishes, to_try, tell) for _ in range(2)]
        tried = {draft.title: attempts for draft, *attempts in zip(to_try, *rounds, strict=True)}
    else:
        tried = {draft.title: [each.tried] for draft, each in zip(filled, explored, strict=True) if each.tried}
    tell("writing tests")
    recorder = Recorder(now=time(), personal=wishes.personal, redact=redact)
    places = Places(known.command.directories)
    cases = []
    pace = Pace()
    for draft in filled:
        attempts = tried.get(draft.title) if draft.gap is None else None
        reason = _failure(draft, attempts or (), wishes.personal)
        if reason is not None:
            case = WrittenCase(replace(draft, skip=reason), {"ok": True})
        else:
            case = await without_blocking(expected_case, draft, attempts, recorder if wishes.record else None)
        case = replace(case, draft=replace(case.draft, action=places.named_in(case.draft.action)))
        cases.append(_without_secrets(case, redact))
        await pace.keep()
    return Discovery(redacted_value(session.server, redact), tuple(cases), places.used)


def _trials(spec: ServerSpec, wishes: Wishes) -> Trials:
    return Trials(spec, timeout=wishes.timeout, redactor=wishes.redactor)


def _known(spec: ServerSpec, wishes: Wishes, found: Collection[CaseDraft]) -> KnownValues:
    """What is known about arguments; a secret is not among it."""
    given = GivenArguments(wishes.arguments)
    given.check(found)
    resources = tuple(each.item["uri"] for each in found if each.kind == "resource")
    process = spec.as_process()
    if process is None:
        return KnownValues(given=given, resources=resources)
    words = [word if wishes.redactor.redact(word) == word else "" for word in process.command]
    return KnownValues(given=given, resources=resources, command=command_values(words, process.cwd or os.getcwd()))


async def _try_all(
    spec: ServerSpec, wishes: Wishes, to_try: Collection[CaseDraft], tell: Callable[[str], None]
) -> list[Tried]:
    """Try everything in order on one server, as the suite will."""
    tried: list[Tried] = []
    async with _trials(spec, wishes) as trials:
        for draft in to_try:
            tell(f"again: {'calling' if draft.tool else 'trying'} {draft.what} ({len(tried) + 1} of {len(to_try)})")
            tried.append(await trials.attempt(draft))
    return tried


def _failure(draft: CaseDraft, attempts: Collection[Tried], personal: Personal) -> str | None:
    """Why a case is to be skipped: what came of one of the ATTEMPTS."""
    for each in attempts:
        error = error_of(each.observed.reply or {})
        if each.problem is not None:
            return cut(personal.hidden(each.problem), _LONGEST_REASON)
        if error is not None:
            message = " ".join(personal.hidden(str(error.get("message"))).split())
            return cut(f"{draft.failing}: {message}", _LONGEST_REASON)
    return None


def _without_secrets(case: WrittenCase, redact: Callable[[str], str]) -> WrittenCase:
    """CASE as it can be written to a file; one that needs a secret to be sent does not pass, but reveals nothing."""
    draft = case.draft
    shown = replace(
        draft,
        what=redact(draft.what),
        title=redact(draft.title),
        action=redacted_value(draft.action, redact),
        about=redact(draft.about),
        optional=tuple(map(redact, draft.optional)),
        gap=draft.gap and redact(draft.gap),
        skip=draft.skip and redact(draft.skip),
        tool=redacted_value(draft.tool, redact),
    )
    return WrittenCase(shown, redacted_value(case.expect, redact), redact(case.remark))


# What is to be expected.


def expected_case(draft: CaseDraft, attempts: list[Tried] | None, recorder: Recorder | None) -> WrittenCase:
    """DRAFT with the most that can be expected of what came of all ATTEMPTS."""
    if attempts is None:
        return WrittenCase(draft, {"ok": True})
    first, last = attempts[0].observed, attempts[-1].observed
    errors = [error_of(each.reply or {}) for each in (first, last)]
    if (errors[0] is None) != (errors[1] is None):
        said = next(str(error.get("message")) for error in errors if error is not None)
        return WrittenCase(
            replace(draft, skip=f"its answers are not always the same: once it failed with {said!r}"), {"ok": True}
        )
    message = "" if errors[0] is None else str(errors[0].get("message"))
    remark = "" if errors[0] is None else f"It failed: {recorder.personal.hidden(message) if recorder else message}"
    for expect in _expectations(draft, first, last, recorder):
        if first.stray or last.stray:
            expect["stdout"] = "any"
            remark = f"It prints a line to stdout that is not a message: {(first.stray or last.stray)[0]!r}"
        if _holds(expect, draft, first) and _holds(expect, draft, last):
            return WrittenCase(draft, expect, remark)
    return WrittenCase(replace(draft, skip="its answers are not always the same"), {"ok": True})


def _expectations(draft: CaseDraft, first: Observed, last: Observed, recorder: Recorder | None) -> Iterable[Json]:
    """What could be expected, from the most that can be said to the least."""
    failed = error_of(first.reply or {})
    if draft.pins is not None and failed is None:
        yield {"asserts": _item_assertions(draft, first, last)}
    elif recorder is not None and failed is None:
        yield {"result": _result(draft, first, last, recorder)}
    elif recorder is not None:
        yield {"error": _error(first, last, recorder)}
    yield {"ok": failed is None}


def _item_assertions(draft: CaseDraft, first: Observed, last: Observed) -> list[str]:
    """Assertions that a list has these items; it may have others."""
    assert draft.action is not None
    member = LIST_MEMBERS[read_action("list", as_field(draft.action["list"]), None).sent(_NO_VARIABLES).method]
    names, again = (_names(each, member, str(draft.pins)) for each in (first, last))
    path = f"any result.{member}[*].{draft.pins}"
    # Each assertion looks at each item.
    most = max(1, _MOST_LOOKS // max(1, len(names)))
    return [f"{path} == {_word(name)}" for name in [each for each in names if each in again][:most]]


def _word(name: str) -> str:
    """NAME as it stands in an assertion: in quotes, unless it is a plain word."""
    is_plain = _PLAIN_NAME.fullmatch(name) and name not in ("true", "false", "null")
    return plain_text(name if is_plain else compact(name))


def _names(observed: Observed, member: str, name: str) -> dict[str, None]:
    result = (observed.reply or {}).get("result")
    items = result.get(member) if isinstance(result, dict) else None
    names = [item.get(name) for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    texts = (each for each in names if isinstance(each, str) and len(each) <= LONGEST_NAME)
    return dict.fromkeys(filter(is_writable, texts))


def _result(draft: CaseDraft, first: Observed, last: Observed, recorder: Recorder) -> Any:
    one, other = (_result_of(each) for each in (first, last))
    expected = recorder.expected(one, other)
    schema = (draft.tool or {}).get("outputSchema")
    if schema is None or not isinstance(expected, dict) or "structuredContent" not in expected:
        return expected
    fits = not any(complaints(each["structuredContent"], schema) for each in (one, other))
    return {**expected, "structuredContent": "match:outputSchema"} if fits else expected


def _result_of(observed: Observed) -> Any:
    """A result without what the modern era adds, which a test does not look at either."""
    return plain(observed.reply or {}, observed.dialect, {}, verbatim=True).get("result")


def _error(first: Observed, last: Observed, recorder: Recorder) -> Any:
    one, other = (error_of(each.reply or {}) or {} for each in (first, last))
    if one.get("isError"):
        return recorder.expected(one.get("message"), other.get("message"))
    return recorder.expected(_code_and_message(one), _code_and_message(other))


def _code_and_message(error: Json) -> Json:
    return {key: error[key] for key in ("code", "message") if key in error}


def _holds(expect: Json, draft: CaseDraft, observed: Observed) -> bool:
    """Whether a case with this expectation passes on what was OBSERVED."""
    try:
        read = read_expect(as_field(expect), None)
    except UsageError:  # an empty message of an error, say
        return False
    seen = replace(observed, tool=draft.tool)
    return not any(not finding.warning for finding in read.findings(seen, _NO_VARIABLES, verbatim=False))
