"""What the user of `conductor bridge` may choose: which tools are shown, shared sessions, and waiting for servers."""

import asyncio
import http.client
import json
import subprocess
import sys
import urllib.parse
from contextlib import closing
from pathlib import Path

import pytest
from tests import prefork
from tests.conftest import ROOT
from tests.e2e.library.test_bridge_passing import LIMIT, QUESTIONS, able, servers, until

from mcp_conductor import Answers, HttpStatusError, MethodError, connect

__all__ = ["servers"]  # the fixture


async def names(spec, **options):
    async with connect(spec, **options) as session:
        return [tool.name for tool in await session.list_tools()]


async def test_only_tools_that_are_allowed_and_not_denied_are_shown_and_can_be_called(servers):
    servers.add("a")["tools"] = {"allow": ["l*"], "deny": ["la*", "link"], "rename": {"log": "write_log"}}
    servers.add("b")["tools"] = ["touch"]
    async with connect(servers.bridge()) as session:
        assert [tool.name for tool in await session.list_tools()] == ["write_log", "b__touch"]
        assert (await session.call_tool("write_log", {"level": "info"})).text == "logged"
        for hidden in ("a__link", "a__log", "b__log"):
            with pytest.raises(MethodError) as raised:
                await session.call_tool(hidden)
            assert raised.value.error == {"code": -32602, "message": f"Tool {hidden} not found"}


async def test_a_filter_that_fits_no_tool_is_a_warning(servers):
    servers.add("a")["tools"] = {"allow": ["l*", "read_*"], "deny": ["delete_*", "link"], "rename": {"lgo": "write"}}
    servers.add("b")["tools"] = {"allow": ["*"], "rename": {"log": "write_log"}}
    async with connect(servers.bridge()) as session:
        await session.list_tools()
        lines = [frame.text for frame in session.transcript.frames if frame.source == "stderr"]
    assert [line for line in lines if "connected" not in line] == [
        "a: tools: allow 'read_*' fits no tool of this server",
        "a: tools: deny 'delete_*' fits no tool of this server",
        "a: tools: rename 'lgo' fits no tool of this server",
    ]


async def test_two_tools_with_one_name_at_the_start_are_an_error(servers):
    servers.add("a")["tools"] = {"rename": {"log": "b__log"}}
    servers.add("b")
    with pytest.raises(MethodError) as raised:
        await names(servers.bridge())
    assert raised.value.error["message"] == "the tool 'log' of b is left out: 'b__log' is the tool 'log' of a"


async def test_a_tool_whose_name_is_taken_when_it_comes_later_is_left_out_with_a_warning(servers, tmp_path):
    gate = tmp_path / "gate"
    late = servers.add("late")
    late["tools"] = {"rename": {"log": "a__log"}}
    late["args"] = ["-c", f'test -e {gate} || exit 7; exec "$@"', "sh", late["command"], *late["args"]]
    late["command"] = "sh"
    servers.add("a")
    changed = asyncio.Event()
    async with connect(servers.bridge(), on_incoming=lambda _: changed.set()) as session:
        assert (await session.call_tool("a__log", {"level": "info"})).text == "logged"
        gate.touch()
        async with asyncio.timeout(LIMIT):
            while "late__touch" not in (listed := [tool.name for tool in await session.list_tools()]):
                changed.clear()
                await changed.wait()
        assert listed.count("a__log") == 1
        lines = [frame.text for frame in session.transcript.frames if frame.source == "stderr"]
        assert "the tool 'log' of late is left out: 'a__log' is the tool 'log' of a" in lines
        await session.call_tool("a__log", {"level": "info"})
    assert len(servers.heard("a", "tools/call")) == 2


def mistakes_of(servers, *flags):
    done = prefork.run(
        servers.words(*flags), capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ({"alow": []}, "mcpServers.a.tools.alow is not a known key"),
        ({"allow": "x"}, "mcpServers.a.tools.allow must be an array, not a string"),
        ({"rename": {"log": "a log"}}, "mcpServers.a.tools.rename.log is 'a log', which is no name for a tool"),
    ],
)
def test_a_mistake_in_the_settings_is_told_with_its_place(servers, tools, says):
    servers.add("a")["tools"] = tools
    code, told = mistakes_of(servers)
    assert (code, says in told, "mcp.json:1:" in told) == (2, True, True), told


def test_two_servers_with_one_name_are_a_mistake(servers):
    servers.add("a b")
    servers.add("a.b")
    assert mistakes_of(servers) == (
        2, "error: the servers 'a b' and 'a.b' are both called 'a_b': rename one of them\n"
    )  # fmt: skip


async def test_with_wait_a_client_is_refused_while_a_server_is_not_up(servers):
    servers.add("a")
    servers.table["ghost"] = {"command": "/no/such/program"}
    assert "a__log" in await names(servers.bridge())
    with pytest.raises(MethodError) as raised:
        await names(servers.bridge("--wait", "--start-timeout", "500ms"))
    assert raised.value.error["message"].startswith("the bridge waits for all servers; not up: ghost (cannot start ")


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_a_list_waits_for_servers_that_start_slowly(servers, protocol):
    slow = servers.add("slow")
    slow["args"] = ["-c", 'sleep 1.5; exec "$@"', "sh", slow["command"], *slow["args"]]
    slow["command"] = "sh"
    assert "slow__log" in await names(servers.bridge(), protocol=protocol)
    assert await names(servers.bridge("--start-timeout", "200ms"), protocol=protocol) == []


async def over_http(servers, *flags):
    over = [] if "--transport" in flags else ["--transport", "streamable-http"]
    command = servers.words(*over, "--port", "0", *flags)
    program = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE, env=servers.environment)
    async with asyncio.timeout(LIMIT):
        while not (line := (await program.stderr.readline()).decode()).startswith("Bridge listening at "):
            assert line
    return program, line.split()[-1]


async def ended(program):
    program.terminate()
    async with asyncio.timeout(LIMIT):
        _, told = await program.communicate()
    assert program.returncode == 0
    return told.decode()


async def test_each_client_has_sessions_of_its_own(servers):
    servers.add("a")
    program, url = await over_http(servers)
    try:
        asks = {"method": "elicitation/create", "params": QUESTIONS[0][1]}
        async with (
            connect(url, answers=Answers(elicitation={"name": "Ada"})) as ada,
            connect(url, answers=Answers(elicitation={"name": "Bo"})) as bo,
        ):
            working = asyncio.create_task(ada.call_tool("a__work"))
            await until(lambda: servers.heard("a", "tools/call"))
            told = await asyncio.gather(ada.call_tool("a__ask", asks), bo.call_tool("a__ask", asks))
            assert [json.loads(each.text)["result"]["content"] for each in told] == [{"name": "Ada"}, {"name": "Bo"}]
            working.cancel()
    finally:
        await ended(program)
    assert len(servers.heard("a", "initialize")) == 2


async def test_shared_sessions_pass_a_question_on_only_if_one_client_alone_has_calls_open(servers):
    servers.add("a")
    program, url = await over_http(servers, "--sessions", "shared")
    try:
        async with connect(url, answers=able()) as one, connect(url, answers=able()) as other:
            asks = {"method": "roots/list"}
            assert json.loads((await one.call_tool("a__ask", asks)).text) == {"result": QUESTIONS[1][2]}
            working = asyncio.create_task(other.call_tool("a__work"))
            await until(lambda: any(each["params"]["name"] == "work" for each in servers.heard("a", "tools/call")))
            refused = json.loads((await one.call_tool("a__ask", asks)).text)["error"]
            assert "several clients use this session" in refused["message"]
            working.cancel()
    finally:
        told = await ended(program)
    assert "a: roots/list is refused: several clients use this session" in told
    assert len(servers.heard("a", "initialize")) == 1


async def test_shared_sessions_unsubscribe_when_the_last_client_does(servers):
    servers.add("a")
    program, url = await over_http(servers, "--sessions", "shared")
    heard = []
    try:
        async with connect(url) as one, connect(url, on_incoming=lambda each: heard.append(each.message)) as other:
            for session in (one, other):
                await session.subscribe("test://thing")
            await one.unsubscribe("test://thing")
            assert servers.heard("a", "resources/unsubscribe") == []
            await one.call_tool("a__touch", {"uri": "test://thing"})
            await until(lambda: heard)
            await other.unsubscribe("test://thing")
            assert len(servers.heard("a", "resources/unsubscribe")) == 1
    finally:
        await ended(program)


def test_the_file_may_say_how_servers_are_used(servers):
    servers.add("a")
    words = servers.words(bridge={"sessions": "sharde"})
    done = prefork.run(words, capture_output=True, text=True, timeout=30, check=False, stdin=subprocess.DEVNULL)
    assert (done.returncode, "bridge.sessions must be one of perClient, shared" in done.stderr) == (2, True)


async def test_the_file_may_name_the_separator(servers):
    servers.add("a")
    assert "a.log" in await names(servers.bridge(bridge={"separator": "."}))


async def test_a_server_that_wants_a_token_is_told_of_with_what_to_do(servers, http):
    def locked(call):
        error = {"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "no"}}
        call.reply(401, json.dumps(error), "application/json", www_authenticate='Bearer error="invalid_token"')

    servers.table["locked"] = {"url": http({"POST": locked}).url}
    async with connect(servers.bridge()) as session:
        lines = [frame.text for frame in session.transcript.frames if frame.source == "stderr"]
    assert lines[0].startswith("locked: retrying: initialize was answered with status 401 Unauthorized: invalid_token")
    assert "--token" in lines[1]


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_over_http_only_clients_with_the_token_are_served(servers, tmp_path, transport):
    servers.add("a")
    (tmp_path / "token").write_text("s3cret-of-the-bridge\n")
    program, url = await over_http(servers, "--token", f"@{tmp_path / 'token'}", "--transport", transport)
    try:
        for wrong in ({}, {"Authorization": "Bearer s3cret"}, {"Authorization": "Basic s3cret-of-the-bridge"}):
            with pytest.raises(HttpStatusError) as raised:
                async with connect({"url": url, "headers": wrong}):
                    pass
            assert raised.value.status == 401
        async with connect({"url": url, "headers": {"Authorization": "bearer s3cret-of-the-bridge"}}) as session:
            assert (await session.call_tool("a__log", {"level": "info"})).text == "logged"
    finally:
        told = await ended(program)
    assert "s3cret" not in told


@pytest.mark.parametrize(
    ("token", "message"),
    [
        ("", "error: --token is empty\n"),
        ("two words", "error: --token must be printable ASCII characters without spaces: no client can send another\n"),
    ],
)
def test_a_token_that_protects_nothing_or_cannot_be_sent_is_an_error(servers, token, message):
    servers.add("a")
    command = [*servers.bridge().command, "--transport", "streamable-http", "--port", "0", "--token", token]
    done = prefork.run(command, input="", capture_output=True, text=True, timeout=LIMIT)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", message)


async def test_a_browser_may_ask_without_the_token_and_can_read_that_it_needs_one(servers, tmp_path):
    servers.add("a")
    (tmp_path / "token").write_text("s3cret-of-the-bridge\n")
    program, url = await over_http(servers, "--token", f"@{tmp_path / 'token'}")
    page = {"Origin": "http://localhost:5173"}
    asks = {**page, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization"}
    try:
        heads = [await asyncio.to_thread(_head, url, *each) for each in (("OPTIONS", asks), ("POST", page))]
    finally:
        await ended(program)
    assert [(status, headers["access-control-allow-origin"]) for status, headers in heads] == [
        (204, page["Origin"]),
        (401, page["Origin"]),
    ]
    assert "WWW-Authenticate" in heads[1][1]["access-control-expose-headers"]


def _head(url, method, headers):
    place = urllib.parse.urlsplit(url)
    with closing(http.client.HTTPConnection(place.hostname, place.port, timeout=20)) as connection:
        connection.request(method, place.path, headers=headers)
        response = connection.getresponse()
        return response.status, response.headers


def test_a_token_has_no_meaning_for_stdio(servers):
    servers.add("a")
    assert mistakes_of(servers, "--token", "x")[0] == 2


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_the_memory_of_a_bridge_does_not_grow_with_what_passes_through_it(servers, transport):
    servers.table["b"] = {"command": sys.executable, "args": [str(ROOT / "benchmarks" / "trivial_server.py")]}
    program, url = await over_http(servers, "--transport", transport)
    sizes = []
    try:
        async with connect(url) as session:
            for calls in (20, 200):
                for _ in range(calls):
                    assert len((await session.call_tool("b__tool_0", {"megabytes": 1})).text) >= 1_000_000
                sizes.append(resident_megabytes(program.pid))
    finally:
        await ended(program)
    assert sizes[1] < sizes[0] + 40, sizes


def resident_megabytes(process):
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmRSS:")[2].split()[0]) // 1024
