"""How a connection is made: the name, its addresses, TCP, the tunnel of a proxy, TLS. Each step that fails is named."""

import asyncio
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from mcp_conductor.errors import ConnectionLost, TransportError, UsageError, way
from mcp_conductor.files.reading import open_file
from mcp_conductor.transport.http_connection import Connection, ConnectionEnded
from mcp_conductor.transport.http_framing import NotHttp, request_head
from mcp_conductor.transport.proxy import Proxy

CONNECT_SECONDS = 15.0  # for each step
# Where systems keep the authorities that they trust, for a Python that was built to look elsewhere.
_AUTHORITIES = (
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
)

# Raises if HOST, at this ADDRESS, must not be connected to.
Admits = Callable[[str, str], None]


class ProxyRefused(Exception):  # noqa: N818
    """The proxy does not connect us."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(f"{status} {reason}".rstrip())
        self.status = status


class Place(NamedTuple):
    """What connections are made to."""

    scheme: str
    host: str
    port: int
    proxy: Proxy | None
    admits: Admits | None


class Connecting:
    """Connections, with what is trusted for them; PEERS remembers the address of each host."""

    def __init__(self, *, cafile: str | None, verify: bool) -> None:
        self.peers: dict[tuple[str, int], str] = {}
        self._cafile = cafile
        self._verify = verify
        self._tls: ssl.SSLContext | None = None  # what is trusted, once it is needed
        self._proxy_tls: ssl.SSLContext | None = None

    def tls(self) -> ssl.SSLContext:
        """What is trusted for TLS with a server."""
        if self._tls is None:
            self._tls = trusted(self._cafile, verify=self._verify)
        return self._tls

    def _tls_of_proxies(self) -> ssl.SSLContext:
        """What is trusted for TLS with a proxy: what the user said of a server does not hold for it."""
        if self._proxy_tls is None:
            self._proxy_tls = trusted(None, verify=True)
        return self._proxy_tls

    async def connect(self, place: Place) -> Connection:
        proxy = place.proxy
        if proxy is None:
            connection = await self._reach(place.host, place.port, place.admits)
        else:
            # A proxy resolves names itself, and may well be where nothing else is allowed.
            connection = await self._reach(proxy.host, proxy.port, None)
        try:
            if proxy is not None and proxy.scheme == "https":
                await _start_tls(connection, self._tls_of_proxies(), proxy.host)
            if proxy is not None and place.scheme == "https":
                await _open_tunnel(connection, place, proxy)
            if place.scheme == "https":
                await _start_tls(connection, self.tls(), place.host)
        except BaseException:
            connection.abort()
            raise
        return connection

    async def _reach(self, host: str, port: int, admits: Admits | None) -> Connection:
        try:
            return await self._reach_now(host, port, admits)
        except TransportError as error:
            error.sent = False
            raise

    async def _reach_now(self, host: str, port: int, admits: Admits | None) -> Connection:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                connection = await _connect_tcp(host, port, admits)
        except TimeoutError:
            raise TransportError(f"cannot connect to {host}:{port} within {CONNECT_SECONDS:g} s") from None
        except socket.gaierror as error:
            raise TransportError(f"cannot resolve the name {host!r}: {error.strerror}") from error
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            if (host, port) in self.peers:
                gone = f"the server at {host}:{port} went away ({reason})"
                lost = ConnectionLost(gone, hint="did it exit, or crash?")
                lost.final = True
                raise lost from error
            raise TransportError(f"cannot connect to {host}:{port}: {reason}", hint="is the server running?") from error
        self.peers[host, port] = connection.transport.get_extra_info("peername")[0]
        return connection


async def _connect_tcp(host: str, port: int, admits: Admits | None) -> Connection:
    """Connect to HOST. Its name is resolved once, and ADMITS sees all addresses before one of them is connected to."""
    connect = asyncio.get_running_loop().create_connection
    if admits is None:
        return (await connect(Connection, host, port))[1]
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
    for address in addresses:
        admits(host, address)
    for address in addresses[:-1]:
        with suppress(OSError):
            return (await connect(Connection, address, port))[1]
    return (await connect(Connection, addresses[-1], port))[1]


async def _open_tunnel(connection: Connection, place: Place, proxy: Proxy) -> None:
    """Ask PROXY to connect us with PLACE. Raises ProxyRefused."""
    host = f"[{place.host}]" if ":" in place.host else place.host
    target = f"{host}:{place.port}"
    headers = [("Host", target), ("Accept", "*/*"), *proxy.headers()]
    head = request_head("CONNECT", target, [(name.encode(), value.encode()) for name, value in headers])
    reply = connection.ask(head, lambda _: None, tunnel=True)
    named = f"the proxy at {proxy.host}:{proxy.port}"
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await reply.arrive()
    except TimeoutError:
        raise TransportError(f"{named} did not answer within {CONNECT_SECONDS:g} s") from None
    if isinstance(reply.error, NotHttp) and reply.answer.begun:
        raise TransportError(f"the headers of the answer of {named} cannot be read: {reply.error}")
    if isinstance(reply.error, NotHttp | ConnectionEnded):
        raise TransportError(f"{named} closed the connection before an answer came")
    if not 200 <= reply.status < 300:
        raise ProxyRefused(reply.status, reply.answer.reason.decode("ascii", "replace"))
    reply.close()


async def _start_tls(connection: Connection, context: ssl.SSLContext, host: str) -> None:
    start = asyncio.get_running_loop().start_tls
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            transport = await start(connection.transport, connection, context, server_hostname=host)
    except ssl.SSLCertVerificationError as error:
        another = way("--cacert FILE", "HttpSpec(cafile=…)")
        every = way("--insecure", "HttpSpec(insecure=True)")
        hint = f"{another} trusts another authority, {every} trusts every certificate"
        raise TransportError(f"TLS with {host}: {error.verify_message}", hint=hint) from error
    except TimeoutError:
        raise TransportError(f"TLS with {host} was not agreed on within {CONNECT_SECONDS:g} s") from None
    except (OSError, ssl.SSLError) as error:
        text = str(error) or type(error).__name__
        raise TransportError(f"TLS with {host} failed: {text[:1].lower()}{text[1:]}") from error
    if transport is None:
        raise TransportError(f"TLS with {host} failed: the connection was lost")
    connection.connection_made(transport)


def trusted(cafile: str | None, *, verify: bool) -> ssl.SSLContext:
    """What is trusted for TLS: the authorities in CAFILE, or those of the system."""
    try:
        if cafile:
            open_file(cafile).close()  # OpenSSL would wait for a pipe
            context = ssl.create_default_context(cafile=cafile)
        else:
            context = _system_context()
    except (OSError, ssl.SSLError) as error:
        where = cafile or "the system"
        raise UsageError(f"cannot use the certificates in {where}: {error.strerror or error}") from error
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context


def _system_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_default_certs()
    known = ssl.get_default_verify_paths()
    if not (known.cafile or known.capath or context.cert_store_stats()["x509_ca"]):
        found = next(filter(os.path.isfile, _AUTHORITIES), None)
        if found is not None:
            context.load_verify_locations(found)
    return context
