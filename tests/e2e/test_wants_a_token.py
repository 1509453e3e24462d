"""A server that wants a token, and a run that has none: the error is a 401, with what the server says and what to do."""

import json

import pytest
from tests.e2e.http_manners import assert_failed
from tests.e2e.listing import LIST

from mcp_conductor import HttpSpec, HttpStatusError, connect

SAYS = 'Bearer error="invalid_token", error_description="no token, no entry", scope="read"'
RPC_ERROR = json.dumps({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "no, {user}"}})
OAUTH_ERROR = '{"error": "invalid_token", "error_description": "no token, no entry"}'


def locked(http, body="", challenge=SAYS):
    headers = {"www_authenticate": challenge} if challenge else {}
    return http({verb: lambda call: call.reply(401, body, "application/json", **headers) for verb in ("POST", "GET")})


@pytest.mark.parametrize("sse", [False, True], ids=["http", "sse"])
@pytest.mark.parametrize(
    ("body", "challenge", "says"),
    [
        ("", SAYS, "Unauthorized: invalid_token: no token, no entry (scope: read)"),
        (OAUTH_ERROR, SAYS, "Unauthorized: invalid_token: no token, no entry (scope: read)"),
        (RPC_ERROR, SAYS, "Unauthorized: invalid_token: no token, no entry (scope: read)"),
        (OAUTH_ERROR, None, "Unauthorized: invalid_token: no token, no entry"),
        (RPC_ERROR, None, "Unauthorized: no, {user}"),
        ("go away", None, "Unauthorized: 'go away'"),
        ("", None, "Unauthorized"),
        ("", "Bearer", "Unauthorized"),
        ("", 'Basic realm="x"', "Unauthorized: Basic"),
    ],
)
async def test_a_401_is_told_as_one_with_every_body(http, sse, body, challenge, says):
    with pytest.raises(HttpStatusError) as caught:
        async with connect(HttpSpec(url=locked(http, body, challenge).url, sse=sse)):
            pass
    assert caught.value.status == 401
    assert caught.value.message.endswith(f" was answered with status 401 {says}")
    assert "auth=TOKEN" in caught.value.hint  # a library has no flags


def test_mcp_cli_ends_with_1_and_says_how_to_give_a_token(cli, http):
    run = cli(locked(http, OAUTH_ERROR).url, *LIST)
    assert_failed(run, "initialize was answered with status 401 Unauthorized: invalid_token", "--token", "--oauth")


def test_a_401_in_the_middle_is_told_too(cli, http):
    run = cli(http({"tools/list": lambda call: call.error(-32001, "expired", 401)}).url, *LIST)
    assert_failed(run, "tools/list was answered with status 401 Unauthorized: expired")


def test_a_token_that_is_not_taken_is_told_as_that(cli, http):
    run = cli(locked(http, challenge='Bearer error="stale-token is stale"').url, *LIST, "--token", "stale-token")
    assert_failed(run, "401 Unauthorized", "the server does not accept the token")
    assert "stale-token" not in run.err


def test_an_error_that_is_none_of_json_rpc_is_told_with_its_status(cli, http):
    body = '{"error": "insufficient_scope"}'
    run = cli(http({"tools/list": lambda call: call.reply(403, body, "application/json")}).url, *LIST)
    assert_failed(run, "tools/list was answered with status 403", "insufficient_scope")
