"""Clients over HTTP that leave without a word: their servers end, and begin again if the client comes back."""

import asyncio
import json
import sys
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.e2e.library.watching import LIMIT, wait_for_end

from mcp_conductor import StdioSpec, connect
from mcp_conductor.bridge.facade import MOST_CLIENTS, Facade
from mcp_conductor.bridge.plan import BridgeOptions, Plan
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.http.serving import serve_http

MORTAL = str(Path(__file__).parent / "mortal.py")
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
pytestmark = pytest.mark.usefixtures("nothing_is_left")


@asynccontextmanager
async def bridge(tmp_path, environment, idle_seconds, most_clients=MOST_CLIENTS):
    """The URL of a bridge in this process, and the log of its server."""
    log = tmp_path / "m.log"
    spec = StdioSpec(command=(sys.executable, MORTAL, str(log)), env=environment)
    plan = Plan({"m": spec}, BridgeOptions(), one_client=False, complain=print, report=print)
    transport = TransportConfig(type="streamable-http", port=0)
    facade = Facade(plan, transport, idle_seconds=idle_seconds, most_clients=most_clients)
    stop, started = asyncio.Event(), asyncio.Queue()
    serving = asyncio.create_task(serve_http(facade, transport, stop, started.put_nowait))
    try:
        yield await started.get(), log
    finally:
        stop.set()
        await serving
        await facade.close()


class QuietClient:
    """A client with a handshake that opens no stream to listen on."""

    def __init__(self, url):
        self._url = url
        self._headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    async def pid(self):
        """The process of the server that it has."""
        if "Mcp-Session-Id" not in self._headers:
            await self._post({"id": 0, "method": "initialize", "params": CLIENT})
            await self._post({"method": "notifications/initialized"})
        answer = await self._post({"id": 1, "method": "tools/call", "params": {"name": "m__pid"}})
        return int(answer["result"]["content"][0]["text"])

    async def _post(self, message):
        return await asyncio.to_thread(self._post_here, {"jsonrpc": "2.0", **message})

    def _post_here(self, message):
        request = urllib.request.Request(self._url, json.dumps(message).encode(), self._headers)
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            if (identity := answer.headers["Mcp-Session-Id"]) is not None:
                self._headers["Mcp-Session-Id"] = identity
            text = answer.read().decode()
        lines = [line.removeprefix("data:") for line in text.splitlines() if line.startswith(("data:", "{"))]
        return next((json.loads(line) for line in lines if line.strip()), None)


class ModernClient:
    """A client without a handshake, which has no session that could end."""

    def __init__(self, url):
        self._url = url

    async def pid(self):
        async with connect(self._url, protocol="modern") as session:
            return int((await session.call_tool("m__pid")).text)


async def ended(pid):
    await asyncio.to_thread(wait_for_end, pid)


@pytest.mark.parametrize("kind", [QuietClient, ModernClient])
async def test_the_servers_of_an_idle_client_end_and_begin_again_when_it_comes_back(tmp_path, environment, kind):
    async with bridge(tmp_path, environment, idle_seconds=0.3) as (url, _):
        client = kind(url)
        first = await client.pid()
        await ended(first)
        assert await client.pid() != first


async def test_a_client_that_listens_is_not_idle(tmp_path, environment):
    listens = asyncio.Event()
    async with (
        bridge(tmp_path, environment, idle_seconds=0.5) as (url, _),
        connect(url, on_notification=lambda _: listens.set()) as session,
    ):
        first = (await session.call_tool("m__learn", {"word": "new"})).text
        async with asyncio.timeout(LIMIT):
            await listens.wait()
        await ended(await QuietClient(url).pid())  # which came later, and was idle long enough
        assert (await session.call_tool("m__pid")).text == first


async def test_more_clients_than_there_is_room_for_end_the_servers_of_the_one_that_is_idle_longest(
    tmp_path, environment
):
    async with bridge(tmp_path, environment, idle_seconds=60, most_clients=1) as (url, log):
        one, other = QuietClient(url), QuietClient(url)
        first = await one.pid()
        await other.pid()
        await ended(first)
        assert await one.pid() != first
        assert log.read_text().count("born") == 3
