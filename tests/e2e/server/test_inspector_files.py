"""Files as the Inspector's composable server has them, each shape of those that need no OAuth, skills or apps that ask:
`server-composable --config FILE` serves each in the eras that it asks for, with what it is there to show."""

import json

import pytest
from tests.e2e.server.http_wire import Web
from tests.e2e.server.wire import COMPOSABLE, MODERN, Pipe, call, echo, initialize, modern, ping, request, text_of

GATED = "io.modelcontextprotocol/tasks"


def refs(*names, **params):
    return [{"preset": name, **({"params": params} if params else {})} for name in names]


def http(**more):
    return {"transport": {"type": "streamable-http", "port": 0, **more}}


STATELESS = {"legacy": "stateless", "injectSpecErrors": True}
TRIGGERS = ("header_mismatch", "missing_capability", "unsupported_version", "method_not_found")
MRTR = ("confirm", "two_step", "sample", "roots", "edge", "empty", "loop")
# What each file has besides its serverInfo, and the tools that a client with no capabilities sees.
SHAPES = {
    "advertised-extensions": ({"tools": refs("echo", "get_weather"), "extensionGatedTools": {GATED: "get_weather"}, **http()}, 1),
    "duplicate-tool-names": ({"tools": refs("get_weather", "get_temp", "echo", "add"), "duplicateToolNames": ["get_weather", "echo"], **http()}, 6),
    "logging-legacy": ({"tools": refs("echo", "send_notification"), "logging": True, **http()}, 2),
    "logging-modern": ({"tools": refs("echo", "send_notification"), "logging": True, **http(modern=True)}, 2),
    "mcp-app": ({"tools": refs("echo", "mcp_app_demo"), "resources": refs("mcp_app_demo_widget"), **http()}, 2),
    "modern": ({"tools": refs("echo", "get_temp"), **http(modern=True)}, 2),
    "modern-mrtr": ({"tools": refs("echo", "collect_elicitation"), **http(modern=True)}, 2),
    "modern-network": ({"tools": refs("echo", "get_weather", *(f"trigger_{each}" for each in TRIGGERS)), "resources": refs("architecture"), **http(modern=STATELESS)}, 6),
    "mrtr-showcase": ({"tools": refs("echo", *(f"mrtr_{each}" for each in MRTR)), **http(modern=True)}, 8),
    "nullable-fields": ({"tools": refs("record_shipment", "get_temp"), **http()}, 2),
    "pagination": ({"tools": refs("numbered_tools", count=12), "prompts": refs("numbered_prompts", count=12), "maxPageSize": {"tools": 4, "prompts": 4}, **http()}, 4),
    "rfc6570-templates": ({"resourceTemplates": refs("rfc6570_templates"), "tools": refs("echo"), "resources": refs("rfc6570_base"), **http()}, 1),
    "structured-output": ({"tools": refs("list_items", "get_temp", "echo"), **http()}, 3),
    "subscriptions-legacy": ({"tools": refs("update_resource"), "resources": refs("numbered_resources", count=3), "subscriptions": True, "listChanged": {"resources": True}, **http()}, 1),
    "subscriptions-modern": ({"resources": refs("numbered_resources", count=3), "subscriptions": True, "listChanged": {"resources": True}, **http(modern=True)}, 0),
    "tasks-legacy": ({"tools": refs("simple_task", "progress_task", "elicitation_task"), "tasks": {"list": True, "cancel": True}, "logging": True, **http()}, 3),
    "tasks-modern": ({"tasksExtension": True, **http(modern=True)}, 3),
    "xmcpheader-modern": ({"tools": refs("echo", "get_weather", "trigger_invalid_params", "invalid_header_tool"), **http(modern=STATELESS)}, 4),
}  # fmt: skip


@pytest.fixture
def serve(tmp_path):
    """Serve a file of one of the shapes."""
    started = []

    def serve(name, **members):
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps({"serverInfo": {"name": name, "version": "1.0.0"}, **SHAPES[name][0], **members}))
        started.append(Web([*COMPOSABLE, "--config", str(file)], tmp_path))
        return started[-1]

    yield serve
    for each in started:
        each.dispose()


def tools_of(reply):
    return [tool["name"] for tool in reply["result"]["tools"]]


@pytest.mark.parametrize("name", SHAPES)
def test_file_is_served_in_the_eras_that_it_asks_for(serve, name):
    server, count = serve(name), SHAPES[name][1]
    asked = SHAPES[name][0]["transport"].get("modern")
    answer = server.modern(modern(request(1, "server/discover")))
    assert (answer.status == 200) == bool(asked), answer
    if asked and count:
        assert len(tools_of(server.modern(modern(request(2, "tools/list"))).json)) == count
    opened = server.post(initialize())
    assert opened.status == 200
    if not isinstance(asked, dict):
        session = server.session()
        assert session.ask(ping())["result"] == {}
        if count:
            assert len(tools_of(session.ask(request(1, "tools/list")))) == count


def test_tool_is_listed_twice_after_all_others_and_can_be_called(serve):
    session = serve("duplicate-tool-names").session()
    tools = session.ask(request(1, "tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in tools] == ["get_weather", "get_temp", "echo", "add", "get_weather", "echo"]
    assert [tool.get("title") for tool in tools[-2:]] == ["get_weather (duplicate)", "echo (duplicate)"]
    assert tools[0] == {key: value for key, value in tools[4].items() if key != "title"}
    assert text_of(session.ask(echo(1))) == "Echo: hello"


def test_two_of_the_same_name_may_be_on_two_pages(serve):
    session = serve("duplicate-tool-names", maxPageSize={"tools": 5}).session()
    first = session.ask(request(1, "tools/list"))["result"]
    second = session.ask(request(2, "tools/list", {"cursor": first["nextCursor"]}))["result"]
    assert [tool["name"] for tool in second["tools"]] == ["echo"]


def test_gated_tool_is_for_clients_that_declare_the_extension(serve):
    server = serve("advertised-extensions")
    without, with_it = server.session(), server.session(extensions={GATED: {}})
    assert [tools_of(each.ask(request(1, "tools/list"))) for each in (without, with_it)] == [
        ["echo"],
        ["echo", "get_weather"],
    ]
    weather = call(2, "get_weather", {"city": "Ulm"})
    assert without.ask(weather)["error"]["code"] == -32602
    assert text_of(with_it.ask(weather)).startswith("Weather in Ulm")


def test_gated_tool_is_there_for_requests_of_the_modern_era_that_declare_the_extension(serve):
    server = serve("advertised-extensions", **http(modern=True))
    plain, declaring = (modern(request(1, "tools/list"), MODERN, **more) for more in ({}, {"extensions": {GATED: {}}}))
    assert [tools_of(server.modern(each).json) for each in (plain, declaring)] == [["echo"], ["echo", "get_weather"]]


def test_question_of_a_tool_is_asked_in_a_round_of_the_modern_era(serve):
    server, form = serve("modern-mrtr"), {"type": "object", "properties": {"name": {"type": "string"}}}
    asking = call(1, "collect_elicitation", {"message": "Who?", "schema": form})
    able = {"elicitation": {"form": {}}}
    first = server.modern(modern(asking, MODERN, **able)).json["result"]
    assert first["resultType"] == "input_required"
    ((key, question),) = first["inputRequests"].items()
    assert (question["method"], question["params"]["message"]) == ("elicitation/create", "Who?")
    answers = {key: {"action": "accept", "content": {"name": "Ada"}}}
    again = {**asking, "params": {**asking["params"], "inputResponses": answers, "requestState": first["requestState"]}}
    last = server.modern(modern(again, MODERN, **able)).json
    assert "Ada" in text_of(last)
    assert server.modern(modern(asking)).code == -32021  # a client that did not declare it


# Those on stdio.
MADE = {
    "name": "say_it",
    "description": "Says it again",
    "inputSchema": {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]},
}
STDIO_DEMO = {
    "tools": refs("echo", "add", "get_weather"),
    "resources": refs("architecture"),
    "prompts": refs("simple_prompt"),
    "logging": True,
}


@pytest.fixture
def pipe(tmp_path):
    """Serve a file on stdio."""
    started = []

    def serve(name, described):
        file = tmp_path / f"{name}.json"
        info = {"name": name, "version": "1.0.0"}
        file.write_text(json.dumps({"serverInfo": info, **described, "transport": {"type": "stdio"}}))
        started.append(Pipe([*COMPOSABLE, "--config", str(file)], tmp_path))
        return started[-1]

    yield serve
    for each in started:
        each.dispose()


@pytest.mark.parametrize("structured", [False, True])
def test_tool_that_a_file_composes_says_its_arguments_again_on_stdio(pipe, structured):
    made = {**MADE, "structuredContent": structured}
    server = pipe("composable-tool", {"tools": [{"preset": "composable_tool", "params": made}]})
    server.open()
    (tool,) = server.ask(request(1, "tools/list"))["result"]["tools"]
    assert {key: tool[key] for key in ("name", "description")} == {key: MADE[key] for key in ("name", "description")}
    assert tool["inputSchema"]["required"] == ["word"]
    reply = server.ask(call(2, "say_it", {"word": "again"}))
    assert "again" in text_of(reply)
    assert ("structuredContent" in reply["result"]) == structured
    server.close()
    assert server.wait() == 0


def test_file_for_stdio_is_served_with_a_handshake_alone(pipe):
    server = pipe("demo", STDIO_DEMO)
    assert set(server.open()["capabilities"]) == {"tools", "resources", "prompts", "logging"}
    assert len(tools_of(server.ask(request(1, "tools/list")))) == 3
    assert server.ask(modern(request(2, "server/discover")))["error"]["code"] == -32601
    server.close()
    assert server.wait() == 0
