"""Arguments that a person gives: NAME=VALUE for all that have one of this name, OWNER.NAME=VALUE for one of them.

OWNER is a tool, a prompt or a template. For a tool, the value is what its schema makes of the text.
"""

from collections.abc import Collection, Iterable, Sequence

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.coercion import coerce_arguments
from mcp_conductor.suites.authoring.case_drafts import CaseDraft, argument_names


class GivenArguments:
    """The arguments of `--arg`, by the keys that stood there."""

    def __init__(self, pairs: Sequence[tuple[str, str]] = ()) -> None:
        self._pairs = tuple(pairs)

    def for_tool(self, tool: Json) -> Json:
        """What is given for TOOL, typed by its schema; raises UsageError where its own values do not fit."""
        schema, own = tool.get("inputSchema"), self._own(tool["name"])
        found = coerce_arguments(own, schema)
        for name in dict.fromkeys(key for key, _ in self._pairs):
            if name in argument_names(tool) and name not in found:
                try:
                    found |= coerce_arguments([pair for pair in self._pairs if pair[0] == name], schema)
                except UsageError:  # it is meant for another tool, unless no tool takes it
                    continue
        return found

    def texts(self, owner: str, names: Iterable[str]) -> dict[str, str]:
        """What is given for NAMES of a prompt or a template."""
        given = {**dict(self._pairs), **dict(self._own(owner))}
        return {name: given[name] for name in names if name in given}

    def check(self, found: Collection[CaseDraft]) -> None:
        """Raise UsageError for what is given, but belongs to nothing that was FOUND."""
        for key, text in self._pairs:
            takers = [draft for draft in found if draft.name and self._takes(draft, key)]
            if not takers:
                names = [name for draft in found for name in argument_names(draft.item)]
                near = nearest(key, tuple(dict.fromkeys(names)))
                raise UsageError(
                    f"--arg {key}: no tool, prompt or template has such an argument",
                    hint=f"did you mean {near}?" if near else "--arg NAME=VALUE, or --arg TOOL.NAME=VALUE",
                )
            schemas = [draft.item.get("inputSchema") for draft in takers if draft.kind == "tool"]
            if len(schemas) == len(takers):
                _check_some(key, text, schemas)

    def _own(self, owner: str) -> list[tuple[str, str]]:
        start = f"{owner}."
        return [(key.removeprefix(start), text) for key, text in self._pairs if key.startswith(start)]

    def _takes(self, draft: CaseDraft, key: str) -> bool:
        return key in argument_names(draft.item) or key.startswith(f"{draft.name}.")


def _check_some(key: str, text: str, schemas: Sequence[object]) -> None:
    """Raise UsageError if TEXT is nothing that one of SCHEMAS takes."""
    problem: UsageError | None = None
    for schema in schemas:
        try:
            coerce_arguments([(key, text)], schema)
        except UsageError as error:
            problem = error
        else:
            return
    if problem is not None:
        raise problem
