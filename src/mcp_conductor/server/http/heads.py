"""The head of a request: what it may be, before anyone looks at what it asks for.

What another program on the way could take for two requests, or for one to another host, is refused (RFC 9112).
"""

import re
from functools import lru_cache
from http import HTTPMethod
from typing import NamedTuple
from urllib.parse import unquote

from mcp_conductor.server.http.admission import name_in
from mcp_conductor.server.http.exchange import HttpRefused

END = b"\r\n\r\n"
_METHODS = tuple(each.encode() for each in HTTPMethod)
_LONGEST_METHOD = max(map(len, _METHODS))
_REQUEST_LINE = re.compile(rb"([A-Z]+) ([!-~\x80-\xff]+)(?: HTTP/([0-9]\.[0-9]))?")
_HEADER = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+):([\t -~\x80-\xff]*)")
_LENGTH = re.compile("[0-9]{1,18}")
_LONE_LINE_FEED = re.compile(rb"(?<!\r)\n")
_SHOWN = 60  # bytes of what cannot be read
_REMEMBERED = 4096  # bytes of a head, at most


class Head(NamedTuple):
    """What a head says."""

    method: str
    target: str  # path and query as they were written
    path: str  # without its escapes
    query: bytes
    headers: dict[str, list[str]]
    lasts: bool  # the connection may carry another request
    knows_chunks: bool  # HTTP/1.0 does not
    chunked: bool
    length: int  # of the body, if it is not in chunks


def not_http(problem: str) -> HttpRefused:
    """The refusal of what cannot be read."""
    return HttpRefused(400, f"this is not HTTP/1.1: {problem}")


def check_beginning(data: bytearray, looked_at: int, longest_target: int) -> None:
    """Refuse DATA if it cannot become a head, whatever comes after it. So much of it was LOOKED AT before."""
    first = bytes(data[: _LONGEST_METHOD + len(b"\r\n") + 1])
    word, space, _ = (b"" if first == b"\r" else first.removeprefix(b"\r\n")).partition(b" ")
    if not any(each == word if space else each.startswith(word) for each in _METHODS):
        raise not_http("it begins with no method")
    if _LONE_LINE_FEED.search(data, looked_at):
        raise not_http("a line of the head ends without a carriage return")
    begin = data.find(b" ") + 1
    if begin and data.find(b" ", begin, begin + longest_target + 1) < 0 and len(data) > begin + longest_target:
        raise _too_long(longest_target)


def _too_long(longest_target: int) -> HttpRefused:
    return HttpRefused(414, f"the target of the request is longer than {longest_target} bytes")


def head_in(data: bytes, longest_target: int) -> Head:
    """What the head DATA says, an empty line before it passed over: some clients end a body with one."""
    return (_known_head if len(data) <= _REMEMBERED else _read_head)(data, longest_target)


def _read_head(data: bytes, longest_target: int) -> Head:
    first, *lines = data.removeprefix(b"\r\n").removesuffix(END).split(b"\r\n")
    found = _REQUEST_LINE.fullmatch(first)
    if found is None or found[1] not in _METHODS:
        raise not_http("the request line is not three words with a space between")
    if len(found[2]) > longest_target:
        raise _too_long(longest_target)
    headers: dict[str, list[str]] = {}
    for line in lines:
        name, value = _header(line)
        if name in headers:
            headers[name].append(value)
        else:
            headers[name] = [value]
    version = (found[3] or b"0.9").decode()
    if version not in ("1.1", "1.0"):
        raise HttpRefused(400 if version[0] == "1" else 505, f"this is HTTP/1.1, not HTTP/{version}")
    length = _length(headers, version)
    _check_host(headers, version, found[2])
    options = [each.strip().lower() for each in ",".join(headers.get("connection", ())).split(",")]
    headers.pop("upgrade", None)  # to another protocol, which is not taken
    target = _written(found[2])
    path, _, query = target.partition("?")
    return Head(
        method=found[1].decode(),
        target=target,
        path=unquote(path),
        query=query.encode("latin-1"),
        headers=headers,
        lasts=version == "1.1" and "close" not in options,
        knows_chunks=version == "1.1",
        chunked=length is None,
        length=length or 0,
    )


@lru_cache(maxsize=64)  # of at most 64 KB each
def _header(line: bytes) -> tuple[str, str]:
    found = _HEADER.fullmatch(line)
    if found is None:
        raise not_http(f"illegal header line {line[:_SHOWN]!r}")
    return found[1].decode().lower(), found[2].strip(b" \t").decode("latin-1")


_known_head = lru_cache(maxsize=128)(_read_head)  # clients send the same few all the time


def _length(headers: dict[str, list[str]], version: str) -> int | None:
    """The length of the body; None if it comes in chunks."""
    lengths, codings = headers.get("content-length", []), headers.get("transfer-encoding")
    if len(lengths) > 1 or (lengths and not _LENGTH.fullmatch(lengths[0])):
        raise not_http(f"illegal Content-Length {', '.join(lengths)[:_SHOWN]!r}")
    if codings is None:
        return int(lengths[0]) if lengths else 0
    if lengths:
        raise not_http("there is a Content-Length beside a Transfer-Encoding")
    if version == "1.0":
        raise HttpRefused(400, "HTTP/1.0 has no Transfer-Encoding")
    whole = ",".join(codings).lower()
    if whole != "chunked":
        # Chunks that are the last coding but not alone are unknown to us; anything behind them is a mistake.
        status = 400 if whole.partition(",")[0].strip() == "chunked" or not whole else 501
        raise HttpRefused(status, f"Transfer-Encoding can only be chunked, not {', '.join(codings)}")
    return None


def _check_host(headers: dict[str, list[str]], version: str, target: bytes) -> None:
    hosts = headers.get("host", [])
    if len(hosts) > 1 or (not hosts and version == "1.1"):
        raise HttpRefused(400, f"there must be one Host header, not {len(hosts)}")
    if hosts and name_in(hosts[0]) is None:
        raise HttpRefused(400, f"Host {hosts[0]!r} is not a host")
    if not target.startswith(b"/") and b"://" in target:
        authority = target.partition(b"://")[2].partition(b"/")[0].partition(b"?")[0].decode("latin-1").lower()
        if [authority] != [host.lower() for host in hosts]:
            raise HttpRefused(400, f"the target of the request is not at its Host: {authority!r}")


def _written(target: bytes) -> str:
    """The path and the query of TARGET, as they were written."""
    if target.startswith(b"/") or b"://" not in target:
        return target.decode("latin-1")
    place, mark, query = target.partition(b"://")[2].partition(b"?")
    return (b"/" + place.partition(b"/")[2] + mark + query).decode("latin-1")
