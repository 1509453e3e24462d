"""Drafts filled in with what a server accepts: several ways are tried, until one succeeds.

Only what changes nothing is tried so: lists, resources, prompts, and tools that are marked read-only.
"""

from collections.abc import Callable, Sequence

from mcp_conductor.bounded.worker import without_blocking
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


class Explorer:
    """Fills in the drafts of one server."""

    def __init__(self, trials: Trials, known: KnownValues, tell: Callable[[str], None]) -> None:
        self._trials, self._known, self._tell = trials, known, tell

    async def explored(self, found: Sequence[CaseDraft]) -> list[Explored]:
        """All that was FOUND, filled in; what needs least is tried first."""
        order = sorted(range(len(found)), key=lambda index: _needs(found[index]))
        done: dict[int, Explored] = {}
        for number, index in enumerate(order, 1):
            draft = found[index]
            self._tell(f"{'calling' if draft.tool else 'trying'} {draft.what} ({number} of {len(found)})")
            done[index] = await self._explored(draft)
        return [done[index] for index in range(len(found))]

    async def _explored(self, draft: CaseDraft) -> Explored:
        ways = await without_blocking(fillings, draft, self._known)
        ways = [way for way in ways if way.gap is None and way.skip is None] or ways[:1]
        if ways[0].gap is not None or ways[0].skip is not None or not draft.changes_nothing:
            return Explored(ways[0])
        failed: list[Explored] = []
        for way in ways:
            tried = await self._trials.attempt(way)
            if tried.problem is None and tried.failure is None:
                return Explored(way, tried)
            failed.append(Explored(way, tried))
            if tried.problem is not None:  # it hangs, or the server died: that is not to be repeated
                return failed[-1]
        return failed[0]


def _needs(draft: CaseDraft) -> int:
    """How many arguments it needs."""
    schema = draft.item.get("inputSchema")
    required = schema.get("required") if isinstance(schema, dict) else draft.item.get("arguments")
    return len(required) if isinstance(required, list) else int(draft.kind == "template")
