"""The specification as checks of clients: scenarios that a scripted server plays, and judges of what the client did.

One start of the client is one scenario. A judge looks at one scenario, at some, or at all of them; it yields findings,
and raises `NotSeen` when the client never did what it is about: what a client does not do is not a mistake.
"""

from collections.abc import Callable, Iterable
from typing import Literal, TypeVar

from mcp_conductor.catalog import Catalog
from mcp_conductor.checks.harness.client_record import ClientRecord
from mcp_conductor.checks.harness.scripted_server import ServerScript
from mcp_conductor.protocol.dialect import DIALECTS
from mcp_conductor.report.model import Finding
from mcp_conductor.values import dataclass

Judge = Callable[[ClientRecord], Iterable[Finding]]
S = TypeVar("S", bound=type[ServerScript])

# A recording may mix what several clients said: what relates messages to each other needs those of one client.
Recorded = Literal["messages", "conversation"]

PLAIN = "plain"
HTTP = ("http",)
EVERYWHERE = ("stdio", "http", "sse")
ALL = tuple(DIALECTS)
HANDSHAKES = tuple(version for version, dialect in DIALECTS.items() if dialect.handshake)
MODERNS = tuple(version for version, dialect in DIALECTS.items() if not dialect.handshake)


@dataclass(frozen=True, slots=True)
class Scenario:
    """One start of the client, and the server that it meets."""

    name: str
    script: type[ServerScript]
    revisions: tuple[str, ...]
    transports: tuple[str, ...]
    seconds: float | None  # for how long the client may be silent here; None: as everywhere
    needs: str | None  # the method of the client that gives occasion for it; None: to connect is enough
    together: str | None = None  # the name that scenarios share which one start of the client can show

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
    scenarios: tuple[str, ...]  # none: all that are played
    recorded: Recorded | None = None  # what of a recording it can judge
    follows: tuple[str, ...] = ()  # what is the fault, where one of these requirements is broken too

    @property
    def doc(self) -> str:
        return " ".join((self.judge.__doc__ or "").split())


WATCHED: Catalog[Watched] = Catalog("check", "mcp_conductor.checks.client.*.scenarios")
SCENARIOS: Catalog[Scenario] = Catalog("scenario", "mcp_conductor.checks.client.*.scenarios")


def scenario(
    name: str,
    *,
    revisions: tuple[str, ...] = ALL,
    transports: tuple[str, ...] = EVERYWHERE,
    seconds: float | None = None,
    needs: str | None = None,
    together: str | None = None,
) -> Callable[[S], S]:
    """Register a script as the server of a scenario.

    Scripts with the same word TOGETHER can be bases of one class: what each of them does leaves the others room.
    """

    def register(script: S) -> S:
        SCENARIOS.add(name, Scenario(name, script, revisions, transports, seconds, needs, together), script)
        return script

    return register


def watched(
    *ids: str,
    scenario: str | tuple[str, ...] = (),
    recorded: Recorded | None = None,
    follows: tuple[str, ...] = (),
) -> Callable[[Judge], Judge]:
    """Register a function that judges what a client did by the requirements IDS; without a SCENARIO, in all of them.

    RECORDED: it can judge a recording too, in which a client met any server: single messages, or all of one client.
    """
    names = (scenario,) if isinstance(scenario, str) else scenario

    def register(judge: Judge) -> Judge:
        for each in ids:
            WATCHED.add(each, Watched(each, judge, names, recorded, follows), judge)
        return judge

    return register


def look_of(name: str) -> tuple[object, tuple[str, ...]]:
    """The judge of a requirement, which may be that of several, and what it follows from."""
    each = WATCHED.get(name)
    return each.judge, each.follows
