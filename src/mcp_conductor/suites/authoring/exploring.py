"""Drafts filled in with what a server accepts: several ways are tried, until one succeeds.

Only what changes nothing is tried so: lists, resources, prompts, and tools that are marked read-only.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.protocol import Json
from mcp_conductor.suites.authoring.answered_values import Answer, AnsweredValues, variable_name
from mcp_conductor.suites.authoring.case_drafts import CaseDraft
from mcp_conductor.suites.authoring.fillings import fillings
from mcp_conductor.suites.authoring.known_values import KnownValues
from mcp_conductor.suites.authoring.trials import Trials, Tried
from mcp_conductor.values import dataclass


@dataclass(frozen=True, slots=True)
class Explored:
    """A draft that is filled in, and what came of it, if it was tried."""

    draft: CaseDraft
    tried: Tried | None = None
    known: int = 0  # how many answers were known then

    @property
    def failed(self) -> bool:
        """Whether the server refused it."""
        return self.tried is not None and self.tried.problem is None and self.tried.failure is not None


class Explorer:
    """Fills in the drafts of one server."""

    def __init__(self, trials: Trials, known: KnownValues, tell: Callable[[str], None]) -> None:
        self._trials, self._known, self._tell = trials, known, tell

    async def explored(self, found: Sequence[CaseDraft]) -> list[Explored]:
        """All that was FOUND, filled in; what needs least is tried first, and what failed again if more is known."""
        order = sorted(range(len(found)), key=lambda index: _needs(found[index]))
        done: dict[int, Explored] = {}
        for number, index in enumerate(order, 1):
            draft = found[index]
            self._tell(f"{'calling' if draft.tool else 'trying'} {draft.what} ({number} of {len(found)})")
            done[index] = await self._explored(draft)
        for index in order:
            if done[index].failed and done[index].known < len(self._known.answers):
                done[index] = await self._explored(found[index])
        return with_captures([done[index] for index in range(len(found))], self._known.answers)

    async def _explored(self, draft: CaseDraft) -> Explored:
        ways = await without_blocking(fillings, draft, self._known)
        ways = [way for way in ways if way.gap is None and way.skip is None] or ways[:1]
        if ways[0].gap is not None or ways[0].skip is not None or not draft.changes_nothing:
            return Explored(ways[0])
        failed: list[Explored] = []
        known = len(self._known.answers)
        for way in ways:
            tried = await self._trials.attempt(way)
            if tried.problem is None and tried.failure is None:
                if draft.tool is not None:
                    self._known.answers.learn(draft.name, tried.observed.reply or {})
                return Explored(way, tried, known)
            failed.append(Explored(way, tried, known))
            if tried.problem is not None:  # it hangs, or the server died: that is not to be repeated
                return failed[-1]
        return failed[0]


def _needs(draft: CaseDraft) -> int:
    """How many arguments it needs."""
    schema = draft.item.get("inputSchema")
    required = schema.get("required") if isinstance(schema, dict) else draft.item.get("arguments")
    return len(required) if isinstance(required, list) else int(draft.kind == "template")


# Arguments that came from answers are captured where they came.


def with_captures(explored: Sequence[Explored], answers: AnsweredValues) -> list[Explored]:
    """The same with captures of values that came from ANSWERS; those that need one stand behind the one that has it."""
    cases = {each.draft.name: each for each in explored if each.draft.tool is not None}
    names: dict[Answer, str] = {}
    users: dict[str, Explored] = {}  # by the name of the tool
    sources: dict[str, set[str]] = {}  # tools that a tool needs to be called before it
    for name, each in cases.items():
        found = {} if each.tried is None or each.failed else _sources(each, answers)
        found = {key: answer for key, answer in found.items() if answer.tool in cases and not cases[answer.tool].failed}
        if found:
            variables = {key: names.setdefault(answer, _new_name(key, names)) for key, answer in found.items()}
            users[name] = replace(each, draft=_using(each.draft, variables))
            sources[name] = {answer.tool for answer in found.values()}
    captures: dict[str, Json] = {}
    for answer, variable in names.items():
        captures.setdefault(answer.tool, {})[variable] = answer.capture
    changed = [_capturing(users.get(each.draft.name, each), captures) for each in explored]
    return list(_in_order(changed, sources))


def _sources(each: Explored, answers: AnsweredValues) -> dict[str, Answer]:
    """The arguments that came from answers."""
    draft, found = each.draft, {}
    for name, value in ((draft.action or {}).get("call") or {}).get("args", {}).items():
        sent = value[0] if isinstance(value, list) and len(value) == 1 else value
        source = answers.source(name, draft.name, sent, known=each.known)
        if source is not None:
            found[name] = source
    return found


def _new_name(argument: str, taken: Mapping[Answer, str]) -> str:
    name = variable_name(argument)
    names = (name, *(f"{name}_{number}" for number in range(2, len(taken) + 3)))
    return next(each for each in names if each not in taken.values())


def _using(draft: CaseDraft, variables: Mapping[str, str]) -> CaseDraft:
    call = (draft.action or {})["call"]
    filled = {name: f"{{{{ {variable} }}}}" for name, variable in variables.items()}
    args = {
        name: ([filled[name]] if isinstance(value, list) else filled[name]) if name in filled else value
        for name, value in call["args"].items()
    }
    return replace(draft, action={**(draft.action or {}), "call": {**call, "args": args}})


def _capturing(each: Explored, captures: Mapping[str, Json]) -> Explored:
    found = captures.get(each.draft.name) if each.draft.tool is not None else None
    if found is None or each.draft.action is None:
        return each
    return replace(each, draft=replace(each.draft, action={**each.draft.action, "capture": found}))


def _in_order(explored: Sequence[Explored], sources: Mapping[str, set[str]]) -> Iterator[Explored]:
    """EXPLORED, in which each tool stands behind its SOURCES."""
    left = {each.draft.name for each in explored if each.draft.tool is not None}
    waiting: list[Explored] = []
    for each in explored:
        waiting.append(each)
        ready = True
        while ready:
            ready = False
            for one in waiting:
                if one.draft.tool is None or not sources.get(one.draft.name, set()) & left:
                    waiting.remove(one)
                    left.discard(one.draft.name)
                    yield one
                    ready = True
                    break
    yield from waiting
