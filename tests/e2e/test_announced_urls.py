"""--json of a command that serves over HTTP: stdout has the URL that clients can connect to, and nothing else."""

import json
import signal
import subprocess

import pytest
from tests import prefork
from tests.e2e.suites.conftest import CONDUCTOR

SERVER = '{"serverInfo": {"name": "s", "version": "1"}, "transport": {"type": "streamable-http"}}'
SAID = """{"recording": 1}
{"at": 0.0, "source": "client", "text": "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1, \\"method\\": \\"ping\\"}"}
{"at": 0.1, "source": "server", "text": "{\\"jsonrpc\\": \\"2.0\\", \\"id\\": 1, \\"result\\": {}}"}
"""
SERVING = [
    ["serve", "s.json"],
    ["bridge", "mcp.json", "--transport", "http", "--port", "0"],
    ["replay", "said.jsonl", "--transport", "http"],
    ["record", "-o", "new.jsonl", "http://127.0.0.1:1/mcp"],
    ["proxy", "http://127.0.0.1:1/mcp"],
]


@pytest.mark.parametrize("words", SERVING, ids=lambda words: words[0])
def test_the_url_is_the_only_thing_on_stdout(tmp_path, environment, words):
    (tmp_path / "s.json").write_text(SERVER)
    (tmp_path / "said.jsonl").write_text(SAID)
    (tmp_path / "mcp.json").write_text('{"mcpServers": {"a": {"url": "http://127.0.0.1:1/mcp"}}}')
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = prefork.start([*CONDUCTOR, *words, "--json"], cwd=tmp_path, env=environment, **pipes)
    answer = json.loads("".join(process.stdout.readline() for _ in range(3)))
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, ""), err
    assert answer.keys() == {"url"}
    assert answer["url"].startswith("http://127.0.0.1:")
    assert answer["url"] in err
