"""What an answer over HTTP/1.1 is: every rule for every way in which its bytes may be cut."""

from random import Random

import pytest

from mcp_conductor.transport.http_framing import (
    MOST_HEAD_BYTES,
    MOST_HEADERS,
    MOST_INTERIM_ANSWERS,
    MOST_LINE_BYTES,
    Answer,
    CannotBeSent,
    NotHttp,
    request_head,
)

OK = b"HTTP/1.1 200 OK\r\n"
SIZED = OK + b"Content-Length: 2\r\n\r\nhi"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def read(data: bytes, step: int = 0, *, closed: bool = False, **terms: bool) -> Answer:
    """The answer in DATA, which comes in pieces of STEP bytes."""
    answer, step = Answer(**terms), step or len(data) or 1
    for place in range(0, len(data), step):
        answer.feed(data[place : place + step])
    if closed:
        answer.end_of_connection()
    return answer


def why_not(data: bytes, **terms: bool) -> str:
    with pytest.raises(NotHttp) as raised:
        read(data, **terms)
    return str(raised.value)


@pytest.mark.parametrize("step", [0, 1, 2, 3, 7])
@pytest.mark.parametrize(
    "data",
    [
        SIZED,
        SIZED.replace(b"\r\n", b"\n"),
        OK + b"A: b\nContent-Length: 2\r\n\r\nhi",
        OK + b"content-LENGTH:2\t \r\n\r\nhi",
        OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
        OK + b"Content-Length: 2, 2\r\n\r\nhi",
        b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 \xc3\xa4\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + SIZED,
        CHUNKED + b"2\r\nhi\r\n0\r\n\r\n",
        CHUNKED + b"1\r\nh\r\n01;name=value\r\ni\r\n000\r\n\r\n",
        CHUNKED + b"2 \t\r\nhi\r\n0\r\nTrailer: x\r\nAnother: y\r\n\r\n",
        CHUNKED.replace(b"chunked", b"Chunked") + b"2\r\nhi\r\n0\r\n\n",
    ],
)
def test_an_answer_is_the_same_however_its_bytes_are_cut(data, step):
    answer = read(data, step)
    assert (answer.status, b"".join(answer.body), answer.ended, answer.lasts, answer.rest) == (
        200,
        b"hi",
        True,
        True,
        b"",
    )


def test_headers_stay_as_they_were_sent_in_order_and_case():
    answer = read(OK + b"X-B: 1\r\nx-a:\t two words \r\nX-B:\r\nCity: Z\xc3\xbcrich\xff\x1b\r\n\r\n")
    assert answer.headers == (
        (b"X-B", b"1"),
        (b"x-a", b"two words"),
        (b"X-B", b""),
        (b"City", b"Z\xc3\xbcrich\xff\x1b"),
    )


def test_a_header_may_go_on_in_the_next_line():
    answer = read(OK + b"A: b\r\n  c\r\n\td\r\nE: f\r\n\r\n")
    assert answer.headers == ((b"A", b"b c d"), (b"E", b"f"))


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/0.9"])
def test_a_connection_of_an_old_version_carries_one_answer(version):
    assert not read(SIZED.replace(b"HTTP/1.1", version)).lasts


@pytest.mark.parametrize("option", [b"close", b"Close", b"keep-alive, CLOSE"])
def test_a_server_may_say_that_it_closes_the_connection(option):
    assert not read(OK + b"Connection: " + option + b"\r\nContent-Length: 2\r\n\r\nhi").lasts


def test_a_body_without_a_length_ends_with_the_connection():
    answer = read(OK + b"\r\nhi", 1)
    assert not answer.ended
    answer.end_of_connection()
    assert (b"".join(answer.body), answer.ended, answer.lasts) == (b"hi", True, False)


@pytest.mark.parametrize("status", [b"204", b"304"])
def test_some_answers_have_no_body_although_their_head_names_a_length(status):
    answer = read(b"HTTP/1.1 " + status + b" X\r\nContent-Length: 2\r\n\r\n")
    assert (answer.ended, answer.lasts, list(answer.body)) == (True, True, [])


def test_an_answer_to_head_has_no_body():
    assert read(OK + b"Content-Length: 2\r\n\r\n", bodiless=True).ended


def test_what_follows_an_answer_is_kept_apart():
    assert read(SIZED + b"HTTP/1.1 200 OK\r\n").rest == b"HTTP/1.1 200 OK\r\n"
    assert read(CHUNKED + b"0\r\n\r\ngarbage").rest == b"garbage"


def test_a_tunnel_that_is_granted_has_no_body_and_one_that_is_refused_has():
    assert read(b"HTTP/1.0 200 Connected\r\nContent-Length: 9\r\n\r\n", tunnel=True).ended
    refused = read(b"HTTP/1.1 403 No\r\nContent-Length: 9\r\n\r\n", tunnel=True)
    assert (refused.status, refused.reason, refused.ended) == (403, b"No", False)


# What is refused.


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"\x15\x03\x01",
        b"http/1.1 200 OK\r\n",
        b"\r\nHTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 2OO OK\r\n\r\n",
        b"HTTP/1.1 99 X\r\n\r\n",
        b"HTTP/1.1 000 X\r\n\r\n",
        b"HTTP/1.1  200 OK\r\n\r\n",
        b"HTTP/1.1 200 O\rK\r\n\r\n",
    ],
)
def test_what_is_no_status_line_is_refused_as_soon_as_it_is_seen(data):
    assert why_not(data).startswith("illegal status line '")


@pytest.mark.parametrize(
    "line", [b"no colon", b"A b: c", b"A : c", b": c", b"\xc3\xa4: c", b"A: b\0c", b"A: b\rc", b"A:\r\n b\r"]
)
def test_what_is_no_header_is_refused(line):
    assert why_not(OK + line + b"\r\n\r\n").startswith("illegal header line '")


def test_a_first_header_that_continues_nothing_is_refused():
    assert "begins with a space" in why_not(OK + b" A: b\r\n\r\n")


@pytest.mark.parametrize("length", [b"many", b"+2", b"-1", b"2.0", b"", b"0x2", b"9" * 30])
def test_a_length_that_is_no_number_is_refused(length):
    assert why_not(OK + b"Content-Length: " + length + b"\r\n\r\n").startswith("illegal Content-Length")


@pytest.mark.parametrize("headers", [b"Content-Length: 1\r\nContent-Length: 2", b"Content-Length: 1, 2"])
def test_lengths_that_differ_are_refused(headers):
    assert "differ" in why_not(OK + headers + b"\r\n\r\nhi")


@pytest.mark.parametrize(
    "headers",
    [b"Content-Length: 2\r\nTransfer-Encoding: chunked", b"Transfer-Encoding: chunked\r\nContent-Length: 2"],
)
def test_a_length_beside_chunks_is_refused(headers):
    assert "beside" in why_not(OK + headers + b"\r\n\r\n2\r\nhi\r\n0\r\n\r\n")


@pytest.mark.parametrize("coding", [b"magic", b"gzip, chunked", b"chunked\r\nTransfer-Encoding: chunked", b""])
def test_a_transfer_encoding_other_than_chunked_is_refused(coding):
    assert "can only be chunked" in why_not(OK + b"Transfer-Encoding: " + coding + b"\r\n\r\n")


@pytest.mark.parametrize("body", [b"zz\r\n", b"\r\n", b"-1\r\n", b"0x2\r\nhi\r\n", b"2\nhi\n", b"f" * 16 + b"\r\n"])
def test_a_chunk_without_a_size_is_refused(body):
    assert why_not(CHUNKED + body).startswith("illegal size of a chunk")


def test_a_chunk_that_is_longer_than_its_size_is_refused_and_what_came_is_kept():
    answer = Answer()
    with pytest.raises(NotHttp, match="longer than its size"):
        answer.feed(CHUNKED + b"2\r\nhixx")
    assert b"".join(answer.body) == b"hi"


def test_another_protocol_that_was_not_asked_for_is_refused():
    assert "another protocol" in why_not(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")


def test_spoilt_answers_are_read_or_refused_the_same_however_their_bytes_are_cut():
    random = Random(7)
    whole = [
        SIZED,
        CHUNKED + b"2;x=y\r\nhi\r\n0\r\nT: t\r\n\r\n",
        OK + b"A: b\r\n c\r\n\r\nhi",
        b"HTTP/1.1 103 E\r\n\r\n" + SIZED,
    ]
    spoils = [
        b"\r",
        b"\n",
        b"\r\n",
        b" ",
        b":",
        b"0",
        b"\0",
        b";",
        b"Content-Length: 1\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ]
    for _ in range(1_000):
        data = random.choice(whole)
        for _ in range(random.randrange(3)):
            place = random.randrange(len(data))
            data = data[:place] + random.choice([*spoils, b""]) + data[place + random.randrange(2) :]
        assert outcome(data, 0) == outcome(data, 1) == outcome(data, random.randrange(2, 9)), data


def outcome(data: bytes, step: int) -> tuple[object, ...]:
    try:
        answer = read(data, step, closed=True)
    except NotHttp:
        return ("refused",)
    return answer.status, answer.headers, b"".join(answer.body), answer.ended, answer.lasts


# How much is taken.


def test_a_head_has_a_largest_size():
    line = b"X: " + b"x" * 997
    assert "longer than 100 KB" in why_not(OK + (line + b"\r\n") * (MOST_HEAD_BYTES // 1000 + 1))
    assert "longer than 64 KB" in why_not(OK + b"X: " + b"x" * MOST_LINE_BYTES + b"\r\n\r\n")
    assert "more than 1000" in why_not(OK + b"X: x\r\n" * (MOST_HEADERS + 1) + b"\r\n")
    assert len(read(OK + b"X: x\r\n" * MOST_HEADERS + b"\r\n").headers) == MOST_HEADERS


def test_interim_answers_are_limited_in_number_and_size():
    hint = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    assert read(hint * MOST_INTERIM_ANSWERS + SIZED).ended
    assert "interim answers" in why_not(hint * (MOST_INTERIM_ANSWERS + 1))
    long = b"HTTP/1.1 103 Early Hints\r\nX: " + b"x" * 60_000 + b"\r\n\r\n"
    assert "longer than 100 KB" in why_not(long * 2)


def test_what_stands_between_chunks_is_limited():
    assert "illegal size" in why_not(CHUNKED + b"2;" + b"x" * (16 << 10))
    assert "trailers are longer" in why_not(CHUNKED + b"0\r\n" + b"X: x\r\n" * (MOST_HEAD_BYTES // 5))


# Where the connection ends too early.


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "without an answer"),
        (b"HTT", "they break off"),
        (OK + b"Content-Le", "they break off"),
        (OK + b"Content-Length: 10\r\n\r\nhi", "after 2 of 10 bytes"),
        (CHUNKED + b"8\r\nhi", "within the chunks"),
        (CHUNKED + b"2\r\nhi\r\n", "within the chunks"),
        (CHUNKED + b"0\r\n", "within the chunks"),
    ],
)
def test_an_answer_that_breaks_off_says_where(data, words):
    assert words in why_not(data, closed=True)


def test_an_answer_that_is_complete_does_not_break_off():
    assert read(SIZED, closed=True).ended


# What we say.


def test_a_request_is_written_as_it_was_asked_for():
    head = request_head("POST", "/mcp?a=b", [(b"Host", b"x"), (b"X-Y", b"Z\xc3\xbcrich")])
    assert head == b"POST /mcp?a=b HTTP/1.1\r\nHost: x\r\nX-Y: Z\xc3\xbcrich\r\n\r\n"


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/with space", []),
        ("/line\r\nX: y", []),
        ("/ä", []),
        ("", []),
        ("/", [(b"Bad Name", b"x")]),
        ("/", [(b"", b"x")]),
        ("/", [(b"X", b"a\r\nY: b")]),
        ("/", [(b"X", b"a\0b")]),
        ("/", [(b"X", b" a")]),
        ("/", [(b"Host", b"a"), (b"host", b"b")]),
        ("/", [(b"Content-Length", b"1"), (b"Content-length", b"1")]),
        ("/", [(b"Transfer-Encoding", b"chunked")]),
    ],
)
def test_what_would_be_another_request_on_the_wire_is_not_sent(target, headers):
    with pytest.raises(CannotBeSent):
        request_head("GET", target, headers)
