"""What `conductor bridge` passes on: resources by stable URIs, subscriptions, questions, log messages, cancellation."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
from tests import prefork
from tests.conftest import ROOT

from mcp_conductor import Answers, MethodError, StdioSpec, connect

HEARING = str(Path(__file__).parent / "hearing.py")
SAMPLES = ROOT / "examples" / "servers"
CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
LIMIT = 20.0
ERAS = pytest.mark.parametrize("protocol", ["handshake", "modern"])


class Servers:
    """Servers that write down what they hear, behind one bridge."""

    def __init__(self, directory, environment):
        self._directory = directory
        self.environment = environment
        self.table = {}

    def add(self, name, text="a thing"):
        config = {"command": sys.executable, "args": [HEARING, str(self._directory / f"{name}.log"), text]}
        self.table[name] = config
        return config

    def bridge(self, *flags, **more):
        """The spec of a bridge on stdio; MORE goes into its settings."""
        return StdioSpec(command=prefork.command(self.words(*flags, **more)), env=self.environment)

    def words(self, *flags, **more):
        file = self._directory / "mcp.json"
        file.write_text(json.dumps({"mcpServers": self.table, **more}))
        return (*CONDUCTOR, "bridge", str(file), *flags)

    def heard(self, name, method=None):
        lines = (self._directory / f"{name}.log").read_text().splitlines()
        return [message for message in map(json.loads, lines) if method in (None, message.get("method"))]


@pytest.fixture
def servers(tmp_path, environment, survivors):
    yield Servers(tmp_path, environment)
    assert survivors() == []


async def until(check):
    async with asyncio.timeout(LIMIT):
        while not check():  # noqa: ASYNC110  # it happens in another process
            await asyncio.sleep(0.02)


# Resources.


@ERAS
async def test_a_uri_does_not_change_when_a_server_with_the_same_comes_later(servers, tmp_path, protocol):
    gate = tmp_path / "gate"
    servers.add("first", "of the first")
    late = servers.add("late", "of the late")
    late["args"] = ["-c", f'test -e {gate} || exit 7; exec "$@"', "sh", late["command"], *late["args"]]
    late["command"] = "sh"
    changed = asyncio.Event()
    async with connect(servers.bridge(), protocol=protocol, on_incoming=lambda _: changed.set()) as session:
        assert [each.uri for each in await session.list_resources()] == ["test://thing"]
        if protocol == "modern":
            await session.listen({"resourcesListChanged": True})
        gate.touch()
        async with asyncio.timeout(LIMIT):
            while len(listed := await session.list_resources()) < 2:
                changed.clear()
                await changed.wait()
        assert [each.uri for each in listed] == ["test://thing", "bridge://late/test://thing"]
        assert (await session.read_resource("test://thing")).text == "of the first"
        read = await session.read_resource("bridge://late/test://thing")
        assert (read.text, read.contents[0].uri) == ("of the late", "bridge://late/test://thing")
        templates = [each.uri_template for each in await session.list_resource_templates()]
        assert templates == ["test://item/{id}", "bridge://late/test://item/{id}"]
        assert (await session.read_resource("test://item/3")).text == "of the first"
        assert (await session.read_resource("bridge://late/test://item/3")).text == "of the late"


@ERAS
async def test_results_name_resources_that_the_bridge_can_read(servers, protocol):
    servers.add("a", "of a")
    servers.add("b", "of b")
    async with connect(servers.bridge(), protocol=protocol) as session:
        for name, text in (("a", "of a"), ("b", "of b")):
            for uri in ("test://thing", "test://item/4", "other://unlisted"):
                link, held = (await session.call_tool(f"{name}__link", {"uri": uri})).raw["content"]
                assert link["uri"] == held["resource"]["uri"]
                read = await session.read_resource(link["uri"])
                assert (read.text, read.contents[0].uri) == (text, link["uri"])
    assert {each["params"]["uri"] for each in servers.heard("b", "resources/read")} == {
        "test://thing", "test://item/4", "other://unlisted"
    }  # fmt: skip


async def test_a_subscription_reaches_the_server_and_so_does_its_end_and_a_refusal_comes_back(servers):
    servers.add("a")
    servers.add("b")
    heard = []
    async with connect(servers.bridge(), on_incoming=lambda each: heard.append(each.message)) as session:
        for uri in ("bridge://b/test://thing", "test://item/5"):
            await session.subscribe(uri)
        with pytest.raises(MethodError) as raised:
            await session.subscribe("bridge://b/test://none")
        assert (raised.value.code, raised.value.error["data"]) == (-32002, {"uri": "bridge://b/test://none"})
        await session.call_tool("b__touch", {"uri": "test://thing"})
        await session.call_tool("a__touch", {"uri": "test://item/5"})
        await until(lambda: len(heard) >= 2)
        updated = [each.params["uri"] for each in heard if each.method == "notifications/resources/updated"]
        assert updated == ["bridge://b/test://thing", "test://item/5"]
        await session.unsubscribe("bridge://b/test://thing")
    asked = [each["params"]["uri"] for each in servers.heard("b", "resources/subscribe")]
    assert asked == ["test://thing", "test://none"]
    assert [each["params"]["uri"] for each in servers.heard("a", "resources/subscribe")] == ["test://item/5"]
    assert [each["params"]["uri"] for each in servers.heard("b", "resources/unsubscribe")] == ["test://thing"]


async def test_in_the_modern_era_what_a_server_refuses_is_not_acknowledged_and_the_end_reaches_it(servers):
    servers.add("a")
    heard = []
    async with connect(
        servers.bridge(), protocol="modern", on_incoming=lambda each: heard.append(each.message)
    ) as session:
        told = await session.listen({"resourceSubscriptions": ["test://item/1", "test://none"]})
        assert told.params["notifications"] == {"resourceSubscriptions": ["test://item/1"]}
        await session.call_tool("a__touch", {"uri": "test://item/1"})
        await until(lambda: any(each.method == "notifications/resources/updated" for each in heard))
    await until(lambda: servers.heard("a", "resources/unsubscribe"))


# Questions.

PERSON = {"type": "object", "properties": {"name": {"type": "string"}}}
QUESTIONS = [
    (
        "elicitation/create",
        {"message": "Who?", "requestedSchema": PERSON},
        {"action": "accept", "content": {"name": "Ada"}},
    ),
    ("roots/list", {}, {"roots": [{"uri": "file:///home"}]}),
    (
        "sampling/createMessage",
        {"messages": [{"role": "user", "content": {"type": "text", "text": "?"}}], "maxTokens": 5},
        {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris"}},
    ),
]


def able():
    return Answers(roots=[{"uri": "file:///home"}], elicitation={"name": "Ada"}, sampling=QUESTIONS[2][2])


@ERAS
async def test_a_question_is_answered_by_the_client_that_called(servers, protocol):
    servers.add("a")
    asked = []
    spec = servers.bridge()
    async with connect(
        spec, protocol=protocol, answers=able(), on_incoming=lambda each: asked.append(each.message)
    ) as session:
        for method, params, answer in QUESTIONS:
            told = await session.call_tool("a__ask", {"method": method, "params": params})
            assert json.loads(told.text) == {"result": answer}
    assert [(each.method, each.params) for each in asked] == [(method, params) for method, params, _ in QUESTIONS]


async def test_an_error_of_the_client_is_the_answer_that_the_server_gets(servers):
    servers.add("a")
    async with connect(servers.bridge(), answers=Answers(sampling="reject")) as session:
        told = await session.call_tool("a__ask", {"method": "sampling/createMessage", "params": QUESTIONS[2][1]})
        assert json.loads(told.text)["error"] == {"code": -1, "message": "User rejected sampling request"}
        told = await session.call_tool("a__ask", {"method": "roots/list"})
        assert json.loads(told.text)["error"]["code"] == -32601


async def test_a_client_of_the_modern_era_is_not_asked_for_what_it_does_not_declare(servers):
    servers.add("a")
    async with connect(servers.bridge(), protocol="modern", answers=Answers(roots=[])) as session:
        for method, params, _ in (QUESTIONS[0], QUESTIONS[2]):
            result = await session.request("tools/call", _asking(method, params))
            assert result["resultType"] == "complete"
            capability = method.split("/")[0]
            told = json.loads(result["content"][0]["text"])
            assert told["error"] == {"code": -32601, "message": f"the client does not declare {capability}"}
        assert json.loads((await session.call_tool("a__ask", {"method": "roots/list"})).text) == {
            "result": {"roots": []}
        }
        told = json.loads((await session.call_tool("a__ask", {"method": "tasks/list"})).text)
        assert told["error"] == {"code": -32601, "message": "2026-07-28 has no way to ask a client for tasks/list"}


def _asking(method, params):
    return {"name": "a__ask", "arguments": {"method": method, "params": params}}


async def test_a_question_outside_of_any_call_reaches_the_client_too(servers):
    servers.add("a")
    async with connect(servers.bridge(), answers=able()) as session:
        await session.call_tool("a__later", {"method": "roots/list"})
        await until(lambda: any(each.get("id") == "q-later" for each in servers.heard("a")))
    assert servers.heard("a")[-1]["result"] == QUESTIONS[1][2]


async def test_in_the_modern_era_a_question_outside_of_any_call_waits_for_the_next_call(servers):
    servers.add("a")
    async with connect(servers.bridge(), protocol="modern", answers=able()) as session:
        await session.call_tool("a__later", {"method": "roots/list"})
        assert (await session.read_resource("test://thing")).text == "a thing"
        async with asyncio.timeout(20):  # the question may come after any of these calls
            while not any(each.get("id") == "q-later" for each in servers.heard("a")):
                await session.call_tool("a__log", {"level": "info"})


@ERAS
async def test_a_server_of_the_modern_era_may_ask_clients_of_both(servers, protocol):
    words = ["-m", "mcp_conductor", "serve", str(SAMPLES / "asking.yaml"), "--transport", "stdio"]
    servers.table["asking"] = {"command": sys.executable, "args": words, "protocolVersion": "modern"}
    direct = StdioSpec(command=(sys.executable, *words))
    calls = [("mrtr_confirm", {}), ("mrtr_two_step", {}), ("mrtr_roots", {}), ("mrtr_sample", {"prompt": "?"})]
    answers = {"roots": [{"uri": "file:///home"}], "elicitation": "auto", "sampling": QUESTIONS[2][2]}
    outcomes = []
    for spec, prefix in ((direct, ""), (servers.bridge(), "asking__")):
        async with connect(spec, protocol="modern" if not prefix else protocol, answers=Answers(**answers)) as session:
            outcomes.append([(await session.call_tool(prefix + name, given)).raw["content"] for name, given in calls])
    assert outcomes[0] == outcomes[1]


@ERAS
async def test_a_server_is_told_who_the_client_is_and_what_it_can_do(servers, protocol):
    servers.add("a")
    info = {"name": "a client", "version": "7"}
    async with connect(servers.bridge(), protocol=protocol, answers=able(), client_info=info) as session:
        await session.list_tools()
        declared = session.client_capabilities(session.dialect)
    told = servers.heard("a", "initialize")[0]["params"]
    assert (told["clientInfo"], told["capabilities"]) == (info, declared)


async def test_what_a_client_says_of_its_roots_reaches_all_servers(servers):
    servers.add("a")
    servers.add("b")
    async with connect(servers.bridge(), answers=able()) as session:
        await session.notify("notifications/roots/list_changed")
        await session.ping()
        for name in ("a", "b"):
            await until(lambda name=name: len(servers.heard(name, "notifications/roots/list_changed")) >= 1)


# The rest.


@ERAS
async def test_log_messages_come_through_with_the_level_that_was_set(servers, protocol):
    servers.add("a")
    heard = []
    async with connect(
        servers.bridge(), protocol=protocol, on_incoming=lambda each: heard.append(each.message)
    ) as session:
        meta = {"io.modelcontextprotocol/logLevel": "warning"} if protocol == "modern" else None
        if protocol == "handshake":
            await session.set_log_level("warning")
            assert [each["params"]["level"] for each in servers.heard("a", "logging/setLevel")] == ["warning"]
        await session.call_tool("a__log", {"level": "error"}, meta=meta)
        await until(lambda: heard)
    assert [(each.method, each.params) for each in heard] == [
        ("notifications/message", {"level": "error", "data": "logged"})
    ]


@ERAS
async def test_a_call_that_is_cancelled_is_cancelled_at_the_server(servers, protocol):
    servers.add("a")
    async with connect(servers.bridge(), protocol=protocol) as session:
        working = asyncio.create_task(session.call_tool("a__work"))
        await until(lambda: servers.heard("a", "tools/call"))
        working.cancel()
        await until(lambda: servers.heard("a", "notifications/cancelled"))
        called, cancelled = servers.heard("a", "tools/call")[0], servers.heard("a", "notifications/cancelled")[0]
        assert cancelled["params"]["requestId"] == called["id"]


@ERAS
async def test_an_error_of_a_server_comes_back_as_it_is(servers, protocol):
    servers.add("a", "x")
    servers.add("b", "y")
    async with connect(servers.bridge(), protocol=protocol) as session:
        with pytest.raises(MethodError) as raised:
            await session.read_resource("bridge://a/test://none")
        assert raised.value.error == {
            "code": -32002,
            "message": "no such resource",
            "data": {"uri": "bridge://a/test://none"},
        }
        assert (await session.complete({"type": "ref/prompt", "name": "b__say"}, "what")).values == [
            '{"type": "ref/prompt", "name": "say"}'
        ]
        ref = {"type": "ref/resource", "uri": "bridge://b/test://item/{id}"}
        assert json.loads((await session.complete(ref, "id")).values[0])["uri"] == "test://item/{id}"


async def test_the_instructions_of_servers_come_through(servers):
    servers.add("a", "apples")
    async with connect(servers.bridge()) as session:
        assert session.opened["instructions"] == "About apples."
    servers.add("b", "bees")
    async with connect(servers.bridge()) as session:
        assert session.opened["instructions"] == "# a\n\nAbout apples.\n\n# b\n\nAbout bees."


async def test_names_of_servers_are_made_legal_and_do_not_clash(servers):
    for name in ("a", "a__b", "my server.v2"):
        servers.add(name, name)
    async with connect(servers.bridge()) as session:
        names = [tool.name for tool in await session.list_tools() if tool.name.endswith("link")]
        assert names == ["a__link", "a_b__link", "my_server_v2__link"]
        held = [(await session.call_tool(name, {"uri": "x://1"})).raw["content"][1] for name in names]
        assert [each["resource"]["text"] for each in held] == ["a", "a__b", "my server.v2"]
