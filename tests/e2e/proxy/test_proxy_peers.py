"""Real clients before server-everything, with faults between them: what each client makes of each fault."""

import json
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest
from tests.e2e.test_record_peers import NPM, everything, inspect, sdk_streams  # noqa: F401  # a fixture

from mcp_conductor import read_recording

CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
SHORT = 1.5  # seconds that clients wait for a reply that never comes
LONG = 30.0
PARAMS = {"delay": {"time": "60s"}, "drop_field": {"path": "result.content"}, "oversize": {"bytes": 1000}}

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(not (NPM / "server-everything").exists(), reason="the npm packages are not installed"),
]


@contextmanager
def faulty(target, folder, name, **when):
    """TARGET, a command or a URL, behind a proxy whose fault NAME strikes calls of tools."""
    entry = {"fault": name, "params": PARAMS.get(name, {}), "when": when or {"method": "tools/call"}}
    (folder / "faults.json").write_text(json.dumps({"faults": [entry]}))
    words = (*CONDUCTOR, "proxy", "--faults", str(folder / "faults.json"), "--record", str(folder / "r.jsonl"))
    if not isinstance(target, str):
        yield (*words, "--", *target)
        return
    with subprocess.Popen((*words, target), stderr=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"Proxy at (\S+),", process.stderr.readline())[1]
        finally:
            process.terminate()


class Seen:
    """What a client saw of one call."""

    def __init__(self):
        self.outcome = ""
        self.heard = []  # besides replies: what was not a message

    async def hear(self, message):
        if isinstance(message, Exception):
            self.heard.append(type(message).__name__)


async def call_by_sdk(target, transport, seen, seconds, tool="echo", **callbacks):
    from mcp import ClientSession

    async with (
        sdk_streams(target, transport) as (read, write),
        ClientSession(read, write, message_handler=seen.hear, **callbacks) as session,
    ):
        await session.initialize()
        arguments = {"message": "hi"} if tool == "echo" else {"prompt": "hi", "maxTokens": 5}
        try:
            result = await session.call_tool(tool, arguments, read_timeout_seconds=seconds)
            seen.outcome = result.model_dump_json()
        except Exception as error:  # what a user of the SDK sees
            seen.outcome = f"{type(error).__name__}: {error}"


async def call_by_fastmcp(target, transport, seen, seconds):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    how = (
        StdioTransport(command=target[0], args=list(target[1:]), keep_alive=False)
        if transport == "stdio"
        else StreamableHttpTransport(target)
    )
    async with Client(how, mode="legacy", message_handler=seen.hear) as client:
        try:
            result = await client.call_tool("echo", {"message": "hi"}, timeout=seconds)
            seen.outcome = json.dumps([item.text for item in result.content]) + json.dumps(result.meta)
        except Exception as error:  # what a user of FastMCP sees
            seen.outcome = f"{type(error).__name__}: {error}"


CLIENTS = {"sdk": call_by_sdk, "fastmcp": call_by_fastmcp}
TIMED_OUT, CLOSED, WRONG, FINE = "timed out", "Connection closed", "validation error", "Echo: hi"
# Both clients are made of the same SDK: over HTTP it takes whatever reply comes for that of its request.
OUTCOMES = {
    "stdio": {
        "delay": TIMED_OUT,
        "never_answer": TIMED_OUT,
        "answer_twice": FINE,
        "wrong_id": TIMED_OUT,
        "malformed_json": TIMED_OUT,
        "drop_field": WRONG,
        "break_schema": WRONG,
        "oversize": "padding",
        "stdout_noise": FINE,
        "half_a_line_then_exit": CLOSED,
        "crash": CLOSED,
        "close_stdout": CLOSED,
    },
    "http": {
        "delay": TIMED_OUT,
        "never_answer": TIMED_OUT,
        "answer_twice": FINE,
        "wrong_id": FINE,
        "malformed_json": "Failed to parse SSE message",
        "drop_field": WRONG,
        "break_schema": WRONG,
        "oversize": "padding",
        "half_a_line_then_exit": TIMED_OUT,
        "crash": TIMED_OUT,
        "close_stdout": FINE,
        "http_status": "error response",
        "wrong_content_type": "Unexpected content type: text/html",
        "cut_stream": FINE,
        "expire_session": "Session terminated",
    },
}
NOT_A_MESSAGE = {"malformed_json", "stdout_noise"}  # is told besides, on stdio
RESUMED = {"cut_stream", "close_stdout"}  # over HTTP: the client fetches the rest
FAST = {("sdk", "stdio", "crash"), ("sdk", "http", "drop_field"), ("sdk", "http", "expire_session")}
CASES = [
    pytest.param(client, transport, name, marks=() if (client, transport, name) in FAST else pytest.mark.slow)
    for client in CLIENTS
    for transport, outcomes in OUTCOMES.items()
    for name in outcomes
]


@pytest.mark.parametrize(("client", "transport", "name"), CASES)
async def test_a_client_sees_each_fault(everything, tmp_path, client, transport, name):  # noqa: F811  # the fixture
    seen, expected = Seen(), OUTCOMES[transport][name]
    with faulty(everything[transport], tmp_path, name) as target:
        await CLIENTS[client](target, transport, seen, SHORT if expected == TIMED_OUT else LONG)
    assert expected in seen.outcome
    assert ("ValidationError" in seen.heard) == (transport == "stdio" and name in NOT_A_MESSAGE)
    recording = read_recording(str(tmp_path / "r.jsonl"))
    frames = [(entry.frame.source, entry.frame.text) for entry in recording.entries]
    assert [text for source, text in frames if source == "note"][0].startswith(
        f"fault {name} strikes tools/call 'echo'"
    )
    replies = [text for source, text in frames if source == "server" and "Echo: hi" in text]
    if name in ("answer_twice", "wrong_id"):
        assert (len(replies), '"not-' in replies[0]) == ((2, False) if name == "answer_twice" else (1, True))
    resumed = [text for source, text in frames if text.startswith("GET ") and "\nlast-event-id:" in text.lower()]
    assert bool(resumed) == (transport == "http" and name in RESUMED)


@pytest.mark.slow
@pytest.mark.parametrize(  # over HTTP, the Inspector waits without end for a server that has crashed
    ("transport", "name", "fails"),
    [
        ("stdio", "drop_field", False),  # it shows a result that says nothing
        ("stdio", "crash", True),
        ("http", "drop_field", False),
        ("http", "http_status", True),
    ],
)
def test_the_inspector_sees_a_fault(everything, tmp_path, transport, name, fails):  # noqa: F811  # the fixture
    words = ("--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hi")
    with faulty(everything[transport], tmp_path, name) as target:
        code, out = inspect(target, transport, tmp_path, *words)
    assert (code != 0, "Echo: hi" in out) == (fails, False)


async def sample(context, params):
    from mcp import types

    return types.CreateMessageResult(
        role="assistant", model="m", content=types.TextContent(type="text", text="a word of the model")
    )


@pytest.mark.parametrize("transport", ["stdio", pytest.param("http", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("name", "outcome"),
    [("drop_field", "error"), pytest.param("never_answer", TIMED_OUT, marks=pytest.mark.slow)],
)
async def test_the_server_sees_faults_in_replies_of_the_client(everything, tmp_path, transport, name, outcome):  # noqa: F811  # the fixture
    seen = Seen()
    with faulty(everything[transport], tmp_path, name, method="sampling/createMessage") as target:
        await call_by_sdk(target, transport, seen, SHORT, tool="trigger-sampling-request", sampling_callback=sample)
    assert outcome in seen.outcome.lower()
    assert "a word of the model" not in seen.outcome
    notes = [
        entry.frame.text for entry in read_recording(str(tmp_path / "r.jsonl")).entries if entry.frame.source == "note"
    ]
    assert re.match(rf"fault {name} strikes sampling/createMessage \(id .*\), which the client answers", notes[0])
