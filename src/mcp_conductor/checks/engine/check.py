"""The specification as checks: one decorated function for each requirement that can be seen on the wire.

A judge reads what was said in any conversation. A probe says something on purpose to see what comes.
Both yield findings; none means that the requirement is kept. `NotSeen` means that there was nothing to look at.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING

from mcp_conductor.catalog import Catalog
from mcp_conductor.report.model import Finding
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.checks.engine.probe import Probe
    from mcp_conductor.checks.engine.record import Record
    from mcp_conductor.checks.engine.sessions import Use

Judge = Callable[["Record"], Iterable[Finding]]
Act = Callable[["Probe"], AsyncIterator[Finding]]


@dataclass(frozen=True, slots=True)
class Check:
    """How one requirement is checked."""

    id: str
    judge: Judge | None = None
    probe: Act | None = None
    needs: str | None = None  # a capability that the server must declare: tools, resources.subscribe
    alone: bool = False  # in a session of its own, because it would disturb others
    last: bool = False  # by itself, when all others are done, because it changes the server
    hands_on: "tuple[Use, ...]" = ()  # what the sessions that it has begun may be used for afterwards, by others
    prepared: "Use | None" = None  # a session that it shares with others, and that can be opened before its turn
    spoils: bool = False  # after it, the session that it shared cannot be used by others
    follows: str | tuple[str, ...] = ()  # what is the fault, where one of these requirements is broken too

    @property
    def roots(self) -> tuple[str, ...]:
        return (self.follows,) if isinstance(self.follows, str) else self.follows

    @property
    def doc(self) -> str:
        return " ".join(((self.judge or self.probe).__doc__ or "").split())


JUDGES = "mcp_conductor.checks.server.*.judges"
_PROBES = "mcp_conductor.checks.server.*.probes"
CHECKS: Catalog[Check] = Catalog("check", JUDGES, _PROBES)
RECORDED: Catalog[Check] = Catalog("check", JUDGES)  # judges of recordings, for what is probed where we can ask
EVERYWHERE: Catalog[Check] = Catalog("check", JUDGES)  # judges of every session of a run, those of probes included


def judged(*ids: str, needs: str | None = None, follows: str | tuple[str, ...] = ()) -> Callable[[Judge], Judge]:
    """Register a function that judges a conversation by the requirements IDS, all of them alike."""

    def register(judge: Judge) -> Judge:
        for each in ids:
            CHECKS.add(each, Check(each, judge=judge, needs=needs, follows=follows), judge)
        return judge

    return register


def judged_in_recordings(*ids: str) -> Callable[[Judge], Judge]:
    """Register a function that judges a recording by the requirements IDS, for which there are probes too."""

    def register(judge: Judge) -> Judge:
        for each in ids:
            RECORDED.add(each, Check(each, judge=judge), judge)
        return judge

    return register


def judged_everywhere(*ids: str) -> Callable[[Judge], Judge]:
    """Register a function that judges each session of a run by the requirements IDS, besides what else judges them.

    It must allow for everything that a probe may say: a session may be used for odd requests.
    """

    def register(judge: Judge) -> Judge:
        for each in ids:
            EVERYWHERE.add(each, Check(each, judge=judge), judge)
        return judge

    return register


def probed(
    *ids: str,
    needs: str | None = None,
    alone: bool = False,
    last: bool = False,
    hands_on: "tuple[Use, ...]" = (),
    prepared: "Use | None" = None,
    spoils: bool = False,
    follows: str | tuple[str, ...] = (),
) -> Callable[[Act], Act]:
    """Register a function that says something on purpose, and looks at what comes back."""

    def register(act: Act) -> Act:
        for each in ids:
            CHECKS.add(
                each,
                Check(
                    each,
                    probe=act,
                    needs=needs,
                    alone=alone,
                    last=last,
                    hands_on=hands_on,
                    prepared=prepared,
                    spoils=spoils,
                    follows=(follows,) if isinstance(follows, str) else follows,
                ),
                act,
            )
        return act

    return register
