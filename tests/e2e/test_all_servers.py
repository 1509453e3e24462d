"""`mcp-cli --server all`: lists across servers, tools and prompts of any of them, and every flag honoured or refused."""

import json

import pytest
from tests.conftest import BOOKSHELF

NAMED = """
    hello(tools={}, prompts={})
    def call(params):
        return {"content": [{"type": "text", "text": json.dumps([NAME, params["name"], params["arguments"]])}]}
    tool = {"name": "say", "inputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    serve({
        "tools/list": {"tools": [tool]},
        "tools/call": call,
        "prompts/list": {"prompts": [{"name": "ask"}]},
        "prompts/get": lambda params: {"messages": [], "description": f"{NAME}: {params['name']}"},
    })
"""
TOOLS = ("--method", "tools/list")


@pytest.fixture
def every(cli, serve, tmp_path):
    """Run mcp-cli on a settings file with the servers `a` and `a_b`, and others."""

    def run(*words, **others):
        servers = {}
        for name in ("a", "a_b"):
            command, *args = serve(f"NAME = {name!r}\n" + NAMED.replace("\n    ", "\n"), f"{name}.py")
            servers[name] = {"command": command, "args": args}
        (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {**servers, **others}}))
        return cli("--config", "mcp.json", "--server", "all", *words)

    return run


def names(run, member="tools"):
    return [each["name"] for each in json.loads(run.out)[member]]


def test_tools_and_prompts_are_listed_under_the_names_of_their_servers(every):
    run = every(*TOOLS)
    assert (run.code, run.err, names(run)) == (0, "", ["a__say", "a_b__say"])
    assert names(every("--method", "prompts/list"), "prompts") == ["a__ask", "a_b__ask"]


@pytest.mark.parametrize(("name", "server"), [("a/say", "a"), ("a__say", "a"), ("a_b/say", "a_b"), ("a_b__say", "a_b")])
def test_a_tool_of_any_server_is_called_by_both_ways_to_write_it(every, name, server):
    run = every("--method", "tools/call", "--tool-name", name, "--tool-arg", "n=7")
    assert json.loads(json.loads(run.out)["content"][0]["text"]) == [server, "say", {"n": 7}]


@pytest.mark.parametrize("name", ["x y/z/say", "x_y_z/say", "x_y_z__say"])
def test_a_server_whose_name_is_not_legal_in_a_tool_is_named_as_it_is_or_as_it_is_shown(every, serve, name):
    command, *args = serve("NAME = 'x y/z'\n" + NAMED.replace("\n    ", "\n"), "x.py")
    server = {"x y/z": {"command": command, "args": args}}
    run = every("--method", "tools/call", "--tool-name", name, "--tool-arg", "n=7", **server)
    assert json.loads(json.loads(run.out)["content"][0]["text"]) == ["x y/z", "say", {"n": 7}]
    assert names(every(*TOOLS, **server))[-1] == "x_y_z__say"


def test_a_prompt_is_named_in_the_same_ways(every):
    run = every("--method", "prompts/get", "--prompt-name", "a_b/ask")
    assert json.loads(run.out)["description"] == "a_b: ask"


@pytest.mark.parametrize("name", ["say", "c/say", "c__say"])
def test_a_name_without_a_server_is_refused_with_the_servers(every, name):
    run = every("--method", "tools/call", "--tool-name", name)
    assert run.code == 1
    assert f"--tool-name {name!r} names no server of mcp.json" in run.err
    assert "a, a_b" in run.err


@pytest.mark.parametrize(
    "flags",
    [
        ("--record", "r.jsonl"),
        ("--transport", "http"),
        ("--follow",),
        ("--events",),
        ("--cursor", "c"),
        ("--dry-run",),
    ],
)
def test_a_flag_that_makes_no_sense_for_many_servers_is_refused(every, flags):
    run = every(*TOOLS, *flags)
    assert run.code == 1
    assert f"{flags[0]} has no meaning for --server all" in run.err


def test_a_dry_run_of_a_call_shows_what_the_named_server_would_be_sent(every):
    run = every("--method", "tools/call", "--tool-name", "a_b/say", "--dry-run")
    shown = json.loads(run.out)
    assert shown["command"][-1].endswith("a_b.py")
    assert shown["sent"][-1]["message"]["params"]["name"] == "say"
    assert run.code == 0


@pytest.mark.parametrize("words", [("--raw", "{}"), ("--script", "-"), ("--method", "ping")])
def test_what_is_not_a_list_or_a_name_is_refused(every, words):
    run = every(*words)
    assert run.code == 1
    assert "--server all takes" in run.err


def test_flags_for_servers_at_a_url_go_to_those_alone(every, http):
    server = http()
    run = every(*TOOLS, "--token", "t0ken-of-mine", "--header", "X-Mine: 1", remote={"url": server.url})
    assert (run.code, run.err) == (0, "")
    (call,) = server.asked("tools/list")
    assert (call.headers["authorization"], call.headers["x-mine"]) == ("Bearer t0ken-of-mine", "1")
    alone = every(*TOOLS, "--token", "t0ken-of-mine")
    assert alone.code == 1
    assert "--token is for a server at a URL; mcp.json has none" in alone.err


def test_flags_for_commands_and_for_all_reach_the_servers(every):
    run = every(*TOOLS, "--env", "NAME=x", "--protocol", "2024-11-05", "--verbose", "--metadata", "k=v")
    assert run.code == 0
    assert run.err.count('"protocolVersion":"2024-11-05"') == 2
    assert run.err.count('"_meta":{"k":"v"}') == 2
    assert " a: -->" in run.err
    assert " a_b: <--" in run.err


def test_servers_that_fail_are_named_and_the_others_are_listed(every, serve):
    mute = {"command": BOOKSHELF[0], "args": ["-c", "import sys; sys.stdin.read()"]}
    refuses, *args = serve("hello()\nserve({})", "refuses.py")
    broken = {"command": "x", "url": "http://127.0.0.1:1"}
    others = {"mute": mute, "refuses": {"command": refuses, "args": args}, "broken": broken}
    run = every(*TOOLS, "--timeout", "3s", "--errors", "json", **others)
    assert names(run) == ["a__say", "a_b__say"]
    told = {error["server"]: error["kind"] for error in (json.loads(line)["error"] for line in run.err.splitlines())}
    assert told == {
        "mute": "RUNTIME_MCP_TIMEOUT",
        "refuses": "RUNTIME_MCP_METHOD_ERROR",
        "broken": "RUNTIME_MCP_INVALID_CONFIG",
    }
    assert run.code == 1


def test_the_exit_code_is_that_of_the_failure_if_there_is_one_kind(every):
    mute = {"command": BOOKSHELF[0], "args": ["-c", "import sys; sys.stdin.read()"]}
    assert every(*TOOLS, "--timeout", "2s", mute=mute).code == 124
    run = every(*TOOLS, ghost={"command": "/no/such"})
    assert (run.code, run.err.startswith("error: ghost: cannot start '/no/such'")) == (1, True)
