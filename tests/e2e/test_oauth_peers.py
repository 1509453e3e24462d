"""Authorization servers that others wrote: the official SDKs', FastMCP's and oidc-provider give us tokens, and take them."""

import json
import sys
from pathlib import Path

import pytest
from tests.e2e.authorizing import browse, step
from tests.e2e.checks.real_servers import PEERS as NODE_PEERS, node
from tests.e2e.http_manners import assert_failed
from tests.e2e.peer_servers import free_port, running

from mcp_conductor.protocol.oauth import redirect_answer
from mcp_conductor.protocol.oauth_requests import OAuthClient, authorization_url

PEERS = (sys.executable, str(Path(__file__).parent.parent / "servers" / "oauth_peers.py"))
REDIRECT = "http://127.0.0.1:1/callback"
LIST = ("--method", "tools/list")
WHO = ("--method", "tools/call", "--tool-name", "whoami")

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module", params=["sdk", "fastmcp"])
def origin(request):
    port = str(free_port())
    with running([*PEERS, request.param, port], "Uvicorn running"):
        yield f"http://127.0.0.1:{port}"


def test_a_login_brings_a_token_that_the_server_takes(consenting, origin):
    code, out, err = consenting(f"{origin}/mcp", *LIST)
    assert code == 0, err
    assert json.loads(out)["tools"][0]["name"] == "add"


async def test_a_code_and_a_refresh_token_are_exchanged_step_by_step(origin):
    url = f"{origin}/mcp"
    metadata = await step("oauth/discover", url)
    client = await step("oauth/register", url, "--client-name", "Me", "--redirect-uri", REDIRECT)
    who = ("--oauth-client-id", client["client_id"], "--oauth-client-secret", client["client_secret"])
    verifier = "v" * 43
    ask = authorization_url(
        metadata, OAuthClient(client["client_id"]), redirect_uri=REDIRECT, verifier=verifier, state="s"
    )
    code = redirect_answer(await browse(ask), state="s")["code"]
    exchange = ("--oauth-code", code, "--oauth-code-verifier", verifier, "--redirect-uri", REDIRECT)
    token = await step("oauth/token", url, *who, *exchange)
    assert (await step("oauth/refresh", url, *who, "--oauth-refresh-token", token["refresh_token"]))["access_token"]


@pytest.fixture(scope="module")
def oidc():
    """A server of the TypeScript SDK that wants tokens of oidc-provider."""
    if node() is None:
        pytest.skip("node is not there")
    port = str(free_port())
    with running([node(), str(NODE_PEERS / "servers" / "oidc.mjs"), port], "Listening"):
        yield f"http://127.0.0.1:{port}/mcp"


def test_the_401_of_the_typescript_sdk_is_told_with_its_reason_and_a_remedy(cli, oidc):
    run = cli(oidc, *LIST)
    assert_failed(run, "status 401 Unauthorized: invalid_token: Missing Authorization header", "--token", "--oauth")
    run = cli(oidc, *LIST, "--token", "stale-token")
    assert_failed(run, "401 Unauthorized: invalid_token: This token is not known here", "does not accept the token")


def test_a_login_at_an_openid_provider_brings_a_token_that_the_server_takes(consenting, cli, oidc):
    code, out, err = consenting(oidc, *WHO, "--token-store", "tokens.json")
    assert code == 0, err
    run = cli(oidc, *WHO, "--oauth", "--token-store", "tokens.json")
    assert (run.code, run.out) == (0, out), run.err


def test_an_expired_token_is_renewed_without_the_user(consenting, cli, oidc, tmp_path):
    code, out, err = consenting(oidc, *WHO, "--token-store", "tokens.json")
    assert code == 0, err
    store = tmp_path / "tokens.json"
    token = find(json.loads(store.read_text()), "access_token")
    store.write_text(store.read_text().replace(token, "expired"))
    run = cli(oidc, *WHO, "--oauth", "--token-store", "tokens.json", "--timeout", "10s")
    assert (run.code, run.out) == (0, out), run.err
    assert "open this URL" not in run.err


@pytest.mark.parametrize("name", ["basic", "post"])
def test_the_client_authenticates_by_the_method_that_is_chosen(cli, oidc, name):
    who = ("--oauth-client-id", name, "--oauth-client-secret", f"the secret of {name}: 100%")
    grant = ("--oauth", "--oauth-grant", "client_credentials", "--oauth-client-auth", f"client_secret_{name}")
    run = cli(oidc, *WHO, *who, *grant)
    assert run.code == 0, run.err
    assert json.loads(run.out)["content"][0]["text"] == name


def find(value, name):
    """The first member called NAME, however deep it is."""
    if isinstance(value, dict):
        inner = (find(each, name) for each in value.values())
        return value.get(name) or next((found for found in inner if found is not None), None)
    return None
