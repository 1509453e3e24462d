"""HTTP/1.1 as bytes: the head of a request, written; an answer, read from pieces of any size. No I/O.

What is read is what servers send, not only what they should send: lines may end without CR, a header may go on in the
next line, a length may stand there twice. What could be understood in two ways is refused (RFC 9112, section 6.3).
"""

import re
from collections import deque
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

MOST_HEAD_BYTES = 100 << 10  # of an answer, with all its interim answers; of its trailers as much again
MOST_LINE_BYTES = 64 << 10
MOST_HEADERS = 1_000
MOST_INTERIM_ANSWERS = 100  # 100 Continue, 103 Early Hints
_MOST_CHUNK_LINE = 16 << 10  # a size and its extensions
_SHOWN = 60  # bytes of what cannot be read

Header = tuple[bytes, bytes]

_BEGINNING = b"HTTP/"
_BLANK_LINE = re.compile(rb"\n\r?\n")
_STATUS_LINE = re.compile(rb"HTTP/([0-9]\.[0-9]) ([1-9][0-9]{2})(?: ([^\0\r\n\v\f]*))?")
_TOKEN = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_NO_VALUE = re.compile(rb"[\0\r\n\v\f]")
_NO_VALUE_OF_OURS = re.compile(rb"[\0\r\n\v\f]|^[ \t]|[ \t]$")
_TARGET = re.compile(rb"[!-~]+")
_LENGTH = re.compile(rb"[0-9]{1,18}")
_LAST_CHUNK = b"\r\n0\r\n\r\n"  # and what ends the one before
_STRICT_BLANK_LINE = re.compile(rb"\r\n\r\n")
_STRICT_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;[\t -~\x80-\xff]*)?")
_CHUNK_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\0\r\n]*)?")


class NotHttp(Exception):  # noqa: N818  # it says what came instead
    """What came is not an answer in HTTP/1.1."""


class CannotBeSent(ValueError):  # noqa: N818
    """A request that would not be one on the wire, or more than one."""


def request_head(method: str, target: str, headers: Iterable[Header]) -> bytes:
    """The head of a request; raises CannotBeSent."""
    try:
        place = target.encode("ascii")
    except UnicodeEncodeError:
        place = b""
    if not _TARGET.fullmatch(place):
        raise CannotBeSent(f"illegal characters in {target!r}")
    lines, framing = [b"%b %b HTTP/1.1\r\n" % (method.encode("ascii"), place)], []
    for name, value in headers:
        line, key = _line_of_ours(name, value)
        lines.append(line)
        if key in (b"host", b"content-length", b"transfer-encoding"):
            framing.append(key)
    for key in framing:
        # A second one would let the server see another request than we do.
        if framing.count(key) > 1 or key == b"transfer-encoding":
            raise CannotBeSent(f"the header {key.decode()} is set by us alone")
    lines.append(b"\r\n")
    return b"".join(lines)


@lru_cache(maxsize=256)
def _line_of_ours(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    if not _TOKEN.fullmatch(name):
        raise CannotBeSent(f"illegal header name {name!r}")
    if _NO_VALUE_OF_OURS.search(value):
        raise CannotBeSent(f"illegal value of the header {name.decode()}")
    return b"%b: %b\r\n" % (name, value), name.lower()


class Answer:
    """One answer. It is fed what comes, and then what the end of the connection means for it."""

    def __init__(self, *, bodiless: bool = False, tunnel: bool = False) -> None:
        self.status = 0  # until the head has been read
        self.reason = b""
        self.headers: tuple[Header, ...] = ()
        self.body: deque[bytes] = deque()  # pieces that no one has taken yet
        self.came = 0  # bytes of the body so far
        self.ended = False
        self.rest = b""  # what came after the end
        self.lasts = False  # whether the connection may carry another request
        self.begun = False  # whether any byte has come
        self._bodiless = bodiless
        self._tunnel = tunnel  # the request was CONNECT: there is no body if it was granted
        self._waiting = b""  # the beginning of a head
        self._head_bytes = 0
        self._interim = 0
        self._left: int | None = None  # bytes of the body that are still to come; None: all that comes
        self._length = 0
        self._chunks: ChunkedBody | None = None

    def feed(self, data: bytes) -> None:
        """Take DATA; what it has of the body is added to `body`. Raises NotHttp."""
        self.begun = True
        if not self.status:
            rest = self._take_head(data)
            if rest is None:
                return
            data = rest
        if self.ended:
            self.rest += data
        elif self._chunks is not None:
            self.rest = self._chunks.feed(data)
            self.came, self.ended = self._chunks.came, self._chunks.ended
        elif data:
            self._take_plain(data)

    def end_of_connection(self) -> None:
        """No more will come. Raises NotHttp if that is too early."""
        if not self.begun:
            raise NotHttp("the server closed the connection without an answer")
        if not self.status:
            raise NotHttp("they break off")
        if self.ended:
            return
        if self._chunks is not None:
            raise NotHttp("the server closed the connection within the chunks")
        if self._left is not None:
            raise NotHttp(f"the server closed the connection after {self.came} of {self._length} bytes")
        self.ended = True

    # The head.

    def _take_head(self, data: bytes) -> bytes | None:
        """Read the head; what comes after it, or None while it is not complete."""
        searched = max(0, len(self._waiting) - 2)
        data = self._waiting + data if self._waiting else data
        while True:
            if not data.startswith(_BEGINNING):
                _insist_on_beginning(data)
            found = _BLANK_LINE.search(data, searched, MOST_HEAD_BYTES - self._head_bytes)
            if found is None:
                if self._head_bytes + len(data) >= MOST_HEAD_BYTES:
                    raise NotHttp(f"they are longer than {MOST_HEAD_BYTES >> 10} KB")
                self._waiting = data
                return None
            head = _head_in(data[: found.start()])
            self._head_bytes += found.end()
            data = data[found.end() :]
            if head.status >= 200:
                self._waiting = b""
                self._begin_body(head)
                return data
            self._skip_interim(head.status)
            searched = 0
            if not data:
                self._waiting = b""
                return None

    def _skip_interim(self, status: int) -> None:
        if status == 101:
            raise NotHttp("the server switches to another protocol, which was not asked for")
        self._interim += 1
        if self._interim > MOST_INTERIM_ANSWERS:
            raise NotHttp(f"more than {MOST_INTERIM_ANSWERS} interim answers come before the answer")

    def _begin_body(self, head: "_AnswerHead") -> None:
        self.status, self.reason, self.headers, self.lasts = head.status, head.reason, head.headers, head.lasts
        if self._tunnel and head.status < 300:
            self.ended = self.lasts = True
        elif self._bodiless or head.status in (204, 304):
            self.ended = True
        elif head.chunked:
            self._chunks = ChunkedBody(self.body)
        elif head.length is None:
            self.lasts = False
        else:
            self._left = self._length = head.length
            self.ended = not head.length

    # The body.

    def _take_plain(self, data: bytes) -> None:
        if self._left is not None:
            if len(data) >= self._left:
                self.rest = data[self._left :]
                data = data[: self._left]
                self.ended = True
            self._left -= len(data)
        self.came += len(data)
        self.body.append(data)


class ChunkedBody:
    """A body in chunks. STRICT, as for requests: lines end in CRLF, and a size has no space behind it."""

    def __init__(self, pieces: deque[bytes], *, strict: bool = False) -> None:
        self.ended = False
        self.came = 0  # bytes of the body so far
        self._pieces = pieces  # where they are put
        self._strict = strict
        self._line = _STRICT_CHUNK_LINE if strict else _CHUNK_LINE
        self._state = "line"  # what comes next: line, data, end, trailers
        self._left = 0  # bytes of the chunk that are still to come
        self._waiting = b""  # the beginning of a line or of trailers

    def feed(self, data: bytes) -> bytes:
        """Take DATA: what came after the end of the body. Raises NotHttp."""
        data = self._waiting + data if self._waiting else data
        self._waiting = b""
        if self._state == "line" and self._is_one_chunk(data):
            return b""
        place = 0
        while not self.ended and place < len(data):
            if self._state == "data":
                piece = data[place : place + self._left]
                self._pieces.append(piece)
                self.came += len(piece)
                place += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._state = "end"
                continue
            end = self._take_framing(data, place)
            if end is None:
                self._waiting = data[place:]
                return b""
            place = end
        return data[place:]

    def _is_one_chunk(self, data: bytes) -> bool:
        """Take DATA if it is one chunk and the end of the body, as most answers are; whether it is."""
        if not data.endswith(_LAST_CHUNK) or (found := self._line.match(data, 0, _MOST_CHUNK_LINE)) is None:
            return False
        begin, end = found.end() + 2, len(data) - len(_LAST_CHUNK)
        size = int(found[1], 16)
        if not size or begin + size != end or data[begin - 2 : begin] != b"\r\n":
            return False
        self._pieces.append(data[begin:end])
        self.came += size
        self.ended = True
        return True

    def _take_framing(self, data: bytes, place: int) -> int | None:
        """Read what stands between chunks at PLACE; where it ends, or None if it is not complete."""
        if self._state == "trailers":
            return self._take_trailers(data, place)
        end = data.find(b"\r\n", place, place + _MOST_CHUNK_LINE)
        if self._state == "end":
            if data[place : place + 2] not in (b"\r\n", b"\r"):
                raise NotHttp("a chunk is longer than its size says")
            if end >= 0:
                self._state = "line"
            return None if end < 0 else end + 2
        if end < 0:
            too_long = len(data) - place >= _MOST_CHUNK_LINE
            if too_long or b"\n" in data[place:] or not self._line.match(data[place : place + 1]):
                raise NotHttp(f"illegal size of a chunk {_shown(data[place:])}")
            return None
        found = self._line.fullmatch(data, place, end)
        if found is None:
            raise NotHttp(f"illegal size of a chunk {_shown(data[place:end])}")
        self._left = int(found[1], 16)
        self._state = "data" if self._left else "trailers"
        return end + 2

    def _take_trailers(self, data: bytes, place: int) -> int | None:
        """Read trailers, which are dropped: they come too late to mean anything."""
        if self._strict:
            empty, blank, newline = b"\r\n", _STRICT_BLANK_LINE, b"\r\n"
        else:
            empty, blank, newline = b"\r\n" if data[place : place + 1] == b"\r" else b"\n", _BLANK_LINE, b"\n"
        if data.startswith(empty, place):
            self.ended = True
            return place + len(empty)
        found = blank.search(data, place, place + MOST_HEAD_BYTES)
        if found is None:
            if len(data) - place >= MOST_HEAD_BYTES:
                raise NotHttp(f"the trailers are longer than {MOST_HEAD_BYTES >> 10} KB")
            return None
        _headers(data[place : found.start()].split(newline))
        self.ended = True
        return found.end()


class _AnswerHead(NamedTuple):
    """What a head says."""

    status: int
    reason: bytes
    headers: tuple[Header, ...]
    lasts: bool = False  # the connection may carry another request
    chunked: bool = False
    length: int | None = None  # of the body


def _head_in(head: bytes) -> _AnswerHead:
    return _read_head(head) if len(head) > _REMEMBERED_HEAD else _known_head(head)


def _read_head(head: bytes) -> _AnswerHead:
    first, *lines = head.split(b"\n")
    found = _STATUS_LINE.fullmatch(first.removesuffix(b"\r"))
    if found is None:
        raise NotHttp(f"illegal status line {_shown(first)}")
    status, headers = int(found[2]), tuple(_headers(lines))
    framing = _framing(headers, found[1]) if status >= 200 else ()
    return _AnswerHead(status, found[3] or b"", headers, *framing)


_REMEMBERED_HEAD = 2000  # bytes, at most; servers send the same few heads again and again
_known_head = lru_cache(maxsize=128)(_read_head)


def _framing(headers: Iterable[Header], version: bytes) -> tuple[bool, bool, int | None]:
    """What HEADERS say of the connection and the body: whether it lasts, whether it comes in chunks, its length."""
    lengths: list[bytes] = []
    codings: list[bytes] = []
    options: list[bytes] = []
    for name, value in headers:
        wanted = _FRAMING.get(len(name))
        if wanted is None or (key := name.lower()) != wanted:
            continue
        if key == b"content-length":
            lengths += value.split(b",")
        elif key == b"transfer-encoding":
            codings.append(value.lower())
        else:
            options += value.lower().split(b",")
    length = _length(lengths)
    if codings and codings != [b"chunked"]:
        raise NotHttp(f"Transfer-Encoding can only be chunked, not {_shown(b', '.join(codings))}")
    if codings and length is not None:
        raise NotHttp("there is a Content-Length beside a Transfer-Encoding")
    return version >= b"1.1" and b"close" not in map(bytes.strip, options), bool(codings), length


_FRAMING = {len(name): name for name in (b"content-length", b"transfer-encoding", b"connection")}


def _headers(lines: list[bytes]) -> list[Header]:
    if len(lines) > MOST_HEADERS:
        raise NotHttp(f"there are more than {MOST_HEADERS} of them")
    if any(line[:1] in (b" ", b"\t") for line in lines):
        return [_header(line) for line in _unfolded(lines)]
    return [_of_line(line) if len(line) > _REMEMBERED_LINE else _of_known_line(line) for line in lines]


def _unfolded(lines: list[bytes]) -> list[bytes]:
    """LINES, each with those that continue it."""
    whole: list[list[bytes]] = []
    for line in lines:
        if line[:1] not in (b" ", b"\t"):
            whole.append([line.removesuffix(b"\r")])
        elif not whole:
            raise NotHttp("the first of them begins with a space")
        else:
            whole[-1].append(line.removesuffix(b"\r").lstrip(b" \t"))
    return [b" ".join(parts) for parts in whole]


def _of_line(line: bytes) -> Header:
    return _header(line.removesuffix(b"\r"))


# Servers send the same few lines again and again.
_REMEMBERED_LINE = 200  # bytes, at most
_of_known_line = lru_cache(maxsize=256)(_of_line)


def _header(line: bytes) -> Header:
    if len(line) > MOST_LINE_BYTES:
        raise NotHttp(f"one is longer than {MOST_LINE_BYTES >> 10} KB")
    name, colon, value = line.partition(b":")
    if not colon or not _TOKEN.fullmatch(name) or _NO_VALUE.search(value):
        raise NotHttp(f"illegal header line {_shown(line)}")
    return name, value.strip(b" \t")


def _length(values: list[bytes]) -> int | None:
    """The one length that VALUES tell."""
    lengths = {value.strip(b" \t") for value in values}
    if not lengths:
        return None
    if len(lengths) > 1:
        raise NotHttp("there are several Content-Length headers that differ")
    (length,) = lengths
    if not _LENGTH.fullmatch(length):
        raise NotHttp(f"illegal Content-Length {_shown(length)}")
    return int(length)


def _insist_on_beginning(data: bytes) -> None:
    """Raise as soon as an answer cannot be HTTP: a server that speaks something else may wait for us to go on."""
    if not _BEGINNING.startswith(data[: len(_BEGINNING)]):
        first = data.partition(b"\n")[0]
        raise NotHttp(f"illegal status line {_shown(first)}")


def _shown(data: bytes) -> str:
    data = data.removesuffix(b"\r")
    return repr(data[:_SHOWN])[1:] + ("…" if len(data) > _SHOWN else "")
