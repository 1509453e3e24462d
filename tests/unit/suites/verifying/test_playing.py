"""What is said to a server when a recording is played."""

import pytest

from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.dialogue import Dialogue
from mcp_conductor.suites.verifying.playing import carried_over, polled_for, refuse_redacted


def test_carried_values_stand_where_the_recorded_ones_stood():
    said = {"id": "note-a1b2c3", "uri": "note://note-a1b2c3/text", "n": [1234567, True, None], "other": "milk"}
    assert carried_over(said, {"note-a1b2c3": "n2", "1234567": 7}) == {
        "id": "n2",
        "uri": "note://n2/text",
        "n": [7, True, None],
        "other": "milk",
    }
    assert carried_over({"n": 1234567}, {"1234567": "7654321"}) == {"n": 7654321}
    assert carried_over({"n": 1234567}, {"1234567": "abc"}) == {"n": "abc"}
    assert carried_over({"n": "1234567"}, {"1234567": 7}) == {"n": "7"}


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ({"id": 1, "method": "tools/call", "params": {"a": [{"k": "[redacted]"}]}}, "params.a[0].k of tools/call (request 1)"),
        ({"method": "notifications/x", "params": {"k": "a [redacted]"}}, "params.k of notifications/x"),
    ],
)  # fmt: skip
def test_a_secret_that_the_client_said_keeps_the_recording_from_being_played(said, place):
    with pytest.raises(UsageError) as caught:
        refuse_redacted(Dialogue.of([Frame(0.0, "client", compact({"jsonrpc": "2.0", **said}))]))
    assert caught.value.message == f"the recording cannot be played: {place} is a secret that was left out of it"


def test_a_task_may_take_as_long_as_the_client_polled_it():
    def poll(number, task, at):
        asked = {"jsonrpc": "2.0", "id": number, "method": "tasks/get", "params": {"taskId": task}}
        reply = {"jsonrpc": "2.0", "id": number, "result": {"taskId": task, "status": "working"}}
        return [Frame(at, "client", compact(asked)), Frame(at + 0.5, "server", compact(reply))]

    dialogue = Dialogue.of([*poll(1, "a", 10.0), *poll(2, "b", 20.0), *poll(3, "a", 40.0)])
    assert [polled_for(dialogue, each) for each in dialogue.asked] == [0.5, 0.5, 30.5]
