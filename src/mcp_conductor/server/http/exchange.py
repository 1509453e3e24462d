"""One HTTP request and its response (RFC 9110, RFC 9112), on a connection that carries many."""

import asyncio
import time
from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Protocol

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose_error
from mcp_conductor.protocol.message import compact
from mcp_conductor.server.definitions import Observe, Observer
from mcp_conductor.text.redaction import without_credentials

Headers = Iterable[tuple[str, str]]

JSON_TYPE = "application/json"
EVENT_TYPE = "text/event-stream"
_REASONS = {status.value: status.phrase for status in HTTPStatus}
_BODILESS = {status for status in _REASONS if status < 200 or status in (204, 304)}


class HttpRefused(Exception):  # noqa: N818  # what happened; the client is at fault
    """A request that is refused before anything looks at what it asks for."""

    def __init__(self, status: int, problem: str, headers: "list[tuple[str, str]] | None" = None) -> None:
        super().__init__(problem)
        self.status = status
        self.problem = problem
        self.headers = headers


class Line(Protocol):
    """The connection below."""

    gone: "asyncio.Future[None]"  # done as soon as the client has gone

    def write(self, data: bytes) -> None: ...

    async def drained(self) -> None: ...

    def close(self) -> None: ...

    def cancel(self) -> None: ...

    def reset(self) -> None: ...


class HttpExchange:
    """What a client asked over HTTP, and the means to answer it."""

    def __init__(
        self, method: str, path: str, query: bytes, headers: dict[str, list[str]], line: Line, *, lasting: bool = True
    ) -> None:
        self.method = method
        self.path = path
        self.query = query
        self.target = path  # path and query as they were written
        self.headers = headers
        self.gone = line.gone
        self.lasting = lasting  # whether the connection can carry another request after this one
        self.chunked = True  # whether the client knows chunks: HTTP/1.0 does not
        self.ends_with_client = False  # whether it is cancelled when the client goes
        self.always: list[tuple[str, str]] = []  # headers of the answer, whichever it is
        self.observe: Observe | None = None  # told what crosses the wire
        self._observer: Observer | None = None
        self.answered = False  # in full
        self.size = 0  # of the body, as far as it has come
        self.exact = True  # whether the length of the body is known before
        self._line = line
        self._body = bytearray()  # not a list: parts of one byte would take forty times their size
        self._held = 0
        self._refusal: HttpRefused | None = None
        self._has_begun = False  # to be answered
        self._waiting: asyncio.Future[None] | None = None  # for the rest of the body
        self.is_read = False  # whether the body has come to its end
        self._begun = b""  # the head of a stream, until something goes with it

    # What the client says.

    def header(self, name: str) -> str | None:
        values = self.headers.get(name)
        return values[0] if values else None

    def accepts(self, *types: str) -> bool:
        """Whether the client takes answers of all these types."""
        return _accepts(",".join(self.headers.get("accept", ())), types)

    def feed(self, part: bytes) -> int:
        """Take a part of the body: how many bytes are kept of it. What comes after the answer is thrown away."""
        self.size += len(part)
        if self.answered:
            return 0
        self._body += part
        self._held += len(part)
        return len(part)

    def let_go(self) -> int:
        """Forget the body: how many bytes were kept of it."""
        held, self._held = self._held, 0
        self._body = bytearray()
        return held

    def give_up(self, status: int, problem: str) -> bool:
        """No more of the body comes, for this reason; False if the answer has begun already."""
        if self._has_begun:
            return False
        self.lasting = False
        self._refusal = HttpRefused(status, problem)
        self._stir()
        return True

    def feed_end(self) -> None:
        self.is_read = True
        self._stir()

    async def body(self) -> bytes:
        """The body; raises HttpRefused when it does not come to its end."""
        if not self.is_read and self._refusal is None:
            if (self.header("expect") or "").lower() == "100-continue":
                self._line.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self._waiting = asyncio.get_running_loop().create_future()
            await asyncio.wait({self._waiting, self.gone}, return_when=asyncio.FIRST_COMPLETED)
        if self._refusal is not None:
            raise self._refusal
        if not self.is_read:
            raise HttpRefused(400, "the body has no end")  # which is not sent: the client is gone
        body = bytes(self._body)
        if self.observe is not None and body:
            self.observe("client", body.decode(errors="surrogateescape"))
        return body

    def observe_with(self, observer: Observer) -> None:
        """Tell OBSERVER of the head of the request, and of all that follows."""
        self._observer, self.observe = observer, observer.observe
        headers = [(name, value) for name, values in self.headers.items() for value in values]
        head = [f"{self.method} {self.path}", *map(": ".join, without_credentials(headers))]
        observer.observe("http", "\n".join(head))

    def belongs_to(self, conversation: str) -> None:
        """Tell which CONVERSATION this is a part of, where no header says so."""
        if self._observer is not None:
            self._observer.join(conversation)

    def tell(self, message: bytes) -> None:
        """Tell of a MESSAGE that is sent."""
        if self.observe is not None and message:
            self.observe("server", message.decode(errors="surrogateescape"))

    def _stir(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    # What is answered.

    @property
    def begun(self) -> bool:
        """Whether an answer has begun."""
        return self._has_begun

    async def reply(self, status: int, body: bytes = b"", headers: Headers = (), content_type: str = JSON_TYPE) -> None:
        """Answer with all of BODY."""
        self._has_begun = True
        typed = f"content-type: {content_type}\r\n" if body and content_type else ""
        length = "" if status in _BODILESS else f"content-length: {len(body)}\r\n"
        head = self._head(status, typed + length, headers)
        self.tell(body)
        self._line.write(head if self.method == "HEAD" or status in _BODILESS else head + body)
        self.answered = True
        await self._line.drained()

    async def refuse(self, status: int, code: int, message: str, headers: Headers = ()) -> None:
        """Answer with a status, and with an error that belongs to no request."""
        error = compose_error(None, {"code": code, "message": message}, named=False)
        await self.reply(status, _bytes(error), headers)

    def begin(self, headers: Headers = (), content_type: str = EVENT_TYPE) -> None:
        """Begin an event stream."""
        self._has_begun = True
        self.lasting = self.lasting and self.chunked
        self._begun = self._head(
            200,
            f"content-type: {content_type}\r\n"
            "cache-control: no-cache, no-transform\r\n"
            "x-accel-buffering: no\r\n" + ("transfer-encoding: chunked\r\n" if self.chunked else ""),
            headers,
        )
        # One packet is faster than two, but where nothing is said yet the client must know that it is connected.
        asyncio.get_running_loop().call_soon(self._send, b"")

    async def write(self, part: bytes, *, more: bool) -> None:
        """Say PART of a stream."""
        if self.chunked:
            part = (b"%x\r\n%b\r\n" % (len(part), part) if part else b"") + (b"" if more else b"0\r\n\r\n")
        self._send(part)
        self.answered = not more
        await self._line.drained()

    def cancel(self) -> None:
        """End what answers this request, as the end of its client does (`ends_with_client`)."""
        self._line.cancel()

    def reset(self) -> None:
        """Close the connection although the client has not read what it was sent."""
        self._line.reset()

    def cut(self) -> None:
        """Close the connection in the middle of everything."""
        self._send(b"")
        self._line.close()

    def _send(self, data: bytes) -> None:
        begun, self._begun = self._begun, b""
        if begun or data:
            self._line.write(begun + data)

    def _head(self, status: int, fixed: str, headers: Headers) -> bytes:
        more = "".join([f"{name}: {value}\r\n" for name, value in (*self.always, *headers)])
        end = "" if self.lasting else "connection: close\r\n"
        reason = _REASONS.get(status, "")
        if self.observe is not None:
            self.observe("http", f"HTTP {status}\n{fixed}{more}{end}".replace("\r\n", "\n").rstrip())
        return f"HTTP/1.1 {status} {reason}\r\n{_date()}{fixed}{more}{end}\r\n".encode("latin-1")


@lru_cache(maxsize=64)  # clients send the same header all the time
def _accepts(header: str, types: tuple[str, ...]) -> bool:
    accepted = {part.split(";")[0].strip().lower() for part in header.split(",")}
    return "*/*" in accepted or all(wanted in accepted or f"{wanted.split('/')[0]}/*" in accepted for wanted in types)


_dated = (0, "")


def _date() -> str:
    """The Date header, which is the same for a second."""
    global _dated  # noqa: PLW0603  # one clock for all
    now = int(time.time())
    if now != _dated[0]:
        _dated = (now, time.strftime("date: %a, %d %b %Y %H:%M:%S GMT\r\n", time.gmtime(now)))
    return _dated[1]


def _bytes(message: Json) -> bytes:
    return compact(message).encode()
