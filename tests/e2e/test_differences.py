"""docs/differences.md says how we differ from the original design: each row that a run can show is run here."""

import json

import pytest
from tests.conftest import ROOT

from mcp_conductor import ConductorError, connect

# One tool that asks, one that fails, one that tells its params; tasks, subscriptions and logging.
SERVER = """
TASK = {"taskId": "abc", "status": "working", "ttl": 1000, "createdAt": "2026-01-01T00:00:00Z",
        "lastUpdatedAt": "2026-01-01T00:00:00Z"}
WANTED = {"type": "object", "properties": {"a": {"type": "string", "default": "x"}, "n": {"type": "integer"}},
          "required": ["n"]}
TYPES = {name: {"type": name} for name in ("object", "array", "number", "boolean")}
TOOLS = [{"name": "tell", "inputSchema": {"type": "object", "properties": TYPES}}]

def call(params):
    if params["name"] == "ask":
        answered = ask(90, "elicitation/create", message="?", requestedSchema=WANTED)
        return {"content": [], "structuredContent": answered["result"]}
    if params["name"] == "fail":
        return {"content": [], "isError": True}
    return {"task": TASK} if "task" in params else {"content": [], "structuredContent": params}

hello(tools={}, resources={"subscribe": True}, logging={}, tasks={"requests": {"tools": {"call": {}}}})
while True:
    asked = hear()
    answer(asked, {"tools/list": {"tools": TOOLS}, "tools/call": call, "resources/subscribe": {}, "logging/setLevel": {},
                   "resources/read": lambda params: {"contents": [{"uri": params["uri"], "text": "now"}]}, "ping": {}})
    if asked.get("method") == "resources/subscribe":
        notify("notifications/resources/updated", uri=asked["params"]["uri"])
        notify("notifications/resources/updated", uri="x://other")
    if asked.get("method") == "logging/setLevel":
        notify("notifications/message", level="info", logger="l", data="d")
"""
CALL = ("--method", "tools/call", "--tool-name")


@pytest.fixture
def run(cli, serve):
    server = serve(SERVER)
    return lambda *words: cli(*server, *words)


@pytest.mark.parametrize("argument", ["object={bad", "array=[bad", "number=many", "boolean=yes"])
def test_text_that_is_not_of_the_wanted_type_is_an_error_that_names_the_argument(run, argument):
    done = run(*CALL, "tell", "--tool-arg", argument)
    assert (done.code, done.out) == (1, "")
    assert f"argument '{argument.partition('=')[0]}'" in done.err


def test_the_level_trace_is_refused(run):
    done = run("--method", "logging/setLevel", "--log-level", "trace")
    assert (done.code, done.out) == (1, "")


def test_auto_fills_in_what_the_schema_wants(run):
    done = run(*CALL, "ask", "--handle-elicitation", "auto")
    assert json.loads(done.out)["structuredContent"] == {"action": "accept", "content": {"a": "x", "n": 0}}


def test_a_task_is_asked_for_in_params_and_printed_whole(run):
    done = run(*CALL, "tell", "--run-as-task", "--verbose")
    assert json.loads(done.out)["taskId"] == "abc"
    assert json.loads(done.out)["status"] == "working"
    assert '"task":{' in done.err
    assert "runAsTask" not in done.err


def test_roots_are_declared_as_what_can_change_and_the_change_is_told(run):
    done = run("--method", "ping", "--roots", "file:///home", "--verbose")
    assert '"roots":{"listChanged":true}' in done.err
    assert "notifications/roots/list_changed" in done.err


def test_each_update_is_printed_twice_and_those_of_other_resources_too(run):
    done = run("--method", "resources/subscribe", "--uri", "x://a", "--follow", "--timeout", "1s")
    first, empty, *lines = done.out.splitlines()
    assert (first, empty) == ("{}", "")
    events = [json.loads(line) for line in lines]
    assert [event["event"] for event in events] == ["subscribed", *["notification", "updated"] * 2]
    assert [event["uri"] for event in events if event["event"] == "updated"] == ["x://a", "x://other"]


def test_log_messages_are_printed_as_all_notifications(run):
    done = run("--method", "logging/setLevel", "--log-level", "debug", "--follow", "--timeout", "1s")
    event = json.loads(done.out.splitlines()[2])
    assert (event["event"], event["method"]) == ("notification", "notifications/message")
    assert event["params"] == {"level": "info", "logger": "l", "data": "d"}


def test_metadata_is_json_where_it_can_be(run):
    done = run(*CALL, "tell", "--metadata", "a=1", "--metadata", "b=x")
    assert json.loads(done.out)["structuredContent"]["_meta"] == {"a": 1, "b": "x"}


def test_a_tool_that_failed_gives_exit_code_2(run):
    assert run(*CALL, "fail").code == 2


@pytest.mark.parametrize("config", [{"command": "x", "url": "http://127.0.0.1:1"}, {}])
async def test_both_or_neither_of_command_and_url_are_refused_with_a_context(config):
    with pytest.raises(ConductorError) as caught:
        async with connect(config):
            pass
    assert caught.value.kind == "RUNTIME_MCP_INVALID_CONFIG"
    assert {"serverConfig", "platform", "supportedTransports", "server"} <= set(caught.value.context)


def test_the_page_is_one_of_the_manual():
    assert "differences.md" in (ROOT / "docs" / "mcp-cli.md").read_text()
