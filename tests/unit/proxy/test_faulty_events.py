"""What is sent in place of the events of a stream with faults."""

import json

import pytest

from mcp_conductor.protocol.message import build
from mcp_conductor.proxy.faulty_events import FaultyEvents, event_in
from mcp_conductor.proxy.spoiling import Spoiling
from mcp_conductor.server.faults import FAULTS, Fault, Faults
from mcp_conductor.server.http.exchange import HttpExchange
from mcp_conductor.server.spoiled_reply import EVERY_MEANS

PRIMING = b"id: 0\nretry: 10\ndata: \n\n"
NOTICE = b'id: 1\ndata: {"jsonrpc": "2.0", "method": "notifications/a"}\n\n'
REPLY = b'event: message\r\nid: 2\r\ndata: {"jsonrpc": "2.0",\r\ndata: "id": 1, "result": {}}\r\n\r\n'


def stream(name, asked_here=True, **params):
    """A stream on which the reply to request 1 is spoiled."""
    act = FAULTS.get(name)
    fault = Fault(name=name, act=lambda spoiled: act(spoiled, **params), nth=(1,))
    spoiling = Spoiling(Faults((fault,), 0), [].append)
    plan = spoiling.asked(build({"jsonrpc": "2.0", "id": 1, "method": "tools/call"}), "client", EVERY_MEANS, "s")
    events = FaultyEvents(spoiling, [plan] if asked_here else [], [].append)
    return events, lambda piece: events.take(piece, event_in(piece), "s", "s")


@pytest.mark.parametrize(
    "piece", [PRIMING, NOTICE, b": comment\n\n", b"event: other\ndata: x\n\n", b"\n", b"data: {\n\n"]
)
def test_what_is_no_reply_passes_as_it_is(piece):
    _, send = stream("wrong_id")
    assert (send(piece).data, send(piece).end) == (piece, None)


def test_a_reply_keeps_its_id_and_its_lines():
    _, send = stream("malformed_json")
    sent = send(REPLY)
    assert sent.data == b'id: 2\nevent: message\ndata: {"jsonrpc": "2.0",\ndata: "id": 1, "result": {}\n\n'
    assert send(REPLY).data == REPLY


def test_only_the_first_of_two_copies_has_the_id():
    _, send = stream("answer_twice")
    sent = send(REPLY)
    assert (sent.data.count(b"id: 2"), sent.data.count(b"event: message"), len(sent.said)) == (1, 2, 2)


def test_a_reply_that_is_kept_back_is_remembered():
    events, send = stream("never_answer")
    assert (send(REPLY).data, events.is_silent) == (b"", True)


@pytest.mark.parametrize(
    ("after", "sent"), [(0, [PRIMING, b""]), (1, [PRIMING, NOTICE]), (2, [PRIMING, NOTICE, REPLY])]
)
def test_a_stream_is_cut_after_so_many_messages(after, sent):
    events, send = stream("cut_stream", after=after, resumable=False)
    found = [send(piece) for piece in (PRIMING, NOTICE, REPLY)[: len(sent)]]
    assert [each.end for each in found] == [None] * (len(sent) - 1) + [HttpExchange.cut]
    assert events.is_forgotten
    assert events.last_id == str(after)
    assert [json.dumps(event_in(each.data).data) if each.data else None for each in found] == [
        json.dumps(event_in(piece).data) if piece else None for piece in sent
    ]


@pytest.mark.parametrize(("after", "count"), [(0, 0), (3, 1)])
def test_a_stream_for_all_requests_is_cut_at_the_reply(after, count):
    _, send = stream("cut_stream", asked_here=False, after=after)
    assert send(NOTICE).data == NOTICE
    sent = send(REPLY)
    assert (len(sent.said), sent.end) == (count, HttpExchange.cut)


def test_a_reply_within_a_batch_is_an_event_of_its_own():
    _, send = stream("wrong_id")
    sent = send(b'data: [{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":2,"result":{}}]\n\n')
    assert sent.said == ('[{"jsonrpc":"2.0","id":2,"result":{}}]', '{"jsonrpc":"2.0","id":"not-1","result":{}}')
