"""One direction with faults, on real pipes: its bounds, and what waits for its time."""

import json
import os

import pytest

from mcp_conductor.protocol.message import build
from mcp_conductor.proxy import faulty_stream
from mcp_conductor.proxy.spoiling import Spoiling
from mcp_conductor.recording.writer import RecordingWriter
from mcp_conductor.server.faults import FAULTS, Fault, Faults
from mcp_conductor.server.spoiled_reply import STDOUT
from mcp_conductor.text.redaction import Redactor


class Direction:
    """What a server says to a client, through a stream with one fault."""

    def __init__(self, name, **params):
        act = FAULTS.get(name)
        self.spoiling = Spoiling(Faults((Fault(name=name, act=lambda spoiled: act(spoiled, **params)),), 0), [].append)
        self.server, (self.client, sink) = os.pipe(), os.pipe()
        writer = RecordingWriter(None, Redactor())
        self.stream = faulty_stream.faulty_streams(self.spoiling)(self.server[0], sink, writer, "server")
        os.set_blocking(self.client, False)

    def ask(self, number):
        request = build({"jsonrpc": "2.0", "id": number, "method": "ping"})
        self.spoiling.asked(request, "client", frozenset({STDOUT}))

    def say(self, data):
        os.write(self.server[1], data)
        return self.stream.read()

    def heard(self):
        try:
            return os.read(self.client, 1 << 20)
        except BlockingIOError:
            return b""

    def close(self):
        for each in (*self.server, self.client, self.stream.sink):
            os.close(each)


@pytest.fixture
def direction():
    made = []

    def make(*given, **params):
        made.append(Direction(*given, **params))
        return made[-1]

    yield make
    for each in made:
        each.close()


def reply(number, size=0):
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": {"x": "x" * size}}).encode() + b"\n"


def test_a_line_is_passed_on_when_it_is_whole(direction):
    between = direction("wrong_id")
    between.ask(1)
    line = reply(2)
    assert between.say(line[:20])
    assert between.heard() == b""
    between.say(line[20:])
    assert between.heard() == line


def test_a_line_that_is_too_long_to_be_looked_at_passes_as_it_comes(direction, monkeypatch):
    monkeypatch.setattr(faulty_stream, "_LONGEST_LINE", 100)
    between = direction("wrong_id")
    between.ask(1)
    between.ask(2)
    line = reply(1, size=300)
    between.say(line[:150])
    assert between.heard() == line[:150]
    between.say(line[150:] + reply(2))
    assert between.heard() == line[150:] + b'{"jsonrpc":"2.0","id":"not-2","result":{"x":""}}\n'


def test_nothing_more_is_read_while_too_much_is_held_back(direction, monkeypatch):
    monkeypatch.setattr(faulty_stream, "_MOST_HELD", 1000)
    times = iter([0.0] * 100)
    monkeypatch.setattr(faulty_stream, "monotonic", lambda: next(times))
    between = direction("delay", time="10s")
    for number in (1, 2):
        assert between.stream.reads
        between.ask(number)
        between.say(reply(number, size=600))
    assert not between.stream.reads
    assert between.stream.due() == 10.0
    monkeypatch.setattr(faulty_stream, "monotonic", lambda: 10.0)
    between.stream.wake()
    assert between.heard() == reply(1, size=600) + reply(2, size=600)
    assert between.stream.reads
    assert between.stream.due() is None


def test_a_last_line_without_its_end_is_a_line(direction):
    between = direction("wrong_id")
    between.ask(1)
    between.say(reply(1)[:-1])
    assert between.stream.end() is False
    assert between.heard() == b'{"jsonrpc":"2.0","id":"not-1","result":{"x":""}}'


def test_nothing_is_said_after_what_ends_everything(direction):
    between = direction("half_a_line_then_exit", code=3)
    between.ask(1)
    between.say(reply(1) + reply(2))
    assert between.heard() == reply(1)[: (len(reply(1)) - 1) // 2]
    assert between.stream.exit_code == 3
