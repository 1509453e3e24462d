"""A recording is judged like a conversation that is held now: what was said is all that counts."""

import re
import sys
from contextlib import suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests import prefork
from tests.conftest import MCP_CLI, SERVERS
from tests.e2e.checks.plain_servers import broken, composed_http

from mcp_conductor.checks.engine.judging import Options, judge
from mcp_conductor.client.connect import connect
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import StdioSpec
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.recording.reader import read_recording, recording_of
from mcp_conductor.recording.writer import recording_lines

CONDUCTOR = (sys.executable, "-m", "mcp_conductor")


async def recorded(spec, version):
    """What a client records that lists the tools and calls one."""
    async with connect(spec, protocol=version) as session:
        await session.request("tools/list")
        await session.request("tools/call", {"name": "look", "arguments": {}})
        return recording_of(list(recording_lines(session.transcript))).transcript()


def on_stdio(command):
    return StdioSpec(command=command, env={"PYTHONPATH": str(SERVERS)})


@pytest.mark.parametrize(
    ("base", "version"), [("Plain", "2024-11-05"), ("Plain", "2025-11-25"), ("Modern", "2026-07-28")]
)
async def test_a_recording_of_a_good_server_has_nothing_against_it(tmp_path, base, version):
    verdicts = judge(await recorded(on_stdio(broken(tmp_path, base)), version))
    assert (verdicts.version, verdicts.server) == (version, {"name": "plain", "version": "1"})
    statuses = {outcome.id: outcome.status for outcome in verdicts.outcomes}
    assert "failed" not in statuses.values()
    assert statuses["tools-item-name"] == statuses["stdio-stdout-clean-server"] == "passed"
    assert "base-parse-error-server" not in statuses  # the client said nothing odd


async def test_what_a_server_said_wrong_is_found_in_the_recording(tmp_path):
    body = """
        def call_tool(self, params):
            return {"content": "no array"}
        """
    transcript = await recorded(on_stdio(broken(tmp_path, "Plain", body)), "2025-11-25")
    failed = [outcome.id for outcome in judge(transcript).outcomes if outcome.status == "failed"]
    assert "tools-call-content-array" in failed
    assert judge(transcript, Options(skip={"tools"})).outcomes != judge(transcript).outcomes
    assert not [
        outcome.id for outcome in judge(transcript, Options(only={"base"})).outcomes if outcome.status == "failed"
    ]


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
async def test_a_recording_tells_that_it_was_made_over_http(tmp_path, version):
    with composed_http(tmp_path) as spec:
        verdicts = judge(await recorded(spec, version))
    ids = {outcome.id for outcome in verdicts.outcomes}
    assert "stdio-stdout-clean-server" not in ids
    assert ("httpm-no-server-requests" in ids) == (version == "2026-07-28")
    assert not [outcome.id for outcome in verdicts.outcomes if outcome.status == "failed"]


def test_a_recording_without_an_opening_cannot_be_judged():
    transcript = Transcript()
    transcript.add(0.0, "client", '{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    with pytest.raises(UsageError):
        judge(transcript)


def test_a_client_is_not_judged_by_what_others_ask_at_the_same_address(http, in_background, tmp_path, environment):
    recorder = in_background([*CONDUCTOR, "record", http({}).url, "-o", "said.jsonl"])
    said = (re.search(rb"Recording at (\S+),", line) for line in recorder.stderr)
    url = next(found[1].decode() for found in said if found)
    around = {"cwd": tmp_path, "env": environment, "capture_output": True, "timeout": 20}
    prefork.run([*MCP_CLI, url, "--protocol", "handshake", "--method", "ping"], **around)
    for place, body in ((url, None), (url.replace("/mcp", "/.well-known/x"), None), (url, b'{"id": 7}')):
        with suppress(HTTPError):  # 405
            urlopen(Request(place, body, {"Accept": "application/json", "User-Agent": "other"}), timeout=20).close()
    recorder.terminate()
    assert recorder.communicate(timeout=20) == (b"", b"")
    assert len(read_recording(str(tmp_path / "said.jsonl")).sessions()) == 1
    done = prefork.run([*CONDUCTOR, "check", "--transcript", "said.jsonl", "--side", "client"], **around)
    assert done.returncode == 0, done.stdout.decode()
