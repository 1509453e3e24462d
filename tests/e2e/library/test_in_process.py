"""Servers in the same process: ASGI applications without a socket, and pairs of streams."""

import asyncio
import json
from contextlib import asynccontextmanager
from importlib.util import find_spec

import pytest

from mcp_conductor import AsgiSpec, ConfigError, ConnectionLost, HttpStatusError, StreamsSpec, TransportError, connect

if find_spec("mcp") is None:  # to import it takes a fifth of the time in which all tests are collected
    pytest.skip("mcp is not installed", allow_module_level=True)


def sdk_server():
    from mcp.server import MCPServer

    server = MCPServer("in-process")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.resource("test://static")
    def static() -> str:
        return "fixed"

    return server


async def assert_it_adds(session):
    assert [tool.name for tool in await session.list_tools()] == ["add"]
    assert (await session.call_tool("add", {"a": 2, "b": 40})).structured == {"result": 42}
    assert (await session.read_resource("test://static")).text == "fixed"


@pytest.mark.peers
@pytest.mark.parametrize("json_response", [False, True], ids=["events", "json"])
@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_an_application_of_the_sdk_is_called_without_a_socket(protocol, json_response):
    app = sdk_server().streamable_http_app(json_response=json_response)
    async with connect(app, protocol=protocol) as session:
        await assert_it_adds(session)


@pytest.mark.peers
async def test_an_application_of_the_old_transport_is_called_without_a_socket():
    spec = AsgiSpec(app=sdk_server().sse_app(), url="http://127.0.0.1:8000/sse", sse=True)
    async with connect(spec) as session:
        await assert_it_adds(session)


@pytest.mark.peers
async def test_an_application_of_fastmcp_is_called_without_a_socket():
    fastmcp = pytest.importorskip("fastmcp")
    server = fastmcp.FastMCP("fast")

    @server.tool
    def shout(words: str) -> str:
        return words.upper()

    async with connect(server.http_app()) as session:
        assert (await session.call_tool("shout", {"words": "hello"})).text == "HELLO"


@pytest.mark.peers
@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_a_server_of_the_sdk_is_spoken_to_by_its_own_memory_streams(protocol):
    from mcp.shared.memory import create_client_server_memory_streams
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    server = sdk_server()._lowlevel_server
    async with create_client_server_memory_streams() as ((read, write), (server_read, server_write)):
        serving = asyncio.create_task(server.run(server_read, server_write, server.create_initialization_options()))
        spec = StreamsSpec(
            read=read,
            write=write,
            encode=lambda line: SessionMessage(jsonrpc_message_adapter.validate_json(line)),
            decode=lambda item: item.message.model_dump_json(by_alias=True, exclude_unset=True),
        )
        async with connect(spec, protocol=protocol) as session:
            await assert_it_adds(session)
        await write.aclose()
        await asyncio.wait_for(serving, 5)


@asynccontextmanager
async def socket_pair(answer):
    """A server behind a pair of asyncio's streams: each line that comes is answered with ANSWER of it."""

    async def serve(reader, writer):
        async for line in reader:
            reply = answer(json.loads(line))
            if reply is not None:
                writer.write(json.dumps(reply).encode() + b"\n")
        writer.close()

    import socket

    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=ours)
    serving = asyncio.create_task(serve(*await asyncio.open_connection(sock=theirs)))
    try:
        yield reader, writer
    finally:
        writer.close()
        await asyncio.wait_for(serving, 5)


def polite(request):
    if request["method"] == "initialize":
        version = request["params"]["protocolVersion"]
        info = {"name": "lines", "version": "1"}
        return {
            "jsonrpc": "2.0",
            "id": request["id"],
            "result": {"protocolVersion": version, "capabilities": {}, "serverInfo": info},
        }
    return (
        {"jsonrpc": "2.0", "id": request["id"], "result": {"echo": request.get("params")}} if "id" in request else None
    )


async def test_a_pair_of_asyncios_streams_is_a_server():
    async with socket_pair(polite) as pair, connect(pair) as session:
        answers = await asyncio.gather(*(session.request("echo", {"n": n}) for n in range(50)))
    assert [answer["echo"]["n"] for answer in answers] == list(range(50))


async def test_a_stream_that_ends_fails_what_waits_for_an_answer():
    async def replies():
        yield '{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}}'
        await asked.wait()

    class Sink:
        async def send(self, item):
            if b'"x"' in item:
                asked.set()

    asked = asyncio.Event()
    async with connect((replies(), Sink())) as session:
        with pytest.raises(ConnectionLost):
            await session.request("x")


@pytest.mark.parametrize("item", [7, None, {"jsonrpc": "2.0"}])
async def test_what_is_no_line_needs_a_decoder(item):
    async def replies():
        yield item

    class Sink:
        def write(self, data):
            pass

    with pytest.raises(TransportError) as raised:
        async with connect((replies(), Sink()), timeout=5):
            pass
    assert "decode" in raised.value.message


async def test_a_stream_that_cannot_be_written_to_is_refused():
    async def replies():
        yield ""

    with pytest.raises(ConfigError):
        async with connect((replies(), object())):
            pass


# Applications that are not as they should be.


def application(handle, *, lifespan=None):
    async def app(scope, receive, send):
        if scope["type"] == "lifespan":
            if lifespan is None:
                raise NotImplementedError
            await lifespan(receive, send)
        else:
            await handle(scope, receive, send)

    return app


async def test_an_application_without_lifespan_is_called_all_the_same():
    async def refuse(scope, receive, send):
        assert scope["path"] == "/there"
        await send({"type": "http.response.start", "status": 418, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": b"short and stout"})

    with pytest.raises(HttpStatusError) as raised:
        async with connect(AsgiSpec(app=application(refuse), url="http://127.0.0.1/there")):
            pass
    assert (raised.value.status, raised.value.body) == (418, "short and stout")


async def test_an_application_that_fails_is_named_with_its_error():
    async def fail(scope, receive, send):
        raise ValueError("on purpose")

    with pytest.raises(TransportError) as raised:
        async with connect(application(fail)):
            pass
    assert "on purpose" in raised.value.message


async def test_an_application_that_fails_within_its_answer_is_named_with_its_error():
    async def fail(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b'{"jsonrpc"', "more_body": True})
        raise ValueError("on purpose")

    with pytest.raises(TransportError) as raised:
        async with connect(application(fail)):
            pass
    assert "on purpose" in raised.value.message


async def test_an_application_that_does_not_start_says_why():
    async def startup(receive, send):
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "no database"})

    with pytest.raises(TransportError) as raised:
        async with connect(application(None, lifespan=startup)):
            pass
    assert raised.value.message.endswith("does not start: no database")


async def test_an_application_that_never_answers_is_ended_with_the_conversation():
    ended = asyncio.Event()

    async def wait(scope, receive, send):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    with pytest.raises(Exception, match="no answer"):
        async with connect(application(wait), timeout=0.2):
            pass
    assert ended.is_set()


def fast_server():
    fastmcp = pytest.importorskip("fastmcp")
    server = fastmcp.FastMCP("fast")

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    @server.resource("test://static")
    def static() -> str:
        return "fixed"

    return server


@pytest.mark.peers
@pytest.mark.parametrize("make", [sdk_server, fast_server])
async def test_a_server_object_is_connected_to_any_number_of_times(make):
    server = make()
    for _ in range(2):
        async with connect(server) as first, connect(server) as second:
            await assert_it_adds(first)
            await assert_it_adds(second)


@pytest.mark.peers
async def test_two_connections_to_one_application_share_its_lifespan():
    app = sdk_server().streamable_http_app()
    async with connect(app) as first:
        async with connect(app) as second:
            await assert_it_adds(second)
        await assert_it_adds(first)


@pytest.mark.peers
async def test_an_application_that_starts_only_once_says_what_to_do_instead():
    app = sdk_server().streamable_http_app()
    async with connect(app):
        pass
    with pytest.raises(TransportError) as raised:
        async with connect(app):
            pass
    assert "server object" in raised.value.hint
