"""Large recordings: what is kept of each frame while it is judged or played is a small multiple of its text."""

import json
import tracemalloc

from mcp_conductor.checks.engine.judging import judge
from mcp_conductor.checks.harness.recorded_client import judge_client
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.recording.dialogue import Dialogue
from mcp_conductor.recording.flows import flows
from mcp_conductor.recording.format import Entry

CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
SERVER = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}


def conversation(calls: int) -> list[Frame]:
    said = [("client", {"id": 0, "method": "initialize", "params": CLIENT}), ("server", {"id": 0, "result": SERVER})]
    said.append(("client", {"method": "notifications/initialized"}))
    for number in range(1, calls + 1):
        params = {"name": "find_books", "arguments": {"text": f"eliot {number}"}}
        found = {"books": [{"title": f"Middlemarch {number}", "author": "George Eliot", "id": f"book-{number:06}"}] * 3}
        result = {"content": [{"type": "text", "text": json.dumps(found)}], "structuredContent": found}
        said.append(("client", {"id": number, "method": "tools/call", "params": params}))
        said.append(("server", {"id": number, "result": result}))
    return [Frame(at, who, json.dumps({"jsonrpc": "2.0", **what})) for at, (who, what) in enumerate(said)]


def memory_for(work, frames: list[Frame]) -> float:
    """The most memory that WORK takes besides FRAMES, as a multiple of what their texts take."""
    tracemalloc.start()
    try:
        kept = work(frames)
        del kept
        return tracemalloc.get_traced_memory()[1] / sum(len(frame.text) for frame in frames)
    finally:
        tracemalloc.stop()


def both_judged(frames):
    transcript = Transcript.read(frames)
    return judge(transcript), judge_client([Entry(frame) for frame in frames], transcript=transcript)


def test_both_sides_are_judged_by_messages_that_are_kept_once():
    both_judged(conversation(1))  # what is imported and compiled for the first time does not count
    small, large = memory_for(both_judged, conversation(100)), memory_for(both_judged, conversation(300))
    assert large < 7
    assert large < small * 1.2


def test_what_is_played_is_kept_as_text():
    def played(frames):
        dialogue = Dialogue.of(frames)
        return dialogue, flows(dialogue)

    played(conversation(1))
    small, large = memory_for(played, conversation(100)), memory_for(played, conversation(300))
    assert large < 3
    assert large < small * 1.2
