"""Subscriptions and log levels mean the same in every revision, on stdio and over HTTP."""

import asyncio
import os
import sys

import pytest

from mcp_conductor import ConnectionLost, MethodError, StdioSpec, UsageError, connect

SAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "..", "examples", "servers")
CONDUCTOR = (sys.executable, "-m", "mcp_conductor", "serve")
SUBSCRIPTIONS = (*CONDUCTOR, os.path.join(SAMPLES, "subscriptions.yaml"))
LOGGING = (*CONDUCTOR, os.path.join(SAMPLES, "conformance.yaml"), "--transport", "stdio")
ERAS = pytest.mark.parametrize("protocol", ["handshake", "modern"])


async def change(session, uri, text):
    await session.call_tool("update_resource", {"uri": uri, "text": text})


@ERAS
async def test_the_updates_of_a_resource_can_be_iterated_over(protocol):
    async with connect(SUBSCRIPTIONS, protocol=protocol, timeout=10) as session:
        first, *_ = [each.uri for each in await session.list_resources()]
        heard = []
        updates = await session.subscribe(first)
        for text in ("one", "two", "three"):
            await change(session, first, text)
        async for update in updates:
            heard.append(update.uri)
            if len(heard) == 3:
                await session.unsubscribe(first)
    assert heard == [first] * 3


@ERAS
async def test_a_wait_for_an_update_can_be_given_up_and_begun_again(protocol):
    async with connect(SUBSCRIPTIONS, protocol=protocol, timeout=10) as session:
        uri = (await session.list_resources())[0].uri
        async with session.subscribe(uri) as subscription:
            updates = aiter(subscription)
            for text in ("one", "two"):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(anext(updates), 0.01)
                await change(session, uri, text)
                assert (await asyncio.wait_for(anext(updates), 10)).uri == uri


@ERAS
async def test_a_subscription_that_was_given_up_before_it_began_can_be_begun(protocol):
    async with connect(SUBSCRIPTIONS, protocol=protocol, timeout=10) as session:
        uri = (await session.list_resources())[0].uri
        updates = aiter(session.subscribe(uri))
        begun = asyncio.ensure_future(anext(updates))
        await asyncio.sleep(0)
        begun.cancel()
        await asyncio.wait([begun])
        hearing = asyncio.ensure_future(anext(updates))
        async with asyncio.timeout(10):
            while not hearing.done():
                await change(session, uri, "new")
        assert (await hearing).uri == uri


@ERAS
async def test_after_unsubscribe_the_server_tells_no_more(protocol):
    heard = []
    async with connect(SUBSCRIPTIONS, protocol=protocol, timeout=10, on_notification=heard.append) as session:
        uri = (await session.list_resources())[0].uri
        await session.subscribe(uri)
        await change(session, uri, "one")
        await session.ping()
        assert updates_in(heard) == 1
        await session.unsubscribe(uri)
        await session.ping()  # a cancellation has no answer; this has been answered after it
        await change(session, uri, "two")
        await session.ping()
        assert updates_in(heard) == 1


def updates_in(heard):
    return sum(message.method == "notifications/resources/updated" for message in heard)


@ERAS
async def test_a_block_ends_its_subscription_and_leaves_others_alone(protocol):
    async with connect(SUBSCRIPTIONS, protocol=protocol, timeout=10) as session:
        uri = (await session.list_resources())[0].uri
        async with session.subscribe(uri) as outer:
            async with session.subscribe(uri) as inner:
                await change(session, uri, "one")
                assert await first_of(inner) == uri
            assert [update async for update in inner] == []
            await first_of(outer)
            await change(session, uri, "two")
            assert await first_of(outer) == uri


async def first_of(subscription):
    async with asyncio.timeout(10):
        async for update in subscription:
            return update.uri
    return None


@ERAS
async def test_an_iteration_ends_with_the_session(protocol):
    async with connect(SUBSCRIPTIONS, protocol=protocol, timeout=10) as session:
        uri = (await session.list_resources())[0].uri
        subscription = await session.subscribe(uri)
        waiting = asyncio.create_task(first_of(subscription))
        await session.ping()
    assert await waiting is None


async def test_an_iteration_raises_when_the_server_goes_away(serve, environment):
    server = StdioSpec(command=serve("hello(); result(hear(), {}); hear(); sys.exit(3)"), env=environment)
    async with connect(server, timeout=10) as session:
        subscription = await session.subscribe("x://y")
        waiting = asyncio.create_task(first_of(subscription))
        await session.notify("notifications/go")
        with pytest.raises(ConnectionLost):
            await waiting


async def test_a_part_of_a_resource_is_heard_and_another_resource_is_not(serve, environment):
    code = """
        hello()
        result(hear(), {})
        for uri in ("x://books", "x://b/1", "x://b", "x://bc"):
            notify("notifications/resources/updated", uri=uri)
        result(hear(), {})
        result(hear(), {})
        hear()
    """
    async with connect(StdioSpec(command=serve(code), env=environment), timeout=10) as session:
        subscription = await session.subscribe("x://b")
        await session.ping()
        await session.unsubscribe("x://b")
        assert [update.uri async for update in subscription] == ["x://b/1", "x://b"]


@ERAS
async def test_a_subscription_that_the_server_refuses_raises(protocol, serve, environment):
    refusing = """
        while True:
            request = hear()
            if request.get("method") == "initialize":
                result(request, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}})
            elif request.get("method") == "server/discover":
                result(request, {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}})
            elif "id" in request:
                error(request, -32002, "no such resource")
    """
    async with connect(StdioSpec(command=serve(refusing), env=environment), protocol=protocol, timeout=10) as session:
        with pytest.raises(MethodError):
            await session.subscribe("x://nowhere")
        with pytest.raises(MethodError):
            async for _ in session.subscribe("x://nowhere"):
                pass


@ERAS
async def test_a_log_level_holds_for_everything_that_follows(protocol):
    heard = []
    async with connect(LOGGING, protocol=protocol, timeout=10, on_log=heard.append) as session:
        await session.set_log_level("error")
        await session.call_tool("test_tool_with_logging")
        await session.ping()
        assert heard == []
        await session.set_log_level("info")
        await session.call_tool("test_tool_with_logging")
        await session.ping()
        assert {message.level for message in heard} == {"info"}


async def test_a_log_level_that_does_not_exist_is_refused_where_no_server_would():
    async with connect(LOGGING, protocol="modern", timeout=10) as session:
        with pytest.raises(UsageError):
            await session.set_log_level("verbose")
