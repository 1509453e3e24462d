"""Authorization servers that others wrote: the official SDK's and FastMCP's give us tokens, and take them."""

import json
import sys
from pathlib import Path

import pytest
from tests.e2e.authorizing import browse, step
from tests.e2e.peer_servers import free_port, running

from mcp_conductor.protocol.oauth import redirect_answer
from mcp_conductor.protocol.oauth_requests import OAuthClient, authorization_url

PEERS = (sys.executable, str(Path(__file__).parent.parent / "servers" / "oauth_peers.py"))
REDIRECT = "http://127.0.0.1:1/callback"
LIST = ("--method", "tools/list")

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
