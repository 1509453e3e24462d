"""The requirements of the specification, in our words: what must hold, for whom, since when, and how it can be seen."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import versions_between
from mcp_conductor.protocol.message import read

LEVELS = ("MUST", "SHOULD", "MAY")
SEVERITIES = ("critical", "major", "minor")
_USUAL_SEVERITY = {"MUST": "major", "SHOULD": "minor", "MAY": "minor"}


@dataclass(frozen=True, slots=True)
class Requirement:
    """One sentence of the specification that can be kept or broken."""

    id: str
    group: str
    level: str
    severity: str  # critical, major or minor: what it costs to break it
    subject: str  # server or client
    revisions: tuple[str, ...]  # from `since` to `until` of the catalogue, or to the newest
    transports: tuple[str, ...]  # stdio, http, sse, or any
    statement: str
    test: str  # how it can be tested
    section: str | None
    limit: str | None = None  # which SDKs cannot keep it, in which versions: "known limit of …"

    def holds_for(self, version: str, transport: str) -> bool:
        return version in self.revisions and ("any" in self.transports or transport in self.transports)


@cache
def requirements() -> dict[str, Requirement]:
    entries = read(files(__package__).joinpath("requirements.json").read_text(encoding="utf-8"))
    return {
        entry["id"]: Requirement(
            **{
                "severity": _usual_severity(entry),
                **{name: value for name, value in entry.items() if name not in ("since", "until")},
                "revisions": versions_between(entry["since"], entry.get("until")),
                "transports": tuple(entry["transports"]),
            }
        )
        for entry in entries
    }


def _usual_severity(entry: Json) -> str:
    """What it costs to break a requirement, unless the catalogue says so: only an SDK can mend its own limits."""
    return "minor" if "limit" in entry else _USUAL_SEVERITY[entry["level"]]


def requirement(name: str) -> Requirement:
    """The requirement of this id."""
    known = requirements()
    if name not in known:
        near = nearest(name, list(known))
        raise UsageError(
            f"there is no requirement {name!r}", hint=f"did you mean {near!r}?" if near else "--list shows all"
        )
    return known[name]
