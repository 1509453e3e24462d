"""How a program proves who it is to a server at a URL: `connect(auth=…)` with a token, a function, or OAuth."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Literal

from mcp_conductor.client.callbacks import being_cancelled
from mcp_conductor.errors import ConductorError, UsageError
from mcp_conductor.protocol.dialect import NEWEST_HANDSHAKE
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.protocol.server_spec import HttpSpec, ServerSpec
from mcp_conductor.values import dataclass

if TYPE_CHECKING:
    from mcp_conductor.protocol.oauth_requests import AuthMethod, SigningAlgorithm
    from mcp_conductor.transport import Authorization, Authorize
    from mcp_conductor.transport.http_client import HttpClient


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """Get a token as the server says, when it answers 401: by the user's consent in a browser, or by a secret.

    STORE is a file in which tokens and registrations are kept for the next time; without it, they are forgotten.
    """

    store: str | None = None
    client_id: str | None = None  # of a client that was registered beforehand
    client_secret: str | None = field(default=None, repr=False)
    client_auth: "AuthMethod | None" = None  # how the client authenticates; None: as the authorization server supports
    client_metadata_url: str | None = None
    scopes: tuple[str, ...] = ()
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"
    private_key: str | None = None  # a PEM file
    signing_alg: "SigningAlgorithm | None" = None
    issuer: str | None = None  # the authorization server that may have the secret
    allow_http: bool = False
    redirect_port: int | None = None
    open_browser: bool = True
    interactive: bool = True  # False: no user can consent; what needs none is used, or it fails
    refresh_token: str | None = field(default=None, repr=False)  # that was got elsewhere, for client_id
    consent_seconds: float = 300.0
    show: Callable[[str], None] = print  # what the user must see, such as the page to visit
    # Takes the URL of the page to visit, and returns where the browser was sent from there; None: we wait for that.
    consent: Callable[[str], Awaitable[str]] | None = None


TokenFunction = Callable[[], str | Awaitable[str]]
Auth = str | TokenFunction | OAuth


def with_auth(
    spec: ServerSpec, auth: Auth, hide: Callable[[Iterable[str]], None]
) -> "tuple[ServerSpec, Authorize | None]":
    """SPEC, and what answers its challenges, so that AUTH is used; HIDE hears what must not be shown."""
    http = spec.as_http()
    if http is None:
        raise UsageError(f"auth is for servers at a URL; {spec} is not one", hint="give a secret in its environment")
    if isinstance(auth, str):
        if not auth or not auth.isascii() or not auth.isprintable() or " " in auth:
            raise UsageError("auth is not a token: it must be a text of printable ASCII characters without spaces")
        hide([auth])
        return replace(http, headers={**http.headers, "Authorization": f"Bearer {auth}"}), None
    if isinstance(auth, OAuth):
        return spec, lambda client: _by_oauth(http, auth, client)
    if callable(auth):
        return spec, lambda _: TokensOfFunction(auth)
    raise UsageError(f"auth is a token, a function that returns one, or OAuth(…); not {kind_of(auth)}")


def _by_oauth(spec: HttpSpec, oauth: OAuth, http: "HttpClient") -> "Authorization":
    from mcp_conductor.transport.authorization import Authorization, OAuthSettings

    settings = OAuthSettings(
        client_id=oauth.client_id,
        client_secret=oauth.client_secret,
        client_auth=oauth.client_auth,
        client_metadata_url=oauth.client_metadata_url,
        redirect_port=oauth.redirect_port,
        scopes=oauth.scopes,
        grant=oauth.grant,
        private_key=oauth.private_key,
        signing_alg=oauth.signing_alg,
        token_store=oauth.store,
        issuer=oauth.issuer,
        allow_http=oauth.allow_http,
        open_browser=oauth.open_browser,
        interactive=oauth.interactive,
        refresh_token=oauth.refresh_token,
        consent_seconds=oauth.consent_seconds,
    )
    return Authorization(
        server_url=spec.url,
        http=http,
        version=spec.protocol or NEWEST_HANDSHAKE.version,
        settings=settings,
        show=oauth.show,
        authorize=oauth.consent,
    )


class TokensOfFunction:
    """Tokens that a function of the user returns: it is called for the first request, and again after a 401."""

    version = NEWEST_HANDSHAKE.version

    def __init__(self, function: TokenFunction) -> None:
        self._function = function
        self._token: str | None = None
        self._refused = False  # since a token was last accepted
        self._hide: Callable[[Iterable[str]], None] = lambda _: None

    @property
    def secrets(self) -> frozenset[str]:
        return frozenset([self._token] if self._token else [])

    def watch(self, _trace: Callable[[str], None], hide: Callable[[Iterable[str]], None]) -> None:
        self._hide = hide

    def accepted(self) -> None:
        self._refused = False

    async def headers(self) -> list[tuple[str, str]]:
        if self._token is None:
            self._token = await self._next()
        return [("Authorization", f"Bearer {self._token}")]

    async def challenged(self, status: int, _www_authenticate: str | None) -> bool:
        """Whether there is another token, where the last one was refused."""
        if status != 401 or self._refused:
            return False
        self._refused = True
        before, self._token = self._token, await self._next()
        return self._token != before

    async def _next(self) -> str:
        token = await self._returned()
        if not isinstance(token, str) or not token:
            raise UsageError(f"the function given as auth returned {kind_of(token)} in place of a token")
        self._hide([token])
        return token

    async def _returned(self) -> Any:
        """What the function returns; it is a function of the user, which may raise anything."""
        try:
            returned: Any = self._function()
            return await returned if inspect.isawaitable(returned) else returned
        except ConductorError:
            raise
        except asyncio.CancelledError:
            if being_cancelled():
                raise
            raise UsageError("the function given as auth was cancelled") from None
        except Exception as error:
            raise UsageError(f"the function given as auth raised {type(error).__name__}: {error}") from error
