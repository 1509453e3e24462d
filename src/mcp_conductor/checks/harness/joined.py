"""Several scenarios in one start of the client: a server that does what each of them does.

A client that copes with all of it at once copes with each of it. Only that is concluded from such a start. If anything
else comes of it, the scenarios are played one by one.
"""

from collections.abc import Iterable
from dataclasses import replace

from mcp_conductor.checks.harness.client_record import ClientRecord
from mcp_conductor.checks.harness.scenario import SCENARIOS, Scenario


def joined(names: Iterable[str]) -> list[tuple[str, ...]]:
    """The scenarios of NAMES that can be played in one start, in groups of at least two."""
    groups: dict[str, list[str]] = {}
    for name in sorted(names):
        if (together := SCENARIOS.get(name).together) is not None:
            groups.setdefault(together, []).append(name)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def joint_scenario(names: tuple[str, ...]) -> Scenario:
    """The scenario in which the server does what it does in each of NAMES."""
    several = [SCENARIOS.get(name) for name in names]
    return Scenario(
        name=",".join(names),
        script=type("JointScript", tuple(each.script for each in several), {}),
        revisions=(),
        transports=(),
        seconds=max((each.seconds for each in several if each.seconds is not None), default=None),
        needs=None,
    )


def record_for(name: str, record: ClientRecord) -> ClientRecord:
    """What a joint start shows of the scenario NAME."""
    scenario = SCENARIOS.get(name)
    return replace(record, name=name, needs=scenario.needs, takes_time=scenario.seconds is not None)
