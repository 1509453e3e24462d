"""Where the client's credentials go, on real servers: another host is another address of this machine."""

import asyncio
import socket
from contextlib import contextmanager

import pytest
from tests.e2e.authorizing import authorizing, refused, step
from tests.servers.oauth_server import oauth_server

from mcp_conductor.protocol.oauth_trust import Trust, Untrusted
from mcp_conductor.transport.authorization import OAuth
from mcp_conductor.transport.http_client import HttpClient
from mcp_conductor.transport.oauth_http import OAuthHttp

SECRET = "canary-secret-100%"
WHO = {"client_id": "me", "client_secret": SECRET}


@contextmanager
def apart():
    """A server on one address, and its authorization server on another."""
    with oauth_server() as server, oauth_server(host="127.0.0.2", clients={"me": SECRET}) as elsewhere:
        server.resource_metadata = {"authorization_servers": [elsewhere.issuer]}
        server.tokens = elsewhere.tokens
        yield server, elsewhere


def machine(**more):
    return OAuth(**WHO, grant="client_credentials", **more)


def test_the_secret_is_not_sent_to_whom_the_metadata_names_and_the_error_says_how_to_allow_it(cli):
    with apart() as (server, elsewhere):
        words = ("--oauth", "--oauth-grant", "client_credentials", "--oauth-client-id", "me")
        secret = ("--oauth-client-secret", SECRET)
        run = cli(server.url, "--method", "tools/list", *words, *secret)
        assert run.code == 1
        assert f"the server's metadata names {elsewhere.issuer} as issuer" in run.err
        assert f"--oauth-issuer {elsewhere.issuer} allows it" in run.err
        assert elsewhere.forms == []
        run = cli(server.url, "--method", "tools/list", *words, *secret, "--oauth-issuer", elsewhere.issuer)
        assert run.code == 0, run.err


async def test_a_browser_is_not_opened_for_a_secret_that_could_not_be_sent():
    with apart() as (server, elsewhere):
        await refused(server, Untrusted, settings=OAuth(**WHO))
    assert elsewhere.authorizations == elsewhere.forms == []


async def test_a_client_without_secret_may_log_in_anywhere():
    with apart() as (server, _):
        async with authorizing(server) as (_, request):
            assert await request() == 200


async def test_an_issuer_that_had_the_secret_before_may_have_it_again(tmp_path):
    store = str(tmp_path / "tokens.json")
    with apart() as (server, elsewhere):
        for settings in (machine(issuer=elsewhere.issuer, store=store), machine(store=store)):
            async with authorizing(server, settings=settings) as (_, request):
                assert await request() == 200
            elsewhere.tokens.clear()
        other = OAuth(client_id="other", client_secret=SECRET, grant="client_credentials", store=store)
        await refused(server, Untrusted, settings=other)
    assert len(elsewhere.forms) == 2


async def test_a_login_without_secret_does_not_vouch_for_the_secret(tmp_path):
    store = str(tmp_path / "tokens.json")
    with apart() as (server, elsewhere):
        elsewhere.clients["me"] = None
        async with authorizing(server, settings=OAuth(client_id="me", store=store)) as (_, request):
            assert await request() == 200
        elsewhere.tokens.clear()
        await refused(server, Untrusted, settings=machine(store=store))
    assert elsewhere.basics == [None]


async def test_an_issuer_that_is_named_must_be_one_of_the_servers():
    with apart() as (server, elsewhere):
        await refused(server, settings=machine(issuer="http://127.0.0.3:1"))
    assert elsewhere.received == []


async def test_an_issuer_that_is_named_is_enough_where_the_server_names_none():
    with apart() as (server, elsewhere):
        server.resource_metadata = None
        async with authorizing(server, settings=machine(issuer=elsewhere.issuer)) as (_, request):
            assert await request() == 200


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("oauth/client-credentials", ()),
        ("oauth/refresh", ("--oauth-refresh-token", "r")),
        ("oauth/token", ("--oauth-code", "c", "--oauth-code-verifier", "v")),
    ],
)
async def test_the_single_steps_keep_secrets_codes_and_refresh_tokens_too(method, words):
    who = ("--oauth-client-id", "me", "--oauth-client-secret", SECRET)
    with apart() as (server, elsewhere):
        with pytest.raises(Untrusted):
            await step(method, server.url, *who, *words)
        assert elsewhere.forms == []
        if method == "oauth/client-credentials":
            assert await step(method, server.url, *who, *words, "--oauth-issuer", elsewhere.issuer)


async def test_a_server_on_its_own_host_cannot_speak_for_another_issuer(tmp_path):
    store = str(tmp_path / "tokens.json")
    with apart() as (server, elsewhere):
        async with authorizing(server, settings=OAuth(store=store)) as (_, request):
            assert await request() == 200
        elsewhere.tokens.clear()
        # Later the server says that it is that issuer itself, and wants what belongs there.
        server.resource_metadata = None
        server.server_metadata = {"issuer": elsewhere.issuer}
        async with authorizing(server, version="2025-11-25", settings=OAuth(store=store)) as (_, request):
            await request()
    assert all("refresh-1" not in text for text in server.received)


@pytest.fixture
async def resolves(monkeypatch):
    """Names resolve to these addresses, another list each time; how often they were asked for."""

    def install(*answers):
        asked, left = [], list(answers)

        async def resolve(host, port, **_):
            asked.append(host)
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in left.pop(0)]

        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
        return asked

    return install


@pytest.fixture
async def web():
    """HTTP as a server at a URL may lead us."""
    clients = []

    def make(server_url):
        clients.append(HttpClient(environ={}))
        return OAuthHttp(clients[-1], Trust(server_url=server_url, allow_http=True))

    yield make
    for client in clients:
        await client.aclose()


async def test_a_name_that_leads_inside_is_not_connected_to(resolves, web):
    resolves(["127.0.0.1"])
    with oauth_server() as inside:
        with pytest.raises(Untrusted):
            async with web("https://mcp.example/mcp").open("GET", inside.url.replace("127.0.0.1", "as.example")):
                pass
        assert inside.received == []


async def test_all_addresses_of_a_name_must_be_good(resolves):
    def admits(_, address):
        if address != "127.0.0.2":
            raise Untrusted("no")

    resolves(["127.0.0.2", "127.0.0.1"])
    http = HttpClient(environ={})
    with oauth_server(host="127.0.0.2") as good:
        with pytest.raises(Untrusted):
            async with http.open("GET", good.url.replace("127.0.0.2", "as.example"), admits=admits):
                pass
        assert good.received == []
    await http.aclose()


async def test_a_name_is_resolved_once_and_the_address_that_was_checked_is_used(resolves, web):
    asked = resolves(["127.0.0.2"], ["127.0.0.1"])
    with oauth_server(host="127.0.0.2") as server:
        async with web(server.url).open("GET", server.url.replace("127.0.0.2", "as.example")) as response:
            assert response.status == 401
    assert asked == ["as.example"]


async def test_a_name_has_further_addresses_for_the_case_that_one_does_not_answer(resolves, web):
    resolves(["127.0.0.3", "127.0.0.2"])
    with oauth_server(host="127.0.0.2") as server:
        async with web(server.url).open("GET", server.url.replace("127.0.0.2", "as.example")) as response:
            assert response.status == 401


async def test_the_server_lives_where_its_connection_goes(resolves):
    http = HttpClient(environ={})
    with oauth_server() as server, oauth_server(host="127.0.0.2") as beside:
        resolves(["127.0.0.1"])
        url = server.url.replace("127.0.0.1", "mcp.example")
        web = OAuthHttp(http, Trust(server_url=url))
        with pytest.raises(Untrusted):
            web.check_url(beside.origin)
        await http.fetch("GET", url)
        assert http.peer(url) == "127.0.0.1"
        web.check_url(beside.origin)
    await http.aclose()


async def test_metadata_that_may_not_be_fetched_is_passed_over_with_a_remark():
    shown = []
    with oauth_server() as server:
        server.challenge = 'Bearer resource_metadata="http://as.example/metadata"'
        async with authorizing(server, shown=shown) as (_, request):
            assert await request() == 200
    assert any("http://as.example/metadata" in line and "is used instead" in line for line in shown)


async def test_a_redirect_of_the_server_does_not_take_the_token_along(cli):
    with oauth_server() as server, oauth_server(host="127.0.0.2") as elsewhere:
        server.tokens["access"] = ""

        def redirect(request):
            request.send_response(307)
            request.send_header("Location", elsewhere.url)
            request.send_header("Content-Length", "0")
            request.end_headers()

        server.instead["/mcp"] = redirect
        run = cli(server.url, "--method", "tools/list", "--token", "access")
    assert run.code == 1
    assert elsewhere.received == []
