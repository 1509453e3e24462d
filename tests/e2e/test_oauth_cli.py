"""The steps of OAuth that mcp-cli takes one by one."""

import pytest
from tests.e2e.authorizing import step
from tests.servers.oauth_server import SERVER_METADATA, oauth_server

from mcp_conductor.errors import MethodError, TransportError, UsageError
from mcp_conductor.protocol.oauth_requests import code_challenge

CLIENT = ("--oauth-client-id", "me", "--oauth-client-secret", "my secret: 100%")
REDIRECT = "http://127.0.0.1:1/callback"


async def test_discover_prints_the_metadata_as_it_is():
    with oauth_server(server_metadata={"extra": [1]}) as server:
        assert await step("oauth/discover", server.url) == server.described()


@pytest.mark.parametrize("path", [SERVER_METADATA, SERVER_METADATA + "/t", "/t" + SERVER_METADATA])
async def test_discover_takes_the_url_of_the_authorization_server_too(path):
    with oauth_server(resource_metadata=None, server_metadata_path=path) as server:
        assert await step("oauth/discover", f"{server.origin}/t") == server.described()


async def test_discover_invents_nothing():
    with oauth_server(resource_metadata=None, server_metadata=None) as server, pytest.raises(TransportError):
        await step("oauth/discover", server.url)


async def test_register_prints_the_client():
    with oauth_server() as server:
        client = await step(
            "oauth/register", server.url, "--client-name", "Me", "--redirect-uri", REDIRECT, "--oauth-scope", "a b"
        )
    assert client["client_id"] == "client-1"
    assert server.registrations[0]["redirect_uris"] == [REDIRECT]
    assert server.registrations[0]["scope"] == "a b"


async def test_token_exchanges_a_code():
    with oauth_server(clients={"me": CLIENT[3]}) as server:
        server.codes["c"] = {"redirect_uri": REDIRECT, "code_challenge": code_challenge("v"), "scope": "a"}
        grant = ("--oauth-code", "c", "--oauth-code-verifier", "v", "--redirect-uri", REDIRECT)
        answer = await step("oauth/token", server.url, *CLIENT, *grant)
    assert answer["access_token"] == "access-1"
    assert answer["refresh_token"] == "refresh-1"
    assert server.forms[0]["resource"] == server.url


async def test_refresh_exchanges_a_refresh_token():
    with oauth_server(clients={"me": CLIENT[3]}, refresh_tokens={"r"}) as server:
        answer = await step("oauth/refresh", server.url, *CLIENT, "--oauth-refresh-token", "r")
    assert answer["access_token"] == "access-1"
    assert server.basics == [("me", CLIENT[3])]


async def test_client_credentials_bring_a_token_of_our_own():
    with oauth_server(clients={"me": CLIENT[3]}) as server:
        answer = await step("oauth/client-credentials", server.url, *CLIENT, "--oauth-scope", "a", "--oauth-scope", "b")
    assert answer["access_token"] == "access-1"
    assert server.forms[0]["scope"] == "a b"


async def test_the_authorization_server_itself_is_no_resource():
    with oauth_server(clients={"me": CLIENT[3]}, resource_metadata=None) as server:
        await step("oauth/client-credentials", server.origin, *CLIENT)
    assert "resource" not in server.forms[0]


async def test_an_error_of_the_authorization_server_is_printed_with_its_answer():
    with oauth_server(clients={"me": CLIENT[3]}) as server, pytest.raises(MethodError) as caught:
        await step("oauth/refresh", server.url, *CLIENT, "--oauth-refresh-token", "stale")
    assert caught.value.code == "invalid_grant"
    assert caught.value.error["data"] == {"error": "invalid_grant", "error_description": "that grant is not good"}


async def test_a_server_url_must_be_a_url():
    with pytest.raises(UsageError):
        await step("oauth/discover", "localhost:8000/mcp")
