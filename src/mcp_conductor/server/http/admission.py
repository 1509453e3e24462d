"""Who may come in: the Host and the Origin of a request against the address that the server listens on.

A page of another site reaches a server of this machine by a name that it makes lead here (DNS rebinding): so only
names that the server goes by are served. An address is not a name: no other site can have it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address

from mcp_conductor.server.http.exchange import HttpRefused

LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
_HOST = re.compile(r"(?:\[([0-9a-f.]*:[0-9a-f:.]*)\]|([a-z0-9._-]*))(?::([0-9]{0,5}))?")
_ORIGIN = re.compile(r"https?://(.+)")  # with another scheme it is an app, which chooses its host itself
_MOST_PORT = 65535


@lru_cache(maxsize=64)
def name_in(host: str) -> str | None:
    """The name or address in a Host header, without its port and in one spelling; None if it is not one."""
    found = _HOST.fullmatch(host.lower())
    if found is None or int(found[3] or 0) > _MOST_PORT:
        return None
    return found[2] if found[1] is None else _address(found[1])


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine reach what listens on HOST."""
    address = _address(host.strip("[]"))
    return host.lower() == "localhost" or (address is not None and ip_address(address).is_loopback)


class Admission:
    """What is served by a server that was told to listen on HOST, and does so at ADDRESS.

    With TOKEN, only requests that bring it as a bearer token are served.
    """

    def __init__(
        self,
        host: str,
        address: str,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        token: str | None = None,
    ) -> None:
        bound = {name_in(host) or host.strip("[]").lower(), address}
        self._names = bound | LOOPBACK if bound & LOOPBACK else bound
        # A server that listens everywhere has all addresses, of which some may be those of a router or a container.
        self._any_address = ip_address(address).is_unspecified
        if self._any_address:
            self._names |= LOOPBACK
        self._hosts = frozenset(each.lower() for each in hosts)
        self._origins = frozenset(origins)
        self._token = None if token is None else token.encode()

    def check(self, headers: Mapping[str, list[str]]) -> None:
        """Refuse a request to another host, or from a page of another site."""
        hosts, origins = headers.get("host"), headers.get("origin")
        host = hosts[0] if hosts else None
        if not self.serves(host):
            raise HttpRefused(421, f"Host {host!r} is not served here")
        if origins and not self.trusts(origins, host):
            raise HttpRefused(403, f"Origin {origins[0]!r} is not allowed")

    def check_token(self, headers: Mapping[str, list[str]]) -> None:
        """Refuse a request without the token; a browser that asks first whether it may send one has none yet."""
        if self._token is not None:
            _check_bearer(headers.get("authorization") or [], self._token)

    def serves(self, host: str | None) -> bool:
        """Whether requests to HOST, a Host header, are meant for this server. Its port may be one that is forwarded."""
        name = name_in(host or "")
        if host is None or name is None:
            return False
        known = name in self._names or name in self._hosts or host.lower() in self._hosts
        return known or (self._any_address and _address(name) is not None)

    def trusts(self, origins: list[str], host: str | None) -> bool:
        """Whether a page of ORIGINS, the Origin headers, may send a request to HOST, which is served.

        The pages of this machine may, and those that came from the server's own name, by http or https. A page without
        an origin ("null") may not: it can be of any site.
        """
        if not origins or (len(origins) == 1 and origins[0] in self._origins):
            return True
        found = _ORIGIN.fullmatch(origins[0].lower())
        name = None if found is None or len(origins) > 1 else name_in(found[1])
        return bool(name) and (name in LOOPBACK or name == name_in(host or ""))


def _address(text: str) -> str | None:
    try:
        return str(ip_address(text))
    except ValueError:
        return None


def _check_bearer(given: list[str], token: bytes) -> None:
    import hmac

    scheme, _, found = given[0].strip().partition(" ") if len(given) == 1 else ("", "", "")
    bearer = scheme.lower() == "bearer"
    if bearer and hmac.compare_digest(found.strip().encode(errors="surrogateescape"), token):
        return
    said = 'Bearer error="invalid_token"' if bearer else "Bearer"
    raise HttpRefused(401, "a bearer token is needed, and this is not it", [("WWW-Authenticate", said)])
