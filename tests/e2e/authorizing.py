"""A client under authorization, and the user at the browser, for the tests of OAuth."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from http.cookies import SimpleCookie
from urllib.parse import urljoin, urlsplit

import pytest

from mcp_conductor.cli.commands.mcp_cli.flags import FLAGS
from mcp_conductor.cli.commands.mcp_cli.methods import METHODS
from mcp_conductor.cli.commands.mcp_cli.oauth import run_oauth
from mcp_conductor.cli.flags import Given, parse
from mcp_conductor.errors import TransportError
from mcp_conductor.transport.authorization import Authorization, OAuth
from mcp_conductor.transport.http_client import HttpClient

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"


async def browse(url: str) -> str:
    """The user's browser, and a user who says yes: where it is sent at the end."""
    parts = urlsplit(url)
    reader, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname, parts.port), 5)
    try:
        head = f"GET {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n"
        writer.write(head.encode())
        answer = (await asyncio.wait_for(reader.read(), 5)).decode()
    finally:
        writer.close()
    return next((line[10:] for line in answer.split("\r\n") if line.lower().startswith("location: ")), answer)


async def browse_far(url: str, until: str) -> str:
    """A browser that keeps cookies and follows redirects, as far as one to a URL that begins with UNTIL."""
    parts, jar = urlsplit(url), SimpleCookie()
    for _ in range(10):
        cookies = "; ".join(f"{name}={morsel.value}" for name, morsel in jar.items())
        reader, writer = await asyncio.wait_for(asyncio.open_connection(parts.hostname, parts.port), 5)
        try:
            path = f"{parts.path}?{parts.query}" if parts.query else parts.path
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nCookie: {cookies}\r\n".encode())
            writer.write(b"Connection: close\r\n\r\n")
            answer = (await asyncio.wait_for(reader.read(), 5)).decode()
        finally:
            writer.close()
        headers = [line.partition(": ") for line in answer.partition("\r\n\r\n")[0].split("\r\n")[1:]]
        for name, _, value in headers:
            if name.lower() == "set-cookie":
                jar.load(value)
        location = next((value for name, _, value in headers if name.lower() == "location"), None)
        assert location is not None, answer
        if location.startswith(until):
            return location
        parts = urlsplit(urljoin(parts.geturl(), location))
    raise AssertionError(f"more than ten redirects, the last one to {location}")


@asynccontextmanager
async def authorizing(server, *, version=MODERN, settings=None, authorize=browse, shown=None):
    """An Authorization, and a way to request the resource with it as a transport does."""
    http = HttpClient()
    authorization = Authorization(
        server_url=server.url,
        http=http,
        version=version,
        oauth=replace(settings or OAuth(), show=(shown if shown is not None else []).append, consent=authorize),
    )

    async def request() -> int:
        while True:
            response, _ = await http.fetch("GET", server.url, await authorization.headers())
            if response.status not in (401, 403):
                return response.status
            if not await authorization.challenged(response.status, response.header("www-authenticate")):
                return response.status

    try:
        async with asyncio.timeout(20):
            yield authorization, request
    finally:
        await http.aclose()


async def refused(server, kind=TransportError, **how):
    """The error that keeps us from getting a token."""
    async with authorizing(server, **how) as (_, request):
        with pytest.raises(kind) as caught:
            await request()
    return caught.value


async def step(method: str, server_url: str, *words: str):
    """One of the methods oauth/… of mcp-cli: what it prints."""
    given: Given = parse(["--server-url", server_url, *words], FLAGS)
    assert set(METHODS[method].needs) <= set(given.values)
    http = HttpClient()
    try:
        return await asyncio.wait_for(run_oauth(method, given, http), 10)
    finally:
        await http.aclose()
