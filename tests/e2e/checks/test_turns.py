"""The event loop turns while a server says too much: what a check does in one turn is the parsing of a message, or little."""

import gc
import time
from asyncio import events

import pytest

from mcp_conductor.protocol import message

LONGEST_TURN = 0.25
NOTICE = '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}'
FLOODS = {
    "notifications of 8 MB": "notify('notifications/message', level='info', data='x' * 8_000_000)",
    "notifications of 900,000 values": "notify('notifications/message', level='info', data=['x'] * 900_000)",
    "batches of 200,000": f"shout('[' + ','.join([{NOTICE!r}] * 200_000) + ']\\n')",
    "batches of 200,000 that are none": "shout('[' + ','.join(['{\"jsonrpc\":\"1.0\"}'] * 200_000) + ']\\n')",
    "a template of 6 MB": "",
}
SERVER = """
    hello(tools={{}}, logging={{}}, resources={{}})
    def call(_):
        {flood}
        return {{"content": [{{"type": "text", "text": "ok"}}]}}
    serve({{
        "tools/list": {{"tools": [{{"name": "t", "inputSchema": {{"type": "object"}}, "annotations": {{"readOnlyHint": True}}}}]}},
        "resources/list": {{"resources": []}},
        "resources/templates/list": {{"resourceTemplates": [{{"name": "x", "uriTemplate": "a://" + "{{x}}" * {size}}}]}},
        "tools/call": call, "logging/setLevel": {{}}, "ping": {{}},
    }})
"""


@pytest.fixture
def turns(monkeypatch):
    """The processor time of each turn of the loop, without that of parsing messages."""
    taken, parsing = [], [0.0]
    read, run = message.read, events.Handle._run

    def timed_read(text):
        began = time.thread_time()
        try:
            return read(text)
        finally:
            parsing[0] += time.thread_time() - began

    def timed_run(handle):
        parsing[0] = 0.0
        began = time.thread_time()
        run(handle)
        taken.append((time.thread_time() - began - parsing[0], repr(handle)))

    monkeypatch.setattr(message, "read", timed_read)
    monkeypatch.setattr(events.Handle, "_run", timed_run)
    gc.collect()
    gc.freeze()  # what pytest holds is not ours to look through
    yield taken
    gc.unfreeze()


@pytest.mark.slow
@pytest.mark.parametrize("flood", FLOODS)
async def test_no_turn_of_a_check_takes_long(verdicts_of, serve, turns, flood):
    size = 1 if FLOODS[flood] else 2_000_000
    assert await verdicts_of(serve(SERVER.format(flood=FLOODS[flood] or "pass", size=size)))
    assert max(turns) < (LONGEST_TURN,)
