"""Calls of a session over HTTP, most of which are begun, answered and heard without a task."""

import asyncio
import json
from functools import partial

import pytest
from tests.servers.http_talk import Talk, request

from mcp_conductor import connect
from mcp_conductor.errors import RequestTimeout, TransportError
from mcp_conductor.protocol.budgets import Budgets


async def mcp(reader, writer, *, silent=(), last=None):
    """A server of MCP: one JSON body for each request, and no word to the methods in SILENT; it ends with the LAST."""
    while True:
        head, _, body = (await request(reader)).partition(b"\r\n\r\n")
        if not head.startswith(b"POST"):
            writer.write(b"HTTP/1.1 405 No\r\nContent-Length: 0\r\n\r\n")
            continue
        asked = json.loads(body)
        if asked["method"] == last:
            return
        if "id" not in asked:
            writer.write(b"HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n")
        elif asked["method"] not in silent:
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
            said = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said))
            writer.write(said)


async def test_the_transcript_has_a_message_before_the_head_that_carried_it():
    async with Talk(mcp) as server, connect(server.url) as session:
        await session.request("ping")
        for _ in range(3):
            mark = session.transcript.mark
            await session.request("ping")
            frames = [(frame.source, frame.text.split("\n")[0]) for frame in session.transcript.since(mark)]
            seen = [(source, text) for source, text in frames if text not in (f"GET {server.url}", "HTTP 405")]
            assert [source for source, _ in seen] == ["client", "http", "http", "server"]
            assert [text for _, text in seen[1:3]] == [f"POST {server.url}", "HTTP 200"]


async def test_a_call_that_is_given_up_closes_its_connection_and_the_next_has_another():
    async with Talk(partial(mcp, silent=("tools/call",))) as server, connect(server.url) as session:
        await session.request("ping")
        before = server.connections
        for _ in range(2):
            with pytest.raises(RequestTimeout):
                await session.request("tools/call", {"name": "x"}, timeout=0.05)
            await session.request("ping")
        assert server.connections > before


async def test_fifty_calls_at_once_have_fifty_answers_again_and_again():
    async with Talk(mcp) as server, connect(server.url) as session:
        for _ in range(4):
            results = await asyncio.gather(*(session.request("ping") for _ in range(50)))
            assert len(results) == 50
        assert server.connections <= 52


async def test_an_answer_that_is_longer_than_allowed_is_refused_however_it_comes():
    async def long(reader, writer):
        while True:
            body = (await request(reader)).partition(b"\r\n\r\n")[2]
            asked = json.loads(body or b"{}")
            result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
            padded = {**result, **({"x": "x" * 300} if asked.get("method") == "ping" else {})}
            said = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), "result": padded}).encode()
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(said)
            writer.write(head + said if "id" in asked else b"HTTP/1.1 202 OK\r\nContent-Length: 0\r\n\r\n")

    async with Talk(long) as server, connect(server.url, budgets=Budgets(message_bytes=200)) as session:
        for _ in range(2):
            with pytest.raises(TransportError, match="the body of the answer is longer than"):
                await session.request("ping")


async def test_an_answer_that_is_given_up_before_its_task_began_is_closed():
    ended = asyncio.Event()

    async def hold(reader, writer):
        if not (await asyncio.gather(mcp(reader, writer, last="tools/call"), return_exceptions=True))[0]:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Mark: 1\r\n\r\n")
            await asyncio.gather(reader.read(), return_exceptions=True)
            ended.set()

    async with Talk(hold) as server, connect(server.url) as session, asyncio.timeout(10):
        for _ in range(3):
            await session.request("ping")
        calling = asyncio.ensure_future(session.request("tools/call", {"name": "x"}))
        for _ in range(10_000):  # turns of the loop
            if any("X-Mark" in frame.text for frame in session.transcript.frames):
                break
            await asyncio.sleep(0)
        session.transport.abandon(session.next_id() - 1)
        await ended.wait()
        calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)
