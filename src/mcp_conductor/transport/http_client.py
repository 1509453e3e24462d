"""HTTP for MCP: requests to any number of places, streamed bodies, raw headers.

Every failure says at which step it happened: name resolution, connecting, TLS, sending, headers, body. Redirects are
followed only if they cannot send credentials to another place: 307 and 308, on the same origin.
"""

import os
import zlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from typing import Any, NamedTuple, Protocol
from urllib.parse import urljoin, urlsplit

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.errors import ConnectionLost, TransportError, UsageError, way
from mcp_conductor.protocol.budgets import DEFAULT
from mcp_conductor.protocol.server_spec import origin
from mcp_conductor.protocol.size import size_text
from mcp_conductor.text.redaction import without_credentials
from mcp_conductor.transport.http_connecting import Admits, Connecting, Place, ProxyRefused
from mcp_conductor.transport.http_connection import ConnectionEnded, Reply
from mcp_conductor.transport.http_framing import CannotBeSent, Header, NotHttp, request_head
from mcp_conductor.transport.http_pool import Pool
from mcp_conductor.transport.proxy import proxy_for

MOST_REDIRECTS = 3
_PIECE = 2**16  # of a body, at most, that is handed over at once
_MOST_WAYS = 100  # that are remembered


def head(first: str, headers: Iterable[tuple[str, str]]) -> str:
    """The head of a request or an answer, for the transcript; credentials are not even kept there."""
    return "\n".join([first, *map(_shown_header, headers)])


@lru_cache(maxsize=256)
def _shown_header(header: tuple[str, str]) -> str:
    return ": ".join(*without_credentials([header]))


class RawReply(Protocol):
    """An answer, as the connection or the application gives it: raw headers, and a body to come."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Sequence[Header]: ...

    def take_whole(self) -> bytes | None:
        """The body, if it has come whole; then the answer is over."""

    def aiter_stream(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class Response:
    """A reply whose body has not been read yet."""

    def __init__(self, url: str, reply: RawReply, largest: int = DEFAULT.message_bytes) -> None:
        self.url = url
        self.largest = largest  # bytes of a body, or of one event
        self.status: int = reply.status
        # Surrogates keep what is not UTF-8, so that it can be sent back as it came.
        self.headers, self._named, self.media_type = _text_headers(tuple(reply.headers))
        self._reply = reply

    def header(self, name: str) -> str | None:
        """The value of a header; several of one name are joined, as the standard says."""
        return self._named.get(name.lower())

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, unpacked if it is packed, in pieces that are small even if it is packed well."""
        unpack = _unpacker(self.header("content-encoding"), self.url)
        pace = Pace()
        try:
            async for chunk in self._reply.aiter_stream():
                for piece in unpack(chunk):
                    yield piece
                    await pace.keep()
        except NotHttp as error:
            raise TransportError(f"{self.url}: the body of the answer broke off: {error}") from error
        except ConnectionEnded as error:
            raise ConnectionLost(f"{self.url}: the connection was lost within the body of the answer") from error
        except zlib.error as error:
            raise TransportError(f"{self.url}: the body of the answer cannot be unpacked: {error}") from error

    async def read(self, limit: int | None = None) -> bytes:
        """The whole body, of at most LIMIT bytes."""
        if (whole := self.whole()) is not None:
            self.insist_on_size("the body of the answer", len(whole), limit)
            return whole
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            self.insist_on_size("the body of the answer", len(body), limit)
        return bytes(body)

    def whole(self) -> bytes | None:
        """The body, if it has come whole and is not packed; then nothing more is to be waited for."""
        return self._reply.take_whole() if self.header("content-encoding") is None else None

    async def aclose(self) -> None:
        """Take no more of it."""
        await self._reply.aclose()

    def insist_on_size(self, what: str, count: int, limit: int | None = None) -> None:
        """Raise if WHAT, of which COUNT bytes have come, is too large for a message, or larger than LIMIT."""
        largest = self.largest if limit is None else limit
        if count > largest:
            more = way("--max-message-size SIZE", "Budgets(message_bytes=…)")
            hint = f"{more} allows more" if limit is None else None
            raise TransportError(f"{self.url}: {what} is longer than {size_text(largest)}", hint=hint)


class _Way(NamedTuple):
    """How requests go to one URL."""

    pool: Pool
    target: str
    headers: list[tuple[str, str]]  # for a proxy


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
        self._environ = os.environ if environ is None else environ
        self._connecting = Connecting(cafile=cafile, verify=verify)
        self._pools: dict[Place, Pool] = {}
        self._ways: dict[tuple[str, Admits | None], _Way] = {}

    async def aclose(self) -> None:
        pools, self._pools, self._ways = self._pools, {}, {}
        for pool in pools.values():
            await pool.aclose()

    def peer(self, url: str) -> str | None:
        """The address of the last connection to the host of URL, if there was one that no proxy made for us."""
        return self._connecting.peers.get(origin(url)[1:])

    @asynccontextmanager
    async def open(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        *,
        admits: Admits | None = None,
        begun: Response | None = None,
    ) -> AsyncIterator[Response]:
        """Send a request and give its reply; leaving the context closes the reply, read or not.

        A name is resolved once, and ADMITS sees all its addresses before one of them is connected to. BEGUN is the
        reply to the same request, where `begin` has sent it already.
        """
        response = await self.ask(method, url, headers, body, admits=admits, begun=begun)
        try:
            yield response
        finally:
            await response.aclose()

    async def ask(
        self,
        method: str,
        url: str,
        headers: Iterable[tuple[str, str]] = (),
        body: bytes | None = None,
        *,
        admits: Admits | None = None,
        begun: Response | None = None,
        follow: bool = True,
    ) -> Response:
        """As `open`, for who closes the reply. Without FOLLOW, a redirect is an answer as any other."""
        headers = list(headers)
        for _ in range(MOST_REDIRECTS + 1):
            if begun is None:
                begun = Response(url, await self._send(method, url, headers, body, admits), self._largest)
            response, begun = begun, None
            try:
                target = self._redirect(response) if follow else None
            except TransportError:
                await response.aclose()
                raise
            if target is None:
                return response
            await response.aclose()
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
        if response.status not in (301, 302, 303, 307, 308) or (location := response.header("location")) is None:
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

    def begin(
        self, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes, on_head: Callable[[Reply], object]
    ) -> Reply | None:
        """Send a request now, if there is an idle connection, and nothing that has to be explained; else None.

        ON_HEAD is called once: when the head of the answer has come and `begun` may be told of it, or when none will
        come, for which `failure` has the reason.
        """
        try:
            way = self._way(url, None)
            request = self._request(way, method, url, headers, body)
        except UsageError:
            return None
        connection = way.pool.take_idle()
        return None if connection is None else connection.ask(request, way.pool.give_back, on_head)

    def begun(self, url: str, reply: Reply) -> Response:
        """The REPLY to what `begin` has sent."""
        return Response(url, reply, self._largest)

    def is_ready(self, url: str) -> bool:
        """Whether a request to URL would be sent at once."""
        return self._way(url, None).pool.has_idle

    async def reach(self, url: str) -> None:
        """Connect to the server of URL, and say nothing; raises why that cannot be done."""
        pool = self._way(url, None).pool
        pool.give_back(await pool.take())

    async def _send(
        self, method: str, url: str, headers: list[tuple[str, str]], body: bytes | None, admits: Admits | None
    ) -> RawReply:
        way = self._way(url, admits)
        request = self._request(way, method, url, headers, body)
        while True:
            try:
                connection = await way.pool.take()
            except ProxyRefused as error:
                wanted = "the proxy wants a name and a password: put them into its URL, http://NAME:PASSWORD@HOST:PORT"
                hint = wanted if error.status == 407 else None
                raise TransportError(f"{url}: the proxy refused: {error}", hint=hint) from error
            reply = connection.ask(request, way.pool.give_back, bodiless=method == "HEAD")
            await reply.arrive()
            if reply.status:
                return reply
            reply.close()
            # The server closed an idle connection while the request was on its way there: it has not seen it.
            if not (reply.never_read and connection.requests > 1):
                raise failure(url, reply)

    def _request(
        self, way: _Way, method: str, url: str, headers: Iterable[tuple[str, str]], body: bytes | None
    ) -> bytes:
        try:
            length = None if body is None else len(body)
            made = _request_head(method, way.target, url, (*way.headers, *headers), length)
        except CannotBeSent as error:
            raise UsageError(f"{url}: the request cannot be sent: {error}") from error
        return made + body if body else made

    def _way(self, url: str, admits: Admits | None) -> _Way:
        way = self._ways.get((url, admits))
        if way is None:
            if len(self._ways) >= _MOST_WAYS:
                self._ways.clear()
            way = self._ways[url, admits] = self._new_way(url, admits)
        return way

    def _new_way(self, url: str, admits: Admits | None) -> _Way:
        scheme, host, port = origin(url)
        if scheme not in ("http", "https") or not host:
            raise UsageError(f"{url}: a URL must begin with http:// or https://, and name a host")
        proxy = proxy_for(scheme, host, self._environ)
        place = Place(scheme, host, port, proxy, admits)
        if place not in self._pools:
            if scheme == "https":
                self._connecting.tls()  # a wrong file is named before anything is connected to
            self._pools[place] = Pool(partial(self._connecting.connect, place))
        parts = urlsplit(url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if proxy is None or scheme == "https":
            return _Way(self._pools[place], target, [])
        return _Way(self._pools[place], f"{scheme}://{_host_of(url)}{target}", proxy.headers())


def failure(url: str, reply: Reply) -> TransportError:
    """Why there is no answer, where REPLY has an error."""
    if isinstance(reply.error, ConnectionEnded):
        return ConnectionLost(f"{url}: the connection was lost before an answer came")
    if not reply.answer.begun:
        return ConnectionLost(f"{url}: the server closed the connection before an answer came")
    hint = "is the port right? It seems not to be one of HTTP"
    return TransportError(f"{url}: the headers of the answer cannot be read: {reply.error}", hint=hint)


def wire_headers(url: str, headers: Iterable[tuple[str, str]], length: int | None) -> list[Header]:
    """All headers of a request, as they go out, with a body of this LENGTH, if it has one."""
    sized = [(b"Content-Length", b"%d" % length)] if length is not None else []
    basic = [_wire_header("Host", _host_of(url)), (b"Accept-Encoding", b"identity")]
    return [*basic, *sized, *(_wire_header(name, value) for name, value in headers)]


@lru_cache(maxsize=128)  # requests to one server differ in little but their length
def _request_head(
    method: str, target: str, url: str, headers: tuple[tuple[str, str], ...], length: int | None
) -> bytes:
    return request_head(method, target, wire_headers(url, headers, length))


@lru_cache(maxsize=16)
def _host_of(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2]


@lru_cache(maxsize=256)
def _wire_header(name: str, value: str) -> Header:
    if not name.isascii():
        raise UsageError(f"{name!r} cannot be the name of a header")
    return name.encode(), value.encode("utf-8", "surrogateescape")


@lru_cache(maxsize=128)
def _text_headers(headers: tuple[Header, ...]) -> tuple[tuple[tuple[str, str], ...], dict[str, str], str]:
    """HEADERS as text; their values by name, in small letters; the media type of the body."""
    texts = tuple(
        (name.decode("ascii", "replace"), value.decode("utf-8", "surrogateescape")) for name, value in headers
    )
    named: dict[str, str] = {}
    for name, value in texts:
        key = name.lower()
        named[key] = value if key not in named else f"{named[key]}, {value}"
    return texts, named, named.get("content-type", "").partition(";")[0].strip().lower()


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
