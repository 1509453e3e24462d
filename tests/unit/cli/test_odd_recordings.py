"""Recordings with one value that should not stand there: every command that reads them says something, and none fails."""

import asyncio
from copy import deepcopy
from itertools import islice

import pytest

from mcp_conductor.cli.commands.show.page import recording_page
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.message import compact
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.dialogue import Dialogue
from mcp_conductor.recording.flows import flows
from mcp_conductor.recording.format import Entry
from mcp_conductor.recording.reader import Recording
from mcp_conductor.replaying.matching import Pool
from mcp_conductor.replaying.recorded_calls import calls_of_sessions
from mcp_conductor.replaying.replay_server import ReplayServer
from mcp_conductor.replaying.replay_spec import IN_PROCESS, ReplaySpec
from mcp_conductor.suites.authoring.from_recording import suite_of
from mcp_conductor.suites.authoring.suite_text import suite_text
from mcp_conductor.suites.verifying.alignment import Alignment
from mcp_conductor.suites.verifying.besides import Ending
from mcp_conductor.suites.verifying.playing import play
from mcp_conductor.suites.verifying.verification import Verification
from mcp_conductor.text.redaction import Redactor

CLIENT, SERVER = "client", "server"
BEGAN = 1_790_000_000.0
OFFERED = {"sampling": {}, "elicitation": {}, "roots": {}}
OPENED = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
HANDSHAKE = [
    (CLIENT, {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": OFFERED}}),
    (SERVER, {"id": 1, "result": OPENED}),
    (CLIENT, {"method": "notifications/initialized"}),
    (CLIENT, {"id": 2, "method": "tools/list", "params": {}}),
    (SERVER, {"id": 2, "result": {"tools": [{"name": "add", "inputSchema": {}}], "nextCursor": "page-12345"}}),
    (CLIENT, {"id": 3, "method": "tools/list", "params": {"cursor": "page-12345"}}),
    (SERVER, {"id": 3, "result": {"tools": []}}),
    (CLIENT, {"id": 4, "method": "tools/call", "params": {"name": "add", "_meta": {"progressToken": 4}}}),
    (SERVER, {"method": "notifications/progress", "params": {"progressToken": 4, "progress": 1}}),
    (SERVER, {"id": "q", "method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 5}}),
    (CLIENT, {"id": "q", "result": {"role": "assistant", "content": {"type": "text", "text": "ho"}, "model": "m"}}),
    (SERVER, {"id": "r", "method": "roots/list"}),
    (CLIENT, {"id": "r", "result": {"roots": [{"uri": "file:///r"}]}}),
    (SERVER, {"id": 4, "result": {"content": [{"type": "text", "text": "Saved as note-4f2a1 at 7:47:26 AM."}]}}),
    (CLIENT, {"id": 5, "method": "prompts/get", "params": {"name": "p", "arguments": {"n": "note-4f2a1"}}}),
    (SERVER, {"id": 5, "error": {"code": -32602, "message": "no", "data": {"a": 1}}}),
    (CLIENT, {"id": 6, "method": "completion/complete", "params": {"ref": {"type": "ref/prompt", "name": "p"}}}),
    (SERVER, {"id": 6, "result": {"completion": {"values": ["x"]}}}),
    (CLIENT, {"id": 7, "method": "tasks/get", "params": {"taskId": "t"}}),
    (SERVER, {"id": 7, "result": {"taskId": "t", "status": "completed"}}),
    (CLIENT, {"id": 8, "method": "resources/list", "params": {}}),
    (SERVER, {"id": 8, "result": {"resources": [{"uri": "a://b", "name": "b"}]}}),
    (CLIENT, {"id": 9, "method": "resources/read", "params": {"uri": "a://b"}}),
    (CLIENT, {"method": "notifications/cancelled", "params": {"requestId": 9}}),
    (SERVER, {"id": 9, "result": {"contents": [{"uri": "a://b", "blob": "aGVsbG8gd29ybGQgaGVsbG8="}]}}),
]


def modern(**params):
    return {"_meta": {f"{META}protocolVersion": "2026-07-28", f"{META}clientCapabilities": {"sampling": {}}}, **params}


ASKS = {"a": {"method": "sampling/createMessage", "params": {}}, "b": {"method": "roots/list"}}
MODERN = [
    (CLIENT, {"id": 1, "method": "server/discover", "params": modern()}),
    (SERVER, {"id": 1, "result": {"resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {}}}),
    (CLIENT, {"id": 2, "method": "tools/call", "params": modern(name="ask")}),
    (SERVER, {"id": 2, "result": {"resultType": "input_required", "inputRequests": ASKS, "requestState": "state-123456"}}),
    (CLIENT, {"id": 3, "method": "tools/call", "params": modern(name="ask", inputResponses={"a": {}, "b": {"roots": []}}, requestState="state-123456")}),
    (SERVER, {"id": 3, "result": {"resultType": "complete", "content": []}}),
    (CLIENT, {"id": 4, "method": "subscriptions/listen", "params": modern(notifications={"toolsListChanged": True})}),
    (SERVER, {"method": "notifications/tools/list_changed", "params": {"_meta": {f"{META}subscriptionId": 4}}}),
    (CLIENT, {"id": 5, "method": "tools/list", "params": modern()}),
    (SERVER, {"id": 5, "result": {"resultType": "complete", "tools": [{"name": "ask", "inputSchema": {}}], "ttlMs": 0}}),
    (SERVER, {"id": 4, "result": {"resultType": "complete", "_meta": {f"{META}subscriptionId": 4}}}),
]  # fmt: skip
GONE = object()
VALUES = (None, 5, "x", [5], {"a": 5}, True, -1, [], {}, 1e300, 2**70, GONE)


def places(value, path=()):
    yield path
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, member in members:
        yield from places(member, (*path, step))


def changed(message, path, value):
    if not path:
        return None if value is GONE else value
    copy = deepcopy(message)
    *above, last = path
    inner = copy
    for step in above:
        inner = inner[step]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return copy


def odd_recordings(said):
    """SAID with each value of each message replaced by each of VALUES; those for the same place are far apart."""
    said = [(source, {"jsonrpc": "2.0", **raw}) for source, raw in said]
    all_places = [(at, path) for at, (_, raw) in enumerate(said) for path in places(raw)]
    for turn in range(len(VALUES)):
        for number, (at, path) in enumerate(all_places):
            source, raw = said[at]
            odd = changed(raw, path, VALUES[(turn + number) % len(VALUES)])
            changed_said = [*said[:at], (source, odd), *said[at + 1 :]]
            yield tuple(
                Entry(Frame(place * 0.001, speaker, compact(message)))
                for place, (speaker, message) in enumerate(changed_said)
            )


def discover(entries):
    suite = suite_of(Dialogue.of(entry.frame for entry in entries), began=BEGAN)
    suite_text(suite.found, protocol=suite.protocol, client=suite.client, head="")


def show(entries):
    recording_page(Recording(header=None, entries=entries), [1], "odd.jsonl", judged=True)


def verify(entries):
    """Play it to itself: to the server that it is."""
    told = []
    pool, dialogue = Pool(calls_of_sessions(entries)), Dialogue.of(entry.frame for entry in entries)
    server = ReplaySpec(file="odd.jsonl", make=lambda: ReplayServer(pool, IN_PROCESS, complain=told.append))
    alignment = Alignment(began=BEGAN, now=BEGAN)
    playing = play(server, dialogue, flows(dialogue), alignment=alignment, timeout=0.2, redactor=Redactor())
    played = asyncio.run(asyncio.wait_for(playing, 20))
    ending = Ending.of(entry.frame for entry in entries)
    assert list(Verification(dialogue, ending, played, alignment=alignment, ignored=[], group="odd.jsonl").outcomes())
    assert not [line for line in told if "failed: " in line]  # of an exception in the server


def use(command, recordings):
    for entries in recordings:
        try:
            command(entries)
        except ConductorError:
            pass
        except Exception as error:
            error.add_note("\n".join(entry.frame.text for entry in entries))
            raise


@pytest.mark.parametrize("said", [HANDSHAKE, MODERN], ids=["handshake", "modern"])
@pytest.mark.parametrize(("command", "step"), [(discover, 5), (show, 11), (verify, 19)])
def test_no_value_that_should_not_be_there_ends_a_command(command, step, said):
    use(command, islice(odd_recordings(said), 0, None, step))


@pytest.mark.slow
@pytest.mark.parametrize("said", [HANDSHAKE, MODERN], ids=["handshake", "modern"])
@pytest.mark.parametrize("command", [discover, show, verify])
def test_none_of_all_such_values_ends_a_command(command, said):
    use(command, odd_recordings(said))
