"""text/event-stream by the rules of the WHATWG standard, however the bytes are cut into chunks."""

from time import process_time

import pytest

from mcp_conductor.protocol.event_stream import Event, EventSplitter, EventStream

SAMPLES = {
    "one line": (b"data: a\n\n", [Event("a")]),
    "LF": (b"data: a\ndata: b\n\ndata: c\n\n", [Event("a\nb"), Event("c")]),
    "CR": (b"data: a\rdata: b\r\rdata: c\r\r", [Event("a\nb"), Event("c")]),
    "CRLF": (b"data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", [Event("a\nb"), Event("c")]),
    "CR, then LF of a blank line": (b"data: a\r\n\n", [Event("a")]),
    "LF, then CR of a blank line": (b"data: a\n\r", [Event("a")]),
    "LF, then CRLF": (b"data: a\n\r\ndata: b\n\n", [Event("a"), Event("b")]),
    "CR, then CRLF": (b"data: a\r\r\ndata: b\n\n", [Event("a"), Event("b")]),
    "LF CR LF CR": (b"data: a\n\r\n\rdata: b\n\n", [Event("a"), Event("b")]),
    "many blank lines": (b"\n\r\r\n\n\r\ndata: a\n\n\n\n", [Event("a")]),
    "other line separators are text": (
        "data: a\u2028b\u0085c\x0bd\x0ce\u2029\n\n".encode(),
        [Event("a\u2028b\u0085c\x0bd\x0ce\u2029")],
    ),
    "comments": (b": hi\n:\n:data: x\ndata: a\n: more\ndata: b\n\n", [Event("a\nb")]),
    "only a comment": (b": keep-alive\n\n", []),
    "lines of data": (b"data: a\ndata:\ndata\ndata:  b\n\n", [Event("a\n\n\n b")]),
    "data that is empty": (b"data\n\ndata:\n\ndata: \n\n", [Event(""), Event(""), Event("")]),
    "two empty lines of data": (b"data\ndata\n\n", [Event("\n")]),
    "no space, one space, two, a tab": (
        b"data:a\n\ndata: a\n\ndata:  a\n\ndata:\ta\n\n",
        [Event("a"), Event("a"), Event(" a"), Event("\ta")],
    ),
    "a space before the colon is another name": (b"data : a\ndata: b\n\n", [Event("b")]),
    "a space before the name is another name": (b" data: a\n\n", []),
    "colons in the value": (b'data: {"a":"b:c"}\n\n', [Event('{"a":"b:c"}')]),
    "names are case-sensitive": (b"Data: a\nDATA: b\nEvent: c\nID: d\n\n", []),
    "unknown names": (b"foo: a\nfoo\ndata: b\n\n", [Event("b")]),
    "BOM": (b"\xef\xbb\xbfdata: a\n\n", [Event("a")]),
    "BOM twice": (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\ndata: b\n\n", [Event("b")]),
    "BOM not at the beginning": (b"data: a\n\n\xef\xbb\xbfdata: b\n\n", [Event("a")]),
    "BOM inside data": (b"data: \xef\xbb\xbfa\n\n", [Event("\ufeffa")]),
    "kind": (b"event: ping\ndata: a\n\ndata: b\n\n", [Event("a", "ping"), Event("b")]),
    "the last kind counts": (b"event: x\nevent: y\ndata: a\n\n", [Event("a", "y")]),
    "an empty kind is a message": (b"event: x\nevent\ndata: a\n\n", [Event("a")]),
    "a kind without data": (b"event: x\n\ndata: a\n\n", [Event("a")]),
    "id": (b"id: 7\ndata: a\n\ndata: b\n\n", [Event("a", id="7"), Event("b")]),
    "id without a colon is reset": (b"id\ndata: a\n\n", [Event("a", id="")]),
    "id with NUL": (b"id: 7\nid: a\0b\ndata: a\n\n", [Event("a", id="7")]),
    "only an id with NUL": (b"id: \0\n\n", []),
    "id that is not ASCII": ("id: é…𝄞\ndata: a\n\n".encode(), [Event("a", id="é…𝄞")]),
    "priming": (b"id: 7\ndata:\n\n", [Event("", id="7")]),
    "id without data": (b"id: 7\n\n", [Event("", id="7")]),
    "retry without data": (b"retry: 250\n\n", [Event("", retry=250)]),
    "id and retry": (b"id: 7\nretry: 0\nevent: x\n\n", [Event("", "x", "7", 0)]),
    "the last retry counts": (b"retry: 1\nretry: 2\n\n", [Event("", retry=2)]),
    "UTF-8 of two, three and four bytes": ("data: é…𝄞\n\n".encode(), [Event("é…𝄞")]),
    "broken UTF-8": (b"data: a\xffb\xc3\n\ndata: \xe2\x80\n\n", [Event("a\ufffdb\ufffd"), Event("\ufffd")]),
    "broken UTF-8 in a name": (b"da\xffta: a\ndata: b\n\n", [Event("b")]),
    "UTF-8 that is cut by CR": (b"data: \xf0\x9d\x84\r\ndata: a\r\n\r\n", [Event("\ufffd\na")]),
    "an encoded surrogate": (b"data: \xed\xa0\x80\n\n", [Event("\ufffd\ufffd\ufffd")]),
    "NUL in data": (b"data: a\0b\n\n", [Event("a\0b")]),
    "an event that does not end": (b"data: a\n\nid: 9\ndata: b\n", [Event("a")]),
    "a line that does not end": (b"data: a\n\ndata: b", [Event("a")]),
    "nothing": (b"", []),
}
samples = pytest.mark.parametrize(("stream", "events"), SAMPLES.values(), ids=SAMPLES.keys())


def fed(*chunks: bytes) -> list[Event]:
    decoder = EventStream()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


@samples
def test_a_stream_in_one_piece(stream, events):
    assert fed(stream) == events


@samples
def test_a_stream_byte_by_byte(stream, events):
    assert fed(*(stream[at : at + 1] for at in range(len(stream)))) == events


@samples
def test_a_stream_cut_in_two_at_every_position(stream, events):
    for at in range(len(stream) + 1):
        assert fed(stream[:at], stream[at:]) == events, f"cut at {at}"


@samples
def test_a_stream_with_empty_chunks_in_between(stream, events):
    assert fed(*(piece for at in range(len(stream)) for piece in (b"", stream[at : at + 1], b""))) == events


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_an_event_is_told_as_soon_as_its_blank_line_begins(end):
    decoder = EventStream()
    assert decoder.feed(b"data: a" + end) == []
    assert decoder.feed(end[:1]) == [Event("a")]


@pytest.mark.parametrize(
    "value", ["", " ", "1s", "-1", "+1", "1.5", "1e3", "0x10", " 1", "1 ", "1_0", "١٢", "²", "soon"]
)
def test_a_retry_that_is_not_all_digits_is_ignored(value):
    assert fed(f"retry: {value}\ndata: a\n\n".encode()) == [Event("a")]


@pytest.mark.parametrize(("value", "retry"), [("0", 0), ("5", 5), ("0010", 10), ("86400000", 86_400_000)])
def test_a_retry_of_digits_is_a_number_of_milliseconds(value, retry):
    assert fed(f"retry: {value}\n\n".encode()) == [Event("", retry=retry)]


def test_an_absurdly_long_retry_is_a_long_time_and_no_failure():
    (event,) = fed(b"retry: " + b"9" * 10_000 + b"\n\n")
    assert event.retry is not None
    assert event.retry >= 86_400_000


def test_each_stream_has_its_own_beginning():
    assert fed(b"\xef\xbb\xbfdata: a\n\n") == fed(b"\xef\xbb\xbfdata: a\n\n") == [Event("a")]


def test_what_waits_to_be_completed_is_counted_until_the_event_ends():
    decoder = EventStream()
    decoder.feed(b"data: 12345\ndata: 678")
    assert decoder.waiting() >= 8
    decoder.feed(b"\n\n")
    assert decoder.waiting() == 0


def test_lines_of_data_without_text_are_counted_too():
    decoder = EventStream()
    decoder.feed(b"data\n" * 1000)
    assert decoder.waiting() >= 999


def seconds_for(size: int, chunk: int) -> float:
    """The processor's time for one event of SIZE bytes in chunks, asked after each how much waits, as transports do."""
    piece = b"x" * chunk
    began = process_time()
    decoder = EventStream()
    decoder.feed(b"data: ")
    for _ in range(size // chunk):
        decoder.feed(piece)
        decoder.waiting()
    (event,) = decoder.feed(b"\n\n")
    spent = process_time() - began
    assert len(event.data) == size
    return spent


def assert_linear(small: int, factor: int, chunk: int) -> None:
    """FACTOR times the work takes less than twelve times FACTOR as long; quadratic time would take FACTOR squared."""
    once = min(seconds_for(small, chunk) for _ in range(3))
    assert seconds_for(small * factor, chunk) < max(once, 0.001) * factor * 12


def test_an_event_of_64_megabytes_takes_linear_time():
    assert_linear(2 * 2**20, 32, 2**16)


def test_a_long_event_in_small_chunks_takes_linear_time():
    assert_linear(2**16, 32, 64)


def test_many_short_events_take_linear_time():
    def seconds(count: int) -> float:
        began = process_time()
        assert len(fed(b"data: x\r\n\r\n" * count)) == count
        return process_time() - began

    once = min(seconds(5000) for _ in range(3))
    assert seconds(100_000) < max(once, 0.001) * 20 * 12


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_a_stream_is_cut_where_its_events_end_byte_for_byte(end, size):
    text = "\n\n: a\n\nid: 1\ndata: x\n\n\ndata: é\ndata: z\n\ndata: no end\n"
    data = text.replace("\n", end).encode()
    splitter, pieces = EventSplitter(), []
    for start in range(0, len(data), size):
        pieces += splitter.feed(data[start : start + size])
    rest = splitter.rest()
    assert b"".join([*pieces, rest]) == data
    assert [event.data for piece in pieces for event in EventStream().feed(piece)] == ["x", "é\nz"]
    assert b"no end" in rest
    assert splitter.waiting() == 0
