"""The sample configs are valid, start on every transport, and do what each of them is there to show."""

import asyncio
import json
import urllib.request

import jsonschema_rs
import pytest
from tests import prefork
from tests.e2e.server.peers import (
    DATA,
    FILES,
    PATIENCE,
    SAMPLES,
    SERVE,
    SOUND,
    TRANSPORTS,
    Servers,
    call,
    command,
    eras,
    refusal,
    talking,
    text_of,
)

from mcp_conductor import MethodError, ProtocolError, StdioSpec
from mcp_conductor.protocol.dialect import HANDSHAKE, META

ERAS = ("handshake", "modern")


@pytest.fixture(scope="module")
def servers():
    pool = Servers()
    yield pool
    pool.stop()


# Every file.


@pytest.mark.parametrize("name", FILES)
def test_a_sample_is_valid_and_says_what_it_makes(name):
    words = [*SERVE, "--validate", str(SAMPLES / name)]
    done = prefork.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"{DATA[name]['serverInfo']['name']}: ")
    assert done.stdout.endswith(f", on {DATA[name]['transport']['type']}\n")


@pytest.fixture(scope="module")
def schema():
    done = prefork.run([*SERVE, "--print-schema"], capture_output=True, timeout=PATIENCE, check=True)
    return json.loads(done.stdout)


def test_keys_that_begin_with_x_mean_nothing_and_fit_the_schema(tmp_path, schema):
    config = {"serverInfo": {"name": "free", "version": "1", "x-a": 1}, "transport": {"type": "stdio"}, "x-b": {}}
    config["tools"] = [{"name": "echo", "result": "x", "x-c": []}, {"preset": "echo", "x-d": 1}]
    assert jsonschema_rs.validator_for(schema).is_valid(config)
    (tmp_path / "free.json").write_text(json.dumps({**config, "tools": config["tools"][:1]}))
    words = [*SERVE, "--validate", str(tmp_path / "free.json")]
    done = prefork.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", FILES)
def test_a_sample_fits_the_schema_for_editors(name, schema):
    errors = jsonschema_rs.validator_for(schema).iter_errors(DATA[name])
    assert [(error.instance_path, error.message) for error in errors] == []


@pytest.mark.parametrize(
    "wrong",
    [{"tasks": {"lists": True}}, {"tools": [{"preset": "ecko"}]}, {"transport": {"type": "pigeon"}}, {"tool": []}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_mistake_does_not_fit_the_schema_for_editors(wrong, schema):
    assert not jsonschema_rs.validator_for(schema).is_valid({**DATA["demo-http.json"], **wrong})


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", SOUND)
async def test_a_sample_starts_on_each_transport_and_says_who_it_is(servers, name, transport):
    if transport == "sse" and "handshake" not in eras(name):
        with pytest.raises(MethodError) as refused:
            async with talking(servers.spec(name, transport), HANDSHAKE[-1]):
                pass
        assert refused.value.error["code"] == -32022
        return
    async with talking(servers.spec(name, transport), "handshake" if transport == "sse" else "auto") as (session, _):
        assert session.server == DATA[name]["serverInfo"]
        assert session.dialect.handshake == (transport == "sse" or "modern" not in eras(name))


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("name", [name for name in FILES if name not in SOUND])
def test_a_sample_with_faults_starts_on_each_transport(servers, name, transport):
    if transport != "stdio":
        assert servers.url(name, transport).startswith("http://127.0.0.1:")
        return
    done = prefork.run(command(name), input="", capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert [": never struck: " in line for line in done.stderr.splitlines()] == [True] * len(DATA[name]["faults"])


async def test_the_demo_runs_as_it_is_written(servers):
    async with talking(servers.spec("demo.json", "stdio")) as (session, _):
        assert session.capabilities == {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True},
            "prompts": {"listChanged": True},
            "logging": {},
            "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
        }
        tools = (await session.everything("tools/list"))["tools"]
        assert [tool["name"] for tool in tools] == [
            *("echo", "add", "tool_1", "tool_2", "tool_3", "tool_4", "tool_5"),
            *("slow_task", "elicitation_task", "collect_url_elicitation"),
        ]
        resources = (await session.everything("resources/list"))["resources"]
        assert [resource["name"] for resource in resources] == [
            *("architecture", "test_cwd", "resource_1", "resource_2", "resource_3")
        ]
        templates = (await session.everything("resources/templates/list"))["resourceTemplates"]
        assert [template["uriTemplate"] for template in templates] == ["file:///{path}", "user://{userId}"]
        prompts = (await session.everything("prompts/list"))["prompts"]
        assert [prompt["name"] for prompt in prompts] == ["simple_prompt", "args_prompt"]
        assert await refusal(session, "resources/subscribe", {"uri": "test://resource_1"}) == -32601
        made = await call(session, "slow_task", task={})
        ended = await session.request("tasks/result", {"taskId": made["task"]["taskId"]})
        assert "Task completed" in text_of(ended)


# Lists.


@pytest.mark.parametrize("era", ERAS)
async def test_pages_have_the_sizes_of_the_config_and_nothing_comes_twice(servers, era):
    expected = {
        ("tools/list", "tools"): [3, 3, 1],
        ("resources/list", "resources"): [2, 2, 1],
        ("resources/templates/list", "resourceTemplates"): [2, 2],
        ("prompts/list", "prompts"): [1, 1, 1],
    }
    async with talking(servers.spec("pagination.json", "stdio"), era) as (session, _):
        for (method, member), sizes in expected.items():
            pages = [page[member] async for page in session.pages(method)]
            names = [item["name"] for page in pages for item in page]
            assert [len(page) for page in pages] == sizes
            assert len(set(names)) == len(names) == sum(sizes)
        assert await refusal(session, "tools/list", {"cursor": "no cursor of ours"}) == -32602


CHANGES = {
    "tools": ("tool", {"name": "extra", "description": "One more"}, {"name": "extra"}),
    "resources": ("resource", {"uri": "test://extra", "name": "extra"}, {"uri": "test://extra"}),
    "prompts": ("prompt", {"name": "extra", "promptString": "One more"}, {"name": "extra"}),
}


async def change(session, kind, times=1):
    """Add something and remove it again; each is a change, and doing it in vain is none."""
    noun, added, removed = CHANGES[kind]
    for _ in range(times):
        assert "isError" not in await call(session, f"add_{noun}", added)
        assert (await call(session, f"add_{noun}", added))["isError"]
        assert "isError" not in await call(session, f"remove_{noun}", removed)
        assert (await call(session, f"remove_{noun}", removed))["isError"]


@pytest.mark.parametrize("kind", CHANGES)
async def test_each_change_of_a_list_is_told_once(servers, kind):
    async with talking(servers.spec("list-changed.json", "stdio")) as (session, heard):
        await change(session, kind)
        await session.request("ping")  # on one pipe, whatever was said is heard before this
    assert [message.method for message in heard.messages] == [f"notifications/{kind}/list_changed"] * 2


@pytest.mark.parametrize("transport", ["streamable-http", "sse"])
async def test_every_client_is_told_of_a_change_and_sees_it(servers, transport):
    spec = servers.spec("list-changed.json", transport)
    async with talking(spec) as (session, _), talking(spec) as (other, heard):
        await other.request("ping")  # by now the server has heard that it is initialized, and may tell it of changes
        await call(session, "add_tool", CHANGES["tools"][1])
        await heard.until("notifications/tools/list_changed")
        assert "extra" in [tool["name"] for tool in (await other.everything("tools/list"))["tools"]]
        await call(other, "remove_tool", CHANGES["tools"][2])
        await heard.until("notifications/tools/list_changed", 2)
    assert len(heard.messages) == 2


@pytest.mark.parametrize("transport", ["stdio", "streamable-http"])
async def test_a_listener_is_told_only_of_the_lists_that_it_asked_for(servers, transport):
    async with talking(servers.spec("list-changed.json", transport), "modern") as (session, heard):
        acknowledged = await session.listen({"promptsListChanged": True})
        assert acknowledged.params["notifications"] == {"promptsListChanged": True}
        await change(session, "tools")
        await change(session, "prompts")
        await heard.until("notifications/prompts/list_changed", 2)
    assert [message.method for message in heard.messages[1:]] == ["notifications/prompts/list_changed"] * 2


@pytest.mark.parametrize("era", ERAS)
async def test_a_list_that_is_not_configured_to_tell_changes_in_silence(tmp_path, era):
    file = tmp_path / "quiet.json"
    file.write_text(json.dumps({**DATA["list-changed.json"], "listChanged": {"prompts": True}}))
    async with talking(StdioSpec(command=(*SERVE, str(file))), era) as (session, heard):
        assert session.capabilities == {"tools": {}, "resources": {}, "prompts": {"listChanged": True}}
        if era == "modern":
            wanted = {"toolsListChanged": True, "resourcesListChanged": True, "promptsListChanged": True}
            acknowledged = await session.listen(wanted)
            assert acknowledged.params["notifications"] == {"promptsListChanged": True}
        for kind in ("tools", "resources", "prompts"):
            await change(session, kind)
        await heard.until("notifications/prompts/list_changed", 2)
    assert (
        heard.params("notifications/tools/list_changed") == heard.params("notifications/resources/list_changed") == []
    )


# Subscriptions.


async def subscribe(session, uri):
    if session.dialect.handshake:
        await session.request("resources/subscribe", {"uri": uri})
    else:
        await session.listen({"resourceSubscriptions": [uri]})


@pytest.mark.parametrize(
    ("transport", "era"), [("streamable-http", "handshake"), ("streamable-http", "modern"), ("sse", "handshake")]
)
async def test_only_subscribers_hear_of_an_update(servers, transport, era):
    spec = servers.spec("subscriptions.yaml", transport)
    one, two = "test://resource_1", "test://resource_2"
    async with talking(spec, era) as (first, heard_first), talking(spec, era) as (second, heard_second):
        await subscribe(first, one)
        await subscribe(second, two)
        for uri in (one, two, one):
            await call(first, "update_resource", {"uri": uri, "text": f"news of {uri}"})
        updates_first = await heard_first.until("notifications/resources/updated", 2)
        updates_second = await heard_second.until("notifications/resources/updated")
        assert [params["uri"] for params in updates_first] == [one, one]
        assert [params["uri"] for params in updates_second] == [two]
        read = await second.request("resources/read", {"uri": two})
        assert read["contents"][0]["text"] == f"news of {two}"


async def test_whoever_unsubscribes_hears_no_more(servers):
    async with talking(servers.spec("subscriptions.yaml", "stdio")) as (session, heard):
        uri = "test://resource_1"
        assert await refusal(session, "resources/subscribe", {"uri": "test://none"}) == -32002
        await call(session, "update_resource", {"uri": uri, "text": "nobody subscribed"})
        await subscribe(session, uri)
        await call(session, "update_resource", {"uri": uri, "text": "told"})
        await session.request("resources/unsubscribe", {"uri": uri})
        await call(session, "update_resource", {"uri": uri, "text": "not told"})
        await session.request("ping")
    assert heard.params("notifications/resources/updated") == [{"uri": uri}]


# Logging, completions.


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_log_level_is_honoured_after_a_handshake(servers, transport):
    async with talking(servers.spec("logging.yaml", transport)) as (session, heard):
        await session.request("logging/setLevel", {"level": "warning"})
        for level in ("debug", "notice", "warning", "error"):
            await call(session, "send_notification", {"message": level, "level": level})
        told = await heard.until("notifications/message", 2)
        assert [params["level"] for params in told] == ["warning", "error"]
        assert told[0] == {"level": "warning", "logger": "test-server", "data": {"message": "warning"}}
        assert await refusal(session, "logging/setLevel", {"level": "loud"}) == -32602


async def test_the_log_level_of_the_modern_era_is_that_of_the_request(servers):
    async with talking(servers.spec("logging.yaml", "streamable-http"), "modern") as (session, heard):
        for least in (None, "error", "info"):
            meta = {} if least is None else {"_meta": {f"{META}logLevel": least}}
            await call(session, "send_notification", {"message": f"least: {least}", "level": "warning"}, **meta)
        told = await heard.until("notifications/message")
        assert [params["data"]["message"] for params in told] == ["least: info"]


@pytest.mark.parametrize("era", ERAS)
async def test_progress_is_reported_to_those_who_asked(servers, era):
    async with talking(servers.spec("logging.yaml", "stdio"), era) as (session, heard):
        await call(session, "send_progress", {"units": 2, "delayMs": 0})
        done = await call(
            session, "send_progress", {"units": 3, "delayMs": 1, "total": 3}, _meta={"progressToken": "p"}
        )
        assert "Completed 3" in text_of(done)
        told = await heard.until("notifications/progress", 3)
    assert [(params["progressToken"], params["progress"], params["total"]) for params in told] == [
        *(("p", unit, 3) for unit in (1, 2, 3))
    ]


@pytest.mark.parametrize("era", ERAS)
async def test_completions_are_those_of_the_config(servers, era):
    async with talking(servers.spec("completions.yaml", "stdio"), era) as (session, _):

        async def complete(ref, name, value):
            params = {"ref": ref, "argument": {"name": name, "value": value}}
            completion = (await session.request("completion/complete", params))["completion"]
            assert (completion["total"], completion["hasMore"]) == (len(completion["values"]), False)
            return completion["values"]

        prompt = {"type": "ref/prompt", "name": "args_prompt"}
        assert session.capabilities["completions"] == {}
        assert await complete(prompt, "city", "u") == ["Uppsala", "Ulm", "Utrecht"]
        assert await complete(prompt, "city", "ut") == ["Utrecht"]
        assert await complete(prompt, "state", "X") == []
        assert await complete({"type": "ref/resource", "uri": "file:///{path}"}, "path", "re") == [
            *("readme.md", "report.txt", "recipes.csv")
        ]
        assert await complete({"type": "ref/resource", "uri": "user://{userId}"}, "userId", "12") == ["12", "123"]


# Versions and sessions.


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_the_old_server_offers_what_it_has(servers, transport):
    spec = servers.spec("old-server.yaml", transport)
    async with talking(spec) as (session, _):
        assert session.opened["protocolVersion"] == "2024-11-05"
        assert text_of(await call(session, "echo", {"message": "hi"})) == "Echo: hi"
    with pytest.raises(ProtocolError):
        async with talking(spec, "2025-06-18"):
            pass
    if transport != "sse":
        async with talking(spec, "auto") as (session, _):
            assert session.dialect.version == "2024-11-05"
        with pytest.raises(MethodError):
            async with talking(spec, "modern"):
                pass


def post(url, message):
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    asked = urllib.request.Request(url, json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode(), headers)
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        return answer.headers, answer.read().decode()


INITIALIZE = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


async def test_the_stateless_server_has_no_sessions_and_answers_with_json(servers):
    url = servers.url("stateless.yaml", "streamable-http")
    echo = {"method": "tools/call", "params": {"name": "echo", "arguments": {"message": "hi"}}}
    for message in (INITIALIZE, echo):  # the second needs no first
        headers, body = await asyncio.to_thread(post, url, message)
        assert "Mcp-Session-Id" not in headers
        assert headers["Content-Type"] == "application/json"
        assert "result" in json.loads(body)


async def test_other_servers_have_sessions_and_answer_with_events(servers):
    headers, body = await asyncio.to_thread(post, servers.url("demo-http.json", "streamable-http"), INITIALIZE)
    assert headers["Mcp-Session-Id"]
    assert headers["Content-Type"] == "text/event-stream"
    assert '"protocolVersion":"2025-11-25"' in body
