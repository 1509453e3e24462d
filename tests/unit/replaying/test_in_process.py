"""A recording as a target of connect(), in this process."""

import asyncio

import pytest
from tests.unit.replaying.conversations import note, pool, request, result, told

from mcp_conductor import MethodError, connect
from mcp_conductor.protocol.dialect import META, NEWEST_HANDSHAKE, NEWEST_MODERN
from mcp_conductor.replaying.replay_server import ReplayServer
from mcp_conductor.replaying.replay_spec import IN_PROCESS, ReplaySpec

OPENING = [
    request(0, "initialize"),
    result(0, protocolVersion=NEWEST_HANDSHAKE.version, capabilities={"tools": {}}, serverInfo={"name": "s", "version": "1"}),
]  # fmt: skip


def spec(*said):
    known = pool(*OPENING, *said)
    return ReplaySpec(file="said.jsonl", make=lambda: ReplayServer(known, IN_PROCESS))


async def test_each_connection_begins_at_the_start():
    recorded = spec(request(1, "tools/list"), result(1, tools=[]), request(2, "tools/list"), result(2, tools=[1]))
    for _ in range(2):
        async with connect(recorded) as session:
            assert [await session.request("tools/list") for _ in range(3)] == [
                {"tools": []},
                {"tools": [1]},
                {"tools": [1]},
            ]
            assert session.server["name"] == "s"
    assert str(recorded) == "the recording said.jsonl"


async def test_notifications_come_before_the_answer_and_misses_are_errors():
    heard = []
    recorded = spec(request(1, name="a"), note("notifications/message", level="info", data="x"), result(1, content=[]))
    async with connect(recorded, on_log=lambda log: heard.append(log.data)) as session:
        assert await session.request("tools/call", {"name": "a"}) == {"content": []}
        assert heard == ["x"]
        with pytest.raises(MethodError) as caught:
            await session.request("tools/call", {"name": "b"})
    assert "not in the recording" in caught.value.message


async def test_the_modern_era_is_spoken_where_it_was_recorded():
    modern = {f"{META}protocolVersion": NEWEST_MODERN.version}
    known = pool(
        request(1, "server/discover", _meta=modern), result(1, supportedVersions=[NEWEST_MODERN.version], capabilities={}),
        request(2, "tools/list", _meta=modern), result(2, tools=[], resultType="complete"),
    )  # fmt: skip
    recorded = ReplaySpec(file="said.jsonl", make=lambda: ReplayServer(known, IN_PROCESS))
    async with connect(recorded, protocol="auto") as session:
        assert session.dialect is NEWEST_MODERN
        assert (await session.request("tools/list"))["tools"] == []


async def test_what_is_no_message_is_answered_and_nothing_is_left_when_the_connection_ends():
    recorded = spec(request(1, name="a"), told("notifications/cancelled", requestId=1))
    async with connect(recorded) as session:
        assert (await session.say("{")).kind == "error"
        waiting = asyncio.ensure_future(session.request("tools/call", {"name": "a"}))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []
