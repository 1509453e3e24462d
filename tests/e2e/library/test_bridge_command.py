"""`conductor bridge` and `mcp-cli --server all`: many servers as one, as real processes."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import BOOKSHELF

from mcp_conductor import MethodError, StdioSpec, connect

MORTAL = str(Path(__file__).parent / "mortal.py")
SAMPLES = Path(__file__).parents[3] / "examples" / "servers"
CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
LIMIT = 20.0


@pytest.fixture
def settings(tmp_path, mark):
    """A settings file with these servers besides a mortal one."""

    def write(**servers):
        known = {
            "m": {"command": sys.executable, "args": [MORTAL, str(tmp_path / "m.log")]},
            "n": {"command": sys.executable, "args": [MORTAL, str(tmp_path / "n.log")]},
        }
        file = tmp_path / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {**known, **servers}}))
        return str(file)

    return write


@pytest.fixture
def bridge(environment, survivors):
    """The spec of a bridge on stdio."""

    def make(file, *flags):
        return StdioSpec(command=(*CONDUCTOR, "bridge", file, *flags), env=environment)

    yield make
    assert survivors() == []


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_any_client_sees_many_servers_as_one(bridge, settings, protocol):
    books = {"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])}
    async with connect(bridge(settings(books=books)), protocol=protocol) as session:
        names = [tool.name for tool in await session.list_tools()]
        assert {"m__pid", "n__pid"} <= set(names)
        assert any(name.startswith("books__") for name in names)
        texts = [(await session.call_tool(name)).text for name in ("m__pid", "n__pid")]
        assert texts[0] != texts[1]
        called = await session.call_tool("m__write", {"a": [1, {"b": None}]})
        assert called.structured == {"arguments": {"a": [1, {"b": None}]}}
        prompt = await session.get_prompt("n__ask", {"what": "x"})
        assert "x" in prompt.messages[0].text
        uris = [resource.uri for resource in await session.list_resources()]
        assert {"test://thing", "bridge://n/test://thing"} <= set(uris)
        assert (await session.read_resource("bridge://n/test://thing")).text == "a thing"


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_arguments_are_completed_by_the_server_that_has_them(bridge, settings, protocol):
    helpful = {"command": sys.executable, "args": ["-m", "mcp_conductor", "serve", str(SAMPLES / "completions.yaml")]}
    async with connect(bridge(settings(helpful=helpful)), protocol=protocol) as session:
        prompts = {prompt.name: prompt for prompt in await session.list_prompts()}
        name = next(each for each in prompts if each.startswith("helpful__"))
        assert (await session.complete({"type": "ref/prompt", "name": name}, "city", "U")).values == [
            "Uppsala",
            "Ulm",
            "Utrecht",
        ]
        template = next(each for each in await session.list_resource_templates() if "userId" in each.raw["uriTemplate"])
        ref = {"type": "ref/resource", "uri": template.raw["uriTemplate"]}
        assert (await session.complete(ref, "userId", "12")).values == ["12", "123"]
        wrong = {"ref": ref, "argument": {"name": "userId", "value": "12"}, "context": {"arguments": [1]}}
        assert (await session.request("completion/complete", wrong))["completion"]["values"] == ["12", "123"]
        # The others complete nothing, and that is no error.
        assert (await session.complete({"type": "ref/prompt", "name": "m__ask"}, "what", "x")).values == []
        with pytest.raises(MethodError) as raised:
            await session.complete({"type": "ref/prompt", "name": "nobody__ask"}, "what", "x")
        assert raised.value.code == -32602


async def test_a_tool_name_has_only_characters_that_tool_names_should_have(bridge, settings):
    async with connect(bridge(settings())) as session:
        assert all(tool.name.replace("_", "").isalnum() for tool in await session.list_tools())
    async with connect(bridge(settings(), "--separator", ".")) as session:
        assert "m.pid" in [tool.name for tool in await session.list_tools()]


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_changes_and_updates_come_through(bridge, settings, protocol):
    heard = asyncio.Queue()
    subscriptions = {
        "command": sys.executable,
        "args": ["-m", "mcp_conductor", "serve", str(SAMPLES / "subscriptions.yaml")],
    }
    spec = bridge(settings(s=subscriptions))

    async def until(method):
        async with asyncio.timeout(LIMIT):
            while (incoming := await heard.get()).message.method != method:
                pass
        return incoming.message

    async with connect(spec, protocol=protocol, on_incoming=heard.put_nowait) as session:
        if protocol == "modern":
            await session.listen({"toolsListChanged": True})
        await session.call_tool("m__learn", {"word": "fly"})
        await until("notifications/tools/list_changed")
        assert "m__fly" in [tool.name for tool in await session.list_tools()]
        await session.subscribe("test://resource_1")
        await session.call_tool("s__update_resource", {"uri": "test://resource_1", "text": "new"})
        assert (await until("notifications/resources/updated")).params["uri"] == "test://resource_1"
        assert (await session.read_resource("test://resource_1")).text == "new"


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_progress_comes_through(bridge, settings, protocol):
    books = {"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])}
    told = []
    async with connect(bridge(settings(books=books)), protocol=protocol) as session:
        await session.call_tool("books__count_pages", {}, on_progress=told.append)
    assert [each["progress"] for each in told] == sorted(each["progress"] for each in told)
    assert len(told) > 1


async def test_a_server_that_dies_is_told_of_and_comes_back(bridge, settings):
    async with connect(bridge(settings())) as session:
        assert (await session.call_tool("m__write", {"die": True})).is_error
        told = await session.call_tool("m__pid")
        assert (told.is_error, told.text.isdigit()) == (False, True)
        assert (await session.call_tool("n__pid")).text.isdigit()
        with pytest.raises(MethodError) as raised:
            await session.get_prompt("n__none")
        assert raised.value.code == -32602


async def test_a_server_that_is_not_there_is_named_on_stderr(bridge, settings):
    async with connect(bridge(settings(ghost={"command": "/no/such/program"}, odd={}))) as session:
        assert len({tool.name.partition("__")[0] for tool in await session.list_tools()}) == 2
        lines = [frame.text for frame in session.transcript.frames if frame.source == "stderr"]
    assert any(line.startswith("ghost: retrying: cannot start '/no/such/program'") for line in lines), lines
    assert any(line.startswith("odd: down:") for line in lines), lines


async def test_a_tool_of_a_server_that_is_not_there_is_missing_for_that_reason(bridge, settings):
    async with connect(bridge(settings(odd={}))) as session:
        for ask in (session.call_tool("odd__anything"), session.get_prompt("odd__anything")):
            with pytest.raises(MethodError, match="odd__anything not found, because the server odd is down: "):
                await ask
        with pytest.raises(MethodError, match="Tool m__anything not found$"):
            await session.call_tool("m__anything")


async def test_a_bridge_is_served_over_http_and_stops_when_told(settings, environment, survivors):
    words = [*CONDUCTOR, "bridge", settings(), "--transport", "streamable-http", "--port", "0"]
    program = await asyncio.create_subprocess_exec(*words, stderr=subprocess.PIPE, env=environment)
    try:
        async with asyncio.timeout(LIMIT):
            while not (line := (await program.stderr.readline()).decode()).startswith("Bridge listening at "):
                assert line
            async with connect(line.split()[-1]) as session:
                assert (await session.call_tool("m__pid")).text.isdigit()
            program.send_signal(signal.SIGTERM)
            assert await program.wait() == 0
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    assert survivors() == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "no settings file is given"),
        (("a.json", "b.json"), "2 settings files are given"),
        (("none.json",), "cannot read none.json"),
        (("mcp.json", "--transport", "pigeon"), "--transport takes stdio, streamable-http or sse, not 'pigeon'"),
        (("mcp.json", "--port", "1"), "have no meaning for stdio"),
        (("mcp.json", "--allow-host", "a.example"), "have no meaning for stdio"),
        (("empty.json",), "at least one server"),
    ],
)
def test_mistakes_are_told_without_a_traceback(tmp_path, environment, words, says):
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"url": "http://127.0.0.1:1/mcp"}}}')
    (tmp_path / "empty.json").write_text('{"mcpServers": {}}')
    done = subprocess.run(
        [*CONDUCTOR, "bridge", *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_mcp_cli_lists_across_servers(cli, settings):
    run = cli("--config", settings(), "--server", "all", "--method", "tools/list")
    names = [tool["name"] for tool in json.loads(run.out)["tools"]]
    assert (run.code, "m__pid" in names, "n__pid" in names) == (0, True, True)
    run = cli("--config", settings(), "--server", "all", "--method", "resources/list")
    assert [each["uri"] for each in json.loads(run.out)["resources"]] == ["test://thing"] * 2


def test_mcp_cli_lists_what_there_is_and_names_who_is_not(cli, settings):
    run = cli("--config", settings(ghost={"command": "/no/such"}), "--server", "all", "--method", "prompts/list")
    assert run.code == 1
    assert [each["name"] for each in json.loads(run.out)["prompts"]] == ["m__ask", "n__ask"]
    assert "error: ghost: cannot start '/no/such'" in run.err


def test_a_server_that_is_called_all_is_meant_by_its_name(cli, settings):
    file = settings(all={"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])})
    run = cli("--config", file, "--server", "all", "--method", "server/info")
    assert json.loads(run.out)["name"] == "bookshelf"


@pytest.mark.slow
def test_a_server_that_never_answers_is_told_of(settings, environment):
    mute = {"command": sys.executable, "args": ["-c", "import sys; sys.stdin.read()"]}
    dying = {"command": sys.executable, "args": ["-c", "raise SystemExit('Error: no key\\nm: connected')"]}
    words = [*CONDUCTOR, "bridge", settings(dying=dying, mute=mute), "--start-timeout", "2s"]
    streams = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(words, **streams, env=environment, text=True) as run:
        lines = []
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        run.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n")
        run.stdin.flush()
        while not any(line.startswith("mute") for line in lines):
            lines.append(run.stderr.readline())
        run.communicate(timeout=LIMIT)
    assert "mute: retrying: no answer within 2 s\n" in lines
    assert any(line.startswith("dying: retrying: ") and line.endswith("(Error: no key)\n") for line in lines), lines
