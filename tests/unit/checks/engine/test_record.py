"""Of what a server says without end, so much is judged as can be read in one turn of the event loop."""

import json

from mcp_conductor.checks.engine.record import MOST_BYTES, judged_part
from mcp_conductor.protocol.transcript import Frame

NOTE = Frame(0.0, "server", json.dumps({"jsonrpc": "2.0", "method": "x", "params": {"data": "y" * 1_000_000}}))
ANSWER = Frame(0.0, "server", '{"jsonrpc":"2.0","id":7,"result":{}}')
REQUEST = Frame(0.0, "client", '{"jsonrpc":"2.0","id":7,"method":"ping"}')


def test_a_conversation_of_usual_size_is_judged_as_a_whole():
    frames = [REQUEST, NOTE, ANSWER]
    assert judged_part(frames) == frames


def test_of_notifications_without_end_the_first_are_judged_and_answers_are_not_lost():
    kept = judged_part([*[NOTE] * 100, REQUEST, ANSWER])
    assert kept[-2:] == [REQUEST, ANSWER]
    assert sum(frame.size for frame in kept) < MOST_BYTES + 2_000_000


def test_a_batch_counts_by_its_messages():
    batch = Frame(0.0, "server", json.dumps([{"jsonrpc": "1.0"}] * 200_000))
    assert judged_part([batch, REQUEST, ANSWER]) == [REQUEST, ANSWER]


def test_of_notes_without_end_the_first_are_kept():
    notes = [Frame(0.0, "note", "x" * 1000)] * 10_000
    kept = judged_part([*notes, REQUEST, ANSWER])
    assert kept[-2:] == [REQUEST, ANSWER]
    assert 500 < len(kept) < 2000
