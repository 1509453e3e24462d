"""How a 401 leads to a token: discovery, registration, the user's consent in a browser, the token, and its renewal.

The HTTP transports ask for the headers of each request, and hand every 401 and 403 over. Tokens are held here, and in a
file if the user names one; no message and no exception holds a token, a code or a secret.
"""

import asyncio
import secrets
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import field, replace
from typing import Literal
from urllib.parse import urlsplit

from mcp_conductor.errors import TransportError, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import OAuthRules
from mcp_conductor.protocol.oauth import (
    Challenge,
    OAuthRefusal,
    bearer,
    check_pkce,
    choose_scopes,
    code_of,
    endpoint,
    needs_a_user,
    redirect_answer,
    response_issuer_mismatch,
    rules_of,
    with_offline_access,
    words,
)
from mcp_conductor.protocol.oauth_requests import (
    AuthMethod,
    OAuthClient,
    SigningAlgorithm,
    authorization_url,
    client_credentials_grant,
    code_grant,
    known_client,
    refresh_grant,
    registration_request,
    token_request,
)
from mcp_conductor.protocol.oauth_trust import Trust
from mcp_conductor.transport.http_client import HttpClient
from mcp_conductor.transport.loopback import open_loopback, redirect_uri
from mcp_conductor.transport.oauth_endpoints import (
    OAuthDiscovery,
    OAuthRefused,
    ask_for_token,
    check_endpoints,
    discover,
    quotable,
    register,
    warn_of_guess,
)
from mcp_conductor.transport.oauth_http import OAuthHttp, OAuthSteps
from mcp_conductor.transport.signing import client_assertion
from mcp_conductor.transport.token_store import Grant, TokenStore
from mcp_conductor.values import dataclass

CLIENT_NAME = "MCP Conductor"
MOST_TRIES = 3
_MOST_STEP_UPS = 2  # to the same scopes: with the first authorization that makes three
_MOST_STEPS = 12  # to any scopes
_SETTLED_SECONDS = 60.0  # a token that was accepted for so long was valid
_PORT = 33418  # of the redirect URI if another program receives the redirect

Consent = Callable[[str], Awaitable[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """Get a token as the server says, when it answers 401: by the user's consent in a browser, or by a secret.

    STORE is a file in which tokens and registrations are kept for the next time; without it, they are forgotten.
    """

    store: str | None = None
    client_id: str | None = None  # of a client that was registered beforehand
    client_secret: str | None = field(default=None, repr=False)
    client_auth: "AuthMethod | None" = None  # how the client authenticates; None: as the authorization server supports
    client_metadata_url: str | None = None  # a Client ID Metadata Document that describes us
    scopes: tuple[str, ...] = ()
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    private_key: str | None = None  # a PEM file, to authenticate by private_key_jwt
    signing_alg: "SigningAlgorithm | None" = None  # None: what fits the key
    issuer: str | None = None  # the authorization server that may have the secret or a signature, wherever it is
    allow_http: bool = False  # also for authorization servers that are not on this machine
    redirect_port: int | None = None
    open_browser: bool = True
    interactive: bool = True  # False: no user can consent; what needs none is used, or it fails
    refresh_token: str | None = field(default=None, repr=False)  # that was got elsewhere, for client_id
    consent_seconds: float = 300.0  # how long the user may take
    show: Callable[[str], None] = print  # what the user must see, such as the page to visit
    # Takes the URL of the page to visit, and returns where the browser was sent from there; None: we wait for that.
    consent: Consent | None = None


class Authorization:
    """The tokens for one server."""

    def __init__(
        self,
        *,
        server_url: str,
        http: HttpClient,
        version: str,
        oauth: OAuth,
    ) -> None:
        self.version = version  # the revision of MCP that is spoken; its rules hold
        trust = Trust(server_url=server_url, issuer=oauth.issuer, allow_http=oauth.allow_http)
        self.steps = OAuthSteps()
        self._http = OAuthHttp(http, trust, self.steps)
        self._oauth = oauth
        self._store = TokenStore(server_url, oauth.store)
        self._grant = self._store.last()
        self._secrets: set[str] = set()
        self._lock = asyncio.Lock()
        self._tokens = 0  # how many we got
        self._token_at = 0.0
        self._refreshed = False  # whether the last one came by a refresh token
        self._warned = False  # that the user's credentials go to a guessed place
        self._refusals = 0  # answers 401 since a token was taken
        self._step_ups: Counter[frozenset[str]] = Counter()  # answers 403, by the scopes that they want
        self._given_refresh_token = oauth.refresh_token  # until it was used
        self._hide(oauth.client_secret)
        self._hide(oauth.refresh_token)
        if self._grant is not None:
            self._hide_grant(self._grant)

    @property
    def secrets(self) -> frozenset[str]:
        """What must not be shown: tokens, codes, verifiers and client secrets, so far."""
        return frozenset(self._secrets)

    def watch(self, trace: Callable[[str], None], hide: Callable[[Iterable[str]], None]) -> None:
        """Tell TRACE of every request and answer of OAuth from now on, and HIDE of the secrets in them."""
        self.steps.trace, self.steps.hide = trace, hide
        hide(self._secrets)

    async def headers(self) -> list[tuple[str, str]]:
        """The header that carries the token, if there is one."""
        token = self._grant.access_token if self._grant else None
        return [("Authorization", f"Bearer {token}")] if token else []

    async def challenged(self, status: int, www_authenticate: str | None) -> bool:
        """Get the token that a 401, or a 403 because of a missing scope, asks for; True: try the request again."""
        challenge = bearer(www_authenticate)
        if status != 401 and not (status == 403 and challenge.error == "insufficient_scope"):
            return False
        before = self._tokens
        async with self._lock:
            if self._tokens == before:  # no other request got one while we waited
                self._count(status, challenge)
                self._keep(await self._obtain(status, challenge))
                self.steps.waiting = ""
        return True

    def accepted(self) -> None:
        """The server accepted the token: a later 401 means that it has expired, not that it was never valid."""
        self._refusals = 0

    def _count(self, status: int, challenge: Challenge) -> None:
        """Count the challenge; raises if there were enough of its kind."""
        if asyncio.get_running_loop().time() - self._token_at > _SETTLED_SECONDS:
            self._refusals = 0
            self._step_ups.clear()
        if status == 401:
            self._refusals += 1
            enough = self._refusals > MOST_TRIES
        else:
            scopes = frozenset(challenge.scopes)
            self._step_ups[scopes] += 1
            enough = self._step_ups[scopes] > _MOST_STEP_UPS or self._step_ups.total() > _MOST_STEPS
        if enough:
            said = quotable(challenge.params.get("error_description") or challenge.error or "", self._secrets)
            raise TransportError(
                f"the server answers {status} again after every authorization" + (f": {said}" if said else ""),
                hint="the authorization server issues tokens, but the server does not accept them",
            )

    async def _obtain(self, status: int, challenge: Challenge) -> Grant:
        found = await discover(self._http, version=self.version, challenge=challenge, show=self._oauth.show)
        grant = self._with_given_token(self._store.of(found.issuer), found)
        # A token that was refused although it is fresh will not get better by another refreshing.
        if status == 401 and grant.refresh_token is not None and not (self._refreshed and self._refusals > 1):
            grant = await self._refresh(found, grant, grant.refresh_token)
            self._refreshed = grant.access_token is not None
            if self._refreshed:
                return grant
        self._refreshed = False
        scopes = choose_scopes(
            challenge=challenge,
            resource_metadata=found.resource_metadata,
            configured=self._oauth.scopes,
            earlier=self._grant.scopes if self._grant and status == 403 else (),
        )
        if self._oauth.grant == "client_credentials" or self._has_only_credentials(found):
            return await self._with_client_credentials(found, grant, scopes)
        if not self._oauth.interactive:
            raise needs_a_user()
        return await self._with_consent(found, grant, with_offline_access(scopes, found.metadata, self._rules()))

    def _with_given_token(self, grant: Grant, found: OAuthDiscovery) -> Grant:
        """GRANT with the refresh token that the user gave us, the first time."""
        token, self._given_refresh_token = self._given_refresh_token, None
        if token is None:
            return grant
        known = self._store.entrusted_with(self._oauth.client_id or "")
        self._http.trust.check_secret(found.issuer, known=known, doubt=found.doubt)
        return replace(grant, refresh_token=token)

    def _has_only_credentials(self, found: OAuthDiscovery) -> bool:
        """Whether the client can get a token by its own credentials, and there is no user who could."""
        oauth = self._oauth
        secret = oauth.client_secret or oauth.private_key
        offered = "client_credentials" in words(found.metadata.get("grant_types_supported"))
        return not oauth.interactive and oauth.client_id is not None and bool(secret) and offered

    async def _refresh(self, found: OAuthDiscovery, grant: Grant, refresh_token: str) -> Grant:
        """GRANT with a new access token; or with none at all, if the refresh token is no longer good."""
        client = self._known_client(found, grant)
        gone = replace(grant, access_token=None, refresh_token=None)
        if client is None:
            return gone
        try:
            answer = await self._token(found, client, refresh_grant(refresh_token, resource=found.resource))
        except OAuthRefused as refused:
            if not refused.refusal.error:  # a server in trouble: the token may still be good
                raise
            self._oauth.show(f"{refused.message}; a new authorization is needed")
            forgotten = grant.registered and refused.refusal.error == "invalid_client"
            return replace(gone, client=None, registered=False) if forgotten else gone
        return _granted(grant, client, answer, grant.scopes)

    async def _with_client_credentials(self, found: OAuthDiscovery, grant: Grant, scopes: tuple[str, ...]) -> Grant:
        client = self._known_client(found, grant)
        if client is None or client.auth_method == "none":
            raise UsageError(
                "client_credentials needs a client with a secret or a private key",
                hint="give a client id, and a client secret or a private key",
            )
        form = client_credentials_grant(scopes=scopes, resource=found.resource)
        return _granted(grant, client, await self._token(found, client, form), scopes)

    async def _with_consent(self, found: OAuthDiscovery, grant: Grant, scopes: tuple[str, ...]) -> Grant:
        """Send the user to the authorization server, and exchange the code that the redirect brings."""
        if not found.guessed:
            check_pkce(found.metadata, self._rules())
        check_endpoints(self._http, found, "authorization_endpoint", "token_endpoint")
        verifier, state = secrets.token_urlsafe(48), secrets.token_urlsafe(24)
        self._hide(verifier)
        async with self._redirects(grant) as (redirect, authorize):
            grant, client = await self._client(found, grant, redirect, scopes)
            url = authorization_url(
                found.metadata,
                client,
                redirect_uri=redirect,
                verifier=verifier,
                state=state,
                scopes=scopes,
                resource=found.resource,
            )
            answer = redirect_answer(await self._consent(authorize, url, redirect), state=state)
        code = self._code(found, answer)
        form = code_grant(code, verifier=verifier, redirect_uri=redirect, resource=found.resource)
        return _granted(grant, client, await self._token(found, client, form), scopes)

    @asynccontextmanager
    async def _redirects(self, grant: Grant) -> AsyncIterator[tuple[str, Consent]]:
        """The redirect URI, and what waits for the redirect."""
        port = self._oauth.redirect_port
        if self._oauth.consent is not None:
            yield redirect_uri(port or _PORT), self._oauth.consent
            return
        earlier = urlsplit(grant.redirect_uri).port if grant.redirect_uri else None
        async with open_loopback(
            port=port, prefer=earlier, show=self._oauth.show, open_browser=self._oauth.open_browser
        ) as loopback:
            yield loopback.redirect_uri, loopback.authorize

    async def _consent(self, authorize: Consent, url: str, redirect: str) -> str:
        seconds = self._oauth.consent_seconds
        self.steps.waiting = "the authorization in the browser did not end"
        try:
            async with asyncio.timeout(seconds):
                return await authorize(url)
        except TimeoutError:
            raise TransportError(
                f"the authorization did not end within {seconds:g} s",
                hint=f"the browser should have been sent to {redirect}",
            ) from None

    def _code(self, found: OAuthDiscovery, answer: dict[str, str]) -> str:
        # RFC 9207: before anything else in the redirect is believed, an error included.
        if mismatch := response_issuer_mismatch(answer, found.issuer, found.metadata, self._rules()):
            problem = quotable(mismatch, self._secrets)
            raise TransportError(problem, hint="its code is not used: another server may have sent it")
        code = code_of(answer)
        if isinstance(code, OAuthRefusal):
            asked = endpoint(found.metadata, "authorization_endpoint")
            raise OAuthRefused(f"{asked} refused the authorization", code, hiding=self._secrets)
        self._hide(code)
        return code

    async def _client(
        self, found: OAuthDiscovery, grant: Grant, redirect: str, scopes: tuple[str, ...]
    ) -> tuple[Grant, OAuthClient]:
        """Who we are to this authorization server: as we were told, as our document says, or newly registered."""
        client = self._known_client(found, grant)
        if client is not None and (client is not grant.client or grant.redirect_uri == redirect):
            return grant, client
        if "registration_endpoint" not in found.metadata:
            raise UsageError(
                f"the authorization server {found.issuer} does not support dynamic client registration",
                hint="register one there, and give its client id",
            )
        request = registration_request(
            found.metadata,
            client_name=CLIENT_NAME,
            redirect_uris=[redirect],
            scopes=scopes,
            method=self._oauth.client_auth,
        )
        check_endpoints(self._http, found, "registration_endpoint")
        client, _ = await register(self._http, request, found.metadata)
        self._hide(client.client_secret)
        grant = Grant(found.issuer, client, redirect, registered=True)
        self._store.keep(grant)
        return grant, client

    def _known_client(self, found: OAuthDiscovery, grant: Grant) -> OAuthClient | None:
        oauth, metadata = self._oauth, found.metadata
        if oauth.client_id is not None:
            has_key = oauth.private_key is not None
            if has_key or oauth.client_secret is not None:
                known = self._store.entrusted_with(oauth.client_id)
                self._http.trust.check_secret(found.issuer, known=known, doubt=found.doubt)
            secret, method = oauth.client_secret, oauth.client_auth
            return known_client(metadata, oauth.client_id, secret, has_key=has_key, method=method)
        document = oauth.client_metadata_url
        if document is not None and metadata.get("client_id_metadata_document_supported") is True:
            if urlsplit(document).scheme != "https" or urlsplit(document).path in ("", "/"):
                raise UsageError(f"a client metadata document must be an https URL with a path, not {document!r}")
            return OAuthClient(document)
        return grant.client if grant.registered else None

    async def _token(self, found: OAuthDiscovery, client: OAuthClient, form: dict[str, str]) -> Json:
        signed = None
        if client.auth_method == "private_key_jwt":
            key, algorithm = self._oauth.private_key or "", self._oauth.signing_alg
            signed = client_assertion(client.client_id, found.issuer, key_file=key, algorithm=algorithm)
            self._hide(signed)
        check_endpoints(self._http, found, "token_endpoint")
        if not self._warned and (client.client_secret or signed) and self._oauth.client_id is not None:
            self._warned = True
            warn_of_guess(found, self._oauth.show)
        request = token_request(found.metadata, client, form, assertion=signed)
        return await ask_for_token(self._http, request, hiding=self._secrets)

    def _keep(self, grant: Grant) -> None:
        self._hide_grant(grant)
        self._store.keep(grant)
        self._grant = grant
        self._tokens += 1
        self._token_at = asyncio.get_running_loop().time()

    def _rules(self) -> OAuthRules:
        return rules_of(self.version)

    def _hide_grant(self, grant: Grant) -> None:
        for secret in (grant.access_token, grant.refresh_token, grant.client.client_secret if grant.client else None):
            self._hide(secret)

    def _hide(self, secret: str | None) -> None:
        if secret is not None:
            self._secrets.add(secret)
            self.steps.hide((secret,))


def _granted(grant: Grant, client: OAuthClient, answer: Json, scopes: tuple[str, ...]) -> Grant:
    """GRANT with the tokens of ANSWER; a refresh token stays good until another one comes."""
    refresh = answer.get("refresh_token")
    return replace(
        grant,
        entrusted=grant.entrusted if client.auth_method == "none" or grant.registered else client.client_id,
        scopes=scopes,
        access_token=answer["access_token"],
        refresh_token=refresh if isinstance(refresh, str) else grant.refresh_token,
    )
