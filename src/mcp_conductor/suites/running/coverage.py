"""Which tools, resources and prompts of a server the tests have used, and which not."""

from dataclasses import field

from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.values import dataclass

# For each kind: the capability, the list, the member that names an item, and the method that uses one.
_KINDS = {
    "tools": ("tools", "tools/list", "name", "tools/call"),
    "resources": ("resources", "resources/list", "uri", "resources/read"),
    "prompts": ("prompts", "prompts/list", "name", "prompts/get"),
}


@dataclass(slots=True)
class Touched:
    """What the server offers, and what of it was used, by kind."""

    there: dict[str, set[str]] = field(default_factory=dict)
    used: dict[str, set[str]] = field(default_factory=dict)

    @classmethod
    async def of(cls, session: Session) -> "Touched":
        """What the server of SESSION has, by its own lists."""
        found = cls()
        for kind, (capability, method, name, _) in _KINDS.items():
            if capability not in session.capabilities:
                continue
            try:
                items = (await session.everything(method)).get(kind, [])
            except ConductorError:
                continue
            found.there[kind] = {
                item[name] for item in items if isinstance(item, dict) and isinstance(item.get(name), str)
            }
        return found

    def use(self, transcript: Transcript) -> None:
        """Take in what was used in a conversation."""
        uses = {method: (kind, name) for kind, (_, _, name, method) in _KINDS.items()}
        for message in transcript.messages("client"):
            if message.kind == "request" and message.method in uses:
                kind, name = uses[message.method]
                self.used.setdefault(kind, set()).add(str(message.params.get(name)))


def merged(all_of_them: list[Touched]) -> Touched:
    whole = Touched()
    for each in all_of_them:
        for mine, theirs in ((whole.there, each.there), (whole.used, each.used)):
            for kind, names in theirs.items():
                mine.setdefault(kind, set()).update(names)
    return whole


def figures(whole: Touched) -> Json:
    """For the report: how many there are of each kind, and which were never used."""
    found: Json = {}
    for kind, names in whole.there.items():
        untouched = sorted(names - whole.used.get(kind, set()))
        found[kind] = {"total": len(names), "touched": len(names) - len(untouched), "untouched": untouched}
    return found


def percentage(whole: Touched) -> float:
    """The percentage of everything that was used."""
    total = sum(map(len, whole.there.values()))
    used = sum(len(names & whole.used.get(kind, set())) for kind, names in whole.there.items())
    return 100.0 if not total else 100.0 * used / total
