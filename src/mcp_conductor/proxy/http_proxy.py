"""A local address that stands for a server at a URL: every request goes there, every answer comes back as it is.

Paths are the same on both sides, so only the address in the first event of HTTP+SSE has to be changed. A stream of
events is passed on as it comes, and closed on one side when it is closed on the other: in the modern era, that cancels
a request.
Our own credentials go only to the URL that was given, and to the address that the server wants messages at.
"""

import asyncio
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from mcp_conductor.bounded.direct import in_task
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.dialect import INTERNAL_ERROR, INVALID_REQUEST
from mcp_conductor.protocol.event_stream import EventStream
from mcp_conductor.protocol.server_spec import HttpSpec, origin
from mcp_conductor.protocol.transcript import Source
from mcp_conductor.recording.http_sessions import HttpSessions, RecordedExchange
from mcp_conductor.server.http.admission import Admission
from mcp_conductor.server.http.exchange import EVENT_TYPE, JSON_TYPE, HttpExchange, HttpRefused
from mcp_conductor.text.redaction import secrets_of_request
from mcp_conductor.text.visible import cut
from mcp_conductor.transport import Authorize, client_for
from mcp_conductor.transport.http_client import Response, head
from mcp_conductor.values import dataclass

Headers = tuple[tuple[str, str], ...]

# RFC 9110, 7.6.1: what belongs to one connection; and what each of our two sides decides itself.
_OF_A_CONNECTION = {
    "connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer",
    "transfer-encoding", "upgrade",
}  # fmt: skip
_NOT_SENT = _OF_A_CONNECTION | {"host", "content-length", "accept-encoding", "expect"}
_NOT_ANSWERED = _OF_A_CONNECTION | {"content-length", "content-encoding", "date"}
_CONTENT_TYPE = frozenset({"content-type"})
_OF_STREAMS = frozenset({"content-type", "cache-control", "x-accel-buffering"})  # said by the side that begins a stream
_LONGEST_FIRST_EVENT = 1 << 16
_MOST_ENDPOINTS = 10_000
_MOST_CREDENTIALS = 100  # of clients, that are looked for in all that is said: each takes time everywhere
_MOST_SHOWN = 200


@dataclass(slots=True, eq=False)
class Passage:
    """One request on its way, and its answer on the way back."""

    exchange: HttpExchange
    target: str  # path and query
    sent: Headers
    recorded: RecordedExchange
    body: bytes = b""
    takes_messages: bool = True  # whether what passes here are messages of MCP
    endpoint: str | None = None  # where the server wants messages, for a stream that says so


class HttpProxy:
    """What stands between the clients of one address and the server of SPEC."""

    def __init__(
        self,
        spec: HttpSpec,
        sessions: HttpSessions,
        admission: Admission,
        *,
        authorize: Authorize | None = None,
        complain: Callable[[str], None],  # told in a line what went wrong inside
    ) -> None:
        self._complain = complain
        self._spec = spec
        self._sessions = sessions
        self._admission = admission
        self._http = client_for(spec)
        self._authorization = authorize(self._http) if authorize else None
        if self._authorization is not None:
            writer = sessions.writer
            self._authorization.watch(lambda text: writer.add("http", text), writer.redactor.learn)
        parts = urlsplit(spec.url)
        self.path = parts.path or "/"
        self._query = parts.query
        self._origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._passing: set[HttpExchange] = set()
        self._learned: set[tuple[str, ...]] = set()  # what lets clients in
        self._endpoints: dict[str, None] = {}  # that the server wants messages at

    async def aclose(self) -> None:
        await self._http.aclose()

    def stop(self) -> None:
        """End all streams, so that connections can close."""
        for exchange in tuple(self._passing):
            exchange.cancel()

    async def serve(self, exchange: HttpExchange) -> None:
        """Pass on one request and its answer; if the client goes meanwhile, the server hears of it."""
        self._passing.add(exchange)
        try:
            self._admission.check(exchange.headers)
            await self._pass(exchange)
        except HttpRefused as refused:
            await exchange.refuse(refused.status, INVALID_REQUEST, refused.problem, refused.headers or [])
        except asyncio.CancelledError:  # nothing waits for it but the connection
            exchange.cut()
        except Exception as error:  # noqa: BLE001  # one request that fails must not go unseen, nor end the proxy
            self._complain(f"{exchange.method} {exchange.path} failed: {error!r}")
            exchange.cut()
        finally:
            self._passing.discard(exchange)

    async def _pass(self, exchange: HttpExchange) -> None:
        target = exchange.target
        path = target.partition("?")[0]
        if not path.startswith("/"):  # it would not be a part of the server's address
            raise HttpRefused(400, f"{cut(target, _MOST_SHOWN)!r} is not a path of the server")
        recorded = self._sessions.exchange(exchange.gone)  # which is that of its connection
        if self.is_endpoint(target):
            recorded.join(target)
        else:  # a stream that was opened without a name may get one by its first event
            recorded.is_open = exchange.method == "GET"
        given = tuple([(name, value) for name, values in exchange.headers.items() for value in values])
        shown = target if self.is_endpoint(target) else path
        known = _understood(given, b"" if self.is_endpoint(target) else exchange.query)
        if known.secrets:
            recorded.secrets = known.secrets
            self._learn(known.secrets)
        has_body = exchange.is_read and exchange.size > 0  # which is written with the head then
        recorded.observe("http", f"{exchange.method} {shown}{known.shown}", more=has_body)
        passage = Passage(exchange, target, known.sent, recorded)
        passage.takes_messages = path == self.path or self.is_endpoint(target)
        try:
            passage.body = await exchange.body()
            await self.forward(passage)
        finally:
            recorded.settle()

    def _learn(self, secrets: tuple[str, ...]) -> None:
        """Keep SECRETS of a client out of the recording, also where the server says them again."""
        if secrets in self._learned or len(self._learned) > _MOST_CREDENTIALS:
            return
        self._learned.add(secrets)
        if len(self._learned) > _MOST_CREDENTIALS:
            more = "each more is looked for only in what belongs to its request"
            self._complain(f"clients sent more than {_MOST_CREDENTIALS} credentials: {more}")
        else:
            self._sessions.writer.redactor.learn(secrets)

    def is_endpoint(self, target: str) -> bool:
        """Whether the server wants messages at TARGET (HTTP+SSE)."""
        return target in self._endpoints

    async def forward(self, passage: Passage) -> None:
        """Pass on a request and its answer, and record them."""
        exchange, recorded = passage.exchange, passage.recorded
        if passage.body:
            observe_body(passage, "client", passage.body)
        try:
            response = await self.answer(passage)
            try:
                await self.pass_back(passage, response)
            finally:
                await response.aclose()
        except ConductorError as error:
            recorded.settle()
            recorded.observe("note", f"the server did not answer: {error.message}")
            if not exchange.begun:
                await exchange.refuse(502, INTERNAL_ERROR, f"the server did not answer: {error.message}")
            else:
                exchange.cut()

    async def answer(self, passage: Passage) -> Response:
        """The server's answer, when it is one that our own credentials have nothing more to do with.

        The caller closes it.
        """
        exchange, target, body = passage.exchange, passage.target, passage.body
        is_named = target == self.path
        url = self._origin + target + (f"?{self._query}" if is_named and self._query else "")
        trusted, sent = passage.takes_messages, passage.sent
        if self._authorization is not None:
            await in_task()  # its requests have time-outs
        while True:
            headers = _with(sent, self._spec.headers.items()) if trusted and self._spec.headers else sent
            if trusted and self._authorization is not None:
                headers = _with(headers, await self._authorization.headers())
            if not self._http.is_ready(url):
                await self._http.reach(url)
            # From here on, the request is sent at once: what a client has said reaches the server, though it may go.
            exchange.ends_with_client = True
            if exchange.gone.done():
                asyncio.get_running_loop().call_soon(exchange.cancel)
            response = await self._http.ask(exchange.method, url, headers, body or _empty(exchange), follow=False)
            try:
                if not (trusted and await self._is_authorized_now(response)):
                    return response
            except BaseException:
                await response.aclose()
                raise
            await response.aclose()

    async def _is_authorized_now(self, response: Response) -> bool:
        """Get a token if RESPONSE asks for one; whether there is a new one: then try again."""
        if self._authorization is None:
            return False
        if response.status not in (401, 403):
            self._authorization.accepted()
            return False
        return await self._authorization.challenged(response.status, response.header("www-authenticate"))

    async def pass_back(self, passage: Passage, response: Response) -> None:
        """Pass on the answer."""
        # A stream that has come to its end already is a body as any other.
        whole = None if passage.recorded.is_open else response.whole()
        observe_answer(passage, response, more=whole is not None)
        if whole is None and is_stream(response):
            await self._pass_stream(passage, response)
        else:
            await self.pass_body(passage, response, await response.read() if whole is None else whole)

    async def pass_body(
        self, passage: Passage, response: Response, body: bytes, content_type: str | None = None
    ) -> None:
        """Answer with BODY."""
        if body and response.media_type == JSON_TYPE:
            observe_body(passage, "server", body)
        elif is_stream(response):
            for event in EventStream().feed(body):
                if event.kind == "message" and event.data:
                    passage.recorded.observe("server", event.data, more=True)
            passage.recorded.flush()
        elif body and response.status >= 400:
            said = cut(" ".join(body[:10_000].decode(errors="replace").split()), _MOST_SHOWN)
            passage.recorded.observe("note", f"the body of the answer is no JSON: {said}")
        kind = _latin(response.header("content-type") or "") if content_type is None else content_type
        headers = answered(response, without=_CONTENT_TYPE if body else frozenset())
        if 300 <= response.status < 400:
            is_place = ("location", "content-location")
            headers = tuple((name, self._here(value) if name.lower() in is_place else value) for name, value in headers)
        await passage.exchange.reply(response.status, body, headers, kind)

    def _here(self, address: str) -> str:
        """ADDRESS, as a client reaches it: a place of the server is one of ours."""
        try:
            parts = urlsplit(address)
            is_ours = bool(parts.scheme) and origin(address) == origin(self._spec.url)
        except ValueError:
            return address
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "") if is_ours else address

    async def _pass_stream(self, passage: Passage, response: Response) -> None:
        exchange, recorded = passage.exchange, passage.recorded
        events = EventStream()
        begin_stream(exchange, response)
        # What came before the end of the first event, which may be one that has to be changed.
        first = b"" if recorded.is_open else None
        async for chunk in response.chunks():
            found = events.feed(chunk)
            response.insist_on_size("an event", events.waiting())
            if first is not None:
                chunk = first = first + chunk  # noqa: PLW2901  # it is what is passed on
                if not found and not first.startswith(b":") and len(first) < _LONGEST_FIRST_EVENT:
                    continue
                first = None if found else b""  # a comment keeps the connection alive, and tells nothing
                if found and found[0].kind == "endpoint":
                    chunk = self.take_endpoint(passage, found[0].data, chunk)  # noqa: PLW2901  # as above
            for event in found:
                if event.kind == "message" and event.data:
                    recorded.observe("server", event.data)
            await exchange.write(chunk, more=True)
        await exchange.write(first or b"", more=False)

    def take_endpoint(self, passage: Passage, data: str, chunk: bytes) -> bytes:
        """CHUNK, whose first event says where messages go, with an address of ours there."""
        try:
            endpoint = urljoin(self._spec.url, data.strip())
            elsewhere = origin(endpoint) != origin(self._spec.url)
        except ValueError:
            return chunk
        if elsewhere:
            return chunk
        parts = urlsplit(endpoint)
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        self._endpoints[target] = None
        if len(self._endpoints) > _MOST_ENDPOINTS:
            del self._endpoints[next(iter(self._endpoints))]
        passage.recorded.join(target)
        passage.endpoint = target
        if "://" not in data:
            # Relative to the URL, which has the same path here.
            return chunk
        ours = f"http://{passage.exchange.header('host')}{target}"
        return chunk.replace(data.strip().encode(), ours.encode("latin-1"), 1)


def observe_body(passage: Passage, source: Source, body: bytes) -> None:
    """Record a BODY, if it is a message. Elsewhere, as where tokens are given out, most are not."""
    if passage.takes_messages or b'"jsonrpc"' in body:
        passage.recorded.observe(source, body.decode(errors="surrogateescape"))
    else:
        passage.recorded.observe("note", f"a body of {len(body)} bytes that is no message of MCP is not kept")


def is_stream(response: Response) -> bool:
    """Whether RESPONSE is an event stream."""
    return response.media_type == EVENT_TYPE and response.status == 200


def observe_answer(
    passage: Passage, response: Response, content_type: str | None = None, *, more: bool = False
) -> None:
    """Record the head of RESPONSE, with another CONTENT_TYPE if there is one; MORE: its body comes at once."""
    headers = response.headers
    if content_type is not None:
        headers = _with(headers, [("content-type", content_type)])
    passage.recorded.observe("http", _shown(f"HTTP {response.status}", headers), more=more)


def answered(response: Response, without: frozenset[str] = frozenset()) -> Headers:
    """The headers of RESPONSE that are passed on, WITHOUT some more."""
    return _answered(response.headers, without)


def begin_stream(exchange: HttpExchange, response: Response, content_type: str | None = None) -> None:
    """Begin an event stream as that of RESPONSE."""
    kind = _latin(response.header("content-type") or EVENT_TYPE) if content_type is None else content_type
    exchange.begin(answered(response, without=_OF_STREAMS), kind)


def _with(headers: Headers, more: Iterable[tuple[str, str]]) -> Headers:
    """HEADERS with MORE in the place of those of the same names."""
    more = list(more)
    named = {name.lower() for name, _ in more}
    return (*((name, value) for name, value in headers if name.lower() not in named), *more)


def _empty(exchange: HttpExchange) -> bytes | None:
    """The body of a request that has none, or an empty one."""
    return b"" if exchange.method in ("POST", "PUT", "PATCH") else None


# Clients and servers send the same headers again and again.


class _RequestHead(NamedTuple):
    """What the headers of a request become."""

    shown: str  # in a recording, behind the first line
    sent: Headers  # to the server
    secrets: tuple[str, ...]


@lru_cache(maxsize=128)
def _understood(given: Headers, query: bytes) -> _RequestHead:
    return _RequestHead(head("", given), _sent(given), tuple(secrets_of_request(given, query.decode("latin-1"))))


@lru_cache(maxsize=128)
def _shown(first: str, headers: Headers) -> str:
    return head(first, headers)


def _sent(given: Headers) -> Headers:
    """The headers that a client gave us, as we send them: in UTF-8, without the white space around a value."""
    return tuple(
        (name, value.strip(" \t").encode("latin-1").decode(errors="surrogateescape"))
        for name, value in given
        if name not in _NOT_SENT
    )


@lru_cache(maxsize=128)
def _answered(headers: Headers, without: frozenset[str]) -> Headers:
    left_out = _NOT_ANSWERED | without
    return tuple((name, _latin(value)) for name, value in headers if name.lower() not in left_out)


def _latin(value: str) -> str:
    """A value as a client of ours reads it, as a server of ours sends it."""
    return value.encode(errors="surrogateescape").decode("latin-1")
