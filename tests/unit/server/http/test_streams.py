"""The events that a stream keeps: so many bytes, and no more."""

import asyncio

import pytest

from mcp_conductor.server.http.exchange import HttpExchange
from mcp_conductor.server.http.streams import Budget, Stream, Streams, pump

EVENT = b"x" * 1000


class Line:
    """A connection whose client does not read."""

    def __init__(self):
        self.gone = asyncio.get_running_loop().create_future()
        self.said = b""

    def write(self, data):
        self.said += data

    async def drained(self):
        await self.gone

    def close(self): ...

    def reset(self):
        if not self.gone.done():
            self.gone.set_result(None)


def test_what_nobody_reads_is_forgotten_from_its_beginning():
    stream = Stream("1", most=10_000)
    for _ in range(100):
        stream.add(EVENT)
    kept = stream.after(0)
    assert kept[-1][0] == 100
    assert sum(len(event) for _, event in kept) <= 10_000


def test_one_event_that_is_larger_is_kept():
    stream = Stream(None, most=100)
    stream.add(EVENT)
    assert len(stream.after(0)) == 1


def test_streams_without_a_reader_share_a_budget_and_the_oldest_is_cleared_first():
    every = Budget(3500)
    one, other = (Streams(resumable=True, retry=None, budget=Budget(most, every)) for most in (3000, 9000))
    kept = [streams.open(lossy=True) for streams in (one, one, one, other, other)]
    sizes = []
    for stream in kept:
        stream.add(EVENT)
        sizes.append([bool(each.size) for each in kept])
    assert sizes[1] == [True, True, False, False, False]
    assert sizes[2] == [False, True, True, False, False], "the budget of a session"
    assert sizes[4] == [False, False, True, True, True], "the budget of all"
    one.end()
    kept[3].add(EVENT)
    assert all(stream.size for stream in kept[2:]), "what has ended no longer counts"


def test_a_stream_with_a_reader_does_not_count_until_the_reader_leaves():
    streams = Streams(resumable=True, retry=None, budget=Budget(500))
    stream = streams.open()
    reader = stream.attach()
    stream.add(EVENT)
    assert stream.size
    stream.detach(reader)
    assert not stream.size


def test_a_stream_that_was_cleared_can_be_resumed_only_where_nothing_is_missing():
    streams = Streams(resumable=True, retry=None, budget=Budget(500))
    stream = streams.open(primed=True)
    stream.hang_up()
    assert streams.find("1_1") == (stream, 1)
    stream.add(EVENT)
    assert streams.find("1_1") is None
    assert streams.find("1_2") == (stream, 2)
    stream.add(b"x")
    assert streams.find("1_1") is None
    assert streams.find("1_2") == (stream, 2)


@pytest.mark.parametrize(("size", "kept"), [(1000, True), (1 << 20, False)])
async def test_of_a_stream_that_was_sent_to_its_end_only_little_is_kept(size, kept):
    line, stream = Line(), Stream("1")
    line.drained = lambda: asyncio.sleep(0)
    stream.add(b"x" * size)
    stream.end()
    assert await pump(HttpExchange("POST", "/mcp", b"", {}, line), stream) is True
    assert bool(stream.size) is kept
    assert stream.can_resume_after(0) is kept


async def test_a_stream_whose_client_left_in_the_middle_is_kept():
    line, stream = Line(), Stream("1")
    stream.add(b"x" * (1 << 20))
    stream.end()
    pumping = asyncio.ensure_future(pump(HttpExchange("POST", "/mcp", b"", {}, line), stream))
    await asyncio.sleep(0)
    line.reset()
    await pumping
    assert stream.can_resume_after(0)


async def test_a_client_that_does_not_read_is_cut_off_when_too_much_is_kept_for_it():
    line, stream = Line(), Stream(None, most=10_000)
    pumping = asyncio.ensure_future(pump(HttpExchange("GET", "/mcp", b"", {}, line), stream))
    stream.add(EVENT)
    for _ in range(3):  # turns of the loop, until the event is on its way
        await asyncio.sleep(0)
    assert EVENT in line.said
    for _ in range(5):
        stream.add(EVENT)
    assert not line.gone.done()
    for _ in range(100):
        stream.add(EVENT)
    assert line.gone.done()
    assert await pumping is False


@pytest.mark.parametrize("name", ["1", None])
async def test_much_that_is_said_at_once_reaches_a_client_that_reads(name):
    line, stream = Line(), Stream(name, most=10_000)
    line.drained = lambda: asyncio.sleep(0)
    pumping = asyncio.ensure_future(pump(HttpExchange("GET", "/mcp", b"", {}, line), stream))
    await asyncio.sleep(0)
    for _ in range(100):
        stream.add(EVENT)
    stream.end()
    assert await pumping is True
    assert line.said.count(EVENT) == 100
