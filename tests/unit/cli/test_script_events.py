"""What a script can wait for, and in which order it gets it."""

import asyncio

import pytest

from mcp_conductor.cli.commands.mcp_cli.script_run import MOST_EVENTS, ScriptEvents, fits

LOG = {"event": "log", "method": "notifications/message", "params": {"level": "info", "data": [1]}}


@pytest.mark.parametrize(
    ("wanted", "fitting"),
    [
        ("log", True),
        ("update", False),
        ("notifications/message", True),
        ("notifications/other", False),
        ({"event": "log"}, True),
        ({"params": {"level": "info"}}, True),
        ({"params": {"level": "error"}}, False),
        ({"params": {"data": [1]}}, True),
        ({"params": {"data": []}}, False),
        ({"params": {"data": [True]}}, False),
        ({"missing": None}, False),
    ],
)
def test_an_event_is_wanted_by_its_kind_its_method_or_some_members(wanted, fitting):
    assert fits(LOG, wanted) is fitting


async def test_each_event_is_taken_once_and_the_oldest_first():
    events = ScriptEvents(1000)
    for number in (1, 2):
        events.add({"event": "log", "number": number}, 1)
    events.add({"event": "update"}, 1)
    assert (await events.take("update"))["event"] == "update"
    assert [(await events.take("log"))["number"] for _ in range(2)] == [1, 2]


async def test_what_comes_later_is_waited_for():
    events = ScriptEvents(1000)
    waiting = asyncio.ensure_future(events.take("update"))
    await asyncio.sleep(0)
    events.add(LOG, 1)
    events.add({"event": "update"}, 1)
    assert await waiting == {"event": "update"}


async def test_the_oldest_are_forgotten_where_there_is_no_room():
    many, large = ScriptEvents(10**9), ScriptEvents(10)
    for number in range(MOST_EVENTS + 1):
        many.add({"event": "log", "number": number}, 1)
    for number in range(2):
        large.add({"event": "log", "number": number}, 9)
    assert (await many.take("log"))["number"] == 1
    assert (await large.take("log"))["number"] == 1


def test_what_came_instead_is_named():
    events = ScriptEvents(1000)
    assert events.what_came() == "no event came"
    for event in (LOG, LOG, {"event": "update"}, {"id": 1, "result": {}}):
        events.add(event, 1)
    assert events.what_came() == "there came 2 log, 1 update, 1 answer"
