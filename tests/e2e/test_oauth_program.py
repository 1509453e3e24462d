"""mcp-cli and servers that want a token: as a program, with a browser played by the test."""

import json
import os
import stat

import pytest
from tests.servers.oauth_server import oauth_server

LIST = ("--method", "tools/list")


def test_a_token_is_got_where_the_server_wants_one(consenting):
    with oauth_server() as server:
        code, out, err = consenting(server.url, *LIST)
    assert code == 0, err
    assert json.loads(out)["tools"][0]["name"] == "secret"


def test_tokens_never_appear_in_what_is_shown_or_recorded(consenting, tmp_path):
    with oauth_server() as server:
        code, _, err = consenting(server.url, *LIST, "--verbose", "--record", "record.jsonl")
        assert code == 0, err
        assert server.tokens
    recorded = (tmp_path / "record.jsonl").read_text()
    for token in server.tokens:
        assert token not in err
        assert token not in recorded


def test_a_kept_token_is_used_again_without_asking(consenting, cli, tmp_path):
    with oauth_server() as server:
        assert consenting(server.url, *LIST, "--token-store", "tokens.json")[0] == 0
        run = cli(server.url, *LIST, "--oauth", "--token-store", "tokens.json")
    assert run.code == 0, run.err
    assert "authorize" not in run.err
    assert stat.S_IMODE(os.stat(tmp_path / "tokens.json").st_mode) == 0o600


def test_a_token_from_elsewhere_is_enough(cli):
    with oauth_server() as server:
        server.tokens["from-elsewhere"] = ""
        run = cli(server.url, *LIST, "--token", "from-elsewhere", "--verbose")
    assert run.code == 0, run.err
    assert "from-elsewhere" not in run.err


@pytest.mark.parametrize("given", ["env:MY_TOKEN", "@token.txt"])
def test_a_token_from_a_file_or_a_variable_is_sent_and_not_shown(cli, tmp_path, given):
    (tmp_path / "token.txt").write_text("from-elsewhere\n")
    with oauth_server() as server:
        server.tokens["from-elsewhere"] = ""
        words = (server.url, *LIST, "--token", given, "--verbose", "--record", "record.jsonl")
        run = cli(*words, MY_TOKEN="from-elsewhere")
    assert run.code == 0, run.err
    assert "from-elsewhere" not in run.err + (tmp_path / "record.jsonl").read_text()


def test_the_client_itself_can_be_authorized(cli):
    with oauth_server(clients={"me": "my-own-secret"}) as server:
        who = ("--oauth-client-id", "me", "--oauth-client-secret", "my-own-secret")
        run = cli(server.url, *LIST, "--oauth", "--oauth-grant", "client_credentials", *who)
    assert run.code == 0, run.err


def test_discover_is_a_command(cli):
    with oauth_server() as server:
        run = cli("--method", "oauth/discover", "--server-url", server.url)
        assert (run.code, json.loads(run.out)) == (0, server.described())


def test_a_refused_token_is_an_error_of_the_server(cli):
    with oauth_server(clients={"me": "my-own-secret"}) as server:
        who = ("--oauth-client-id", "me", "--oauth-client-secret", "my-own-secret")
        grant = (*who, "--oauth-refresh-token", "wrong-refresh-token")
        run = cli("--method", "oauth/refresh", "--server-url", server.url, *grant)
    assert run.code == 2
    assert json.loads(run.out)["error"]["code"] == "invalid_grant"
    assert "wrong-refresh-token" not in run.out + run.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "oauth/discover"), "oauth/discover needs --server-url"),
        (("node", "--method", "oauth/discover", "--server-url", "http://x"), "takes no server but --server-url"),
        (("--method", "oauth/discover", "--server-url", "nowhere"), "--server-url takes a URL"),
        (("http://127.0.0.1:1/mcp", *LIST, "--open-browser"), "--open-browser has no meaning without --oauth"),
        (("node", *LIST, "--oauth"), "--oauth is for a server at a URL"),
        (("http://127.0.0.1:1/mcp", *LIST, "--oauth-scope", "a"), "--oauth-scope has no meaning for tools/list"),
        (("http://127.0.0.1:1/mcp", *LIST, "--oauth-issuer", "a"), "--oauth-issuer has no meaning for tools/list"),
        (("http://127.0.0.1:1/mcp", *LIST, "--oauth", "--oauth-issuer", "a"), "--oauth-issuer takes a URL"),
    ],
)
def test_what_cannot_be_meant_is_refused(cli, words, message):
    run = cli(*words)
    assert run.code == 1
    assert message in run.err
