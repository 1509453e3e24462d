"""The official SDK's client uses everything that the sample configs have, on every transport, in both eras."""

import asyncio
import urllib.parse
import urllib.request
from contextlib import asynccontextmanager
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from tests.e2e.server.peers import PATIENCE, Servers, arguments, command, ways

from mcp_conductor.protocol.samples import filled_in

pytestmark = pytest.mark.peers
NOWHERE = "http://127.0.0.1:9/"  # the address that is made up for an argument

# `auto` asks for server/discover first; a version goes on without. Both are the modern era.
MODES = {"handshake": "legacy", "modern": "auto"}
VERSIONS = {"handshake": "2025-11-25", "modern": "2026-07-28"}
# What fails on purpose: with a result that says so (True), or with a JSON-RPC error of this code.
FAILING = {
    "test_error_handling": True,
    "lose": True,
    "burn": 1050,
    "protocol_error_job": -32603,
    "trigger_header_mismatch": -32020,
    "trigger_missing_capability": -32021,
    "trigger_unsupported_version": -32022,
    "trigger_method_not_found": -32601,
    "trigger_invalid_params": -32602,
}
# These need a client that has tasks, which the SDK's has not; presets among them run without tasks in the modern era.
_JOBS = ("failing_job", "test_tool_with_task")
_TASKS = ("simple_task", "slow_task", "progress_task", "elicitation_task", "sampling_task")
REFUSED = {"handshake": dict.fromkeys((*_JOBS, *_TASKS), -32601), "modern": dict.fromkeys(_JOBS, -32021)}
CLOSING = "test_reconnection"  # closes its stream; has a test of its own


@pytest.fixture(scope="module")
def servers():
    pool = Servers()
    yield pool
    pool.stop()


class User:
    """Whoever sits behind the client: answers every question, and remembers which there were."""

    def __init__(self):
        self.asked = []

    async def sample(self, context, params):
        self.asked.append("sampling")
        content = types.TextContent(type="text", text="forty-two")
        return types.CreateMessageResult(role="assistant", model="stub", content=content)

    async def roots(self, context):
        self.asked.append("roots")
        return types.ListRootsResult(roots=[types.Root(uri="file:///tmp", name="Temp")])

    async def elicit(self, context, params):
        self.asked.append(f"elicitation by {params.mode}")
        if params.mode == "form":
            return types.ElicitResult(action="accept", content=filled_in(params.requested_schema))
        if params.url.startswith("http://127.0.0.1:") and params.url != NOWHERE:
            await asyncio.to_thread(_submit, params.url)
        return types.ElicitResult(action="accept")


def _submit(url):
    body = urllib.parse.urlencode({"value": "blue"}).encode()
    with urllib.request.urlopen(url, body, timeout=PATIENCE) as page:
        assert page.status == 200


@asynccontextmanager
async def talking(servers, name, transport, mode, errors, user):
    if transport == "stdio":
        first, *rest = command(name)
        server = stdio_client(StdioServerParameters(command=first, args=rest), errlog=errors)
    elif transport == "sse":
        server = sse_client(servers.url(name, transport), timeout=PATIENCE, sse_read_timeout=PATIENCE)
    else:
        server = servers.url(name, transport)
    callbacks = {
        "sampling_callback": user.sample,
        "elicitation_callback": user.elicit,
        "list_roots_callback": user.roots,
    }
    async with asyncio.timeout(3 * PATIENCE):
        async with Client(server, mode=mode, read_timeout_seconds=PATIENCE, **callbacks) as client:
            yield client


@pytest.fixture
def errors(tmp_path):
    with Path(tmp_path / "stderr").open("w+") as file:
        yield file


async def everything(fetch, member):
    """All pages of a list."""
    found, cursor = [], None
    while True:
        page = await fetch(cursor=cursor)
        found += getattr(page, member)
        cursor = page.next_cursor
        if cursor is None:
            return found


async def outcome(client, tool):
    """What becomes of a call of TOOL: whether its result is an error, or the code of the JSON-RPC error."""
    try:
        result = await client.call_tool(tool.name, arguments(tool.name, tool.input_schema))
    except MCPError as error:
        return error.code
    assert result.content or result.structured_content, tool.name
    return bool(result.is_error)


@pytest.mark.parametrize(("name", "transport", "era"), ways())
async def test_everything_that_is_listed_can_be_used(servers, errors, name, transport, era):
    expected = {**FAILING, **REFUSED[era]}
    async with talking(servers, name, transport, MODES[era], errors, User()) as client:
        assert client.protocol_version == ("2024-11-05" if name == "old-server.yaml" else VERSIONS[era])
        offered = client.server_capabilities
        assert offered.tools or offered.resources
        if offered.tools:
            tools = [tool for tool in await everything(client.list_tools, "tools") if tool.name != CLOSING]
            outcomes = {tool.name: await outcome(client, tool) for tool in tools}
            assert outcomes == {tool.name: expected.get(tool.name, False) for tool in tools}
        if offered.resources:
            for resource in await everything(client.list_resources, "resources"):
                read = await client.read_resource(resource.uri)
                assert [content.uri for content in read.contents] == [resource.uri]
            await everything(client.list_resource_templates, "resource_templates")
        if offered.prompts:
            for prompt in await everything(client.list_prompts, "prompts"):
                given = {each.name: "value" for each in prompt.arguments or ()}
                assert (await client.get_prompt(prompt.name, given)).messages
    errors.seek(0)
    assert "Traceback" not in errors.read()


CLOSING_WAYS = [
    pytest.param("stdio", "handshake"),
    pytest.param("stdio", "modern"),
    pytest.param("sse", "handshake"),
    pytest.param("streamable-http", "handshake"),
    pytest.param("streamable-http", "modern"),
]


@pytest.mark.parametrize(("transport", "era"), CLOSING_WAYS)
async def test_a_tool_that_closes_its_stream_is_answered_all_the_same(servers, errors, transport, era):
    async with talking(servers, "conformance.yaml", transport, MODES[era], errors, User()) as client:
        result = await client.call_tool(CLOSING, {})
    assert result.content[0].text == "Reconnection test completed"


@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_a_client_that_looks_for_the_modern_era_finds_the_old_server(servers, errors, transport):
    async with talking(servers, "old-server.yaml", transport, "auto", errors, User()) as client:
        assert client.protocol_version == "2024-11-05"
        assert (await client.call_tool("echo", {"message": "hi"})).content[0].text == "Echo: hi"


ASKING = {
    "collect_sample": ["sampling"],
    "list_roots": ["roots"],
    "collect_elicitation": ["elicitation by form"],
    "collect_url_elicitation": ["elicitation by url"],
    "url_elicitation_form": ["elicitation by url"],
    "mrtr_confirm": ["elicitation by form"],
    "mrtr_two_step": ["elicitation by form", "elicitation by form"],
    "mrtr_roots": ["roots"],
    "mrtr_sample": ["sampling"],
}


@pytest.mark.parametrize(("name", "transport", "era"), ways("asking.yaml"))
async def test_each_tool_asks_what_it_is_made_to_ask_and_takes_the_answer(servers, errors, name, transport, era):
    user = User()
    mode = "legacy" if era == "handshake" else "2026-07-28"
    async with talking(servers, name, transport, mode, errors, user) as client:
        said = {}
        for tool in (await client.list_tools()).tools:
            user.asked.clear()
            result = await client.call_tool(tool.name, arguments(tool.name, tool.input_schema))
            said[tool.name] = result.content[0].text
            assert user.asked == ASKING[tool.name], tool.name
    assert set(said) == set(ASKING)
    assert "forty-two" in said["collect_sample"]
    assert "forty-two" in said["mrtr_sample"]
    assert "file:///tmp" in said["list_roots"]
    assert said["url_elicitation_form"] == "Collected value: blue"


@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_a_listener_of_the_modern_era_sees_a_resource_change(servers, errors, transport):
    uri = "test://resource_1"
    async with talking(servers, "subscriptions.yaml", transport, "2026-07-28", errors, User()) as client:
        async with client.listen(resource_subscriptions=[uri]) as changes:
            await client.call_tool("update_resource", {"uri": uri, "text": "new"})
            change = await anext(aiter(changes))
        assert change.uri == uri
        assert (await client.read_resource(uri)).contents[0].text == "new"


@pytest.mark.parametrize(("name", "transport", "era"), ways("completions.yaml"))
async def test_completions_reach_the_client(servers, errors, name, transport, era):
    async with talking(servers, name, transport, MODES[era], errors, User()) as client:
        ref = types.PromptReference(type="ref/prompt", name="args_prompt")
        found = await client.complete(ref, {"name": "city", "value": "U"})
        assert found.completion.values == ["Uppsala", "Ulm", "Utrecht"]


async def test_the_default_client_sees_the_tasks_of_the_original_example(servers):
    """The SDK's default is to look for the modern era first: a file that does not ask for it must not offer it."""
    first, *rest = command("demo.json")
    async with Client(stdio_client(StdioServerParameters(command=first, args=rest))) as client:
        assert client.server_capabilities.tasks is not None
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools["slow_task"].execution.task_support == "required"


async def test_the_default_client_falls_back_to_the_handshake_over_http(servers):
    async with Client(servers.url("demo-http.json", "streamable-http")) as client:
        assert client.protocol_version == VERSIONS["handshake"]
        assert (await client.call_tool("echo", {"message": "hi"})).content[0].text == "Echo: hi"
