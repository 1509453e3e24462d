"""Files written for mcp-aegis: `--compat aegis` takes them as they are, and comes to the same verdicts as mcp-aegis."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.e2e.suites.conftest import CONDUCTOR

AEGIS = Path(__file__).parents[2] / "peers/node_modules/.bin/mcp-aegis"
ARITHMETIC = """
serverInfo: {name: numbers, version: 1.0.0}
transport: {type: stdio}
tools:
  - {name: pi, description: A number, result: {content: [{type: text, text: "3.14159"}], isError: false}}
  - {name: names, result: {content: [{type: text, text: "Ada, Alan, Grace"}], structuredContent: {names: [Ada, Alan, Grace], n: 3}}}
"""
PI = 'request: {jsonrpc: "2.0", id: a, method: tools/call, params: {name: pi, arguments: {}}}'
NAMES = PI.replace("name: pi", "name: names")
TEXT = 'expect: {response: {jsonrpc: "2.0", id: a, result: {isError: false, content: [{type: text, text: %s}]}}}'
PARTIAL = 'expect: {response: {"match:partial": {result: {structuredContent: %s}}}}'
# The tool that is called, what is expected of its reply, and whether it is so.
EXPECTED = (
    (PI, TEXT % "3.14159", False),  # a number is not a text
    (PI, TEXT % "'3.14159'", True),
    (PI, TEXT % "'match:startsWith:3.1'", True),
    (PI, TEXT % "'match:startsWith:4'", False),
    (PI, TEXT % "'match:not:contains:14'", False),
    (PI, TEXT % "'match:regex:^[0-9.]+$'", True),
    (PI, TEXT % "'match:type:string'", True),
    (NAMES, TEXT % "'match:contains:Ada'", False),  # there is more than is expected
    (NAMES, PARTIAL % "{n: 3}", True),
    (NAMES, PARTIAL % "{n: 'match:between:4:9'}", False),
    (NAMES, PARTIAL % "{names: 'match:arrayLength:3'}", True),
    (NAMES, PARTIAL % "{names: 'match:arrayContains:Alan'}", True),
    (NAMES, PARTIAL % "{names: 'match:arrayContains:Bob'}", False),
)


@pytest.fixture
def numbers(suite, write, tmp_path):
    """A file of tests, and the settings for its server as mcp-aegis has them."""
    server = write("numbers.yaml", ARITHMETIC)
    entry = {"name": "numbers", "command": CONDUCTOR[0], "args": [*CONDUCTOR[1:], "serve", str(server)]}
    write("aegis.config.json", json.dumps({**entry, "cwd": str(tmp_path), "startupTimeout": 5000}))
    tests = [f"- {{it: test {number}, {sent}, {expect}}}" for number, (sent, expect, _) in enumerate(EXPECTED)]
    return suite("\n".join(tests))


def test_the_verdicts_are_those_of_mcp_aegis(conductor, numbers, tmp_path, surroundings):
    if not AEGIS.exists():
        pytest.skip("mcp-aegis is not installed in tests/peers")
    ours = conductor("test", numbers, "--compat", "aegis", "--report", "json:report.json")
    said = subprocess.run(
        [AEGIS, numbers], cwd=tmp_path, env=surroundings, capture_output=True, text=True, timeout=60, check=False
    )
    theirs = dict(re.findall(r"● (test \d+) \.\.\. . (PASS|FAIL)", said.stdout))
    wanted = {f"test {number}": passes for number, (_, _, passes) in enumerate(EXPECTED)}
    assert {title: verdict == "PASS" for title, verdict in theirs.items()} == wanted, said.stdout
    assert {title: status == "passed" for title, status in ours.statuses.items()} == wanted, ours.out
    assert (said.returncode, ours.code) == (1, 1)


def test_keys_that_we_do_not_know_are_warnings(conductor, numbers, tmp_path):
    file = tmp_path / numbers
    file.write_text(file.read_text().replace("tests:", "author: somebody\ntests:"))
    assert conductor("test", numbers).code == 2
    done = conductor("test", numbers, "--compat", "aegis", "--report", "json:report.json")
    assert "a.test.mcp.yml:3:1: 'author' is not a key that is known here; it is ignored" in done.out
    assert len(done.statuses) == len(EXPECTED)


def test_settings_that_are_named_count_more_than_those_of_aegis(conductor, numbers, write):
    write("aegis.config.json", '{"name": "gone", "command": "/nonexistent"}')
    assert conductor("test", numbers, "--compat", "aegis").code == 3
    write("other.json", '{"name": "gone", "command": "/nowhere"}')
    assert "/nowhere" in conductor("test", numbers, "--compat", "aegis", "--config", "other.json").out
