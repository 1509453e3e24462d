"""`--errors json`: what we have to say of a failure is one JSON object on a line of stderr, with a kind that never changes."""

import json
import signal
import threading

import pytest
from tests.conftest import MCP_CLI

JSON = ("--errors", "json")
PING = ("--method", "ping", *JSON)


def told(run):
    """The one error of a run: nothing else is on stderr."""
    (line,) = run.err.splitlines()
    return json.loads(line)["error"]


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("--metod", "ping", *JSON), "RUNTIME_MCP_INVALID_USAGE"),
        (("--errors=json", "server"), "RUNTIME_MCP_INVALID_USAGE"),
        (("server", "--", "--flag", "--method", "pong", *JSON), "RUNTIME_MCP_INVALID_USAGE"),
        (("--config", "none.json", *PING), "RUNTIME_MCP_INVALID_USAGE"),
        (("/no/such/program", *PING), "RUNTIME_MCP_TRANSPORT_ERROR"),
        (("http://127.0.0.1:1/mcp", *PING), "RUNTIME_MCP_TRANSPORT_ERROR"),
        (("--method", "oauth/discover", "--server-url", "http://127.0.0.1:1/", *JSON), "RUNTIME_MCP_TRANSPORT_ERROR"),
        (("--method", "oauth/token", *JSON), "RUNTIME_MCP_INVALID_USAGE"),
    ],
)
def test_what_keeps_us_from_a_server_has_its_kind(cli, words, kind):
    run = cli(*words)
    assert (run.code, run.out, told(run)["kind"]) == (1, "", kind)


def test_the_flags_of_a_server_are_not_ours(cli):
    assert cli("server", "--", *JSON, "--method", "pong").err.startswith("error: unknown method 'pong'")


def test_a_server_that_dies_is_told_with_its_last_lines(cli, serve):
    run = cli(*serve("hello()\nhear()\nsys.stderr.write('no disk\\n')\nsys.exit(4)"), *PING)
    error = told(run)
    assert (run.code, error["kind"]) == (1, "RUNTIME_MCP_CONNECTION_LOST")
    assert "exited with code 4" in error["message"]
    assert error["stderr"] == ["no disk"]


@pytest.mark.parametrize("flag", ["--timeout", "--request-timeout"])
def test_a_time_out_has_one_kind(cli, serve, flag):
    run = cli(*serve("hello()\nhear()\nhear()"), *PING, flag, "300ms")
    assert (run.code, told(run)["kind"]) == (124, "RUNTIME_MCP_TIMEOUT")


def test_a_time_out_of_oauth_has_it_too(cli, http):
    server = http({"GET": lambda call: call.hold()})
    run = cli("--method", "oauth/discover", "--server-url", server.url, "--timeout", "500ms", *JSON)
    assert (run.code, told(run)["kind"]) == (124, "RUNTIME_MCP_TIMEOUT")


def test_a_status_is_told_as_a_number(cli, http):
    run = cli(http({"initialize": lambda call: call.reply(401)}).url, *PING)
    error = told(run)
    assert (error["kind"], error["status"]) == ("RUNTIME_MCP_HTTP_STATUS", 401)
    assert "hint" in error


def test_a_result_that_breaks_its_schema_has_a_kind(cli, serve):
    tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object", "required": ["a"]}}
    server = f"hello(tools={{}})\nserve({{'tools/list': {{'tools': [{tool}]}}, 'tools/call': {{'structuredContent': {{}}}}}})"
    run = cli(*serve(server), "--method", "tools/call", "--tool-name", "t", "--output-schema-validate", *JSON)
    assert (run.code, told(run)["kind"]) == (1, "RUNTIME_MCP_INVALID_RESULT")


def test_an_error_of_the_server_stays_on_stdout(cli, serve):
    run = cli(*serve("hello()\nserve({})"), *PING)
    assert (run.code, run.err) == (2, "")
    assert json.loads(run.out)["error"]["code"] == -32601


def test_secrets_are_not_in_it(cli, http):
    server = http({"initialize": lambda call: call.reply(403, f"no: {call.headers['authorization']}")})
    run = cli(server.url, *PING, "--token", "s3cr3t-token-17")
    assert "s3cr3t-token-17" not in run.err
    assert told(run)["status"] == 403


def test_a_program_whose_output_is_not_read_says_so_in_json_too(in_background, serve):
    server = serve("hello(tools={})\nhear()\nresult({'id': 2}, {'tools': ['x' * 5_000_000]})\nhear()")
    process = in_background([*MCP_CLI, *server, "--method", "tools/list", "--timeout", "500ms", *JSON])
    guard = threading.Timer(20, process.send_signal, [signal.SIGKILL])
    guard.start()
    error = json.loads(process.stderr.readline())["error"]
    guard.cancel()
    assert error["kind"] == "RUNTIME_MCP_TIMEOUT"
    assert process.wait(20) == 124
