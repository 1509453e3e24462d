"""How a program proves who it is to a server at a URL: `connect(auth=…)` with a token, a function, or OAuth."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from mcp_conductor.client.callbacks import being_cancelled
from mcp_conductor.errors import ConductorError, UsageError
from mcp_conductor.protocol.dialect import NEWEST_HANDSHAKE
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.protocol.server_spec import ServerSpec

if TYPE_CHECKING:
    from mcp_conductor.transport import Authorize
    from mcp_conductor.transport.authorization import OAuth


TokenFunction = Callable[[], str | Awaitable[str]]
Auth: TypeAlias = "str | TokenFunction | OAuth"


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
    if callable(auth):
        return spec, lambda _: TokensOfFunction(auth)
    from mcp_conductor.transport.authorization import Authorization, OAuth

    if isinstance(auth, OAuth):
        version = http.protocol or NEWEST_HANDSHAKE.version
        return spec, lambda client: Authorization(server_url=http.url, http=client, version=version, oauth=auth)
    raise UsageError(f"auth is a token, a function that returns one, or OAuth(…); not {kind_of(auth)}")


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
