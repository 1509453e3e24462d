"""The requests of OAuth as values: the authorization URL, the token requests, the registration, and who signs them."""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Literal, get_args
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import OAuthRules
from mcp_conductor.protocol.oauth import endpoint, words
from mcp_conductor.values import dataclass

AuthMethod = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
AUTH_METHODS: tuple[AuthMethod, ...] = get_args(AuthMethod)
SigningAlgorithm = Literal["ES256", "RS256"]

# A program on a user's machine cannot keep a secret (RFC 8252), so it asks for none if that is allowed.
_REGISTRABLE: tuple[AuthMethod, ...] = ("none", "client_secret_basic", "client_secret_post")
_SECRET: tuple[AuthMethod, ...] = ("client_secret_basic", "client_secret_post")
_DEFAULT_METHODS = ["client_secret_basic"]  # RFC 8414, where the metadata does not say
_JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
ASSERTION_SECONDS = 300


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """Who we are to one authorization server; the secret is not shown by repr."""

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    auth_method: AuthMethod = "none"


@dataclass(frozen=True, slots=True)
class Post:
    """A POST request, ready to be sent; what it carries is not shown by repr."""

    url: str
    headers: list[tuple[str, str]] = field(repr=False)
    body: bytes = field(repr=False)


def code_challenge(verifier: str) -> str:
    """The S256 challenge of a PKCE verifier."""
    return _base64url(hashlib.sha256(verifier.encode()).digest())


def authorization_url(
    metadata: Json,
    client: OAuthClient,
    *,
    redirect_uri: str,
    verifier: str,
    state: str,
    scopes: Iterable[str] = (),
    resource: str | None = None,
) -> str:
    """Where the user's browser must go."""
    params = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "code_challenge": code_challenge(verifier),
        "code_challenge_method": "S256",
        "state": state,
        **_optional(scopes, resource),
    }
    parts = urlsplit(endpoint(metadata, "authorization_endpoint"))
    query = "&".join(part for part in (parts.query, urlencode(params)) if part)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, query, ""))


def code_grant(code: str, *, verifier: str, redirect_uri: str | None, resource: str | None = None) -> dict[str, str]:
    """The form that exchanges a code for a token."""
    redirect = {} if redirect_uri is None else {"redirect_uri": redirect_uri}
    return {
        "grant_type": "authorization_code",
        "code": code,
        "code_verifier": verifier,
        **redirect,
        **_optional((), resource),
    }


def refresh_grant(refresh_token: str, *, resource: str | None = None, scopes: Iterable[str] = ()) -> dict[str, str]:
    """The form that exchanges a refresh token for a new access token; without scopes it gets those it had."""
    return {"grant_type": "refresh_token", "refresh_token": refresh_token, **_optional(scopes, resource)}


def client_credentials_grant(*, scopes: Iterable[str] = (), resource: str | None = None) -> dict[str, str]:
    """The form with which a program asks for a token of its own, without a user at a browser."""
    return {"grant_type": "client_credentials", **_optional(scopes, resource)}


def _optional(scopes: Iterable[str], resource: str | None) -> dict[str, str]:
    scope = " ".join(scopes)
    return {**({"scope": scope} if scope else {}), **({} if resource is None else {"resource": resource})}


def token_request(
    metadata: Json, client: OAuthClient, form: Mapping[str, str], *, assertion: str | None = None
) -> Post:
    """The request to the token endpoint, with the client authenticated in the client's way."""
    headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")]
    # In the form even where Basic names it too: the official SDK's authorization servers look for it only there.
    form = {**form, "client_id": client.client_id}
    match client.auth_method:
        case "client_secret_basic":
            headers.append(("Authorization", _basic(client)))
        case "client_secret_post":
            form["client_secret"] = client.client_secret or ""
        case "private_key_jwt":
            form |= {"client_assertion_type": _JWT_BEARER, "client_assertion": assertion or ""}
        case "none":
            pass
    return Post(endpoint(metadata, "token_endpoint"), headers, urlencode(form).encode())


def _basic(client: OAuthClient) -> str:
    # RFC 6749, section 2.3.1: both are form-encoded first, so that a colon in the id does no harm.
    pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret or '', safe='')}"
    return f"Basic {base64.b64encode(pair.encode()).decode()}"


def known_client(
    metadata: Json,
    client_id: str,
    client_secret: str | None = None,
    *,
    has_key: bool = False,
    method: AuthMethod | None = None,
) -> OAuthClient:
    """A client that was registered beforehand, authenticated by METHOD, or in a way that the server supports."""
    supported = words(metadata.get("token_endpoint_auth_methods_supported")) or _DEFAULT_METHODS
    if method is not None:
        return _authenticated_by(method, client_id, client_secret, has_key=has_key)
    if has_key:
        return OAuthClient(client_id, None, "private_key_jwt")
    if client_secret is None:
        return OAuthClient(client_id)
    for each in _SECRET:
        if each in supported:
            return OAuthClient(client_id, client_secret, each)
    raise UsageError(
        f"the authorization server accepts no client secret, only {', '.join(supported)}",
        hint="give no secret, or a private key if it accepts private_key_jwt",
    )


def _authenticated_by(method: AuthMethod, client_id: str, secret: str | None, *, has_key: bool) -> OAuthClient:
    if method in _SECRET and secret is None:
        raise UsageError(f"{method} needs a client secret")
    if method == "private_key_jwt" and not has_key:
        raise UsageError(f"{method} needs a private key")
    return OAuthClient(client_id, secret if method in _SECRET else None, method)


def registration_request(
    metadata: Json,
    *,
    client_name: str,
    redirect_uris: Iterable[str],
    scopes: Iterable[str] = (),
    method: AuthMethod | None = None,
) -> Post:
    """The request for dynamic registration (RFC 7591) of a program on the user's machine."""
    scope = " ".join(scopes)
    body = {
        "client_name": client_name,
        "redirect_uris": list(redirect_uris),
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "application_type": "native",
        "token_endpoint_auth_method": method or _registered_method(metadata),
        **({"scope": scope} if scope else {}),
    }
    headers = [("Content-Type", "application/json"), ("Accept", "application/json")]
    return Post(endpoint(metadata, "registration_endpoint"), headers, json.dumps(body).encode())


def registered_client(metadata: Json, answer: Json) -> OAuthClient | None:
    """The client of the ANSWER to a registration; None if that has no client_id."""
    client_id, secret = answer.get("client_id"), answer.get("client_secret")
    if not isinstance(client_id, str) or not client_id:
        return None
    if not isinstance(secret, str) or not secret:
        return OAuthClient(client_id)
    said = answer.get("token_endpoint_auth_method")
    method = next((known for known in _REGISTRABLE if known == said), _registered_method(metadata))
    return OAuthClient(client_id, secret, method)


def _registered_method(metadata: Json) -> AuthMethod:
    supported = words(metadata.get("token_endpoint_auth_methods_supported")) or _DEFAULT_METHODS
    return next((method for method in _REGISTRABLE if method in supported), "none")


def resource_of(rules: OAuthRules, resource: str, *, described: bool) -> str | None:
    """The resource to name in requests: always, except to a server of 2025-03-26 that has no such metadata."""
    return resource if rules.resource or described else None


def assertion_input(client_id: str, audience: str, *, algorithm: SigningAlgorithm, now: int, identity: str) -> str:
    """What is signed to authenticate by private_key_jwt (RFC 7523): header and claims, encoded."""
    header = {"alg": algorithm, "typ": "JWT"}
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "jti": identity,
        "iat": now,
        "exp": now + ASSERTION_SECONDS,
    }
    return ".".join(_base64url(json.dumps(part, separators=(",", ":")).encode()) for part in (header, claims))


def assertion(signed: str, signature: bytes) -> str:
    """The finished JWT."""
    return f"{signed}.{_base64url(signature)}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
