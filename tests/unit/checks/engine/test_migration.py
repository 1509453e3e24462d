"""What a server lacks for the newest era: of the catalogue, by what the server declares and was seen to use."""

import pytest

from mcp_conductor.checks.engine.judging import Options
from mcp_conductor.checks.engine.migration import (
    LEFT_OUT_GROUPS,
    LEFT_OUT_IDS,
    STEPS,
    added_requirements,
    migration,
    step_of,
)
from mcp_conductor.checks.engine.record import Traits
from mcp_conductor.protocol.dialect import HANDSHAKE, MODERN
from mcp_conductor.report.model import Finding, Outcome

OLDER, NEWEST = HANDSHAKE[-1], MODERN[-1]


def outcome(name, status):
    findings = (Finding(message=f"{name} is broken"),) if status == "failed" else ()
    return Outcome(id=name, title="t", group="g", status=status, level="MUST", findings=findings)


def steps(transport="stdio", options=None, asked=(), session=False, **capabilities):
    traits = Traits(transport, capabilities, asked, session)
    found = migration({OLDER: []}, {OLDER: traits}, options or Options())
    return {step["name"]: step for step in found["steps"]}


def test_every_new_requirement_belongs_to_a_step_or_is_left_out_on_purpose():
    new = added_requirements(NEWEST, Options())
    left = [each for each in new if each.group in LEFT_OUT_GROUPS or each.id.startswith(LEFT_OUT_IDS)]
    assert [each.id for each in new if step_of(each) is None and each not in left] == []
    assert [each.id for each in left if step_of(each) is not None] == []


def test_every_step_has_requirements():
    found = {step_of(each) for each in added_requirements(NEWEST, Options())}
    assert [step.name for step in STEPS if step not in found] == []


def test_a_server_on_stdio_that_declares_nothing_needs_what_every_server_needs():
    assert list(steps()) == [
        "server/discover",
        "_meta",
        "resultType",
        "caching hints",
        "removed methods",
        "error codes",
    ]


@pytest.mark.parametrize(
    ("name", "because", "traits"),
    [
        ("HTTP headers", None, {"transport": "http"}),
        ("no sessions", "it gives session ids", {"transport": "http", "session": True}),
        ("Streamable HTTP", "it was reached over HTTP+SSE", {"transport": "sse"}),
        ("questions to the client", "it sent roots/list", {"asked": ("roots/list",)}),
        (
            "subscriptions/listen",
            "it declares tools.listChanged, resources.subscribe",
            {"tools": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": False}},
        ),
        ("logging", "it declares logging", {"logging": {}}),
        ("tasks", "it declares tasks", {"tasks": {}}),
    ],
)
def test_what_a_server_uses_makes_a_step_necessary_and_is_named(name, because, traits):
    assert name not in steps()
    assert steps(**traits)[name].get("because") == because


def test_requirements_of_features_that_are_not_declared_are_not_counted():
    assert "resources-not-found-32602" not in steps()["error codes"]["ids"]
    assert "resources-not-found-32602" in steps(resources={})["error codes"]["ids"]


def test_only_what_was_asked_for_is_listed():
    assert list(steps(options=Options(only={"caching"}))) == ["caching hints"]


def test_of_a_server_that_speaks_both_eras_it_is_what_fails_in_the_newest_alone():
    told = {
        OLDER: [outcome("a", "failed"), outcome("b", "passed")],
        NEWEST: [outcome("a", "failed"), outcome("b", "failed"), outcome("c", "failed"), outcome("d", "passed")],
    }
    found = migration(told, {}, Options())
    assert found["spoken"]
    assert [(step["name"], step["what"]) for step in found["steps"]] == [("b", "b is broken"), ("c", "c is broken")]


def test_a_server_of_the_newest_era_alone_has_nothing_to_migrate_from():
    assert migration({NEWEST: []}, {}, Options()) is None
