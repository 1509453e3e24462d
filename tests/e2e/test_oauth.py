"""From a 401 to a token, against a real authorization server: where we look, what we refuse, which scopes we ask for."""

import asyncio
import socket

import pytest
from tests.e2e.authorizing import HANDSHAKE, MODERN, authorizing, refused
from tests.servers.oauth_server import RESOURCE_METADATA, SERVER_METADATA, oauth_server

from mcp_conductor.transport import oauth_endpoints
from mcp_conductor.transport.oauth_endpoints import OAuthRefused


async def test_a_401_leads_to_a_token_through_registration_pkce_and_resource():
    with oauth_server() as server:
        async with authorizing(server) as (_, request):
            assert await request() == 200
    assert server.registrations[0]["application_type"] == "native"
    assert server.registrations[0]["token_endpoint_auth_method"] == "none"
    assert server.authorizations[0]["code_challenge_method"] == "S256"
    assert server.authorizations[0]["resource"] == server.forms[0]["resource"] == server.url


async def test_a_401_without_a_challenge_leads_to_a_token_too():
    with oauth_server(challenge=None) as server:
        async with authorizing(server) as (_, request):
            assert await request() == 200


async def test_the_requests_for_metadata_name_the_revision():
    with oauth_server() as server:
        async with authorizing(server) as (_, request):
            await request()
    assert server.versions == [MODERN, MODERN]


async def test_metadata_is_looked_for_where_the_challenge_says_then_for_the_path_then_for_the_host():
    with oauth_server(resource_metadata_path=RESOURCE_METADATA) as server:
        server.challenge = 'Bearer resource_metadata="{origin}/elsewhere"'
        async with authorizing(server) as (_, request):
            assert await request() == 200
    assert server.asked[1:4] == [
        ("GET", "/elsewhere"),
        ("GET", RESOURCE_METADATA + "/mcp"),
        ("GET", RESOURCE_METADATA),
    ]


async def test_an_issuer_with_a_path_is_looked_for_in_three_places():
    with oauth_server(issuer_path="/t", server_metadata_path="/t/.well-known/openid-configuration") as server:
        async with authorizing(server) as (_, request):
            assert await request() == 200
    assert server.asked[2:5] == [
        ("GET", SERVER_METADATA + "/t"),
        ("GET", "/.well-known/openid-configuration/t"),
        ("GET", "/t/.well-known/openid-configuration"),
    ]


@pytest.mark.parametrize("version", ["2025-03-26", HANDSHAKE])
async def test_a_server_without_any_metadata_has_the_default_endpoints(version):
    with oauth_server(resource_metadata=None, server_metadata=None, challenge="Bearer") as server:
        async with authorizing(server, version=version) as (_, request):
            assert await request() == 200
    assert server.paths("/register") == ["/register"]


async def test_the_first_revision_with_authorization_names_no_resource():
    with oauth_server(resource_metadata=None, challenge="Bearer") as server:
        async with authorizing(server, version="2025-03-26") as (_, request):
            assert await request() == 200
    assert "resource" not in server.authorizations[0]
    assert "resource" not in server.forms[0]


@pytest.mark.parametrize(
    ("screws", "version"),
    [
        ({"server_metadata": {"issuer": "https://elsewhere.example"}}, MODERN),
        ({"server_metadata": {"code_challenge_methods_supported": None}}, HANDSHAKE),
        ({"server_metadata": {"code_challenge_methods_supported": ["plain"]}}, "2025-06-18"),
        ({"server_metadata": None}, HANDSHAKE),
        ({"server_metadata": {"authorization_endpoint": "javascript:alert(1)"}}, HANDSHAKE),
        ({"server_metadata": {"authorization_endpoint": None}}, HANDSHAKE),
        ({"resource_metadata": {"resource": "https://elsewhere.example/mcp"}}, HANDSHAKE),
        ({"resource_metadata": {"authorization_servers": []}}, HANDSHAKE),
        ({"redirect_extra": {"state": "another"}}, HANDSHAKE),
        ({"redirect_extra": {"iss": "https://elsewhere.example"}}, MODERN),
        ({"server_metadata": {"authorization_response_iss_parameter_supported": True}}, MODERN),
        ({"server_metadata": {"authorization_response_iss_parameter_supported": True}}, HANDSHAKE),
        ({"redirect_extra": {"iss": "https://elsewhere.example"}}, "2025-03-26"),
    ],
)
async def test_an_authorization_server_that_cannot_be_trusted_gets_no_code(screws, version):
    with oauth_server(**screws) as server:
        await refused(server, version=version)
    assert server.forms == []


async def test_an_authorization_server_that_never_answers_is_not_waited_for_forever(monkeypatch):
    monkeypatch.setattr(oauth_endpoints, "REPLY_SECONDS", 0.05)
    with oauth_server() as server, socket.create_server(("127.0.0.1", 0)) as silent:
        server.resource_metadata = {"authorization_servers": [f"http://127.0.0.1:{silent.getsockname()[1]}"]}
        await refused(server)


async def test_an_authorization_server_that_is_not_there_is_an_error_that_names_it():
    with oauth_server() as server:
        server.resource_metadata = {"authorization_servers": ["http://127.0.0.1:1"]}
        error = await refused(server)
    assert "http://127.0.0.1:1 " in error.message


async def test_an_older_revision_only_remarks_on_a_lying_issuer():
    shown = []
    with oauth_server(server_metadata={"issuer": "https://elsewhere.example"}) as server:
        async with authorizing(server, version=HANDSHAKE, shown=shown) as (_, request):
            assert await request() == 200
    assert any("https://elsewhere.example" in line for line in shown)


async def test_an_older_revision_says_nothing_about_a_slash_at_the_end_of_the_issuer():
    shown = []
    with oauth_server() as server:
        server.server_metadata = {"issuer": f"{server.issuer}/"}
        async with authorizing(server, version=HANDSHAKE, shown=shown) as (_, request):
            assert await request() == 200
    assert shown == []


async def test_the_issuer_in_the_redirect_is_accepted_when_it_is_the_one_that_was_asked():
    with oauth_server(server_metadata={"authorization_response_iss_parameter_supported": True}) as server:
        server.redirect_extra = {"iss": server.issuer}
        async with authorizing(server) as (_, request):
            assert await request() == 200


async def test_a_user_who_says_no_is_an_error_with_the_servers_reason():
    with oauth_server(
        redirect_extra={"code": "", "error": "access_denied", "error_description": "not today"}
    ) as server:
        error = await refused(server, OAuthRefused)
    assert error.refusal.error == "access_denied"
    assert server.forms == []


async def test_the_scopes_of_the_challenge_count_more_than_those_that_the_resource_lists():
    with oauth_server(resource_metadata={"scopes_supported": ["read", "write"]}) as server:
        async with authorizing(server, version=HANDSHAKE) as (_, request):
            await request()
            server.tokens.clear()
            server.refresh_tokens.clear()
            server.challenge = 'Bearer scope="read"'
            await request()
    assert [asked["scope"] for asked in server.authorizations] == ["read write", "read"]


async def test_offline_access_is_asked_for_where_the_authorization_server_lists_it():
    with oauth_server(server_metadata={"scopes_supported": ["offline_access"]}) as server:
        async with authorizing(server) as (_, request):
            await request()
    assert server.authorizations[0]["scope"] == "offline_access"


async def test_a_403_for_want_of_scope_leads_to_a_token_with_the_earlier_scopes_and_the_new_ones():
    with oauth_server(challenge='Bearer scope="read"', needed_scopes=("read", "write")) as server:
        async with authorizing(server) as (_, request):
            assert await request() == 200
    assert [asked["scope"] for asked in server.authorizations] == ["read", "read write"]
    assert len(server.registrations) == 1


async def test_a_403_for_another_reason_is_not_ours_to_mend():
    with oauth_server() as server:
        async with authorizing(server) as (authorization, _):
            assert not await authorization.challenged(403, None)
            assert not await authorization.challenged(403, 'Bearer error="invalid_token"')
    assert server.asked == []


async def test_a_server_that_takes_no_token_is_given_up_after_three():
    with oauth_server(takes_tokens=False) as server:
        await refused(server)
    assert len(server.tokens) == 3


async def test_a_server_that_wants_more_scope_without_end_is_given_up_after_three():
    with oauth_server(needed_scopes=("never",)) as server:
        server.token = lambda form, basic: server.issue("", refreshable=False)
        await refused(server)
    assert len(server.authorizations) == 3


async def test_a_token_that_was_taken_and_expired_is_not_held_against_the_server():
    with oauth_server() as server:
        async with authorizing(server) as (authorization, request):
            for _ in range(6):
                assert await request() == 200
                authorization.accepted()
                server.tokens.clear()
    assert [form["grant_type"] for form in server.forms] == ["authorization_code", *["refresh_token"] * 5]


async def test_several_requests_at_once_share_one_authorization():
    with oauth_server() as server:
        async with authorizing(server) as (authorization, _):
            challenges = [authorization.challenged(401, None) for _ in range(5)]
            assert all(await asyncio.gather(*challenges))
    assert len(server.authorizations) == 1


async def test_a_refresh_token_is_used_before_the_user_is_asked_again():
    with oauth_server() as server:
        async with authorizing(server) as (_, request):
            await request()
            server.tokens.clear()
            assert await request() == 200
    assert [form["grant_type"] for form in server.forms] == ["authorization_code", "refresh_token"]
    assert server.forms[1]["resource"] == server.url


async def test_a_token_endpoint_in_trouble_does_not_cost_the_refresh_token():
    with oauth_server() as server:
        async with authorizing(server) as (_, request):
            await request()
            server.tokens.clear()
            server.token_answer = (503, "come back later")
            with pytest.raises(OAuthRefused):
                await request()
            server.token_answer = None
            assert await request() == 200
    assert len(server.authorizations) == 1


async def test_a_refresh_token_that_is_no_longer_good_leads_to_a_new_authorization():
    with oauth_server() as server:
        async with authorizing(server) as (_, request):
            await request()
            server.tokens.clear()
            server.refresh_tokens.clear()
            assert await request() == 200
    assert len(server.authorizations) == 2
