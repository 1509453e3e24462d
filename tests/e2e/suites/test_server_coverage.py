"""`--server-coverage`: which code of a server runs, without a change to the server."""

import json
import shutil
import sys

import pytest

PYTHON = """
import json, sys
from parts import shout, whisper

def reply(message):
    if message["method"] == "initialize":
        return {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"}}
    return {"content": [{"type": "text", "text": shout("hello")}]}

for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": reply(message)}), flush=True)
"""
PARTS = """
def shout(text):
    return text.upper()


def whisper(text):
    quiet = text.lower()
    return quiet
"""
NODE = """
const readline = require("readline");
function shout(text) { return text.toUpperCase(); }
function whisper(text) { return text.toLowerCase(); }
function reply(message) {
  if (message.method === "initialize") return {protocolVersion: message.params.protocolVersion,
    capabilities: {tools: {}}, serverInfo: {name: "s", version: "1"}};
  return {content: [{type: "text", text: shout("hello")}]};
}
readline.createInterface({input: process.stdin}).on("line", (line) => {
  const message = JSON.parse(line);
  if ("id" in message) console.log(JSON.stringify({jsonrpc: "2.0", id: message.id, result: reply(message)}));
});
"""
SHOUTS = "- {it: shouts, call: shout, expect: {asserts: ['result.content[0].text == HELLO']}}"


def test_the_code_of_a_python_server_that_ran_is_measured(check, write, tmp_path):
    write("parts.py", PARTS)
    server = (sys.executable, "-u", str(write("server.py", PYTHON)))
    done = check(SHOUTS, "--server-coverage", "measured", server=server)
    assert done.code == 0, done.all
    measured = done.report["metrics"]["serverCoverage"]["python"]
    assert f"server coverage: {measured['percent']} % of the lines and branches in 2 files" in done.out
    files = json.loads((tmp_path / "measured/python.json").read_text())["files"]
    parts = next(figures for file, figures in files.items() if file.endswith("parts.py"))
    assert parts["missing_lines"] == [7, 8]


def test_the_code_that_several_servers_ran_is_added_up(check, write, tmp_path):
    write("parts.py", PARTS)
    server = (
        sys.executable,
        str(write("server.py", PYTHON.replace('shout("hello")', '(shout if message["id"] else whisper)("hello")'))),
    )
    tests = f"{SHOUTS}\n- {{it: whispers, request: {{id: 0, method: tools/call}}, expect: {{ok: true}}}}"
    done = check(tests, "--server-coverage", "measured", "--isolation", "test", server=server)
    assert done.code == 0, done.all
    files = json.loads((tmp_path / "measured/python.json").read_text())["files"]
    assert next(figures for file, figures in files.items() if file.endswith("parts.py"))["missing_lines"] == []


def test_the_functions_of_a_node_server_that_ran_are_measured(check, write):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    done = check(SHOUTS, "--server-coverage", "measured", server=(node, str(write("server.js", NODE))))
    assert done.code == 0, done.all
    measured = done.report["metrics"]["serverCoverage"]["node"]
    assert measured["files"] == 1
    assert 50 < measured["percent"] < 100  # all of them but whisper
    assert f"server coverage: {measured['percent']} % of the functions in 1 file\n" in done.out


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (("http://127.0.0.1:9/mcp",), "not for one at a URL"),
        ((sys.executable, "-c", "pass"), "needs a server that is a file or a module"),
        ((sys.executable,), "needs a server that is a file or a module"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_starts(check, server, said):
    done = check(SHOUTS, "--server-coverage", "measured", server=server)
    assert (done.code, said in done.err, done.out) == (2, True, "")


def test_a_server_that_leaves_no_figures_is_told_of(check, book, write):
    done = check("- {it: x, call: motto, expect: {ok: true}}", "--server-coverage", "measured", server=("env", *book))
    assert done.code == 0
    assert "server coverage: the server left no figures in" in done.out


def test_what_an_earlier_run_measured_does_not_count(check, write, tmp_path):
    write("parts.py", PARTS)
    whispers = SHOUTS.replace("HELLO", "hello")
    for tests, code in ((whispers, PYTHON.replace('shout("hello")', 'whisper("HELLO")')), (SHOUTS, PYTHON)):
        done = check(tests, "--server-coverage", "measured", server=(sys.executable, str(write("server.py", code))))
        assert done.code == 0, done.all
    files = json.loads((tmp_path / "measured/python.json").read_text())["files"]
    assert next(figures for file, figures in files.items() if file.endswith("parts.py"))["missing_lines"] == [7, 8]
