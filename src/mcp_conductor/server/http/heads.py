"""The head of a request: what it may be, before anyone looks at what it asks for.

What another program on the way could take for two requests, or for one to another host, is refused here or by the
parser.
"""

import re
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

import httptools

from mcp_conductor.server.http.admission import name_in
from mcp_conductor.server.http.exchange import HttpRefused

END = b"\r\n\r\n"  # of a head, and of a body in chunks
_EMPTY_LINE = b"\r\n"  # one may stand before a request: some clients end a body with it
_LONGEST_KNOWN = 4096  # bytes of a head that is remembered
_MOST_KNOWN = 128  # of them
_START = re.compile(rb"(?:\r\n)?[^\r\n ]+(?: [^\r\n ]+)*\r\n")


class HeadBytes:
    """What has come of a head, as it was sent: the parser tells neither where it ends nor all that is odd in it."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._bytes = bytearray()

    def __len__(self) -> int:
        return len(self._bytes)

    def clear(self) -> None:
        self._bytes.clear()

    def take(self, data: bytes, place: int) -> int:
        """Take the rest of the head from DATA, beginning at PLACE: where it ends, or what has come of it."""
        head, before = self._bytes, len(self._bytes)
        if not before:  # most heads come in one piece, which need not be kept
            end = data.find(END, place + len(_EMPTY_LINE), place + self._limit) + len(END)
            if end >= len(END) and _START.match(data, place):
                return end
        if before >= self._limit:
            raise HttpRefused(431, f"the head of the request is longer than {self._limit} bytes")
        head += data[place : place + self._limit - before]
        found = head.find(END, max(before - len(END) + 1, len(_EMPTY_LINE)))
        if found >= 0:
            del head[found + len(END) :]
            if _START.match(head) is None:
                raise HttpRefused(400, "this is not HTTP/1.1: the request line is not three words with a space between")
        return place + len(head) - before


class ChunkedBody:
    """Where a body in chunks may end, in what comes of it."""

    def __init__(self) -> None:
        self._before = b""  # its last bytes so far, in which its end may begin

    def begin(self) -> None:
        """Another body begins."""
        self._before = b""

    def find_end(self, data: bytes, place: int, within: int) -> int:
        """Where it may end, if that is WITHIN: nowhere else is there an empty line outside of a chunk."""
        before, self._before = self._before, b""
        found = (before + data[: len(END) - 1]).find(END) if before else -1
        if found >= 0:
            return found + len(END) - len(before)
        found = data.find(END, place, within)
        if found >= 0:
            return found + len(END)
        last = len(END) - 1
        self._before = (before + data[max(place, len(data) - last) :])[-last:]
        return len(data)


class KnownHead(NamedTuple):
    """What a head means that has come before. A connection goes on after it, and its body has this length."""

    method: str
    path: str
    query: bytes
    headers: dict[str, list[str]]
    length: int
    target: str  # path and query as they were written


class KnownHeads:
    """Heads that need not be parsed again, by their bytes: clients send the same few all the time."""

    def __init__(self) -> None:
        self._heads: dict[bytes, KnownHead] = {}
        self.find = self._heads.get

    def remember(self, head: bytes, known: KnownHead) -> None:
        """HEAD, if it has bytes, means what is KNOWN."""
        if 0 < len(head) <= _LONGEST_KNOWN:
            if len(self._heads) >= _MOST_KNOWN:
                self._heads.clear()
            self._heads[head] = known


def check_head(version: str, headers: dict[str, list[str]], target: bytes) -> None:
    """Refuse a head that could be understood in two ways (RFC 9112); what is left of that, the parser refuses."""
    if version not in ("1.1", "1.0"):
        raise HttpRefused(505, f"this is HTTP/1.1, not HTTP/{version}")
    hosts = headers.get("host", [])
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        raise HttpRefused(400, f"there must be one Host header, not {len(hosts)}")
    if hosts and name_in(hosts[0]) is None:
        raise HttpRefused(400, f"Host {hosts[0]!r} is not a host")
    codings = headers.get("transfer-encoding")
    if codings is not None and version == "1.0":
        raise HttpRefused(400, "HTTP/1.0 has no Transfer-Encoding")
    if codings is not None and [each.strip().lower() for each in codings] != ["chunked"]:
        raise HttpRefused(501, f"Transfer-Encoding can only be chunked, not {', '.join(codings)}")
    if not target.startswith(b"/") and b"://" in target:
        authority = target.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0].decode("latin-1").lower()
        if [authority] != [host.lower() for host in hosts]:
            raise HttpRefused(400, f"the target of the request is not at its Host: {authority!r}")


def without_offer(method: bytes, target: bytes, version: str, headers: dict[str, list[str]]) -> bytes:
    """The head of a request that offers another protocol, as one that does not."""
    head = [b"%b %b HTTP/%b\r\n" % (method, target, version.encode())]
    for name, values in headers.items():
        head += [f"{name}: {value}\r\n".encode("latin-1") for value in values if name != "upgrade"]
    return b"".join([*head, b"\r\n"])


@lru_cache(maxsize=64)  # of at most 64 KB each
def header_name(name: bytes) -> str:
    """The NAME of a header, in one spelling; clients send the same few all the time."""
    return name.decode("latin-1").lower()


def written(target: bytes) -> str:
    """The path and the query of TARGET, as they were written."""
    if target.startswith(b"/") or b"://" not in target:
        return target.decode("latin-1")
    place, mark, query = target.partition(b"://")[2].partition(b"?")
    return (b"/" + place.partition(b"/")[2] + mark + query).decode("latin-1")


@lru_cache(maxsize=64)
def parts_of(target: bytes) -> tuple[str, bytes]:
    """The path, without its escapes, and the query."""
    if not target.startswith(b"/"):  # all of a URL, as proxies are asked
        try:
            url = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError:
            return target.decode("latin-1"), b""
        return unquote((url.path or b"/").decode("latin-1")), url.query or b""
    path, _, query = target.partition(b"?")
    return unquote(path.decode("latin-1")), query
