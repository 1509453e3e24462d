"""The specification as checks of clients: scenarios that a scripted server plays, and judges of what the client did.

One start of the client is one scenario. A judge looks at one scenario, at some, or at all of them; it yields findings,
and raises `NotSeen` when the client never did what it is about: what is merely absent is not a mistake.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from mcp_conductor.catalog import Catalog
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.report.model import Finding

if TYPE_CHECKING:
    from mcp_conductor.checks.harness.client_record import Play
    from mcp_conductor.checks.harness.scripted_server import Script

Judge = Callable[["Play"], Iterable[Finding]]
S = TypeVar("S", bound="type[Script]")

PLAIN = "plain"
EVERYWHERE = ("stdio", "http", "sse")
ALL = tuple(DIALECTS)
HANDSHAKES = tuple(version for version, dialect in DIALECTS.items() if dialect.handshake)
MODERNS = tuple(version for version, dialect in DIALECTS.items() if not dialect.handshake)
NEVER = "the client never"  # begins every reason that a client can mend by doing more
ANYTHING = ""  # a scenario needs any request after the opening
_DOINGS = {
    ANYTHING: "made a request after it was connected",
    "tools/list": "listed tools",
    "tools/call": "called a tool",
    "resources/read": "read a resource",
    "prompts/get": "got a prompt",
    "completion/complete": "asked for a completion",
}


@dataclass(frozen=True, slots=True)
class Scenario:
    """One start of the client, and the server that it meets."""

    name: str
    script: "type[Script]"
    revisions: tuple[str, ...]
    transports: tuple[str, ...]
    seconds: float | None  # for how long the client may be silent here; None: as everywhere
    needs: str | None  # the method of the client that gives occasion for it; None: to connect is enough

    @property
    def doc(self) -> str:
        return " ".join((self.script.__doc__ or "").split())

    def fits(self, version: str, transport: str) -> bool:
        return version in self.revisions and transport in self.transports


@dataclass(frozen=True, slots=True)
class Watched:
    """How one requirement on clients is checked."""

    id: str
    judge: Judge
    scenarios: tuple[str, ...]  # none: whatever is played

    @property
    def doc(self) -> str:
        return " ".join((self.judge.__doc__ or "").split())


WATCHED: Catalog[Watched] = Catalog("check", "mcp_conductor.checks.client")
SCENARIOS: Catalog[Scenario] = Catalog("scenario", "mcp_conductor.checks.client")


def scenario(
    name: str,
    *,
    revisions: tuple[str, ...] = ALL,
    transports: tuple[str, ...] = EVERYWHERE,
    seconds: float | None = None,
    needs: str | None = None,
) -> Callable[[S], S]:
    """Register a script as the server of a scenario."""

    def register(script: S) -> S:
        SCENARIOS.add(name, Scenario(name, script, revisions, transports, seconds, needs))
        return script

    return register


def never(method: str) -> str:
    """What a client has not done that never sent METHOD: the reason why much cannot be seen of it."""
    return f"{NEVER} {_DOINGS.get(method) or f'sent {method}'}"


def watched(*ids: str, scenario: str | tuple[str, ...] = ()) -> Callable[[Judge], Judge]:
    """Register a function that judges what a client did by the requirements IDS; without a SCENARIO, in all of them."""
    names = (scenario,) if isinstance(scenario, str) else scenario

    def register(judge: Judge) -> Judge:
        for each in ids:
            WATCHED.add(each, Watched(each, judge, names))
        return judge

    return register


__all__ = [
    "ALL", "ANYTHING", "EVERYWHERE", "HANDSHAKES", "MODERNS", "NEVER", "PLAIN", "SCENARIOS", "WATCHED",
    "NotSeen", "Scenario", "fault", "never", "scenario", "watched",
]  # fmt: skip
