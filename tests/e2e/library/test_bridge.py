"""Bridge: many real servers behind one door, each with its own fate."""

import asyncio
import json
import os
import signal

import pytest
from tests.e2e.library.watching import LIMIT, QUICK, Events

from mcp_conductor import (
    Backoff,
    Bridge,
    ConfigError,
    ConnectionLost,
    MethodError,
    RequestTimeout,
    ServerDown,
    UsageError,
)

pytestmark = pytest.mark.usefixtures("nothing_is_left")


async def test_what_all_servers_have_is_listed_under_names_that_cannot_clash(mortal):
    async with Bridge({"one": mortal("one"), "two": mortal("two")}) as bridge:
        tools = await bridge.list_tools()
        assert [tool.full_name for tool in tools if tool.name == "pid"] == ["one/pid", "two/pid"]
        assert {tool.server for tool in tools} == {"one", "two"}
        assert [each.full_name for each in await bridge.list_resources()] == ["one/test://thing", "two/test://thing"]
        assert [each.full_name for each in await bridge.list_prompts()] == ["one/ask", "two/ask"]
        assert await bridge.list_resource_templates() == []
        pids = [(await bridge.call_tool(f"{name}/pid")).text for name in ("one", "two", "one")]
        assert pids[0] == pids[2] != pids[1]
        assert (await bridge.read_resource("two/test://thing")).text == "a thing"
        assert "x" in (await bridge.get_prompt("one/ask", {"what": "x"})).messages[0].text
        assert await bridge.request("one", "ping") == {}
        with pytest.raises(MethodError):
            await bridge.request("one", "no/such")


async def test_a_server_that_cannot_be_reached_does_not_take_the_others_down(mortal, http):
    silent = http({"initialize": lambda call: None})
    servers = {
        "good": mortal(),
        "missing": {"command": "/no/such/program"},
        "wrong": {"url": "http://127.0.0.1:1/mcp"},
        "both": {"url": "http://h/mcp", "command": "x"},
        "mute": {"url": silent.url},
    }
    async with Bridge(servers, connect_timeout=2, backoff=QUICK, patience=0.1) as bridge:
        assert {tool.server for tool in await bridge.list_tools()} == {"good"}
        health = bridge.health()
        assert {name: each.state for name, each in health.items()} == {
            "good": "up",
            "missing": "retrying",
            "wrong": "retrying",
            "both": "down",
            "mute": "retrying",
        }
        assert "/no/such/program" in health["missing"].last_error.message
        assert isinstance(health["both"].last_error, ConfigError)
        with pytest.raises(ServerDown) as raised:
            await bridge.call_tool("wrong/x")
        assert (raised.value.code, raised.value.context["server"]) == ("RUNTIME_MCP_SERVER_DOWN", "wrong")
        assert (await bridge.call_tool("good/pid")).text


async def test_servers_are_connected_at_the_same_time(mortal):
    began = asyncio.get_running_loop().time()
    async with Bridge({str(n): mortal(str(n), "1") for n in range(4)}) as bridge:
        assert {each.state for each in bridge.health().values()} == {"up"}
        assert asyncio.get_running_loop().time() - began < 3.5


async def test_a_server_that_died_is_started_again_and_what_was_under_way_is_reported(mortal):
    events = Events()
    async with Bridge({"m": mortal()}, backoff=QUICK, on_event=events) as bridge:
        first = (await bridge.call_tool("m/pid")).text
        with pytest.raises(ConnectionLost) as raised:
            await bridge.call_tool("m/write", {"die": True})
        assert raised.value.message == "m: the server exited with code 9 before it answered tools/call"
        assert "not known" in raised.value.hint
        assert raised.value.context["server"] == "m"
        second = (await bridge.call_tool("m/pid")).text
        assert first != second
        assert [(each.kind, each.server) for each in events.seen] == [
            ("connected", "m"),
            ("lost", "m"),
            ("connected", "m"),
        ]
    assert mortal.log().count("write") == 1


@pytest.mark.parametrize(("tool", "times"), [("write", 1), ("look", 2), ("put", 2)])
async def test_only_what_is_declared_harmless_is_sent_twice(mortal, tool, times):
    async with Bridge({"m": mortal()}, backoff=QUICK) as bridge:
        try:
            await bridge.call_tool(f"m/{tool}", {"die once": True})
        except ConnectionLost:
            assert times == 1
    assert mortal.log().count(tool) == times


async def test_a_harmless_call_is_repeated_a_limited_number_of_times(mortal):
    async with Bridge({"m": mortal()}, backoff=QUICK) as bridge:
        with pytest.raises(ConnectionLost):
            await bridge.call_tool("m/look", {"die": True})
    assert mortal.log().count("look") == 4


async def test_a_call_waits_for_a_server_that_is_about_to_come_back(mortal):
    async with Bridge({"m": mortal("mortal", "0.3")}, backoff=QUICK) as bridge:
        pid = int((await bridge.call_tool("m/pid")).text)
        os.kill(pid, signal.SIGKILL)
        answers = await asyncio.gather(*(bridge.call_tool("m/pid") for _ in range(16)))
        assert {answer.text for answer in answers} != {str(pid)}


def behind_gate(gate, inner):
    """The config of a server that can start only while the file GATE exists."""
    words = ["-c", f'test -e {gate} || exit 7; exec "$@"', "sh", inner["command"], *inner["args"]]
    return {"command": "sh", "args": words, "env": inner["env"]}


async def test_a_call_does_not_wait_for_the_end_of_a_long_pause(tmp_path, mortal):
    gate, pause = tmp_path / "gate", Backoff(first=3600, cap=3600)
    async with Bridge({"m": behind_gate(gate, mortal())}, backoff=pause, patience=LIMIT) as bridge:
        waiting = asyncio.create_task(bridge.call_tool("m/pid"))  # it may begin before the pause
        gate.touch()
        assert (await waiting).text
        gate.unlink()
        os.kill(int((await waiting).text), signal.SIGKILL)
        async with asyncio.timeout(LIMIT):
            while bridge.health()["m"].failures < 2:  # noqa: ASYNC110  # no event tells of it
                await asyncio.sleep(0.01)
        gate.touch()
        assert (await bridge.call_tool("m/pid")).text != (await waiting).text


async def test_a_kill_is_seen_at_once_also_without_calls(mortal):
    events = Events()
    async with Bridge({"m": mortal()}, backoff=QUICK, health_interval=3600, on_event=events) as bridge:
        os.kill(int((await bridge.call_tool("m/pid")).text), signal.SIGKILL)
        lost = await events.until("lost", "m")
        assert "SIGKILL" in lost.error.message
        await events.until("connected", "m", times=2)
        assert bridge.health()["m"].state == "up"


async def test_a_server_that_keeps_failing_is_down_in_the_end_and_can_be_tried_again(tmp_path, mortal):
    events = Events()
    backoff = Backoff(first=0.01, cap=0.05, attempts=3)
    gate = tmp_path / "gate"
    async with Bridge({"m": behind_gate(gate, mortal())}, backoff=backoff, on_event=events) as bridge:
        down = await events.until("down", "m")
        assert "code 7" in down.error.message
        assert (bridge.health()["m"].state, bridge.health()["m"].failures) == ("down", 3)
        with pytest.raises(ServerDown):
            await bridge.call_tool("m/pid")
        gate.touch()
        bridge.reconnect("m")
        await events.until("connected", "m")
        assert (await bridge.call_tool("m/pid")).text


async def test_a_list_that_changed_is_read_again(mortal):
    events = Events()
    async with Bridge({"m": mortal()}, on_event=events) as bridge:
        await bridge.call_tool("m/learn", {"word": "fly"})
        assert "m/fly" in [tool.full_name for tool in await bridge.list_tools()]
        await events.until("tools_changed", "m")
        assert (await bridge.call_tool("m/fly")).text


async def test_subscriptions_outlive_the_server(mortal):
    events = Events()
    async with Bridge({"m": mortal()}, backoff=QUICK, on_event=events) as bridge:
        await bridge.subscribe("m/test://thing")
        await bridge.call_tool("m/touch")
        await events.until("resource_updated", "m")
        os.kill(int((await bridge.call_tool("m/pid")).text), signal.SIGKILL)
        await events.until("connected", "m", times=2)
        await bridge.call_tool("m/touch")
        assert (await events.until("resource_updated", "m", times=2)).uri == "test://thing"
        await bridge.unsubscribe("m/test://thing")
        await bridge.call_tool("m/touch")
        await bridge.call_tool("m/pid")
        assert len([each for each in events.seen if each.kind == "resource_updated"]) == 2
    assert mortal.log().count("subscribe") == 2


async def test_a_server_that_hangs_is_replaced_once_nothing_is_under_way(mortal):
    events = Events()
    terms = {"backoff": QUICK, "health_interval": 0.1, "health_timeout": 0.1}
    async with Bridge({"m": mortal()}, on_event=events, **terms) as bridge:
        with pytest.raises(RequestTimeout):
            await bridge.call_tool("m/write", {"hang": True}, timeout=1.0)
        lost = await events.until("lost", "m")
        assert "not answered" in lost.error.message
        assert (await bridge.call_tool("m/pid")).text
    assert mortal.log().count("write") == 1


async def test_a_server_that_is_busy_is_left_alone(mortal):
    """A server of one thread answers no ping while a tool runs; that is no reason to kill it."""
    slow = {**mortal(), "args": ["-c", SLOW]}
    events = Events()
    async with Bridge({"s": slow}, health_interval=0.05, health_timeout=0.05, on_event=events) as bridge:
        assert (await bridge.call_tool("s/slow")).text == "done"
    assert [each.kind for each in events.seen] == ["connected"]


SLOW = """
import json, sys, time
for line in sys.stdin:
    r = json.loads(line)
    if "id" not in r: continue
    if r["method"] == "initialize":
        v = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif r["method"] == "tools/list":
        v = {"tools": [{"name": "slow", "inputSchema": {"type": "object"}}]}
    elif r["method"] == "tools/call":
        time.sleep(1.0)
        v = {"content": [{"type": "text", "text": "done"}]}
    else:
        v = {}
    print(json.dumps({"jsonrpc": "2.0", "id": r["id"], "result": v}), flush=True)
"""


async def test_calls_that_are_under_way_when_the_bridge_closes_fail(mortal):
    async with Bridge({"m": mortal()}) as bridge:
        hanging = asyncio.create_task(bridge.call_tool("m/write", {"hang": True}))
        await asyncio.sleep(0)  # it is sent
        began = asyncio.get_running_loop().time()
    with pytest.raises(ConnectionLost):
        await asyncio.wait_for(hanging, LIMIT)
    assert asyncio.get_running_loop().time() - began < 9


async def test_a_bridge_that_is_given_up_while_it_opens_leaves_nothing(mortal):
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3), Bridge({"fast": mortal("fast"), "slow": mortal("slow", "60")}):
            raise AssertionError("it cannot be open yet")


async def test_a_bridge_can_be_entered_before_the_slowest_server_is_there(mortal):
    events = Events()
    servers = {"fast": mortal("fast"), "slow": mortal("slow", "1")}
    async with Bridge(servers, start_timeout=0.5, on_event=events) as bridge:
        assert bridge.health()["slow"].state == "retrying"
        assert (await bridge.call_tool("slow/pid")).text
        await events.until("connected", "slow")


async def test_an_observer_that_fails_takes_nothing_down(mortal):
    told = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))

    def fail(event):
        raise ValueError(event.kind)

    async with Bridge({"m": mortal()}, on_event=fail) as bridge:
        assert (await bridge.call_tool("m/pid")).text
    assert [str(each) for each in told] == ["connected"]


async def test_a_bridge_is_read_from_a_file_and_one_wrong_server_of_it_is_down(tmp_path, mortal):
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"m": mortal(), "bad": {"args": []}}}))
    async with Bridge(file) as bridge:
        assert (await bridge.call_tool("m/pid")).text
        assert {name: each.state for name, each in bridge.health().items()} == {"m": "up", "bad": "down"}
        assert bridge.health()["bad"].last_error.where.line == 1
    async with Bridge({"mcpServers": {"m": mortal()}}) as bridge:
        assert (await bridge.call_tool("m/pid")).text


@pytest.mark.parametrize("name", ["nope/x", "nope", "", "/x"])
async def test_a_name_that_no_server_has_is_a_mistake_of_the_caller(mortal, name):
    async with Bridge({"m": mortal()}) as bridge:
        with pytest.raises(UsageError):
            await bridge.call_tool(name)


async def test_names_of_servers_may_have_slashes_but_not_be_confused(mortal):
    async with Bridge({"io.example/m": mortal()}) as bridge:
        assert (await bridge.call_tool("io.example/m/pid")).text
    with pytest.raises(ConfigError):
        Bridge({"a": mortal(), "a/b": mortal()})


async def test_a_file_that_is_not_there_is_a_mistake_of_the_caller(tmp_path):
    with pytest.raises(UsageError):
        Bridge(tmp_path / "none.json")


async def test_an_empty_bridge_has_nothing():
    async with Bridge({}) as bridge:
        assert await bridge.list_tools() == []
        assert bridge.health() == {}


# How long to wait.


def test_delays_grow_up_to_the_cap_and_chance_only_shortens_them():
    backoff = Backoff(first=1, factor=2, cap=10, jitter=0.5)
    assert [backoff.delay(n, lambda: 0.0) for n in (1, 2, 3, 4, 5, 5000)] == [1, 2, 4, 8, 10, 10]
    assert [backoff.delay(n, lambda: 1.0) for n in (1, 5)] == [0.5, 5]


def test_after_so_many_attempts_there_is_no_other():
    assert [Backoff(attempts=2).delay(n, lambda: 0.0) for n in (1, 2)] == [0.25, None]
