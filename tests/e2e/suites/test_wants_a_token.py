"""A server that wants a token, and a run of `conductor` that has none."""

import json

import pytest

SAYS = "initialize was answered with status 401 Unauthorized: invalid_token"
RPC_ERROR = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "no"}})


def locked(call):
    call.reply(401, RPC_ERROR, "application/json", www_authenticate='Bearer error="invalid_token"')


@pytest.mark.parametrize("command", ["test", "discover"])
def test_a_401_is_told_as_one_with_what_to_do(conductor, http, suite, command):
    server = http({"POST": locked})
    file = suite("- {it: echoes, call: {tool: echo}, expect: {ok: true}}")
    run = conductor(command, *([file] if command == "test" else []), "--", server.url)
    assert SAYS in run.all, run.all
    assert "--token" in run.all
    assert run.code == 3


def test_a_check_looks_from_outside_and_says_what_lets_it_in(conductor, http):
    run = conductor("check", "--", http({"POST": locked}).url)
    assert "no grade: the server wants a token: --token, or --header" in run.all
    assert "auth-server" in run.all
    assert run.code == 1  # there is no metadata by which a client could get a token
