"""HTTP for MCP: a pool of connections, TLS, proxies, streamed bodies and raw headers, on httpcore2.

Every failure says at which step it happened: name resolution, connecting, TLS, sending, headers, body. Redirects are
followed only if they cannot send credentials to another place: 307 and 308, on the same origin.
"""

import asyncio
import os
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Protocol
from urllib.parse import urljoin, urlsplit

import httpcore2

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.errors import TransportError, UsageError
from mcp_conductor.files.reading import open_file
from mcp_conductor.protocol.budgets import DEFAULT
from mcp_conductor.protocol.server_spec import origin
from mcp_conductor.protocol.size import size_text
from mcp_conductor.text.redaction import without_credentials

CONNECT_SECONDS = 15.0
MOST_REDIRECTS = 3
_PIECE = 2**16  # of a body, at most, that is handed over at once
# One for each request in flight, and one for the stream that the server pushes on.
_MOST_CONNECTIONS = 256

# Raises if HOST, at this ADDRESS, must not be connected to.
Admits = Callable[[str, str], None]


def head(first: str, headers: Iterable[tuple[str, str]]) -> str:
    """The head of a request or an answer, for the transcript; credentials are not even kept there."""
    return "\n".join([first, *(f"{name}: {value}" for name, value in without_credentials(headers))])


class RawReply(Protocol):
    """An answer, as the connection or the application gives it: raw headers, and a body to come."""

    status: int
    headers: list[tuple[bytes, bytes]]

    def aiter_stream(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class Response:
    """A reply whose body has not been read yet."""

    def __init__(self, url: str, reply: RawReply, largest: int = DEFAULT.message_bytes) -> None:
        self.url = url
        self.largest = largest  # bytes of a body, or of one event
        self.status: int = reply.status
        # Surrogates keep what is not UTF-8, so that it can be sent back as it came.
        self.headers = [
            (name.decode("ascii", "replace"), value.decode("utf-8", "surrogateescape")) for name, value in reply.headers
        ]
        self._reply = reply

    def header(self, name: str) -> str | None:
        """The value of a header; several of one name are joined, as the standard says."""
        values = [value for known, value in self.headers if known.lower() == name.lower()]
        return ", ".join(values) if values else None

    @property
    def media_type(self) -> str:
        return (self.header("content-type") or "").partition(";")[0].strip().lower()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked if it is packed, in pieces that are small even if it is packed well."""
        unpack = _unpacker(self.header("content-encoding"), self.url)
        pace = Pace()
        try:
            async for chunk in self._reply.aiter_stream():
                for piece in unpack(chunk):
                    yield piece
                    await pace.keep()
        except httpcore2.RemoteProtocolError as error:
            raise TransportError(f"{self.url}: the body of the answer broke off: {_lower(error)}") from error
        except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
            raise TransportError(f"{self.url}: the connection was lost within the body of the answer") from error
        except zlib.error as error:
            raise TransportError(f"{self.url}: the body of the answer cannot be unpacked: {error}") from error

    async def read(self, limit: int | None = None) -> bytes:
        """The whole body, of at most LIMIT bytes."""
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            self.insist_on_size("the body of the answer", len(body), limit)
        return bytes(body)

    def insist_on_size(self, what: str, count: int, limit: int | None = None) -> None:
        """Raise if WHAT, of which COUNT bytes have come, is too large for a message, or larger than LIMIT."""
        largest = self.largest if limit is None else limit
        if count > largest:
            hint = "--max-message-size SIZE allows more" if limit is None else None
            raise TransportError(f"{self.url}: {what} is longer than {size_text(largest)}", hint=hint)


class HttpClient:
    """Requests to any number of origins; connections are kept alive until `aclose`."""

    def __init__(
        self,
        *,
        cafile: str | None = None,
        verify: bool = True,
        environ: Mapping[str, str] | None = None,
        largest: int = DEFAULT.message_bytes,  # body of an answer
    ) -> None:
        self._largest = largest
        self._cafile = cafile
        self._verify = verify
        self._environ = os.environ if environ is None else environ
        self._pools: dict[tuple[str, str | None, Admits | None], httpcore2.AsyncConnectionPool] = {}
        self._peers: dict[tuple[str, int], str] = {}

    async def aclose(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()
        self._pools.clear()

    def peer(self, url: str) -> str | None:
        """The address of the last connection to the host of URL, if there was one that no proxy made for us."""
        return self._peers.get(origin(url)[1:])

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        *,
        admits: Admits | None = None,
    ) -> AsyncIterator[Response]:
        """Send a request and give its reply; leaving the context closes the reply, read or not.

        A name is resolved once, and ADMITS sees all its addresses before one of them is connected to.
        """
        headers = list(headers)
        for _ in range(MOST_REDIRECTS + 1):
            reply = await self._send(method, url, headers, body, admits)
            try:
                response = Response(url, reply, self._largest)
                target = self._redirect(response)
                if target is None:
                    yield response
                    return
            finally:
                await reply.aclose()
            url = target
        raise TransportError(f"{url}: more than {MOST_REDIRECTS} redirects")

    async def fetch(
        self, method: str, url: str, headers: Iterable[tuple[str, str]] = (), body: bytes | None = None
    ) -> tuple[Response, bytes]:
        """Send a request and read the whole reply."""
        async with self.open(method, url, headers, body) as response:
            return response, await response.read()

    def _redirect(self, response: Response) -> str | None:
        """Where to go instead, if that is harmless."""
        location = response.header("location")
        if response.status not in (301, 302, 303, 307, 308) or location is None:
            return None
        try:
            target = urljoin(response.url, location)
            if response.status in (307, 308) and origin(target) == origin(response.url):
                return target
        except ValueError:
            target = f"{location!r}, which is not a URL"
        raise TransportError(
            f"{response.url}: the server redirects to {target} (status {response.status}), which is not followed",
            hint="give that URL, if you trust it",
        )

    async def _send(
        self, method: str, url: str, headers: list[tuple[str, str]], body: bytes | None, admits: Admits | None
    ) -> RawReply:
        request = httpcore2.Request(
            method,
            url,
            headers=wire_headers(url, headers, body),
            content=body or b"",
            extensions={"timeout": {"connect": CONNECT_SECONDS}},
        )
        try:
            return await self._pool(url, admits).handle_async_request(request)
        except httpcore2.ProxyError as error:
            raise TransportError(f"{url}: the proxy refused: {error}") from error
        except httpcore2.LocalProtocolError as error:
            raise UsageError(f"{url}: the request cannot be sent: {_lower(error)}") from error
        except httpcore2.RemoteProtocolError as error:
            raise TransportError(f"{url}: the headers of the answer cannot be read: {_lower(error)}") from error
        except (httpcore2.NetworkError, httpcore2.TimeoutException) as error:
            raise TransportError(f"{url}: the connection was lost before an answer came") from error
        except httpcore2.UnsupportedProtocol as error:
            raise UsageError(f"{url}: {error}") from error

    def _pool(self, url: str, admits: Admits | None = None) -> httpcore2.AsyncConnectionPool:
        scheme, proxy = origin(url)[0], _proxy_for(url, self._environ)
        if (scheme, proxy, admits) not in self._pools:
            # A proxy resolves names itself, and may well be where nothing else is allowed.
            self._pools[scheme, proxy, admits] = httpcore2.AsyncConnectionPool(
                ssl_context=self._tls() if scheme == "https" else None,
                proxy=httpcore2.Proxy(proxy) if proxy else None,
                max_connections=_MOST_CONNECTIONS,
                network_backend=_Network(self._peers, admits if proxy is None else None),
            )
        return self._pools[scheme, proxy, admits]

    def _tls(self) -> ssl.SSLContext:
        try:
            if self._cafile:
                open_file(self._cafile).close()  # OpenSSL would wait for a pipe
                context = ssl.create_default_context(cafile=self._cafile)
            else:
                context = httpcore2.default_ssl_context()
        except (OSError, ssl.SSLError) as error:
            raise UsageError(f"cannot use the certificates in {self._cafile}: {error.strerror or error}") from error
        if not self._verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def wire_headers(url: str, headers: Iterable[tuple[str, str]], body: bytes | None) -> list[tuple[bytes, bytes]]:
    """All headers of a request, as they go out."""
    return [_wire_header(name, value) for name, value in (*_basic_headers(url, body), *headers)]


def _basic_headers(url: str, body: bytes | None) -> list[tuple[str, str]]:
    length = [("Content-Length", str(len(body)))] if body is not None else []
    return [("Host", urlsplit(url).netloc.rpartition("@")[2]), ("Accept-Encoding", "identity"), *length]


def _wire_header(name: str, value: str) -> tuple[bytes, bytes]:
    if not name.isascii():
        raise UsageError(f"{name!r} cannot be the name of a header")
    return name.encode(), value.encode("utf-8", "surrogateescape")


def _unpacker(encoding: str | None, url: str) -> Callable[[bytes], Iterator[bytes]]:
    match (encoding or "identity").strip().lower():
        case "identity":
            return lambda chunk: (chunk[start : start + _PIECE] for start in range(0, len(chunk), _PIECE))
        case "gzip" | "x-gzip" | "deflate":
            return partial(_unzipped, zlib.decompressobj(zlib.MAX_WBITS | 32))
        case other:
            raise TransportError(f"{url}: the answer is packed as {other!r}, which was not asked for")


def _unzipped(unzip: Any, chunk: bytes) -> Iterator[bytes]:
    while chunk:
        yield unzip.decompress(chunk, _PIECE)
        chunk = unzip.unconsumed_tail


def _proxy_for(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for URL, in the usual variables."""
    scheme, host, _ = origin(url)
    exceptions = [word.strip().lstrip(".") for word in _variable(environ, "no_proxy").split(",") if word.strip()]
    if host in ("localhost", "127.0.0.1", "::1") or any(
        word in ("*", host) or host.endswith(f".{word}") for word in exceptions
    ):
        return None
    return _variable(environ, f"{scheme}_proxy") or _variable(environ, "all_proxy") or None


def _variable(environ: Mapping[str, str], name: str) -> str:
    return environ.get(name) or environ.get(name.upper()) or ""


def _lower(error: Exception) -> str:
    text = str(error) or type(error).__name__
    return text[:1].lower() + text[1:]


class _Network(httpcore2.AsyncNetworkBackend):
    """asyncio's own sockets, so that every step that can fail is named: httpcore2's knows one error for all of them."""

    def __init__(self, peers: dict[tuple[str, int], str], admits: Admits | None) -> None:
        self._peers = peers
        self._admits = admits

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Any = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                reader, writer = await self._connect(host, port)
        except TimeoutError:
            raise TransportError(f"cannot connect to {host}:{port} within {timeout:g} s") from None
        except socket.gaierror as error:
            raise TransportError(f"cannot resolve the name {host!r}: {error.strerror}") from error
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else str(error)
            if (host.lower(), port) in self._peers:
                gone = f"the server at {host}:{port} went away ({reason})"
                raise TransportError(gone, hint="did it exit, or crash?") from error
            raise TransportError(f"cannot connect to {host}:{port}: {reason}", hint="is the server running?") from error
        self._peers[host.lower(), port] = writer.get_extra_info("peername")[0]
        return _Stream(reader, writer, host)

    async def _connect(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._admits is None:
            return await asyncio.open_connection(host, port)
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(place[0]) for *_, place in found))
        for address in addresses:
            self._admits(host, address)
        for address in addresses[:-1]:
            with suppress(OSError):
                return await asyncio.open_connection(address, port)
        return await asyncio.open_connection(addresses[-1], port)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002  # requests have deadlines
        try:
            return await self._reader.read(max_bytes)
        except (OSError, ssl.SSLError) as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        try:
            self._writer.write(buffer)
            await self._writer.drain()
        except (OSError, ssl.SSLError) as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        self._writer.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> "_Stream":
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except ssl.SSLCertVerificationError as error:
            hint = "--cacert FILE trusts another authority, --insecure trusts every certificate"
            raise TransportError(f"TLS with {self._host}: {error.verify_message}", hint=hint) from error
        except TimeoutError:
            raise TransportError(f"TLS with {self._host} was not agreed on within {timeout:g} s") from None
        except (OSError, ssl.SSLError) as error:
            raise TransportError(f"TLS with {self._host} failed: {_lower(error)}") from error
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # an idle connection is readable when the other side has closed it
            return self._reader.at_eof()
        return self._writer.get_extra_info({"client_addr": "sockname", "server_addr": "peername"}.get(info, info))
