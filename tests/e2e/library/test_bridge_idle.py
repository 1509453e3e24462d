"""Clients over HTTP that leave without a word: their servers end, and begin again if the client comes back."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_conductor import StdioSpec, connect
from mcp_conductor.bridge import facade as module
from mcp_conductor.bridge.facade import Facade
from mcp_conductor.bridge.plan import BridgeOptions, Plan
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.http.serving import serve_http

MORTAL = str(Path(__file__).parent / "mortal.py")
LIMIT = 20.0
pytestmark = pytest.mark.usefixtures("nothing_is_left")


@asynccontextmanager
async def bridge(tmp_path, environment, idle_seconds):
    """The URL of a bridge in this process, and the log of its server."""
    log = tmp_path / "m.log"
    spec = StdioSpec(command=(sys.executable, MORTAL, str(log)), env=environment)
    plan = Plan({"m": spec}, BridgeOptions(), one_client=False, complain=print, report=print)
    transport = TransportConfig(type="streamable-http", port=0)
    facade, stop, started = Facade(plan, transport, idle_seconds=idle_seconds), asyncio.Event(), asyncio.Queue()
    serving = asyncio.create_task(serve_http(facade, transport, stop, started.put_nowait))
    try:
        yield await started.get(), log, facade
    finally:
        stop.set()
        await serving
        await facade.close()


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_the_servers_of_an_idle_client_end_and_begin_again_when_it_comes_back(tmp_path, environment, protocol):
    async with (
        bridge(tmp_path, environment, idle_seconds=0.3) as (url, log, facade),
        connect(url, protocol=protocol) as session,
    ):
        first = (await session.call_tool("m__pid")).text
        if protocol == "handshake":
            await silence(facade)
        async with asyncio.timeout(LIMIT):
            while facade._relays:  # noqa: ASYNC110  # a timer ends them
                await asyncio.sleep(0.05)
        assert (await session.call_tool("m__pid")).text != first
        assert log.read_text().count("born") == 2


async def silence(facade):
    """As if no client listened on a GET stream."""
    for client in facade._known:
        client.listens = lambda: False


async def test_a_client_that_listens_is_not_idle(tmp_path, environment):
    async with bridge(tmp_path, environment, idle_seconds=0.5) as (url, _, facade), connect(url) as session:
        first = (await session.call_tool("m__pid")).text
        client = next(iter(facade._known))
        async with asyncio.timeout(LIMIT):
            while not client.listens():  # noqa: ASYNC110  # its GET is under way
                await asyncio.sleep(0.01)
        await asyncio.sleep(1.0)  # twice as long as an idle client has
        assert (await session.call_tool("m__pid")).text == first


async def test_more_clients_than_there_is_room_for_end_the_servers_of_the_one_that_is_idle_longest(
    tmp_path, environment, monkeypatch
):
    monkeypatch.setattr(module, "_MOST_RELAYS", 1)
    newer = {"name": "x", "version": "1"}
    async with bridge(tmp_path, environment, idle_seconds=60) as (url, log, facade), connect(url) as one:
        await one.call_tool("m__pid")
        await silence(facade)
        async with connect(url, client_info=newer, protocol="modern") as other:
            await other.call_tool("m__pid")
            assert len(facade._relays) == 1
            assert (await one.call_tool("m__pid")).text.isdigit()
            assert log.read_text().count("born") == 3
