"""Bridge with servers over HTTP, which the bridge does not start, and with servers of the modern era."""

import asyncio

import pytest
from tests.conftest import MARK
from tests.e2e.library.ten_servers import SAMPLES, SERVE, Served
from tests.e2e.library.watching import LIMIT, QUICK, Events

from mcp_conductor import Bridge, ServerDown

pytestmark = pytest.mark.usefixtures("nothing_is_left")


@pytest.fixture
def served(environment):
    """A server over HTTP that can be killed and started again where it was."""
    started = []

    def start(kind, file):
        started.append(Served(kind, environment, str(SAMPLES / file)))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.mark.parametrize(
    ("kind", "protocol"), [("streamable-http", "handshake"), ("streamable-http", "modern"), ("sse", "handshake")]
)
async def test_a_server_over_http_that_was_restarted_is_connected_again(served, kind, protocol):
    server, events = served(kind, "subscriptions.yaml"), Events()
    uri = "test://resource_1"
    config = {"url": server.url, "protocolVersion": protocol}
    async with Bridge({"s": config}, backoff=QUICK, on_event=events, health_interval=3600) as bridge:
        await bridge.subscribe(f"s/{uri}")
        for _ in range(3):
            before = len(events.seen)
            async with asyncio.timeout(LIMIT):
                while ("resource_updated", uri) not in [(each.kind, each.uri) for each in events.seen[before:]]:
                    await bridge.call_tool("s/update_resource", {"uri": uri, "text": "new"})
                    await bridge.request("s", "tools/list")
            await asyncio.to_thread(server.kill)
            assert (await bridge.read_resource(f"s/{uri}")).contents


async def test_a_server_over_http_that_is_gone_is_retried_and_comes_back(served):
    server, events = served("streamable-http", "demo.json"), Events()
    async with Bridge({"s": server.url}, backoff=QUICK, on_event=events, patience=0.2, health_interval=0.1) as bridge:
        server.stop()
        await events.until("lost", "s")
        with pytest.raises(ServerDown):
            await bridge.call_tool("s/echo", {"message": "x"})
        assert bridge.health()["s"].state == "retrying"
        server.start()
        await events.until("connected", "s", times=2)
        assert "x" in (await bridge.call_tool("s/echo", {"message": "x"})).text


@pytest.mark.parametrize("kind", ["stdio", "streamable-http"])
async def test_in_the_modern_era_changes_and_updates_are_listened_for(served, mark, kind):
    def config(file):
        if kind == "stdio":
            return {"command": SERVE[0], "args": [*SERVE[1:], str(SAMPLES / file)], "env": {MARK: mark}}
        return {"url": served(kind, file).url}

    events = Events()
    servers = {
        "s": {**config("subscriptions.yaml"), "protocolVersion": "modern"},
        "l": {**config("list-changed.json"), "protocolVersion": "modern"},
    }
    async with Bridge(servers, on_event=events, health_interval=0.1) as bridge:
        await bridge.subscribe("s/test://resource_1")
        await bridge.call_tool("s/update_resource", {"uri": "test://resource_1", "text": "new"})
        assert (await events.until("resource_updated", "s")).uri == "test://resource_1"
        await bridge.call_tool("l/add_tool", {"name": "fly", "description": "x"})
        await events.until("tools_changed", "l")
        assert "l/fly" in [tool.full_name for tool in await bridge.list_tools()]
    assert [each.kind for each in events.seen].count("connected") == 2


async def test_a_call_right_after_a_server_over_http_went_away_waits_for_it(served):
    server = served("streamable-http", "demo.json")
    async with Bridge({"s": server.url}, backoff=QUICK, health_interval=3600) as bridge:
        assert (await bridge.call_tool("s/echo", {"message": "x"})).text
        server.stop()
        waiting = asyncio.create_task(bridge.call_tool("s/echo", {"message": "y"}))
        done, _ = await asyncio.wait({waiting}, timeout=0.5)
        assert not done
        server.start()
        assert "y" in (await asyncio.wait_for(waiting, LIMIT)).text
