"""The lists of a bridge: up to date when they are asked for, however often a server says that they have changed."""

import time

import pytest
from tests.e2e.library.watching import Events

from mcp_conductor import Bridge, StdioSpec

pytestmark = pytest.mark.usefixtures("nothing_is_left")

RESTLESS = """
    hello(tools={"listChanged": True})
    reads = 0
    while True:
        request = hear()
        if request["method"] == "tools/list":
            reads += 1
            result(request, {"tools": [{"name": "reads", "inputSchema": {"type": "object"}}]})
            notify("notifications/tools/list_changed")
        else:
            result(request, {"content": [], "structuredContent": {"result": reads}})
"""


@pytest.fixture
def restless(serve, environment):
    """A server that says after each list that it has changed; its tool tells how often it was listed."""
    return StdioSpec(command=serve(RESTLESS), env=environment)


async def reads(bridge):
    return (await bridge.call_tool("restless/reads")).typed(int)


async def test_a_server_that_always_has_a_new_list_is_not_asked_all_the_time(restless):
    events = Events()
    async with Bridge({"restless": restless}, on_event=events) as bridge:
        began = time.monotonic()
        for _ in range(300):
            read = await reads(bridge)
        assert read <= 5 + 4 * (time.monotonic() - began)
    assert [each.kind for each in events.seen] == ["connected"]  # the list is the same each time


async def test_lists_wait_for_changes_from_before_they_were_asked_for_and_for_no_others(restless):
    async with Bridge({"restless": restless}) as bridge:
        before, began = await reads(bridge), time.monotonic()
        for _ in range(50):
            assert [tool.name for tool in await bridge.list_tools()] == ["reads"]
        assert await reads(bridge) - before <= 2 * 50 + 5 + 4 * (time.monotonic() - began)


async def test_no_change_is_missed_when_many_come_one_after_the_other(mortal):
    async with Bridge({"m": mortal()}) as bridge:
        for number in range(20):
            await bridge.call_tool("m/learn", {"word": f"word{number}"})
            assert f"m/word{number}" in [tool.full_name for tool in await bridge.list_tools()]
