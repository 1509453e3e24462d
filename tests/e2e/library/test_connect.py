"""connect() as a library: every way to name a server, typed views of what it answers, errors that programs can tell apart."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.conftest import BOOKSHELF

from mcp_conductor import (
    ConfigError,
    ConnectionLost,
    HttpSpec,
    MethodError,
    RequestTimeout,
    StdioNotSupported,
    StdioSpec,
    TransportError,
    UsageError,
    connect,
)
from mcp_conductor.client.targets import spec_of
from mcp_conductor.protocol.server_spec import supported_transports

COMMAND = {"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])}
DEMO = str(Path(__file__).parents[3] / "examples" / "servers" / "demo.json")
CONDUCTOR = (sys.executable, "-m", "mcp_conductor", "serve")


@pytest.mark.parametrize(
    "target",
    [
        StdioSpec(command=BOOKSHELF),
        COMMAND,
        {"mcpServers": {"books": COMMAND}},
        BOOKSHELF,
        list(BOOKSHELF),
        f"{BOOKSHELF[0]} '{BOOKSHELF[1]}'",
    ],
    ids=["spec", "config", "table", "words", "list", "text"],
)
async def test_a_server_that_is_started_can_be_named_in_every_way(target):
    async with connect(target) as session:
        assert session.server["name"] == "bookshelf"


@pytest.mark.parametrize("form", [str, lambda url: {"url": url}, lambda url: [url], lambda url: HttpSpec(url=url)])
async def test_a_server_at_a_url_can_be_named_in_every_way(http, form):
    server = http()
    async with connect(form(server.url)) as session:
        assert session.server


@pytest.mark.parametrize(
    "target",
    [{}, {"url": "http://h/mcp", "command": "c"}, {"url": "nowhere"}, {"command": 7}, "", " ", "'", [], [1], 5, None],
    ids=repr,
)
async def test_what_names_no_server_is_an_invalid_config(target):
    with pytest.raises(ConfigError) as raised:
        async with connect(target):
            pass
    assert (raised.value.code, raised.value.kind) == ("RUNTIME_MCP_INVALID_CONFIG",) * 2
    assert isinstance(raised.value, UsageError)
    assert raised.value.context["platform"] == sys.platform
    assert raised.value.context["supportedTransports"] == ["stdio", "sse", "http"]


def test_variables_of_the_environment_are_filled_into_a_config(monkeypatch):
    monkeypatch.setenv("LIBRARY_TEST_HOST", "example.org")
    assert spec_of({"url": "https://${LIBRARY_TEST_HOST}/mcp"}) == HttpSpec(url="https://example.org/mcp")
    with pytest.raises(ConfigError):
        spec_of({"url": "https://${LIBRARY_TEST_NOT_SET}/mcp"})


async def test_where_there_are_no_processes_stdio_is_not_supported(monkeypatch):
    monkeypatch.setattr(sys, "platform", "wasi")
    with pytest.raises(StdioNotSupported) as raised:
        async with connect(COMMAND):
            pass
    assert raised.value.code == "RUNTIME_MCP_STDIO_NOT_SUPPORTED"
    assert raised.value.context == {
        "server": " ".join(BOOKSHELF),
        "serverConfig": {**COMMAND, "cwd": os.getcwd()},
        "platform": "wasi",
        "supportedTransports": ["sse", "http"],
    }


def test_every_platform_but_those_without_processes_has_all_transports():
    assert [len(supported_transports(name)) for name in ("linux", "darwin", "win32", "ios")] == [3, 3, 3, 2]


async def test_each_kind_of_failure_has_a_code_and_says_which_server(spec):
    with pytest.raises(TransportError) as raised:
        async with connect({"command": "/no/such/program", "name": "ghost"}):
            pass
    assert (raised.value.code, raised.value.context["server"]) == ("RUNTIME_MCP_TRANSPORT_ERROR", "ghost")
    server = spec("hello(); hear(); sys.exit(3)", name="mortal")
    async with connect(server) as session:
        with pytest.raises(ConnectionLost) as raised:
            await session.call_tool("x")
        assert (raised.value.code, raised.value.context["server"]) == ("RUNTIME_MCP_CONNECTION_LOST", "mortal")
    async with connect(spec("hello(); hear(); hear(); hear()")) as session:
        with pytest.raises(RequestTimeout) as raised:
            await session.ping(timeout=0.1)
        assert raised.value.code == "RUNTIME_MCP_TIMEOUT"
        assert raised.value.context["platform"] == sys.platform


async def test_the_code_of_a_method_error_stays_the_servers_and_its_kind_is_ours():
    async with connect(BOOKSHELF) as session:
        with pytest.raises(MethodError) as raised:
            await session.request("no/such")
    assert (raised.value.code, raised.value.kind) == (-32601, "RUNTIME_MCP_METHOD_ERROR")
    assert raised.value.context["server"]


async def test_a_secret_of_the_config_does_not_come_out_of_the_default_transcript(serve, environment):
    words = serve("print(os.environ['API_KEY'], file=sys.stderr, flush=True); hello(); hear(); sys.exit(1)")
    config = {"command": words[0], "args": list(words[1:]), "env": {**environment, "API_KEY": "s3cr3t-value-of-mine"}}
    async with connect(config) as session:
        with pytest.raises(ConnectionLost) as raised:
            await session.ping()
    assert raised.value.stderr
    assert "s3cr3t" not in repr(raised.value.stderr) + raised.value.message


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_each_method_has_a_view_of_its_answer_that_keeps_everything(protocol):
    file = os.path.join(os.path.dirname(DEMO), "list-changed.json")  # which serves both eras
    async with connect((*CONDUCTOR, file), protocol=protocol) as session:
        tools = await session.list_tools()
        assert all(tool.raw["name"] == tool.name == tool.full_name and tool.input_schema for tool in tools)
        called = await session.call_tool("echo", {"message": "hello"})
        assert ("hello" in called.text, called.is_error) == (True, False)
        assert called.content[0].raw == called.raw["content"][0]
        resources = await session.list_resources()
        read = await session.read_resource(resources[0].uri)
        assert read.contents[0].uri == resources[0].uri == resources[0].key
        for prompt in await session.list_prompts():
            arguments = {each["name"]: "London" for each in prompt.arguments}
            assert (await session.get_prompt(prompt.name, arguments)).messages[0].text
        await session.list_resource_templates()
        await session.ping()


async def test_completions_are_views_too():
    file = os.path.join(os.path.dirname(DEMO), "completions.yaml")
    async with connect((*CONDUCTOR, file)) as session:
        prompt = (await session.list_prompts())[0]
        ref = {"type": "ref/prompt", "name": prompt.name}
        completion = await session.complete(ref, prompt.arguments[0]["name"])
        assert completion.values == completion.raw["completion"]["values"] != []
        assert completion.has_more is False


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_a_subscription_brings_updates_in_both_eras(protocol):
    file = os.path.join(os.path.dirname(DEMO), "subscriptions.yaml")
    heard = []
    async with connect((*CONDUCTOR, file), protocol=protocol, on_incoming=heard.append) as session:
        resource = (await session.list_resources())[0]
        await session.subscribe(resource.uri)
        await session.call_tool("update_resource", {"uri": resource.uri, "text": "new"})
        await session.ping()
        await session.unsubscribe(resource.uri)
    updates = [each for each in heard if each.message.method == "notifications/resources/updated"]
    assert [each.message.params["uri"] for each in updates] == [resource.uri]


async def test_what_a_server_got_wrong_is_still_in_the_raw_value(spec):
    odd = "[7, {'inputSchema': 3, 'more': [1]}]"
    async with connect(spec(f"hello(); serve({{'tools/list': {{'tools': {odd}}}}})")) as session:
        first, second = await session.list_tools()
    assert (first.raw, first.name, first.input_schema) == (7, "", {})
    assert (second.raw, second.input_schema, second.annotations) == ({"inputSchema": 3, "more": [1]}, {}, {})


@pytest.fixture
def spec(serve, environment, survivors):
    def make(code, **more):
        return StdioSpec(command=serve(code), env=environment, **more)

    yield make
    assert survivors() == []


async def test_what_is_under_way_when_the_session_is_closed_fails(spec):
    async with connect(spec("hello(); hear(); hear(); hear()")) as session:
        asking = asyncio.create_task(session.request("x"))
        await asyncio.sleep(0)
        assert session.ended is False
    with pytest.raises(ConnectionLost):
        await asyncio.wait_for(asking, 5)
    assert session.ended
    with pytest.raises(ConnectionLost):
        await session.request("y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"timeout": None}, "timeout is a number of seconds above 0, not null"),
        ({"timeout": "5"}, "timeout is a number of seconds above 0, not a string"),
        ({"timeout": -1}, "timeout is a number of seconds above 0, not -1"),
        ({"timeout": 0}, "timeout is a number of seconds above 0, not 0"),
        ({"client_info": "me"}, "client_info is an object with a name and a version, not a string"),
        ({"on_log": 5}, "on_log is a function, not a number"),
        ({"on_notification": "x"}, "on_notification is a function, not a string"),
    ],
)
async def test_a_wrong_option_is_an_error_before_a_server_is_started(tmp_path, options, message):
    with pytest.raises(UsageError) as raised:
        async with connect(["touch", str(tmp_path / "started")], **options):
            pass
    assert raised.value.message == message
    assert list(tmp_path.iterdir()) == []


async def test_a_session_is_used_in_the_loop_that_opened_it(spec, recwarn):
    server = spec("hello(); serve({'ping': {}})")
    async with connect(server) as session:

        async def elsewhere():
            with pytest.raises(UsageError) as raised:
                await session.ping()
            return raised.value

        error = await asyncio.to_thread(lambda: asyncio.run(elsewhere()))
        assert error.message == "this session was opened in another event loop"
        assert "connect_sync" in error.hint
        await session.ping()
        assert [message.method for message in session.transcript.messages("client")].count("ping") == 1
    assert recwarn.list == []
