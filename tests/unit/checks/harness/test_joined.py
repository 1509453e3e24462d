"""Scenarios that one start of the client shows: which they are, and that each of them leaves the others room."""

import inspect

import pytest

from mcp_conductor.checks.harness.client_record import ClientRecord
from mcp_conductor.checks.harness.joined import joined, joint_scenario, record_for
from mcp_conductor.checks.harness.scenario import SCENARIOS
from mcp_conductor.checks.harness.scripted_server import ServerScript

GROUPS = joined(SCENARIOS)


def overrides(script: type[ServerScript]) -> dict[str, type]:
    """The methods that a script does not have from ServerScript, and which class they are from."""
    found: dict[str, type] = {}
    for each in script.__mro__[: script.__mro__.index(ServerScript)]:
        for name in vars(each):
            if callable(getattr(ServerScript, name, None)):
                found.setdefault(name, each)
    return found


def test_only_scenarios_with_the_same_word_are_played_together():
    assert joined(["logs", "plain", "progress", "icons", "kept", "gone"]) == [("icons", "kept"), ("logs", "progress")]


def test_a_scenario_without_others_is_played_alone():
    assert joined(["logs", "icons", "gone"]) == []


@pytest.mark.parametrize("names", GROUPS, ids=",".join)
def test_scripts_that_are_played_together_call_those_behind_them(names):
    order = joint_scenario(names).script.__mro__
    by_method: dict[str, list[type]] = {}
    for name in names:
        for method, owner in overrides(SCENARIOS.get(name).script).items():
            if owner not in by_method.setdefault(method, []):
                by_method[method].append(owner)
    for method, owners in by_method.items():
        for owner in sorted(owners, key=order.index)[:-1]:
            assert f"super().{method}(" in inspect.getsource(vars(owner)[method]), (method, owner)


@pytest.mark.parametrize("names", GROUPS, ids=",".join)
async def test_a_joint_server_offers_every_tool_once(names):
    scenario = joint_scenario(names)
    listed = [each["name"] for each in scenario.script(ClientRecord(scenario.name), None).tools()]
    alone = [each["name"] for name in names for each in SCENARIOS.get(name).script(ClientRecord(name), None).tools()]
    assert sorted(listed) == sorted(set(alone))


def test_a_joint_scenario_lasts_as_long_as_its_longest():
    assert joint_scenario(("failing-tools", "pages", "stubborn")).seconds == SCENARIOS.get("stubborn").seconds
    assert joint_scenario(("icons", "kept")).seconds is None


def test_the_record_of_one_is_that_of_all_with_its_own_conditions():
    whole = ClientRecord("logs,progress", exit_code=3, moments={"logged": 1.0})
    part = record_for("progress", whole)
    assert (part.name, part.needs, part.exit_code, part.moments) == ("progress", "", 3, {"logged": 1.0})
