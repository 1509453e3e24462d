"""A recording is judged like a conversation that is held now: what was said is all that counts."""

import pytest
from tests.conftest import SERVERS
from tests.e2e.checks.plain_servers import broken, composed_http

from mcp_conductor.checks.engine.judging import Options, judge
from mcp_conductor.client.connect import connect
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import StdioSpec
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.recording.reader import recording_of
from mcp_conductor.recording.writer import recording_lines


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
