"""mcp-cli and servers that want a token: as a program, with a browser played by the test."""

import asyncio
import json
import os
import stat
import threading
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.e2e.authorizing import browse
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


def test_where_the_secret_goes_is_said_once_if_no_metadata_names_an_authorization_server(cli):
    said = "so the client's credentials are sent to {url}/token, which belongs to the MCP server itself"
    who = ("--oauth-client-id", "me", "--oauth-client-secret", "my-own-secret")
    automatic = ("--oauth", "--oauth-grant", "client_credentials")
    with oauth_server(resource_metadata=None, server_metadata=None, clients={"me": "my-own-secret"}) as server:
        host = server.url.removesuffix("/mcp")
        for words in (
            (server.url, *LIST, *automatic, *who),
            ("--server-url", server.url, "--method", "oauth/client-credentials", *who),
        ):
            run = cli(*words)
            assert run.code == 0, run.err
            assert run.err.count(said.format(url=host)) == 1
            assert "--oauth-issuer URL names another" in run.err
    with oauth_server(clients={"me": "my-own-secret"}) as server:
        assert "credentials are sent" not in cli(server.url, *LIST, *automatic, *who).err


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
        (("http://127.0.0.1:1/mcp", *LIST, "--no-interactive"), "--no-interactive has no meaning without --oauth"),
        (("http://x/", *LIST, "--oauth", "--no-interactive", "--open-browser"), "exclude each other"),
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


def test_requests_and_answers_of_oauth_are_shown_and_recorded_without_secrets(consenting, tmp_path):
    with oauth_server() as server:
        code, _, err = consenting(server.url, *LIST, "--verbose", "--record", "record.jsonl")
    assert code == 0, err
    recorded = [json.loads(line)["text"] for line in (tmp_path / "record.jsonl").read_text().splitlines()[1:]]
    for seen in (err, "\n".join(recorded)):
        assert f"OAuth GET {server.origin}/.well-known/oauth-protected-resource/mcp" in seen
        assert f"OAuth POST {server.origin}/register" in seen
        assert f"OAuth POST {server.origin}/token" in seen
        assert "grant_type=authorization_code&code=[redacted]&code_verifier=[redacted]" in seen
        assert '"access_token":"[redacted]"' in seen
        assert "OAuth HTTP 200" in seen


def test_a_step_of_oauth_is_shown_and_recorded_too(cli, tmp_path):
    with oauth_server(clients={"me": "my-own-secret"}) as server:
        words = ("--method", "oauth/client-credentials", "--server-url", server.url, "--verbose", "--record", "r.jsonl")
        run = cli(*words, "--oauth-client-id", "me", "--oauth-client-secret", "my-own-secret")
    assert run.code == 0, run.err
    token = json.loads(run.out)["access_token"]
    recorded = (tmp_path / "r.jsonl").read_text()
    for seen in (run.err, recorded):
        assert f"OAuth POST {server.origin}/token" in seen
        assert "OAuth HTTP 200" in seen
        assert token not in seen
        assert "my-own-secret" not in seen


@pytest.mark.parametrize("method", ["oauth/discover", "oauth/register"])
def test_a_closed_port_is_told_as_that(cli, method):
    with oauth_server() as server:
        url = server.url
    extra = ("--client-name", "me", "--redirect-uri", "http://127.0.0.1:1/") if method == "oauth/register" else ()
    run = cli("--method", method, "--server-url", url, *extra)
    assert run.code == 1
    assert "error: cannot connect to 127.0.0.1:" in run.err
    assert "metadata" not in run.err


def test_an_authorization_server_at_a_closed_port_is_told_as_that(cli):
    with oauth_server() as gone:
        pass
    with oauth_server(resource_metadata={"authorization_servers": [gone.origin]}) as server:
        run = cli(server.url, *LIST, "--oauth")
    assert run.code == 1
    assert f"the authorization server {gone.origin} cannot be reached: cannot connect to" in run.err


@pytest.mark.parametrize("limit", ["--timeout", "--request-timeout"])
@pytest.mark.parametrize(
    ("path", "waits"),
    [
        ("/token", "POST {origin}/token was not answered"),
        ("/.well-known/oauth-authorization-server", "GET {origin}/.well-known/oauth-authorization-server was not"),
    ],
)
def test_a_time_limit_names_the_step_of_oauth_that_was_not_answered(cli, limit, path, waits):
    released = threading.Event()
    with oauth_server(clients={"me": "my-own-secret"}, instead={path: lambda _: released.wait(20)}) as server:
        who = ("--oauth-client-id", "me", "--oauth-client-secret", "my-own-secret")
        words = ("--oauth", "--oauth-grant", "client_credentials", *who, limit, "500ms")
        run = cli(server.url, *LIST, *words)
        released.set()
    assert run.code == 124
    assert f"within 0.5 s: OAuth: {waits.format(origin=server.origin)}" in run.err
    assert "initialize" not in run.err


def test_a_time_limit_names_the_browser_that_is_waited_for(cli):
    with oauth_server() as server:
        run = cli(server.url, *LIST, "--oauth", "--timeout", "500ms")
    assert run.code == 124
    assert "OAuth: the authorization in the browser did not end" in run.err


def test_the_time_limit_of_a_step_names_what_was_not_answered(cli):
    released = threading.Event()
    with oauth_server(instead={"/mcp": lambda _: released.wait(20)}) as server:
        run = cli("--method", "oauth/discover", "--server-url", server.url, "--timeout", "500ms")
        released.set()
    assert run.code == 124
    assert f"error: no result within 0.5 s: GET {server.url} was not answered" in run.err


class TestWithoutAUser:
    """--oauth --no-interactive: what needs no user is done, and all else fails at once."""

    def test_what_only_a_user_can_do_fails_at_once_and_says_what_to_do(self, cli):
        with oauth_server() as server:
            run = cli(server.url, *LIST, "--oauth", "--no-interactive")
        assert run.code == 1
        assert "a user must authorize this in a browser" in run.err
        assert "--oauth-refresh-token" in run.err
        assert "open this URL" not in run.err
        assert server.paths("register") == []

    def test_a_refresh_token_is_used(self, cli):
        with oauth_server(clients={"me": None}, refresh_tokens={"my-refresh-token"}) as server:
            token = ("--oauth-client-id", "me", "--oauth-refresh-token", "my-refresh-token")
            run = cli(server.url, *LIST, "--oauth", "--no-interactive", "--verbose", *token)
        assert run.code == 0, run.err
        assert "my-refresh-token" not in run.err

    def test_a_refresh_token_goes_to_no_server_that_the_user_did_not_name(self, cli):
        with (
            oauth_server(clients={"me": None}, refresh_tokens={"my-refresh-token"}) as other,
            oauth_server(resource_metadata={"authorization_servers": [other.origin]}) as server,
        ):
            token = ("--oauth-client-id", "me", "--oauth-refresh-token", "my-refresh-token")
            run = cli(server.url, *LIST, "--oauth", "--no-interactive", *token)
        assert run.code == 1
        assert f"--oauth-issuer {other.origin} allows it" in run.err
        assert other.forms == []

    def test_a_refresh_token_that_is_no_longer_good_ends_in_the_same_error(self, cli):
        with oauth_server(clients={"me": None}) as server:
            token = ("--oauth-client-id", "me", "--oauth-refresh-token", "my-refresh-token")
            run = cli(server.url, *LIST, "--oauth", "--no-interactive", *token)
        assert run.code == 1
        assert "invalid_grant" in run.err
        assert "a user must authorize this in a browser" in run.err

    def test_a_token_that_is_kept_is_used(self, consenting, cli):
        with oauth_server() as server:
            assert consenting(server.url, *LIST, "--token-store", "tokens.json")[0] == 0
            server.tokens.clear()  # it has expired; the refresh token is good
            run = cli(server.url, *LIST, "--oauth", "--no-interactive", "--token-store", "tokens.json")
        assert run.code == 0, run.err

    @pytest.mark.parametrize("offered", [["authorization_code", "client_credentials"], ["authorization_code"]])
    def test_the_credentials_of_the_client_are_used_where_the_server_offers_that(self, cli, offered):
        metadata = {"grant_types_supported": offered}
        with oauth_server(clients={"me": "my-own-secret"}, server_metadata=metadata) as server:
            who = ("--oauth-client-id", "me", "--oauth-client-secret", "my-own-secret")
            run = cli(server.url, *LIST, "--oauth", "--no-interactive", *who)
        assert run.code == (0 if len(offered) == 2 else 1), run.err


def test_the_url_for_the_user_is_a_step_of_its_own(cli):
    redirect = "http://127.0.0.1:1/callback"
    with oauth_server(clients={"me": None}) as server:
        who = ("--server-url", server.url, "--oauth-client-id", "me", "--redirect-uri", redirect)
        run = cli("--method", "oauth/authorize-url", *who, "--oauth-scope", "read write")
        assert run.code == 0, run.err
        made = json.loads(run.out)
        answer = asyncio.run(browse(made["url"]))
        code = parse_qs(urlsplit(answer).query)
        assert code["state"] == [made["state"]]
        assert server.authorizations[0]["scope"] == "read write"
        assert server.authorizations[0]["resource"] == server.url
        exchange = ("--oauth-code", code["code"][0], "--oauth-code-verifier", made["code_verifier"])
        token = cli("--method", "oauth/token", *who, *exchange)
        assert token.code == 0, token.err
        assert json.loads(token.out)["access_token"] in server.tokens
        assert cli("--method", "oauth/authorize-url", *who).out != run.out
