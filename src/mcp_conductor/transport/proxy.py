"""Which proxy the environment names for a URL, in the variables that most programs know."""

from base64 import b64encode
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from mcp_conductor.errors import UsageError

_PORTS = {"http": 80, "https": 443}


class Proxy(NamedTuple):
    """Where a proxy is, and what lets us use it."""

    scheme: str
    host: str
    port: int
    authorization: str | None = None

    def headers(self) -> list[tuple[str, str]]:
        """What the proxy must be told, and no one behind it."""
        return [] if self.authorization is None else [("Proxy-Authorization", self.authorization)]


def proxy_for(scheme: str, host: str, environ: Mapping[str, str]) -> Proxy | None:
    """The proxy for requests to HOST, if there is one."""
    exceptions = [word.strip().lstrip(".") for word in _variable(environ, "no_proxy").split(",") if word.strip()]
    if host in ("localhost", "127.0.0.1", "::1") or any(
        word in ("*", host) or host.endswith(f".{word}") for word in exceptions
    ):
        return None
    url = _variable(environ, f"{scheme}_proxy") or _variable(environ, "all_proxy")
    return read_proxy(url) if url else None


def read_proxy(url: str) -> Proxy:
    """The proxy at URL, which may be no more than a host and a port."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"the environment names a proxy that is not a URL: {error}") from error
    if parts.scheme not in _PORTS or not host:
        # Not the URL itself: it may hold a password.
        kind = parts.scheme if parts.scheme not in _PORTS else "a URL without a host"
        raise UsageError(
            f"the environment names a proxy that cannot be used: {kind}", hint="http:// and https:// proxies are known"
        )
    user = unquote(parts.username or "")
    password = unquote(parts.password or "")
    secret = b64encode(f"{user}:{password}".encode()).decode()
    return Proxy(parts.scheme, host, port or _PORTS[parts.scheme], f"Basic {secret}" if user or password else None)


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""
