"""A composable server on HTTP: what happens on a connection, byte by byte (RFC 9112)."""

import json
import re

import pytest
from tests.e2e.server.http_wire import BOTH, routing
from tests.e2e.server.wire import listen, modern, request, slow

DISCOVER = modern(request(1, "server/discover"))
LIMIT = 64 << 10


def raw(message=DISCOVER, start="POST /mcp HTTP/1.1", *, body=None, length=True, **headers):
    """A request as it is written."""
    content = json.dumps(message).encode() if body is None else body
    lines = {"Host": "127.0.0.1", "Accept": BOTH, "Content-Type": "application/json", **routing(message)}
    lines |= {"Content-Length": str(len(content))} if length else {}
    lines |= {name.replace("_", "-"): value for name, value in headers.items()}
    return "\r\n".join([start, *(f"{name}: {value}" for name, value in lines.items()), "", ""]).encode() + content


class Talk:
    """A connection, and the responses that come on it."""

    def __init__(self, server):
        self._socket = server.socket()
        self._file = self._socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._file.close()
        self._socket.close()

    def say(self, *parts):
        for part in parts:
            self._socket.sendall(part)

    def head(self):
        """The status, and the headers."""
        status = int(self._file.readline().split()[1])
        return status, dict(line.decode().rstrip().split(": ", 1) for line in iter(self._file.readline, b"\r\n"))

    def hear(self):
        """A response with its length: the status, the headers, the body."""
        status, headers = self.head()
        return status, headers, self._file.read(int(headers["content-length"]))

    def result(self):
        status, _, body = self.hear()
        assert status == 200, body
        return json.loads(body)["result"]

    def ends(self):
        """Nothing more is said."""
        self._socket.shutdown(1)

    def statuses(self):
        """Those of all responses, until the server closes the connection."""
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) [A-Z]", self._file.read())]

    def rest(self):
        """Everything, until the server closes the connection."""
        return self._file.read()


@pytest.fixture
def talk(shared):
    with Talk(shared) as talk:
        yield talk


def test_a_connection_carries_one_request_after_another(talk):
    for _ in range(3):
        talk.say(raw())
        assert talk.result()["supportedVersions"]


def test_a_response_says_when_it_was_made_and_what_it_holds(talk):
    talk.say(raw())
    status, headers, body = talk.hear()
    assert (status, set(headers)) == (200, {"date", "content-type", "content-length"})
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", headers["date"])
    assert int(headers["content-length"]) == len(body)


def test_requests_that_come_at_once_are_answered_in_their_order(talk):
    talk.say(b"".join(raw(modern(request(number, "server/discover"))) for number in range(40)))
    assert [json.loads(talk.hear()[2])["id"] for _ in range(40)] == list(range(40))


def test_many_requests_may_come_before_the_first_is_answered_and_the_last_of_them_in_halves(talk):
    many = raw(modern(slow(0, 100))) + b"".join(
        raw(modern(request(number, "server/discover"))) for number in range(1, 40)
    )
    talk.say(many[:-20])
    assert [json.loads(talk.hear()[2])["id"] for _ in range(39)] == list(range(39))
    talk.say(many[-20:])
    assert json.loads(talk.hear()[2])["id"] == 39


def test_a_request_may_come_byte_by_byte(talk):
    talk.say(*(bytes([byte]) for byte in raw()))
    assert talk.result()["supportedVersions"]


def test_a_body_may_come_in_chunks_with_trailers_which_are_no_headers(talk):
    content = json.dumps(DISCOVER).encode()
    chunks = b"%x;why=not\r\n%b\r\n%x\r\n%b\r\n" % (9, content[:9], len(content) - 9, content[9:])
    talk.say(raw(body=b"", length=False, Transfer_Encoding="chunked") + chunks + b"0\r\nMcp-Method: ping\r\n\r\n")
    assert talk.result()["supportedVersions"]


def test_a_client_that_waits_for_leave_to_send_its_body_is_given_it(talk):
    whole = raw(Expect="100-continue")
    at = whole.index(b"\r\n\r\n") + 4
    talk.say(whole[:at])
    assert talk.head() == (100, {})
    talk.say(whole[at:])
    assert talk.result()["supportedVersions"]


def test_a_client_that_offers_another_protocol_is_answered_in_this_one(talk):
    offer = {"Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c", "HTTP2-Settings": "AAMAAABkAARAAAAA"}
    talk.say(raw(**offer))
    assert talk.result()["supportedVersions"]
    talk.say(raw())
    assert talk.result()["supportedVersions"]


@pytest.mark.parametrize("time", ["first", "second"])
def test_a_client_that_wants_a_tunnel_is_refused_and_closed(talk, time):  # noqa: ARG001  # its head is known then
    talk.say(b"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nwhatever")
    assert talk.hear()[0] == 404
    assert talk.rest() == b""


@pytest.mark.parametrize("cut", [1, 40, 120, 200, 300])
def test_a_request_whose_head_has_come_before_may_come_in_pieces_and_among_others(talk, cut):
    numbered = [raw(modern(request(number, "server/discover"))) for number in range(10, 20)]
    assert len({each[: each.index(b"\r\n\r\n")] for each in numbered}) == 1
    talk.say(numbered[0])
    assert json.loads(talk.hear()[2])["id"] == 10
    rest = b"".join(numbered[1:])
    talk.say(rest[:cut])
    talk.say(rest[cut:-cut])
    talk.say(rest[-cut:])
    assert [json.loads(talk.hear()[2])["id"] for _ in range(9)] == list(range(11, 20))


def test_a_request_with_a_known_head_that_closes_the_connection_does_so_each_time(shared):
    for _ in range(3):
        with Talk(shared) as talk:
            talk.say(raw(Connection="close"))
            assert talk.hear()[1]["connection"] == "close"
            assert talk.rest() == b""


def test_the_target_may_be_a_whole_url_and_may_be_escaped(talk):
    talk.say(raw(start="POST http://127.0.0.1/mcp?x=1 HTTP/1.1"), raw(start="POST /m%63p HTTP/1.1"))
    assert talk.result() == talk.result()


@pytest.mark.parametrize("target", ["*", "mcp", "http://", "//", "/%", "/" + "x" * 9000])
def test_any_other_target_is_refused_with_a_reason(talk, target):
    talk.say(raw(start=f"OPTIONS {target} HTTP/1.1"))
    assert talk.head()[0] in (400, 404, 414)


def test_a_head_is_answered_without_a_body(talk):
    talk.say(raw(start="HEAD /mcp HTTP/1.1", body=b""), raw())
    assert (talk.head()[0], talk.result()["resultType"]) == (405, "complete")


def test_a_client_that_says_close_is_told_so_and_closed(talk):
    talk.say(raw(Connection="close"))
    status, headers, _ = talk.hear()
    assert (status, headers["connection"], talk.rest()) == (200, "close", b"")


def test_a_client_of_http_1_0_gets_no_chunks_and_is_closed(talk):
    talk.say(raw(modern(slow(1, 0, token="t")), start="POST /mcp HTTP/1.0"))
    status, headers = talk.head()
    assert (status, headers["connection"], "transfer-encoding" in headers) == (200, "close", False)
    assert talk.rest().startswith(b"event: message\ndata: ")


def test_a_stream_comes_in_chunks_and_the_connection_goes_on(talk):
    talk.say(raw(modern(slow(1, 0, token="t"))))
    assert talk.head()[1]["transfer-encoding"] == "chunked"
    while size := int(talk._file.readline(), 16):
        assert len(talk._file.read(size + 2)) == size + 2
    assert talk._file.readline() == b"\r\n"
    talk.say(raw())
    assert talk.result()["supportedVersions"]


def test_a_stream_without_events_says_that_it_is_open(talk):
    talk.say(raw(listen(1)))
    assert talk.head()[1]["content-type"] == "text/event-stream"


@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
        b"POST /mcp HTTP/1.1\r\nno header\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nContent-Length: x\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
    ],
)
def test_what_is_not_http_is_refused_with_a_reason_and_closed(talk, junk):
    talk.say(junk)
    status, headers, body = talk.hear()
    assert (status, headers["connection"]) == (400, "close")
    assert json.loads(body)["error"]["message"].startswith("this is not HTTP/1.1: ")
    assert talk.rest() == b""


def test_what_is_not_http_after_a_request_ends_the_connection_after_its_answer(talk):
    talk.say(raw() + b"\x00\x01")
    assert talk.result()["supportedVersions"]
    assert talk.rest() == b""


def test_a_chunk_that_is_none_is_refused_with_a_reason_and_closed(talk):
    talk.say(raw(body=b"", length=False, Transfer_Encoding="chunked") + b"zz\r\n")
    status, headers, _ = talk.hear()
    assert (status, headers["connection"], talk.rest()) == (400, "close", b"")


def test_a_head_that_is_too_large_is_refused_with_a_reason_and_closed(talk):
    talk.say(b"POST /mcp HTTP/1.1\r\nX-Long: " + b"x" * LIMIT)
    status, _, body = talk.hear()
    assert (status, json.loads(body)["error"]["message"]) == (
        431,
        f"the head of the request is longer than {LIMIT} bytes",
    )
    assert talk.rest() == b""


def padded(size):
    """A request with a head of SIZE bytes."""
    content = json.dumps(DISCOVER).encode()
    return raw(X_Long="x" * (size - len(raw(X_Long="")) + len(content)))


BEFORE = {
    "nothing": b"",
    "a request": raw(),
    "a request in chunks": raw(body=b"", length=False, Transfer_Encoding="chunked") + b"2\r\n{}\r\n0\r\nX: y\r\n\r\n",
}


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("piece", [1 << 20, 30_000, 1009])
def test_the_limit_of_a_head_is_exact_whatever_came_before_and_however_it_comes(shared, before, piece):
    # Behind a request that waits for its answer, there is no room for a reason.
    for size, expected in {LIMIT: ([],), LIMIT + 1: ([431], [])}.items():
        with Talk(shared) as talk:
            data = BEFORE[before] + padded(size)
            talk.say(*(data[place : place + piece] for place in range(0, len(data), piece)))
            heard = [talk.hear()[0] for _ in range(BEFORE[before].count(b"POST"))]
            assert set(heard) <= {200, 400}
            if size == LIMIT:  # heard before we hang up: then the server may drop what it has not said yet
                assert talk.hear()[0] == 200
            talk.ends()
            assert talk.statuses() in expected


def test_an_empty_line_before_a_request_is_passed_over(talk):
    for before in (b"\r\n", b"\r\n", b""):
        talk.say(before + raw())
        assert talk.result()["supportedVersions"]


@pytest.mark.parametrize("piece", [1, 2, 3])
def test_a_request_after_chunks_is_looked_at_as_closely_as_the_first(talk, piece):
    content = json.dumps(DISCOVER).encode()
    first = raw(body=b"", length=False, Transfer_Encoding="chunked") + b"%x\r\n%b\r\n0\r\n\r\n" % (
        len(content),
        content,
    )
    data = first + raw(start="POST  /mcp HTTP/1.1")
    talk.say(data[: len(first) - piece], data[len(first) - piece : len(first) + piece], data[len(first) + piece :])
    talk.ends()
    assert talk.statuses() in ([200], [200, 400])


def test_a_refusal_before_the_body_has_come_leaves_the_connection_usable(talk):
    whole = raw(Host="evil.example")
    talk.say(whole[:-10])
    assert talk.hear()[0] == 421
    talk.say(whole[-10:], raw())
    assert talk.result()["supportedVersions"]


def test_a_body_in_chunks_may_be_full_of_empty_lines(talk):
    content = b"\r\n\r\n" * 50_000 + json.dumps(DISCOVER).encode()
    chunked = raw(body=b"", length=False, Transfer_Encoding="chunked")
    talk.say(chunked + b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content))
    assert talk.result()["supportedVersions"]
    talk.say(chunked + b"".join(b"1\r\n%c\r\n" % byte for byte in json.dumps(DISCOVER).encode()) + b"0\r\n\r\n")
    assert talk.result()["supportedVersions"]
