"""The client of the official Python SDK with OAuth: it prints where to authorize, and listens for who comes back.

usage: sdk_oauth.py WIDTH URL; WIDTH is that of the lines which it prints, or "screen"
"""

import asyncio
import os
import shutil
import sys
import textwrap
from urllib.parse import parse_qsl, urlsplit

from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata


class Kept:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def main():
    width = shutil.get_terminal_size().columns if sys.argv[1] == "screen" else int(sys.argv[1])
    back = asyncio.Queue()

    async def came_back(reader, writer):
        path = (await reader.readline()).decode().split()[1]
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()
        back.put_nowait(dict(parse_qsl(urlsplit(path).query)))

    async def show(url):
        print(textwrap.fill(f"Open {url}", width), file=sys.stderr, flush=True)

    async def result():
        try:
            found = await asyncio.wait_for(back.get(), 1)
        except TimeoutError:
            os._exit(1)  # the SDK would begin again
        return AuthorizationCodeResult(code=found["code"], state=found.get("state"), iss=found.get("iss"))

    listener = await asyncio.start_server(came_back, "127.0.0.1", 0)
    uri = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/back"
    about = OAuthClientMetadata(client_name="SDK", redirect_uris=[uri], application_type="native")
    provider = OAuthClientProvider(sys.argv[2], about, Kept(), show, result)
    async with (
        create_mcp_http_client(auth=provider) as http,
        Client(streamable_http_client(sys.argv[2], http_client=http)) as client,
    ):
        await client.list_tools()


asyncio.run(main())
