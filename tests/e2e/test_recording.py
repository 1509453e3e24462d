"""What programs of ours record while they run: in one format, as it happens, also if they are killed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import BOOKSHELF

from mcp_conductor import StdioSpec, connect, read_recording

CONDUCTOR = (sys.executable, "-m", "mcp_conductor")
MCP_CLI = (sys.executable, "-c", "from mcp_conductor.cli import mcp_cli; raise SystemExit(mcp_cli())")
SILENT = """
from raw import hear, hello, sys
hello(tools={})
hear()
print("now", file=sys.stderr, flush=True)
while hear():
    pass
"""


def said(recording, session=None):
    return [
        json.loads(entry.frame.text).get("method") or "reply"
        for entry in recording.entries
        if entry.frame.source in ("client", "server") and session in (None, entry.session)
    ]


def test_what_was_said_until_a_kill_is_in_the_recording(serve, environment, tmp_path):
    words = (*MCP_CLI, *serve(SILENT), "--method", "tools/list", "--record", "r.jsonl", "--verbose")
    with subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            if b"stderr: now" in line:
                break
        process.send_signal(signal.SIGKILL)
    recording = read_recording(str(tmp_path / "r.jsonl"))
    assert recording.warning is None
    assert recording.header.transport == "stdio"
    assert recording.header.server == {"command": list(serve(SILENT))}
    assert said(recording) == ["initialize", "reply", "notifications/initialized", "tools/list"]
    assert recording.entries[-1].frame[1:3] == ("stderr", "now")


@pytest.mark.parametrize("protocol", ["handshake", "modern"])
async def test_a_bridge_records_what_its_client_and_its_servers_say(environment, tmp_path, protocol):
    books = {"command": BOOKSHELF[0], "args": list(BOOKSHELF[1:])}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"one": books, "two": books}}))
    words = (*CONDUCTOR, "bridge", str(tmp_path / "mcp.json"), "--record", str(tmp_path / "r.jsonl"))
    async with connect(StdioSpec(command=words, env=environment), protocol=protocol) as session:
        await session.call_tool("one__find_books", {"text": "eliot"})
    recording = read_recording(str(tmp_path / "r.jsonl"))
    first, *others = recording.sessions()
    assert recording.header.server == {"name": "conductor-bridge"}
    assert said(recording, first)[0] == ("initialize" if protocol == "handshake" else "server/discover")
    servers = {recording.server(each)["name"]: each for each in others}
    assert set(servers) == {"one", "two"}
    assert "tools/call" in said(recording, first)
    assert "tools/call" in said(recording, servers["one"])
    assert "tools/call" not in said(recording, servers["two"])
    assert recording.server(servers["one"])["command"] == list(BOOKSHELF)
    at = [entry.frame.at for entry in recording.entries]
    assert at == sorted(at)


def test_each_server_of_a_run_of_tests_has_a_recording_that_can_be_judged(environment, tmp_path):
    for name in ("one", "two"):
        (tmp_path / f"{name}.test.mcp.yml").write_text(
            "description: d\ntests:\n"
            "  - {it: lists, list: tools, expect: {ok: true}}\n"
            "  - {it: finds, call: {tool: find_books, args: {text: eliot}}, expect: {ok: true}}\n"
        )
    words = (*CONDUCTOR, "test", "--record", "r", "--isolation", "test", "-j", "2", "--", *BOOKSHELF)
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    names = sorted(os.listdir(tmp_path / "r"))
    assert names == ["one-2.jsonl", "one.jsonl", "two-2.jsonl", "two.jsonl"]
    assert said(read_recording(str(tmp_path / "r" / "one-2.jsonl")))[-2:] == ["tools/call", "reply"]
    words = (*CONDUCTOR, "show", str(Path("r", "one.jsonl")), "-o", "page.html")
    subprocess.run(words, cwd=tmp_path, env=environment, timeout=60, check=True)
    assert (tmp_path / "page.html").stat().st_mode & 0o777 == 0o600, "it holds what the recording does"
    words = (*CONDUCTOR, "check", "--transcript", str(Path("r", "one.jsonl")))
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_clients_of_a_server_over_http_are_told_apart(environment, tmp_path):
    (tmp_path / "s.json").write_text(
        json.dumps(
            {
                "serverInfo": {"name": "s", "version": "1"},
                "tools": [{"preset": "echo"}],
                "transport": {"type": "streamable-http", "port": 0},
            }
        )
    )
    words = [*CONDUCTOR, "serve", "s.json", "--record", "r.jsonl"]
    server = subprocess.Popen(words, cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    try:
        url = server.stderr.readline().decode().split()[-1]
        for _ in range(2):
            done = subprocess.run(
                (*MCP_CLI, url, "--method", "tools/list"), env=environment, capture_output=True, timeout=30, check=False
            )
            assert done.returncode == 0, done.stderr
    finally:
        server.terminate()
        server.wait(20)
        server.stderr.close()
    recording = read_recording(str(tmp_path / "r.jsonl"))
    assert (recording.header.transport, recording.header.server) == ("http", {"name": "s"})
    assert recording.sessions() == [1, 2]
    for number in (1, 2):
        assert said(recording, number)[:2] == ["initialize", "reply"]
        assert "tools/list" in said(recording, number)
    kinds = {entry.exchange: entry.session for entry in recording.entries}
    assert None not in kinds
    assert len(kinds) >= 6
