"""The events that a stream keeps: so many bytes, and no more."""

import asyncio

import pytest

from mcp_conductor.server.http.exchange import HttpExchange
from mcp_conductor.server.http.streams import Stream, pump

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
