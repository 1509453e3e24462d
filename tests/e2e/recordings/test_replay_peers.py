"""Real clients and real servers: recorded by `conductor record`, and what the client sees of `conductor replay` is the same."""

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager

import pytest
from tests import prefork
from tests.conftest import MCP_CLI, SERVERS
from tests.e2e.library.same_operations import Operator
from tests.e2e.peer_servers import free_port, running
from tests.e2e.suites.conftest import CONDUCTOR
from tests.e2e.test_record_peers import (
    NPM,
    inspect,
    node,
    recorded as recorded_at,
    sdk_streams,
    seen_by_fastmcp,
    seen_by_sdk,
)

from mcp_conductor.protocol.dialect import NEWEST_MODERN

TRANSPORTS = {"stdio": "stdio", "http": "streamable-http", "sse": "sse"}
SOON = 60.0
PEERS = SERVERS.parent / "peers"
CHATTY = (sys.executable, str(SERVERS / "sdk_chatty.py"))
pytestmark = [
    pytest.mark.peers,
    pytest.mark.filterwarnings("ignore::mcp.MCPDeprecationWarning"),
    pytest.mark.skipif(not (NPM / "server-everything").exists(), reason="the npm packages are not installed"),
]


def slow(*values):
    return pytest.param(*values, marks=pytest.mark.slow)


def everything():
    return node(), str(NPM / "server-everything" / "dist" / "index.js")


def recorded(server, file):
    """SERVER with a relay before it, which writes FILE."""
    return (*CONDUCTOR, "record", "-o", str(file), "--", *server)


@contextmanager
def replayed(file, transport, *, misses=0):
    """FILE as a server: its command, or its URL. It says nothing, unless there are MISSES."""
    words = (*CONDUCTOR, "replay", str(file))
    if transport == "stdio":
        yield words
        return
    flags = ("--transport", TRANSPORTS[transport], "--port", "0")
    process = prefork.start([*words, *flags], stderr=subprocess.PIPE, text=True)
    try:
        yield process.stderr.readline().split()[-1]
    finally:
        process.terminate()
        _, err = process.communicate(timeout=SOON)
    assert (process.returncode, err) == (0, err if misses else "")


def target(where):
    from mcp import StdioServerParameters

    return where if isinstance(where, str) else StdioServerParameters(command=where[0], args=list(where[1:]))


@pytest.mark.parametrize(
    ("era", "transport"),
    [("legacy", "stdio"), ("2026-07-28", "http"), slow("legacy", "http"), slow("2026-07-28", "stdio")],
)
async def test_operations_of_the_sdk_by_chance_come_out_the_same(era, transport, tmp_path):
    """With sampling, elicitation, roots, rounds of input, progress, log messages and subscriptions in it."""
    file = tmp_path / "said.jsonl"
    then = await Operator(era, "operator").run(target(recorded(CHATTY, file)), 1, 5)
    with replayed(file, transport) as where:
        for _ in range(2):
            now = await Operator(era, "operator").run(target(where), 1, 5)
            for here, there in zip(now.outcomes, then.outcomes, strict=True):
                assert here == there


@pytest.mark.parametrize("transport", [slow("stdio"), slow("http"), "sse"])
async def test_the_client_of_the_sdk_sees_the_same_of_server_everything(transport, tmp_path):
    file = tmp_path / "said.jsonl"
    then = await seen_by_sdk(recorded(everything(), file), "stdio")
    assert then[1] == [(1, 2), (2, 2)]
    with replayed(file, transport) as where:
        assert await seen_by_sdk(where, transport) == then


@pytest.fixture(scope="module")
def at_urls():
    """server-everything over HTTP and HTTP+SSE."""
    http, sse = str(free_port()), str(free_port())
    with (
        running([*everything(), "streamableHttp"], "listening on port", PORT=http),
        running([*everything(), "sse"], "running on port", PORT=sse),
    ):
        yield {"http": f"http://127.0.0.1:{http}/mcp", "sse": f"http://127.0.0.1:{sse}/sse"}


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("source", ["http", "sse"])
async def test_what_was_recorded_on_one_transport_is_played_on_any(at_urls, source, transport, tmp_path):
    file = tmp_path / "said.jsonl"
    with recorded_at(at_urls[source], file) as where:
        then = await seen_by_sdk(where, source)
    with replayed(file, transport) as where:
        assert await seen_by_sdk(where, transport) == then


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_client_of_fastmcp_sees_the_same_of_server_everything(transport, tmp_path):
    file = tmp_path / "said.jsonl"
    then = await seen_by_fastmcp(recorded(everything(), file), "stdio")
    with replayed(file, transport) as where:
        assert await seen_by_fastmcp(where, transport) == then


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_the_inspector_sees_the_same_of_server_everything(transport, tmp_path):
    file = tmp_path / "said.jsonl"
    words = ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi")
    then = inspect(recorded(everything(), file), "stdio", tmp_path, *words)
    assert (then[0], "Echo: hi" in then[1]) == (0, True)
    with replayed(file, transport) as where:
        assert inspect(where, transport, tmp_path, *words) == then


def filesystem(folder):
    (folder / "hello.txt").write_text("Hello!\n")
    calls = [
        ("list_directory", {"path": str(folder)}),
        ("read_text_file", {"path": str(folder / "hello.txt")}),
        ("write_file", {"path": str(folder / "new.txt"), "content": "x"}),
        ("list_directory", {"path": str(folder)}),
        ("read_text_file", {"path": "/etc/hostname"}),
    ]
    return (node(), str(NPM / "server-filesystem" / "dist" / "index.js"), str(folder)), calls


def memory(folder):
    entity = {"name": "Ada", "entityType": "person", "observations": ["writes"]}
    calls = [
        ("read_graph", {}),
        ("create_entities", {"entities": [entity]}),
        ("read_graph", {}),
        ("search_nodes", {"query": "Ada"}),
    ]
    script = str(NPM / "server-memory" / "dist" / "index.js")
    return ("env", f"MEMORY_FILE_PATH={folder / 'memory.jsonl'}", node(), script), calls


def git(folder):
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    (folder / "a.txt").write_text("a\n")
    where = {"repo_path": str(folder)}
    calls = [
        ("git_status", where),
        ("git_add", {**where, "files": ["a.txt"]}),
        ("git_status", where),
        ("git_diff_staged", where),
        ("git_branch", {**where, "branch_type": "local"}),
    ]
    return (sys.executable, "-m", "mcp_server_git", "--repository", str(folder)), calls


def sdk(_):
    return (sys.executable, str(SERVERS / "sdk_server.py")), [("add", {"a": 1, "b": 2}), ("fail", {})]


async def called_by_sdk(where, transport, calls):
    from mcp import ClientSession

    async with sdk_streams(where, transport) as (read, write), ClientSession(read, write) as session:
        opened = await session.initialize()
        tools = await session.list_tools()
        results = [await session.call_tool(name, arguments) for name, arguments in calls]
    return [each.model_dump_json() for each in (opened, tools, *results)]


async def called_by_fastmcp(where, transport, calls):
    from fastmcp import Client
    from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

    how = {
        "stdio": lambda: StdioTransport(command=where[0], args=list(where[1:]), keep_alive=False),
        "http": lambda: StreamableHttpTransport(where),
        "sse": lambda: SSETransport(where),
    }[transport]()
    async with Client(how) as client:
        tools = [tool.model_dump_json() for tool in await client.list_tools()]
        results = [await client.call_tool(name, arguments, raise_on_error=False) for name, arguments in calls]
    return tools, [(each.content, each.structured_content, each.is_error) for each in results]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("client", [called_by_sdk, called_by_fastmcp])
@pytest.mark.parametrize("server", [filesystem, memory, git, sdk])
@pytest.mark.slow
async def test_what_clients_see_of_servers_that_change_something_is_the_same(server, client, transport, tmp_path):
    """The same request has other answers as time goes on; and nothing is changed by a replay."""
    folder = tmp_path / "files"
    folder.mkdir()
    words, calls = server(folder)
    if server in (git, sdk) and (client, transport) == (called_by_fastmcp, "sse"):
        pytest.skip("they speak the modern era, which HTTP+SSE does not have")
    file = tmp_path / "said.jsonl"
    then = await client(recorded(words, file), "stdio", calls)
    before = sorted(folder.rglob("*.txt"))
    with replayed(file, transport) as where:
        for _ in range(2):
            assert await client(where, transport, calls) == then
    assert sorted(folder.rglob("*.txt")) == before


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("server", [filesystem, memory, git, sdk])
def test_the_inspector_sees_the_same_of_other_servers(server, transport, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    words, _ = server(folder)
    file = tmp_path / "said.jsonl"
    then = inspect(recorded(words, file), "stdio", tmp_path, "--method", "tools/list")
    assert then[0] == 0
    with replayed(file, transport) as where:
        assert inspect(where, transport, tmp_path, "--method", "tools/list") == then


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("server", [filesystem, memory, git])
async def test_a_client_sees_the_same_of_what_another_client_has_recorded(server, transport, tmp_path):
    """The client of FastMCP asks for the modern era first; what the SDK's recorded is of the other."""
    folder = tmp_path / "files"
    folder.mkdir()
    words, calls = server(folder)
    file = tmp_path / "said.jsonl"
    await called_by_sdk(recorded(words, file), "stdio", calls)
    with replayed(file, "stdio") as where:
        then = await called_by_fastmcp(where, "stdio", calls)
    assert [each[2] for each in then[1]].count(False) >= 3
    with replayed(file, transport) as where:
        assert await called_by_fastmcp(where, transport, calls) == then
        assert inspect(where, transport, tmp_path, "--method", "tools/list")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_call_that_was_cancelled_is_cancelled_again_and_the_session_goes_on(transport, tmp_path):
    from mcp import ClientSession

    async def seen(where, transport):
        heard, begun = [], asyncio.Event()

        async def on_progress(done, total, message):
            heard.append(done)
            begun.set()

        async with sdk_streams(where, transport) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            long = session.call_tool(
                "trigger-long-running-operation", {"duration": 20, "steps": 40}, progress_callback=on_progress
            )
            task = asyncio.ensure_future(long)
            async with asyncio.timeout(SOON):
                await begun.wait()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            return heard[0], (await session.call_tool("echo", {"message": "on"})).model_dump_json()

    file = tmp_path / "said.jsonl"
    then = await seen(recorded(everything(), file), "stdio")
    assert "notifications/cancelled" in file.read_text()
    with replayed(file, transport) as where:
        assert await seen(where, transport) == then


def progress_heard(where, transport, times, *, version="2"):
    """What a client of the TypeScript SDK hears of the progress of the same call, made several times."""
    call = ("trigger-long-running-operation", json.dumps({"duration": 0.1, "steps": 5}))
    words = (where,) if isinstance(where, str) else where
    client = str(PEERS / "clients" / "progress.mjs")
    done = subprocess.run(
        (node(), client, version, str(times), transport, *call, *words),
        capture_output=True, text=True, timeout=SOON, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("transport", ["stdio", "sse", "http"])
def test_progress_is_heard_by_a_client_that_forgets_its_listener_with_the_reply(transport, version, tmp_path):
    """The TypeScript SDK's does: it takes notifications later than a reply that it reads at the same time."""
    file = tmp_path / "said.jsonl"
    progress_heard(recorded(everything(), file), "stdio", 1)
    with replayed(file, transport) as where:
        heard = progress_heard(where, transport, 20, version=version)
        assert heard.count([1, 2, 3, 4, 5]) >= 18, heard  # of 20: on a busy machine, one or the other comes late


@pytest.mark.parametrize("transport", ["stdio", slow("http")])
def test_a_client_that_asks_another_process_for_the_era_sees_the_same(transport, tmp_path):
    """The TypeScript SDK's does on stdio; the recording is that of the process that it talks with."""
    file = tmp_path / "said.jsonl"

    def seen(where):
        words = (where,) if isinstance(where, str) else where
        client = (node(), str(PEERS / "clients" / "typescript.mjs"), NEWEST_MODERN.version)
        return subprocess.run((*client, *words), capture_output=True, text=True, timeout=SOON, check=True).stdout

    then = seen(recorded((node(), str(PEERS / "servers" / "typescript.mjs")), file))
    assert "server/discover" not in file.read_text()
    with replayed(file, transport, misses=1) as where:
        assert seen(where) == then


async def asked_by_everything(where, transport):
    """What the client of the SDK sees of server-everything, and is asked by it, while it uses what asks."""
    import mcp_types as types
    from mcp import ClientSession

    asked = []

    async def sample(_, params):
        asked.append(("sampling", params.messages[0].content.text))
        answer = types.TextContent(type="text", text="forty-two")
        return types.CreateMessageResult(role="assistant", model="m", content=answer)

    async def elicit(_, params):
        asked.append(("elicitation", params.message))
        return types.ElicitResult(action="decline")

    async def roots(_):
        asked.append(("roots", ""))
        return types.ListRootsResult(roots=[types.Root(uri="file:///home", name="home")])

    callbacks = {"sampling_callback": sample, "elicitation_callback": elicit, "list_roots_callback": roots}
    async with sdk_streams(where, transport) as (read, write), ClientSession(read, write, **callbacks) as session:
        await session.initialize()
        uri = (await session.list_resources()).resources[0].uri
        results = [
            await session.call_tool("trigger-sampling-request", {"prompt": "the answer?", "maxTokens": 9}),
            await session.call_tool("trigger-elicitation-request", {}),
            await session.subscribe_resource(uri),
            await session.unsubscribe_resource(uri),
        ]
    return [each.model_dump_json() for each in results], [each for each in asked if each[0] != "roots"]


@pytest.mark.slow
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_questions_of_server_everything_are_asked_again(transport, tmp_path):
    file = tmp_path / "said.jsonl"
    then = await asked_by_everything(recorded(everything(), file), "stdio")
    assert [each[0] for each in then[1]] == ["sampling", "elicitation"]
    with replayed(file, transport) as where:
        assert await asked_by_everything(where, transport) == then


@pytest.mark.parametrize("transport", [slow("stdio"), slow("http"), slow("sse")])
def test_a_task_comes_to_the_same_end(transport, tmp_path):
    """A tool of server-everything that runs as a task, and asks meanwhile."""
    file = tmp_path / "said.jsonl"
    arguments = json.dumps({"topic": "tides", "ambiguous": False})

    def seen(where):
        words = ["--method", "tools/call", "--tool-name", "simulate-research-query", "--tool-args-json", arguments]
        server = {"url": where} if isinstance(where, str) else {"command": where[0], "args": where[1:]}
        if transport == "sse" and isinstance(where, str):
            server["type"] = "sse"
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"s": server}}))
        words = [*MCP_CLI, *words, "--config", str(tmp_path / "mcp.json")]
        done = prefork.run(words, capture_output=True, text=True, timeout=SOON)
        return done.returncode, done.stdout, done.stderr

    then = seen(recorded(everything(), file))
    assert then[0] == 0, then
    assert "tasks/" in file.read_text()
    with replayed(file, transport) as where:
        assert seen(where) == then
