"""The requests of OAuth, as they go out."""

import base64
import json
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from mcp_conductor.errors import TransportError, UsageError
from mcp_conductor.protocol.oauth import rules_of
from mcp_conductor.protocol.oauth_requests import (
    ASSERTION_SECONDS,
    OAuthClient,
    assertion,
    assertion_input,
    authorization_url,
    client_credentials_grant,
    code_challenge,
    code_grant,
    known_client,
    refresh_grant,
    registered_client,
    registration_request,
    resource_of,
    token_request,
)

METADATA = {
    "authorization_endpoint": "https://as.example/authorize",
    "token_endpoint": "https://as.example/token",
    "registration_endpoint": "https://as.example/register",
}
BASIC, POST, NONE = "client_secret_basic", "client_secret_post", "none"


def taking(*methods):
    return {**METADATA, "token_endpoint_auth_methods_supported": list(methods)}


def test_the_challenge_of_a_verifier_is_that_of_rfc_7636():
    assert (
        code_challenge("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk") == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
    )


def test_the_authorization_url_has_pkce_state_scope_and_resource():
    url = authorization_url(
        METADATA,
        OAuthClient("me"),
        redirect_uri="http://127.0.0.1:1/callback",
        verifier="v",
        state="s",
        scopes=["a", "b"],
        resource="https://mcp.example/mcp",
    )
    assert dict(parse_qsl(urlsplit(url).query)) == {
        "response_type": "code",
        "client_id": "me",
        "redirect_uri": "http://127.0.0.1:1/callback",
        "code_challenge": code_challenge("v"),
        "code_challenge_method": "S256",
        "state": "s",
        "scope": "a b",
        "resource": "https://mcp.example/mcp",
    }


def test_the_authorization_endpoint_keeps_its_own_query_and_loses_its_fragment():
    metadata = {"authorization_endpoint": "https://as.example/a?tenant=1#part"}
    url = urlsplit(authorization_url(metadata, OAuthClient("me"), redirect_uri="http://r", verifier="v", state="s"))
    assert parse_qs(url.query)["tenant"] == ["1"]
    assert "scope" not in parse_qs(url.query)
    assert url.fragment == ""


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        (
            code_grant("c", verifier="v", redirect_uri="http://r", resource="https://m"),
            {
                "grant_type": "authorization_code",
                "code": "c",
                "code_verifier": "v",
                "redirect_uri": "http://r",
                "resource": "https://m",
            },
        ),
        (
            code_grant("c", verifier="v", redirect_uri=None),
            {"grant_type": "authorization_code", "code": "c", "code_verifier": "v"},
        ),
        (refresh_grant("r"), {"grant_type": "refresh_token", "refresh_token": "r"}),
        (client_credentials_grant(scopes=["a", "b"]), {"grant_type": "client_credentials", "scope": "a b"}),
    ],
)
def test_a_grant_says_no_more_than_it_must(form, expected):
    assert form == expected


def test_basic_credentials_are_encoded_before_they_are_joined():
    request = token_request(METADATA, OAuthClient("a:b", "c d/100%", BASIC), {"x": "y"})
    header = dict(request.headers)["Authorization"].removeprefix("Basic ")
    assert base64.b64decode(header) == b"a%3Ab:c%20d%2F100%25"
    assert dict(parse_qsl(request.body.decode())) == {"x": "y", "client_id": "a:b"}


@pytest.mark.parametrize(
    ("client", "more"),
    [
        (OAuthClient("me", None, NONE), {"client_id": "me"}),
        (OAuthClient("me", "s&t", POST), {"client_id": "me", "client_secret": "s&t"}),
        (
            OAuthClient("me", None, "private_key_jwt"),
            {
                "client_id": "me",
                "client_assertion": "a.b.c",
                "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            },
        ),
    ],
)
def test_other_clients_authenticate_in_the_body(client, more):
    request = token_request(METADATA, client, {"x": "y"}, assertion="a.b.c")
    assert dict(parse_qsl(request.body.decode())) == {"x": "y", **more}
    assert "Authorization" not in dict(request.headers)


@pytest.mark.parametrize(
    ("metadata", "secret", "method"),
    [
        (METADATA, "s", BASIC),
        (taking(POST), "s", POST),
        (taking(POST, BASIC), "s", BASIC),
        (taking(BASIC), None, NONE),
    ],
)
def test_a_known_client_authenticates_as_the_server_likes_it(metadata, secret, method):
    assert known_client(metadata, "me", secret) == OAuthClient("me", secret, method)


def test_a_secret_that_the_server_has_no_use_for_is_an_error_without_the_secret():
    with pytest.raises(UsageError) as caught:
        known_client(taking("tls_client_auth"), "me", "s3cret")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(("method", "secret"), [(BASIC, "s"), (POST, "s"), (NONE, None), ("private_key_jwt", None)])
def test_a_method_that_the_user_chose_is_used_although_the_server_does_not_list_it(method, secret):
    client = known_client(taking("tls_client_auth"), "me", "s", has_key=True, method=method)
    assert client == OAuthClient("me", secret, method)


@pytest.mark.parametrize("method", [BASIC, POST, "private_key_jwt"])
def test_a_method_needs_its_secret_or_key(method):
    with pytest.raises(UsageError) as caught:
        known_client(METADATA, "me", method=method)
    assert caught.value.message.startswith(f"{method} needs a ")


def test_a_registration_asks_for_the_method_that_the_user_chose():
    request = registration_request(METADATA, client_name="Me", redirect_uris=["http://r"], method=POST)
    assert json.loads(request.body)["token_endpoint_auth_method"] == POST


def test_a_key_counts_more_than_a_secret():
    assert known_client(METADATA, "me", "s", has_key=True).auth_method == "private_key_jwt"


@pytest.mark.parametrize(
    ("metadata", "method"),
    [
        (METADATA, BASIC),
        (taking(BASIC, NONE), NONE),
        (taking(POST), POST),
        (taking("tls_client_auth"), NONE),
    ],
)
def test_a_registration_is_that_of_a_native_program(metadata, method):
    request = registration_request(metadata, client_name="Me", redirect_uris=["http://r"], scopes=["a", "b"])
    assert json.loads(request.body) == {
        "client_name": "Me",
        "redirect_uris": ["http://r"],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
        "token_endpoint_auth_method": method,
        "scope": "a b",
    }


def test_a_server_without_a_registration_endpoint_cannot_be_asked():
    with pytest.raises(TransportError):
        registration_request({}, client_name="Me", redirect_uris=["http://r"])


@pytest.mark.parametrize(
    ("answer", "client"),
    [
        ({"client_id": "c"}, OAuthClient("c")),
        ({"client_id": "c", "client_secret": "s"}, OAuthClient("c", "s", BASIC)),
        ({"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": POST}, OAuthClient("c", "s", POST)),
        ({"client_id": "c", "client_secret": "s", "token_endpoint_auth_method": "odd"}, OAuthClient("c", "s", BASIC)),
        ({"client_id": "c", "token_endpoint_auth_method": BASIC}, OAuthClient("c")),
        ({"client_id": ""}, None),
        ({"client_secret": "s"}, None),
    ],
)
def test_the_answer_to_a_registration_decides_how_the_client_authenticates(answer, client):
    assert registered_client(METADATA, answer) == client


@pytest.mark.parametrize(
    ("version", "described", "named"),
    [
        ("2025-03-26", False, None),
        ("2025-03-26", True, "https://m"),
        ("2025-06-18", False, "https://m"),
        ("2026-07-28", True, "https://m"),
    ],
)
def test_the_resource_is_named_unless_the_revision_knows_no_such_thing(version, described, named):
    assert resource_of(rules_of(version), "https://m", described=described) == named


def test_an_assertion_says_who_to_whom_and_for_how_long():
    text = assertion_input("me", "https://as.example", algorithm="ES256", now=1000, identity="once")
    header, claims = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in text.split("."))
    assert header == {"alg": "ES256", "typ": "JWT"}
    assert claims == {
        "iss": "me",
        "sub": "me",
        "aud": "https://as.example",
        "jti": "once",
        "iat": 1000,
        "exp": 1000 + ASSERTION_SECONDS,
    }
    assert assertion(text, b"\xff\xfe") == f"{text}.__4"


def test_what_is_secret_is_not_shown():
    client = OAuthClient("me", "s3cret", POST)
    request = token_request(METADATA, client, refresh_grant("r3fresh"))
    assert "s3cret" not in repr(client) + repr(request)
    assert "r3fresh" not in repr(request)
