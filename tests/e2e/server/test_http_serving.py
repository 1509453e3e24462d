"""The listening socket of a composable server: connections that nobody uses."""

import asyncio
import json

from tests.e2e.server.wire import config

from mcp_conductor.server import http_serving
from mcp_conductor.server.config import Overrides, load
from mcp_conductor.server.server import Server

PATIENCE = 20


async def test_a_connection_that_nobody_uses_is_closed_and_the_server_goes_on(monkeypatch, tmp_path):
    monkeypatch.setattr(http_serving, "_IDLE_SECONDS", 0.1)
    file = tmp_path / "server.json"
    file.write_text(json.dumps(config({"type": "streamable-http", "port": 0})))
    given = load(str(file), environ={}, over=Overrides())
    stop, urls = asyncio.Event(), asyncio.Queue()
    serving = asyncio.create_task(http_serving.serve_http(Server(given), given.transport, stop, urls.put_nowait))
    async with asyncio.timeout(PATIENCE):
        port = int((await urls.get()).split(":")[2].split("/")[0])
        for _ in range(2):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await reader.read() == b""
            writer.close()
        stop.set()
        assert await serving == 0
