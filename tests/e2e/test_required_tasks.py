"""A tool that requires a task (`execution.taskSupport`) is run as one, and its result is that of a call."""

import json
import sys

import pytest

SERVER = """
    capabilities = {{"tools": {{}}, "tasks": {{"requests": {{"tools": {{"call": {{}}}}}}}}}}
    hello(**capabilities)
    task = {{"taskId": "t", "status": "working", "pollInterval": 10}}
    def call(params):
        assert ("task" in params) == ({support!r} == "required"), params
        return {{"task": task}} if "task" in params else {{"content": [], "called": True}}
    def ended(params):
        return {{**task, "status": {status!r}}}
    tool = {{"name": "slow", "inputSchema": {{"type": "object"}}, "execution": {{"taskSupport": {support!r}}}}}
    table = {{"tools/list": {{"tools": [tool]}}, "tools/call": call, "tasks/get": ended, "tasks/result": {result}}}
    while True:
        request = hear()
        if request.get("method") == "tasks/result" and {result!r} == "None":
            error(request, -32000, "it broke")
        else:
            answer(request, table)
"""
CALL = ("--method", "tools/call", "--tool-name", "slow")
SAID = "warning: the tool 'slow' requires a task; it is run as one (--run-as-task shows the task)\n"


def server(support="required", status="completed", result='{"content": [], "structuredContent": {"n": 1}}'):
    return SERVER.format(support=support, status=status, result=result)


def test_the_result_is_that_of_the_tool(cli, serve):
    run = cli(*serve(server()), *CALL)
    assert (run.code, run.err) == (0, SAID)
    assert json.loads(run.out) == {"content": [], "structuredContent": {"n": 1}}


def test_a_tool_that_fails_in_its_task_fails(cli, serve):
    run = cli(*serve(server(status="failed", result='{"content": [], "isError": True}')), *CALL)
    assert (run.code, json.loads(run.out)) == (2, {"content": [], "isError": True})


def test_an_error_in_place_of_the_result_is_the_error_of_the_call(cli, serve):
    run = cli(*serve(server(status="failed", result="None")), *CALL)
    assert (run.code, json.loads(run.out)) == (2, {"error": {"code": -32000, "message": "it broke"}})


def test_a_task_that_was_cancelled_is_shown_as_it_is(cli, serve):
    run = cli(*serve(server(status="cancelled")), *CALL)
    assert (run.code, json.loads(run.out)) == (2, {"taskId": "t", "status": "cancelled"})


@pytest.mark.parametrize("support", ["optional", "forbidden"])
def test_other_tools_are_called_as_always(cli, serve, support):
    run = cli(*serve(server(support=support)), *CALL)
    assert (run.code, run.err, json.loads(run.out)["called"]) == (0, "", True)


def test_a_server_that_cannot_list_its_tools_is_called_as_always(cli, serve):
    refusing = server(support="optional").replace('"tools/list":', '"no/list":')
    run = cli(*serve(refusing), *CALL)
    assert (run.code, run.err, json.loads(run.out)["called"]) == (0, "", True)


def test_a_tool_that_is_not_listed_is_called_as_always(cli, serve):
    run = cli(*serve(server(support="optional")), "--method", "tools/call", "--tool-name", "other")
    assert (run.code, run.err, json.loads(run.out)["called"]) == (0, "", True)


MODERN = {
    "serverInfo": {"name": "s", "version": "1"},
    "tools": [{"preset": "simple_task", "params": {"delayMs": 10}}, {"preset": "collect_elicitation"}],
    "tasksExtension": True,
    "protocolVersions": ["2026-07-28"],
    "transport": {"type": "stdio"},
}


@pytest.fixture
def modern(tmp_path):
    file = tmp_path / "modern.json"
    file.write_text(json.dumps(MODERN))
    return ("--protocol", "modern", sys.executable, "--", "-m", "mcp_conductor", "serve", str(file))


@pytest.mark.parametrize("arguments", [(), ("--tool-arg", "message=x")])
def test_without_a_handshake_the_server_says_that_a_tool_needs_a_task(cli, modern, arguments):
    run = cli(*modern, "--method", "tools/call", "--tool-name", "simple_task", *arguments)
    assert (run.code, run.err) == (0, SAID.replace("slow", "simple_task"))
    assert "Task completed" in json.loads(run.out)["content"][0]["text"]


def test_a_call_that_lacks_another_capability_says_which_flag_declares_it(cli, modern):
    args = ("--tool-args-json", '{"message": "Who?", "schema": {"type": "object", "properties": {}}}')
    run = cli(*modern, "--method", "tools/call", "--tool-name", "collect_elicitation", *args)
    assert (run.code, json.loads(run.out)["error"]["code"]) == (2, -32021)
    assert run.err == "warning: the server needs a client that declares elicitation: --handle-elicitation does\n"
