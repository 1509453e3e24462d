"""A server that wants a token, and a run of `conductor` that has none."""

import json

import pytest

SAYS = "initialize was answered with status 401 Unauthorized: invalid_token"
RPC_ERROR = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "no"}})


@pytest.mark.parametrize("command", ["test", "check", "discover", "bridge"])
def test_a_401_is_told_as_one_with_what_to_do(conductor, http, suite, write, command):
    server = http(
        {
            "POST": lambda call: call.reply(
                401, RPC_ERROR, "application/json", www_authenticate='Bearer error="invalid_token"'
            )
        }
    )
    file = suite("- {it: echoes, call: {tool: echo}, expect: {ok: true}}")
    write("mcp.json", json.dumps({"mcpServers": {"locked": {"url": server.url}}}))
    words = {"test": [file, "--", server.url], "bridge": ["mcp.json"]}.get(command, ["--", server.url])
    run = conductor(command, *words)
    assert SAYS in run.all, run.all
    assert "--token" in run.all
    assert run.code == (0 if command == "bridge" else 3)
