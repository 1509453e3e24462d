"""A hundred ways to get in by the wrong door: hosts, origins, two requests in one, paths. Each on a connection of its own."""

import json
import re

import pytest
from tests.e2e.server.http_wire import BOTH
from tests.e2e.server.wire import MODERN, modern, request

BODY = json.dumps(modern(request(1, "server/discover"))).encode()
HOST = "Host: 127.0.0.1"
USUAL = (
    f"Accept: {BOTH}\r\nContent-Type: application/json\r\nMCP-Protocol-Version: {MODERN}\r\nMcp-Method: server/discover"
)
LENGTH = f"Content-Length: {len(BODY)}"
CHUNKED = "Transfer-Encoding: chunked"
CHUNKS = b"%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
NOBODY = (400, 404, 405, 414, 421)


def whole(*lines, start="POST /mcp HTTP/1.1", body=BODY):
    return "\r\n".join([start, *lines, USUAL, "", ""]).encode("latin-1") + body


# What a smuggled request looks like: if it is ever answered, somebody was let in.
HIDDEN = whole(HOST, LENGTH)


def statuses(server, data):
    """The statuses of all answers on one connection, which is closed for writing at the end."""
    with server.socket() as connection, connection.makefile("rb") as file:
        connection.sendall(data)
        connection.shutdown(1)
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) [A-Z]", file.read())]


HOSTS = {
    # 421: a host, but not ours; 400: no host at all.
    "evil.example": 421,
    "evil.example:80": 421,
    "127.0.0.1.evil.example": 421,
    "localhost.evil.example": 421,
    "evil.example.localhost": 421,
    "localhost.": 421,
    "127.0.0.1.": 421,
    "127.0.0.2": 421,
    "127.1": 421,
    "127.0.1": 421,
    "2130706433": 421,
    "0x7f000001": 421,
    "0177.0.0.1": 421,
    "127.0.0.01": 421,
    "0.0.0.0": 421,
    "[::]": 421,
    "[::2]": 421,
    "[::ffff:127.0.0.1]": 421,
    "": 421,
    "evil@127.0.0.1": 400,
    "127.0.0.1@evil.example": 400,
    "127.0.0.1:80@evil.example": 400,
    "127.0.0.1, evil.example": 400,
    "evil.example, 127.0.0.1": 400,
    "127.0.0.1 evil.example": 400,
    "127.0.0.1/": 400,
    "127.0.0.1/@evil": 400,
    "127.0.0.1?x": 400,
    "127.0.0.1#x": 400,
    "127.0.0.1\\x": 400,
    "http://127.0.0.1": 400,
    "//127.0.0.1": 400,
    "127.0.0.1:99999": 400,
    "127.0.0.1:x": 400,
    "127.0.0.1:-1": 400,
    "127.0.0.1:80:80": 400,
    "::1": 400,
    "[::1": 400,
    "[::1]x": 400,
    "[127.0.0.1]": 400,
    "[fe80::1%25lo]": 400,
    "%6c%6f%63alhost": 400,
    "localhost%00": 400,
    "löcalhost": 400,
}


@pytest.mark.parametrize("host", HOSTS)
def test_no_other_host_is_served(shared, host):
    assert statuses(shared, whole(f"Host: {host}", LENGTH)) == [HOSTS[host]]


ORIGINS = [
    "null",
    "",
    "http://evil.example",
    "https://evil.example",
    "http://127.0.0.1.evil.example",
    "http://localhost.evil.example",
    "http://localhost.",
    "http://127.0.0.2",
    "http://127.1",
    "http://2130706433",
    "http://0.0.0.0",
    "http://[::]",
    "http://evil@127.0.0.1",
    "http://127.0.0.1@evil.example",
    "http://evil.example\\@127.0.0.1",
    "http://evil.example#@127.0.0.1",
    "http://evil.example/127.0.0.1",
    "http://evil.example?127.0.0.1",
    "http://127.0.0.1/",
    "http://127.0.0.1/path",
    "http://127.0.0.1 http://evil.example",
    "http://127.0.0.1, http://evil.example",
    "http:127.0.0.1",
    "//127.0.0.1",
    "127.0.0.1",
    "localhost",
    "http://",
    "http://:80",
    "http://[::1",
    "http://127.0.0.1:99999",
    "file://",
    "ftp://localhost",
    "data://localhost",
    "file://localhost",
    "ws://127.0.0.1",
    "chrome-extension://localhost",
    "tauri://localhost",
    "*",
]


@pytest.mark.parametrize("origin", ORIGINS)
def test_no_other_page_is_served(shared, origin):
    assert statuses(shared, whole(HOST, LENGTH, f"Origin: {origin}")) == [403]


def test_a_second_origin_is_not_overlooked(shared):
    assert statuses(shared, whole(HOST, LENGTH, "Origin: http://127.0.0.1", "Origin: http://evil.example")) == [403]


TWO_IN_ONE = {
    "no host": (whole(LENGTH), 400),
    "two hosts": (whole(HOST, "Host: evil.example", LENGTH), 400),
    "two equal hosts": (whole(HOST, HOST, LENGTH), 400),
    "another host first": (whole("Host: evil.example", HOST, LENGTH), 400),
    "host with a space before the colon": (whole("Host : 127.0.0.1", LENGTH), 400),
    "host on a folded line": (whole("Host:\r\n 127.0.0.1", LENGTH), 400),
    "two lengths": (whole(HOST, LENGTH, "Content-Length: 0") + HIDDEN, 400),
    "the same length twice": (whole(HOST, LENGTH, LENGTH) + HIDDEN, 400),
    "a list of lengths": (whole(HOST, f"{LENGTH}, {len(BODY)}") + HIDDEN, 400),
    "length and chunks": (whole(HOST, LENGTH, CHUNKED, body=CHUNKS) + HIDDEN, 400),
    "chunks and length": (whole(HOST, CHUNKED, "Content-Length: 4", body=CHUNKS) + HIDDEN, 400),
    "a negative length": (whole(HOST, "Content-Length: -1", body=HIDDEN), 400),
    "a length with a plus": (whole(HOST, f"Content-Length: +{len(BODY)}") + HIDDEN, 400),
    "a length in hex": (whole(HOST, f"Content-Length: {len(BODY):#x}") + HIDDEN, 400),
    "a length with a space in it": (whole(HOST, "Content-Length: 1 0") + HIDDEN, 400),
    "a length with an underscore": (whole(HOST, "Content-Length: 1_0") + HIDDEN, 400),
    "a length that is empty": (whole(HOST, "Content-Length:") + HIDDEN, 400),
    "a length too long for a number": (whole(HOST, f"Content-Length: {2**64 + len(BODY)}") + HIDDEN, 400),
    "a length that is too much": (whole(HOST, f"Content-Length: {(64 << 20) + 1}", body=b""), 413),
    "length on a folded line": (whole(HOST, f"Content-Length:\r\n {len(BODY)}") + HIDDEN, 400),
    "identity": (whole(HOST, "Transfer-Encoding: identity", body=HIDDEN), 501),
    "chunked and identity": (whole(HOST, "Transfer-Encoding: chunked, identity", body=CHUNKS) + HIDDEN, 400),
    "identity and chunked": (whole(HOST, "Transfer-Encoding: identity, chunked", body=CHUNKS) + HIDDEN, 501),
    "packed and chunked": (whole(HOST, "Transfer-Encoding: gzip, chunked", body=CHUNKS) + HIDDEN, 501),
    "chunked twice": (whole(HOST, CHUNKED, CHUNKED, body=CHUNKS) + HIDDEN, 400),
    "chunked, then identity": (whole(HOST, CHUNKED, "Transfer-Encoding: identity", body=CHUNKS) + HIDDEN, 400),
    "identity, then chunked": (whole(HOST, "Transfer-Encoding: identity", CHUNKED, body=CHUNKS) + HIDDEN, 501),
    "xchunked": (whole(HOST, "Transfer-Encoding: xchunked", body=CHUNKS) + HIDDEN, 501),
    "chunked in quotes": (whole(HOST, 'Transfer-Encoding: "chunked"', body=CHUNKS) + HIDDEN, 501),
    "chunked after a vertical tab": (whole(HOST, "Transfer-Encoding: \x0bchunked", body=CHUNKS) + HIDDEN, 400),
    "a space before the colon": (whole(HOST, "Transfer-Encoding : chunked", body=CHUNKS) + HIDDEN, 400),
    "a tab before the colon": (whole(HOST, "Transfer-Encoding\t: chunked", body=CHUNKS) + HIDDEN, 400),
    "chunked on a folded line": (whole(HOST, "Transfer-Encoding:\r\n chunked", body=CHUNKS) + HIDDEN, 400),
    "chunks in HTTP/1.0": (whole(HOST, CHUNKED, start="POST /mcp HTTP/1.0", body=CHUNKS) + HIDDEN, 400),
    "a chunk size that overflows": (whole(HOST, CHUNKED, body=b"1" + b"0" * 15 + CHUNKS) + HIDDEN, 400),
    "a chunk size in hex notation": (whole(HOST, CHUNKED, body=b"0x" + CHUNKS) + HIDDEN, 400),
    "a negative chunk size": (whole(HOST, CHUNKED, body=b"-" + CHUNKS) + HIDDEN, 400),
    "a chunk size with a plus": (whole(HOST, CHUNKED, body=b"+" + CHUNKS) + HIDDEN, 400),
    "a chunk longer than its size": (whole(HOST, CHUNKED, body=CHUNKS.replace(b"}\r\n0", b"}xx\r\n0")) + HIDDEN, 400),
    "chunks with line feeds only": (whole(HOST, CHUNKED, body=CHUNKS.replace(b"\r\n", b"\n")) + HIDDEN, 400),
    "line feeds only": (whole(HOST, LENGTH).replace(b"\r\n", b"\n") + HIDDEN, 400),
    "one line feed alone": (whole(f"{HOST}\nX: y", LENGTH) + HIDDEN, 400),
    "a carriage return alone": (whole(f"{HOST}\rX: y", LENGTH) + HIDDEN, 400),
    "a NUL in a value": (whole(HOST, LENGTH, "X: a\0b") + HIDDEN, 400),
    "a NUL in a name": (whole(HOST, LENGTH, "X\0: y") + HIDDEN, 400),
    "a folded line": (whole(HOST, LENGTH, "X: a\r\n b") + HIDDEN, 400),
    "a folded first line": (whole(f" {HOST}", LENGTH) + HIDDEN, 400),
    "a header without a colon": (whole(HOST, LENGTH, "X") + HIDDEN, 400),
    "a header without a name": (whole(HOST, LENGTH, ": x") + HIDDEN, 400),
    "HTTP/0.9": (b"GET /mcp\r\n\r\n", 505),
    "HTTP/2.0": (whole(HOST, LENGTH, start="POST /mcp HTTP/2.0"), 505),
    "HTTP/1.2": (whole(HOST, LENGTH, start="POST /mcp HTTP/1.2"), 400),
    "a target at another host": (whole(HOST, LENGTH, start="POST http://evil.example/mcp HTTP/1.1"), 400),
    "a target at another port": (whole(HOST, LENGTH, start="POST http://127.0.0.1:1/mcp HTTP/1.1"), 400),
    "a target with a user": (whole(HOST, LENGTH, start="POST http://127.0.0.1@evil.example/mcp HTTP/1.1"), 400),
    "a target here, but another host": (
        whole("Host: evil.example", LENGTH, start="POST http://127.0.0.1/mcp HTTP/1.1"),
        400,
    ),
    "a target and a host elsewhere": (
        whole("Host: evil.example", LENGTH, start="POST http://evil.example/mcp HTTP/1.1"),
        421,
    ),
    "a line feed before the request": (b"\n" + HIDDEN, 400),
    "a carriage return before the request": (b"\r" + HIDDEN, 400),
    "an empty line and a line feed before the request": (b"\r\n\n" + HIDDEN, 400),
    "two empty lines before the request": (b"\r\n\r\n" + HIDDEN, 400),
    "a space before the request": (b" " + HIDDEN, 400),
    "two spaces before the target": (whole(HOST, LENGTH, start="POST  /mcp HTTP/1.1"), 400),
    "two spaces after the target": (whole(HOST, LENGTH, start="POST /mcp  HTTP/1.1"), 400),
    "a space after the version": (whole(HOST, LENGTH, start="POST /mcp HTTP/1.1 "), 400),
    "a tab before the target": (whole(HOST, LENGTH, start="POST\t/mcp HTTP/1.1"), 400),
    "a tab after the target": (whole(HOST, LENGTH, start="POST /mcp\tHTTP/1.1"), 400),
    "a vertical tab after the target": (whole(HOST, LENGTH, start="POST /mcp\x0b HTTP/1.1"), 400),
    "a carriage return after the target": (whole(HOST, LENGTH, start="POST /mcp\r HTTP/1.1"), 400),
    "a control character in a value": (whole(HOST, LENGTH, "X: a\x01b"), 400),
    "an escape in a value": (whole(HOST, LENGTH, "X: a\x1bb"), 400),
    "a delete in a value": (whole(HOST, LENGTH, "X: a\x7fb"), 400),
    "a vertical tab at the end of a value": (whole(HOST, LENGTH, "X: a\x0b"), 400),
    "a space in a name": (whole(HOST, LENGTH, "X y: z"), 400),
    "a letter that is not ASCII in a name": (whole(HOST, LENGTH, "X\xe9: z"), 400),
    "a length with a word behind it": (whole(HOST, f"{LENGTH}x"), 400),
    "a length behind a comma": (whole(HOST, f"Content-Length: ,{len(BODY)}"), 400),
    "a length with a fraction": (whole(HOST, f"{LENGTH}.0"), 400),
    "chunked with a parameter": (whole(HOST, "Transfer-Encoding: chunked;q=1", body=CHUNKS) + HIDDEN, 501),
    "chunked and a comma": (whole(HOST, "Transfer-Encoding: chunked,", body=CHUNKS) + HIDDEN, 400),
    "a comma and chunked": (whole(HOST, "Transfer-Encoding: ,chunked", body=CHUNKS) + HIDDEN, 501),
    "an empty Transfer-Encoding": (whole(HOST, "Transfer-Encoding:", body=CHUNKS) + HIDDEN, 400),
    "a chunk size and a space": (whole(HOST, CHUNKED, body=CHUNKS.replace(b"\r\n{", b" \r\n{")) + HIDDEN, 400),
    "a line feed in an extension": (whole(HOST, CHUNKED, body=CHUNKS.replace(b"\r\n{", b";x\ny\r\n{")) + HIDDEN, 400),
    "a carriage return in an extension": (
        whole(HOST, CHUNKED, body=CHUNKS.replace(b"\r\n{", b";\ry\r\n{")) + HIDDEN,
        400,
    ),
    "a NUL in an extension": (whole(HOST, CHUNKED, body=CHUNKS.replace(b"\r\n{", b";x\0\r\n{")) + HIDDEN, 400),
    "chunks that end with a line feed": (whole(HOST, CHUNKED, body=CHUNKS[:-2] + b"\n") + HIDDEN, 400),
    "a last chunk with a line feed": (whole(HOST, CHUNKED, body=CHUNKS[:-4] + b"\n\r\n") + HIDDEN, 400),
    "a trailer with a line feed": (whole(HOST, CHUNKED, body=CHUNKS[:-2] + b"X: y\n\r\n") + HIDDEN, 400),
    "an extension of a megabyte": (whole(HOST, CHUNKED, body=b"1;" + b"x" * (1 << 20) + b"\r\n") + HIDDEN, 400),
    "a trailer of a megabyte": (
        whole(HOST, CHUNKED, body=CHUNKS[:-2] + b"X: " + b"y" * (1 << 20) + b"\r\n\r\n") + HIDDEN,
        400,
    ),
    "a request after the last one": (whole(HOST, LENGTH, "Connection: close") + HIDDEN, 200),
    "a request in the body of a GET": (
        whole(HOST, f"Content-Length: {len(HIDDEN)}", start="GET /x HTTP/1.1", body=HIDDEN),
        404,
    ),
    "a request after a tunnel": (b"CONNECT evil.example:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + HIDDEN, 404),
}


@pytest.mark.parametrize("form", TWO_IN_ONE)
def test_what_could_be_two_requests_is_answered_once(shared, form):
    data, status = TWO_IN_ONE[form]
    assert statuses(shared, data) == [status]


PATHS = [
    "/", "//mcp", "/mcp/", "/mcp//", "/mcp/.", "/mcp/..", "/./mcp", "/x/../mcp", "/mcp;x", "/mcp%00", "/mcp%20", "/mcp%2f",
    "/%2fmcp", "/MCP", "/mcp#x", "/mcp\\", "\\mcp", "/mcp%", "/m%u0063p", "/mcp%0d%0aHost:%20evil.example", "*",
    "http:///mcp", "https:mcp", "file:///mcp", "evil.example:80", "/" + "m" * 8192,
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=[path[:30] for path in PATHS])
def test_nothing_is_found_at_another_path(shared, path):
    (status,) = statuses(shared, whole(HOST, LENGTH, start=f"POST {path} HTTP/1.1"))
    assert status in NOBODY


def test_the_form_that_all_others_are_made_of_is_served(shared):
    assert statuses(shared, whole(HOST, LENGTH) * 2) == [200, 200]
    assert statuses(shared, whole(HOST, CHUNKED, body=CHUNKS) * 2) == [200, 200]


def test_a_hundred_offers_of_another_protocol_are_a_hundred_requests(shared):
    offer = whole(HOST, LENGTH, "Connection: Upgrade", "Upgrade: h2c")
    assert statuses(shared, offer * 100) == [200] * 100
