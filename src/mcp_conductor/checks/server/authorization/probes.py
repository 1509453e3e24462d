"""A protected server, seen from outside: how it refuses, and where it says that tokens are issued.

Nothing here needs a login, or a conversation: an `UnopenedServer` can be given in place of a Probe, for a server
that answers 401 to everything.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import VERSION, Headers, HttpProbe, HttpResponse, HttpTarget
from mcp_conductor.errors import ConductorError, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.message import read
from mcp_conductor.protocol.oauth import (
    OFFLINE_ACCESS,
    Challenge,
    base,
    bearer,
    check_resource,
    default_metadata,
    is_web,
    resource_metadata_urls,
    server_metadata_urls,
    words,
)
from mcp_conductor.protocol.oauth_trust import Trust, Untrusted, address_in
from mcp_conductor.protocol.server_spec import origin
from mcp_conductor.report.model import Finding

NO_TOKEN = "conductor-no-such-token"
_ENDPOINTS = ("authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


async def _refusal(target: HttpTarget) -> HttpResponse:
    """What a client without a token gets from a server that wants one."""
    http = HttpProbe(target)
    seen = await http.post(http.first_request(), _without_token(http))
    if seen.status != 401:
        raise NotSeen("the server does not ask for a token")
    return seen


def _without_token(http: HttpProbe) -> Headers:
    return {name: None for name in http.spec.headers if name.lower() == "authorization"}


def _challenge(seen: HttpResponse) -> Challenge:
    return bearer(seen.headers.get("www-authenticate"))


@probed("auths-401-without-token", alone=True)
async def requests_without_a_token_get_401(target: HttpTarget) -> AsyncIterator[Finding]:
    """POST to a protected server without a token, and with a made-up one: the status is 401."""
    http = HttpProbe(target)
    bare = await http.post(http.first_request(), _without_token(http))
    if not bare.refused:
        raise NotSeen("the server does not ask for a token")
    if bare.status != 401:
        if not _without_token(http):
            raise NotSeen(
                f"the server refuses, but perhaps for another reason than the missing token: HTTP {bare.status}"
            )
        yield fault(f"a request without a token is answered with {bare.status}, not 401", bare.shown())
    headers: Headers = {**_without_token(http), "Authorization": f"Bearer {NO_TOKEN}"}
    seen = await http.post(http.first_request(), headers)
    if seen.status != 401:
        yield fault(f"a made-up token is answered with {seen.status}, not 401", seen.shown())


@probed("auths-www-authenticate", alone=True)
async def the_refusal_says_where_metadata_is(target: HttpTarget) -> AsyncIterator[Finding]:
    """Look at the WWW-Authenticate header of the 401: it has resource_metadata, a URL."""
    seen = await _refusal(target)
    if not is_web(_challenge(seen).params.get("resource_metadata")):
        yield fault("the 401 has no WWW-Authenticate with resource_metadata", seen.headers.get("www-authenticate"))


@probed("auths-scope-in-challenge", alone=True)
async def the_refusal_says_which_scope(target: HttpTarget) -> AsyncIterator[Finding]:
    """Look at the WWW-Authenticate header of the 401: it names the scope that is needed."""
    seen = await _refusal(target)
    if not _challenge(seen).scopes:
        yield fault("the 401 does not name the scope that is needed", seen.headers.get("www-authenticate"))


@probed("auths-prm-discoverable", alone=True)
async def resource_metadata_can_be_found(target: HttpTarget) -> AsyncIterator[Finding]:
    """Look for the resource metadata where the 401 says, and at the two well-known places: it is there."""
    seen = await _refusal(target)
    if await _resource_metadata(target, seen) is None:
        urls = resource_metadata_urls(HttpProbe(target).spec.url, _challenge(seen))
        yield fault("there is no protected resource metadata", urls)


@probed("auths-prm-authorization-servers", alone=True)
async def resource_metadata_names_authorization_servers(target: HttpTarget) -> AsyncIterator[Finding]:
    """Read the resource metadata: it is about this server, and names at least one authorization server."""
    metadata = await _needed_metadata(target)
    if not any(map(is_web, words(metadata.get("authorization_servers")))):
        yield fault("the resource metadata names no authorization server", metadata)
    try:
        check_resource(HttpProbe(target).spec.url, metadata)
    except TransportError as error:
        yield fault(error.message, metadata, hint=error.hint)


@probed("auths-offline-access", alone=True)
async def offline_access_is_not_asked_for(target: HttpTarget) -> AsyncIterator[Finding]:
    """Look at the scopes in the challenge and in the resource metadata: offline_access is not among them."""
    seen = await _refusal(target)
    if OFFLINE_ACCESS in _challenge(seen).scopes:
        yield fault("the challenge asks for offline_access", seen.headers.get("www-authenticate"))
    metadata = await _resource_metadata(target, seen) or {}
    if OFFLINE_ACCESS in words(metadata.get("scopes_supported")):
        yield fault("the resource metadata lists offline_access", metadata)


@probed("auths-metadata-2025-03-26", alone=True)
async def the_server_is_its_own_authorization_server(target: HttpTarget) -> AsyncIterator[Finding]:
    """Look on the host for the metadata of an authorization server, or else for /authorize, /token and /register."""
    await _refusal(target)
    http = HttpProbe(target)
    url = server_metadata_urls(base(http.spec.url))[0]
    if await _fetch_json(http, url) is not None:
        return
    defaults = default_metadata(http.spec.url)
    missing = [defaults[name] for name in _ENDPOINTS[:3] if await _status(http, defaults[name]) == 404]
    if missing:
        yield fault(f"there is neither {url} nor the default endpoints", missing)


@probed("auths-https", alone=True)
async def authorization_is_over_https(target: HttpTarget) -> AsyncIterator[Finding]:
    """Read the metadata of the authorization servers: their endpoints are https, unless they are on this machine."""
    async for metadata in _authorization_servers(target):
        for name in _ENDPOINTS:
            url = metadata.get(name)
            if isinstance(url, str) and urlsplit(url).scheme != "https" and urlsplit(url).hostname not in _LOOPBACK:
                yield fault(f"the {name} is not https", url)


@probed("auths-pkce-metadata", alone=True)
async def authorization_servers_know_pkce(target: HttpTarget) -> AsyncIterator[Finding]:
    """Read the metadata of the authorization servers: S256 is among code_challenge_methods_supported."""
    async for metadata in _authorization_servers(target):
        if "S256" not in words(metadata.get("code_challenge_methods_supported")):
            yield fault("the authorization server does not say that it supports S256", metadata)


@probed("auths-iss-advertised", alone=True)
async def authorization_servers_name_themselves(target: HttpTarget) -> AsyncIterator[Finding]:
    """Read the metadata of the authorization servers: authorization_response_iss_parameter_supported is true."""
    async for metadata in _authorization_servers(target):
        if metadata.get("authorization_response_iss_parameter_supported") is not True:
            yield fault("the authorization server does not say that it sends iss", metadata)


async def _authorization_servers(target: HttpTarget) -> AsyncIterator[Json]:
    """The metadata of each authorization server that has some."""
    http = HttpProbe(target)
    none = True
    for issuer in await _issuers(target):
        for url in server_metadata_urls(issuer):
            metadata = await _fetch_json(http, url)
            if metadata is not None:
                none = False
                yield metadata
                break
    if none:
        raise NotSeen("no authorization server has metadata that can be read")


async def _issuers(target: HttpTarget) -> list[str]:
    """Who issues tokens for this server; where no metadata says so, perhaps its own host does."""
    metadata = await _resource_metadata(target, await _refusal(target))
    own = base(HttpProbe(target).spec.url)
    return (
        [own] if metadata is None else [each for each in words(metadata.get("authorization_servers")) if is_web(each)]
    )


async def _needed_metadata(target: HttpTarget) -> Json:
    metadata = await _resource_metadata(target, await _refusal(target))
    if metadata is None:
        raise NotSeen("there is no protected resource metadata")
    return metadata


async def _resource_metadata(target: HttpTarget, refusal: HttpResponse) -> Json | None:
    http = HttpProbe(target)
    for url in resource_metadata_urls(http.spec.url, _challenge(refusal)):
        metadata = await _fetch_json(http, url)
        if metadata is not None:
            return metadata
    return None


async def _fetch_json(http: HttpProbe, url: str) -> Json | None:
    """The JSON object at URL, if there is one."""
    with suppress(ConductorError, ValueError, RecursionError):
        seen = await _get(http, url)
        found: Any = read(seen.body) if seen.status == 200 else None
        return found if isinstance(found, dict) else None
    return None


async def _status(http: HttpProbe, url: str) -> int | None:
    with suppress(ConductorError):
        return (await _get(http, url)).status
    return None


async def _get(http: HttpProbe, url: str) -> HttpResponse:
    """GET a public document, without our headers for the server.

    Metadata may lead anywhere. What it names inside our network, where the server itself is not, is left alone: that
    is not a fault of the server, but we cannot look.
    """
    none: Headers = dict.fromkeys(http.spec.headers)
    trust = Trust(server_url=http.spec.url, allow_http=True)
    own = await _address_of_server(http)
    try:
        trust.check_url(url, server_address=own)
        return await http.fetch(
            url,
            {**none, "Accept": "application/json", VERSION: http.dialect.version},
            lambda host, address: trust.check_address(host, address, server_address=own),
        )
    except Untrusted as error:
        raise NotSeen(error.message) from None


async def _address_of_server(http: HttpProbe) -> str | None:
    _, host, port = origin(http.spec.url)
    if (spelled := address_in(host)) is not None:
        return spelled
    with suppress(OSError):
        found = await asyncio.get_running_loop().getaddrinfo(host, port)
        return str(found[0][4][0])
    return None
