"""The server that waits for the browser to come back: what else may connect to it."""

import asyncio
from urllib.parse import urlsplit

from mcp_conductor.transport.loopback import MOST_VISITS, open_loopback

PATIENCE = 10


async def test_connections_that_say_nothing_are_bounded_and_the_redirect_still_arrives():
    async with asyncio.timeout(PATIENCE), open_loopback(port=None, show=lambda _: None) as loopback:
        port = urlsplit(loopback.redirect_uri).port
        silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(MOST_VISITS)]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        for _, each in (*silent, (reader, writer)):
            each.close()
            await each.wait_closed()
        page = b""
        while not page:  # until the server has heard that they are gone
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /callback?code=1 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            page = await reader.read()
            writer.close()
        assert page.startswith(b"HTTP/1.1 200 ")
        assert await loopback.authorize("http://127.0.0.1/") == f"{loopback.redirect_uri}?code=1"
