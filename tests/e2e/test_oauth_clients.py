"""Who we are to an authorization server, what we keep of what it gives us, and what is never shown."""

import asyncio
import base64
import json
import os
import socket
import stat
import sys
import traceback
from urllib.parse import urlsplit

import pytest
from tests.e2e.authorizing import authorizing, browse, refused
from tests.servers.oauth_server import oauth_server

from mcp_conductor.errors import TransportError, UsageError
from mcp_conductor.transport.authorization import OAuth

CONFIDENTIAL = OAuth(client_id="me", client_secret="my secret: 100%")
MACHINE = OAuth(client_id="me", client_secret="my secret: 100%", grant="client_credentials")


async def test_a_new_authorization_server_gets_a_new_registration():
    with oauth_server() as first, oauth_server() as second:
        async with authorizing(first) as (_, request):
            await request()
            first.resource_metadata = {"authorization_servers": [second.issuer]}
            first.tokens = second.tokens
            assert await request() == 200
    assert len(first.registrations) == len(second.registrations) == 1
    assert [form["grant_type"] for form in second.forms] == ["authorization_code"]


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
async def test_the_registration_asks_for_a_way_to_authenticate_that_the_server_knows(method):
    with oauth_server(server_metadata={"token_endpoint_auth_methods_supported": [method]}) as server:
        async with authorizing(server) as (_, request):
            assert await request() == 200
    assert server.registrations[0]["token_endpoint_auth_method"] == method
    assert (server.basics[0] is not None) == (method == "client_secret_basic")


async def test_a_client_that_is_known_beforehand_is_not_registered():
    with oauth_server(clients={"me": CONFIDENTIAL.client_secret}) as server:
        async with authorizing(server, settings=CONFIDENTIAL) as (_, request):
            assert await request() == 200
    assert server.registrations == []
    assert server.basics == [("me", CONFIDENTIAL.client_secret)]


@pytest.mark.parametrize("supported", [True, False])
async def test_a_client_metadata_document_is_used_where_the_server_takes_one(supported):
    settings = OAuth(client_metadata_url="https://conductor.example/client.json")
    with oauth_server(server_metadata={"client_id_metadata_document_supported": supported}) as server:
        async with authorizing(server, settings=settings) as (_, request):
            assert await request() == 200
    assert (server.authorizations[0]["client_id"] == settings.client_metadata_url) == supported


@pytest.mark.parametrize("url", ["http://conductor.example/client.json", "https://conductor.example/"])
async def test_a_client_metadata_document_must_be_an_https_url_with_a_path(url):
    with oauth_server(server_metadata={"client_id_metadata_document_supported": True}) as server:
        await refused(server, UsageError, settings=OAuth(client_metadata_url=url))
    assert server.authorizations == []


async def test_a_registration_without_a_client_id_is_an_error():
    with oauth_server(registration={"client_id": None}) as server:
        await refused(server)
    assert server.authorizations == []


async def test_a_client_that_was_forgotten_by_its_server_is_registered_again():
    with oauth_server() as server:
        async with authorizing(server) as (_, request):
            await request()
            server.tokens.clear()
            server.clients["client-1"] = "another secret"
            assert await request() == 200
    assert len(server.registrations) == 2


async def test_a_server_without_registration_needs_a_client_id():
    with oauth_server(server_metadata={"registration_endpoint": None}) as server:
        await refused(server, UsageError)


async def test_client_credentials_need_no_browser():
    settings = OAuth(**{**_fields(MACHINE), "scopes": ("read",)})
    with oauth_server(clients={"me": MACHINE.client_secret}) as server:
        async with authorizing(server, settings=settings, authorize=None) as (_, request):
            assert await request() == 200
    grant = {"grant_type": "client_credentials", "scope": "read", "resource": server.url, "client_id": "me"}
    assert server.forms == [grant]


async def test_client_credentials_without_credentials_are_refused():
    with oauth_server() as server:
        await refused(server, UsageError, settings=OAuth(grant="client_credentials"))
    assert server.forms == []


@pytest.mark.parametrize("algorithm", ["ES256", "RS256"])
async def test_a_private_key_signs_who_we_are(tmp_path, algorithm):
    file, verify = _key(tmp_path, algorithm)
    settings = OAuth(client_id="me", grant="client_credentials", private_key=str(file))
    with oauth_server() as server:
        async with authorizing(server, settings=settings) as (_, request):
            assert await request() == 200
    header, claims, signature = server.forms[0]["client_assertion"].split(".")
    verify(_decoded(signature), f"{header}.{claims}".encode())
    assert json.loads(_decoded(header))["alg"] == algorithm
    assert json.loads(_decoded(claims))["aud"] == server.issuer


async def test_a_private_key_without_cryptography_is_an_error_that_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    settings = OAuth(client_id="me", grant="client_credentials", private_key=str(tmp_path / "key.pem"))
    with oauth_server() as server:
        error = await refused(server, UsageError, settings=settings)
    assert error.hint == "pip install 'mcp-conductor[jwt]'"


async def test_a_key_that_does_not_fit_the_algorithm_is_refused(tmp_path):
    file, _ = _key(tmp_path, "ES256")
    settings = OAuth(client_id="me", grant="client_credentials", private_key=str(file), signing_alg="RS256")
    with oauth_server() as server:
        await refused(server, UsageError, settings=settings)
    assert server.forms == []


@pytest.mark.parametrize("content", [None, "s3cret, but no key"])
async def test_a_file_without_a_key_is_an_error_that_does_not_quote_it(tmp_path, content):
    pytest.importorskip("cryptography")
    file = tmp_path / "key.pem"
    if content is not None:
        file.write_text(content)
    settings = OAuth(client_id="me", grant="client_credentials", private_key=str(file))
    with oauth_server() as server:
        error = await refused(server, UsageError, settings=settings)
    assert "s3cret" not in "".join(traceback.format_exception(error))


async def test_tokens_are_kept_in_a_file_that_only_the_owner_can_read(tmp_path):
    store = tmp_path / "new" / "tokens.json"
    settings = OAuth(store=str(store))
    with oauth_server() as server:
        async with authorizing(server, settings=settings) as (_, request):
            await request()
        assert stat.S_IMODE(store.stat().st_mode) == 0o600
        assert os.listdir(store.parent) == ["tokens.json"]
        async with authorizing(server, settings=settings) as (_, request):
            assert await request() == 200
            server.tokens.clear()
            assert await request() == 200
    assert len(server.authorizations) == len(server.registrations) == 1
    assert list(json.loads(store.read_text())["servers"][server.url]["issuers"]) == [server.issuer]


async def test_a_file_that_holds_something_else_is_neither_used_nor_overwritten(tmp_path):
    store = tmp_path / "tokens.json"
    store.write_text("my diary")
    with oauth_server() as server, pytest.raises(UsageError):
        async with authorizing(server, settings=OAuth(store=str(store))):
            pass
    assert store.read_text() == "my diary"


async def test_a_file_that_cannot_be_written_is_an_error_without_the_tokens(tmp_path):
    settings = OAuth(client_id="me", store=str(tmp_path / "tokens.json"))
    with oauth_server() as server:
        async with authorizing(server, settings=settings) as (_, request):
            (tmp_path / "tokens.json").mkdir()
            with pytest.raises(UsageError) as caught:
                await request()
    assert "access-1" not in "".join(traceback.format_exception(caught.value))
    assert sorted(os.listdir(tmp_path)) == ["tokens.json"]


async def test_the_browser_comes_back_to_a_page_on_the_loopback_and_gets_an_answer():
    pages = []

    async def visit(line):
        if "/authorize?" not in line:
            return
        redirect = await browse(line.split()[-1])
        pages.append(await browse(redirect.partition("?")[0] + "?neither=code"))
        pages.append(await browse(redirect))

    with oauth_server() as server:
        visits = []
        shown = _Lines(lambda line: visits.append(asyncio.ensure_future(visit(line))))
        async with authorizing(server, authorize=None, shown=shown) as (_, request):
            assert await request() == 200
            await asyncio.wait_for(asyncio.gather(*visits), 5)
    assert [page.split()[1] for page in pages] == ["400", "200"]
    assert "close this window" in pages[1]
    assert urlsplit(server.authorizations[0]["redirect_uri"]).hostname == "127.0.0.1"


async def test_a_browser_that_never_comes_back_is_not_waited_for_forever():
    with oauth_server() as server:
        await refused(server, authorize=None, settings=OAuth(consent_seconds=0.05))


async def test_a_port_that_is_taken_is_an_error_before_the_user_is_bothered():
    with oauth_server() as server, socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        await refused(server, UsageError, authorize=None, settings=OAuth(redirect_port=port))
    assert server.registrations == []


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": "invalid_grant", "error_description": "CODE is bad, so is my secret: 100%"}),
        (200, {"error": "invalid_grant", "error_description": "my%20secret%3A%20100%25 \u001b[31m CODE"}),
        (200, {"token_type": "bearer", "refresh_token": "CODE"}),
        (200, {"access_token": "CODE", "token_type": "mac"}),
        (200, {"access_token": "CODE\r\nHost: 100%", "token_type": "bearer"}),
        (500, "CODE my secret: 100%"),
    ],
)
async def test_no_error_repeats_a_code_or_a_secret(status, body):
    with oauth_server(clients={"me": CONFIDENTIAL.client_secret}, token_answer=(status, body)) as server:
        error = await refused(server, settings=CONFIDENTIAL)
    text = "".join(traceback.format_exception(error)) + repr(error) + str(error.hint)
    assert "code-1" not in text
    assert "100%" not in text
    assert "\u001b" not in text


async def test_no_setting_and_no_challenge_shows_a_secret(tmp_path):
    shown = []
    with oauth_server() as server:
        async with authorizing(server, shown=shown) as (authorization, request):
            await request()
            server.takes_tokens = False
            server.challenge = 'Bearer error="invalid_token", error_description="access-1 is bad, refresh-1 too"'
            with pytest.raises(TransportError) as caught:
                await request()
    assert {"access-1", "refresh-1"} <= authorization.secrets
    assert "access-1" not in str(caught.value) + str(shown)
    assert "100%" not in repr(CONFIDENTIAL)


class _Lines(list):
    """Lines that a callback reacts to."""

    def __init__(self, react):
        self.react = react

    def append(self, line):
        self.react(line)


def _fields(settings):
    return {name: getattr(settings, name) for name in OAuth.__dataclass_fields__}


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _key(tmp_path, algorithm):
    """A private key in a file, and the check of its signatures as a JWT has them."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils
    from cryptography.hazmat.primitives.hashes import SHA256

    def verify(signature, data):
        if algorithm == "RS256":
            key.public_key().verify(signature, data, padding.PKCS1v15(), SHA256())
            return
        numbers = int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")
        key.public_key().verify(utils.encode_dss_signature(*numbers), data, ec.ECDSA(SHA256()))

    key = ec.generate_private_key(ec.SECP256R1()) if algorithm == "ES256" else rsa.generate_private_key(65537, 2048)
    file = tmp_path / "key.pem"
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    file.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return file, verify
