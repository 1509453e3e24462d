"""Which URLs of OAuth may be used, and what may be sent there: schemes, addresses, endpoints and secrets.

Everything that a server's metadata says may be a lie. Pure: names are resolved, and connections opened, by
`transport/oauth_http.py`, which shows each address to `Trust` before it connects to it. A rule that is broken raises
Untrusted, with the flag that allows it.
"""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Literal

from mcp_conductor.errors import TransportError, way
from mcp_conductor.protocol.server_spec import origin
from mcp_conductor.values import dataclass

Kind = Literal["public", "loopback", "private", "link-local", "multicast", "unspecified"]

# IPv6 addresses that stand for an IPv4 address, in their last 32 bits; the first are IPv4-compatible, and translated.
_HOLDING_IPV4 = (ip_network("::/96"), ip_network("64:ff9b::/96"))
_LOCAL_TRANSLATION = ip_network("64:ff9b:1::/48")


class Untrusted(TransportError):  # noqa: N818  # what it is, not what kind of class
    """A server's metadata names a place to which nothing may be sent unless the user allows it."""


def kind_of_address(address: str) -> Kind:
    """Which part of the network ADDRESS is in; an IPv6 address that stands for an IPv4 address is in the latter's."""
    found = ip_address(address.partition("%")[0])
    inner = _ipv4_within(found) if isinstance(found, IPv6Address) else None
    ip = found if inner is None else inner
    if ip.is_loopback:
        return "loopback"
    if ip.is_unspecified:
        return "unspecified"
    if ip.is_multicast:
        return "multicast"
    if ip.is_link_local:
        return "link-local"
    inside = isinstance(ip, IPv6Address) and (ip.is_site_local or ip in _LOCAL_TRANSLATION)
    return "public" if ip.is_global and not inside else "private"


def _ipv4_within(ip: IPv6Address) -> IPv4Address | None:
    if ip.ipv4_mapped or ip.sixtofour:
        return ip.ipv4_mapped or ip.sixtofour
    if ip.is_loopback or ip.is_unspecified or not any(ip in network for network in _HOLDING_IPV4):
        return None
    return IPv4Address(int(ip) & 0xFFFFFFFF)


def address_in(host: str) -> str | None:
    """The address that HOST spells, as resolvers understand it; None for a name.

    Numbers may be decimal, octal or hexadecimal, and fewer than four; `localhost` is always our own machine.
    """
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return "127.0.0.1"
    try:
        return str(ip_address(name.partition("%")[0]))
    except ValueError:
        return _ipv4_spelled(name)


def _ipv4_spelled(name: str) -> str | None:
    words = name.split(".")
    try:
        numbers = [int(word, _base_of(word)) for word in words]
    except ValueError:
        return None
    *first, last = numbers
    room = 4 - len(first)  # bytes that the last number fills
    if room < 1 or any(number > 0xFF for number in first) or last >= 256**room or min(numbers) < 0:
        return None
    return str(IPv4Address(bytes(first) + last.to_bytes(room, "big")))


def _base_of(word: str) -> int:
    if not word.isalnum():  # int() takes signs, spaces and underscores
        raise ValueError(word)
    return 16 if word.startswith("0x") else 8 if word.startswith("0") and word != "0" else 10


def _issuer(url: str) -> str:
    """How the user says that the authorization server at URL is trusted."""
    return way(f"--oauth-issuer {url}", f'OAuth(issuer="{url}")')


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """What the user has said about one server: its URL, and perhaps its issuer."""

    server_url: str
    issuer: str | None = None  # --oauth-issuer: trusted with everything, wherever it is
    allow_http: bool = False

    def check_url(self, url: str, *, server_address: str | None = None) -> None:
        """Refuse URL if it is neither https nor on this machine, or if its host is an address that is refused."""
        scheme, host, _ = origin(url)
        address = address_in(host)
        if scheme != "https" and not self.allow_http and (address is None or kind_of_address(address) != "loopback"):
            allowing = way("--oauth-allow-http", "OAuth(allow_http=True)")
            raise Untrusted(f"the authorization leads to {url}, which is not https", hint=f"{allowing} allows it")
        if address is not None:
            self.check_address(host, address, server_address=server_address)

    def check_address(self, host: str, address: str, *, server_address: str | None = None) -> None:
        """Refuse an ADDRESS of HOST that is reached only from inside a network, unless the server itself is there."""
        kind = kind_of_address(address)
        own = server_address or address_in(origin(self.server_url)[1])
        if kind == "public" or (own is not None and kind_of_address(own) == kind) or self._is_named_host(host):
            return
        where = host if host == address else f"{host} ({address})"
        raise Untrusted(
            f"the authorization leads to {where}, which is a {kind} address, although the server's own address is not",
            hint=f"{_issuer('URL')} allows the host of an authorization server that you trust",
        )

    def _is_named_host(self, host: str) -> bool:
        return self.issuer is not None and origin(self.issuer)[1].rstrip(".") == host.lower().rstrip(".")

    def check_endpoint(self, issuer: str, name: str, url: str) -> None:
        """Refuse the endpoint NAME of ISSUER at URL if it is on another origin, unless the user names the issuer.

        Otherwise a server could send the user to one authorization server, and make us send the code to another.
        """
        if not self.is_named(issuer) and origin(url) != origin(issuer):
            raise Untrusted(
                f"the authorization server {issuer} has its {name} elsewhere, at {url}",
                hint=f"{_issuer(issuer)} allows it",
            )

    def check_secret(self, issuer: str, *, known: Collection[str] = (), doubt: str | None = None) -> None:
        """Refuse to send the user's secret to ISSUER, unless the user names it, it is KNOWN, or on the server's origin.

        DOUBT is why the metadata may not be that of ISSUER: then the user must name it.
        """
        if self.is_named(issuer):
            return
        if doubt is not None:
            raise Untrusted(
                f"{doubt}, so the client's credentials are not sent to it", hint=f"{_issuer(issuer)} allows it"
            )
        if issuer in known or origin(issuer) == origin(self.server_url):
            return
        raise Untrusted(
            f"the server's metadata names {issuer} as issuer; the client's credentials are not sent to it",
            hint=f"{_issuer(issuer)} allows it",
        )

    def is_named(self, issuer: str) -> bool:
        """Whether ISSUER is the one that the user names; a slash at the end makes no difference."""
        return self.issuer is not None and self.issuer.rstrip("/") == issuer.rstrip("/")
