"""The examples of every --help do what they say, in a directory that has the files they name."""

import json
import os
import shlex
import sys
from importlib import import_module
from pathlib import Path

import pytest
from tests import prefork

from mcp_conductor.cli.commands.dispatch import COMMANDS, EXAMPLES
from mcp_conductor.cli.commands.mcp_cli.flags import EXAMPLES as OF_CALLS
from mcp_conductor.cli.commands.mcp_cli.help import example_lines
from mcp_conductor.cli.commands.mcp_cli.methods import METHODS

OF_METHODS = [line for name, method in METHODS.items() for line in example_lines(name, method)]
MODULES = [import_module(f"mcp_conductor.cli.commands.{name}.flags") for name in COMMANDS if name != "call"]
ALL = dict.fromkeys([*EXAMPLES, *OF_CALLS, *OF_METHODS, *(line for each in MODULES for line in each.EXAMPLES)])
# These cannot be run here: tests/unit/cli/test_help.py shows that they are understood.
NOT_RUN = {
    "https://example.com": "another machine",
    "http://localhost:8000": "a server must be there",
    "--follow": "it goes on until it is interrupted",
    "--port 8080": "the port may be in use, and it serves until it is interrupted",
    "--task-id": "the task of an earlier call",
    "skill": "the server must have skills",
    "server/discover": "the server must be of the modern era",
}
# Whole checks, and methods that are called in other tests too.
SLOW = ("check --protocol all", "check --client", "check --report", "check -- ", *set(METHODS) - {"tools/call", "ping"})
SERVER = """
import sys
from mcp_conductor.cli import conductor
sys.argv = ["conductor", "serve", "server.yaml"]
sys.exit(conductor())
"""
CLIENT = """
import subprocess, sys
sys.exit(subprocess.run(["mcp-cli", *sys.argv[1:], "--method", "tools/list"]).returncode)
"""
FILES = {
    "server.py": f"# An MCP server.{SERVER}",
    "client.py": CLIENT,
    "server.yaml": """
serverInfo: {name: books, version: 1.0.0}
tools: [preset: add, preset: image_content, {preset: simple_task, params: {delayMs: 10}}]
resources: [{name: hello, uri: "file:///hello.txt", text: Hello}]
prompts: [{preset: args_prompt, params: {completions: {city: [Ulm, Utrecht]}}}]
tasks: {list: true, cancel: true, pollInterval: 10}
logging: true
subscriptions: true
transport: {type: stdio}
""",
    "faults.yaml": "faults: [{fault: delay, params: {time: 10ms}}]\n",
    "mcp.json": json.dumps({"mcpServers": {"books": {"command": "python", "args": ["server.py"]}}}),
    "conductor.config.json": json.dumps({"name": "books", "command": "python", "args": ["server.py"]}),
    "said.jsonl": '{"recording": 1}\n'
    '{"at": 0, "source": "client", "text": "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"method\\":\\"ping\\"}"}\n'
    '{"at": 1, "source": "server", "text": "{\\"jsonrpc\\":\\"2.0\\",\\"id\\":1,\\"result\\":{}}"}\n'
    + "".join(f'{{"at": 0, "source": "note", "session": {number}, "text": "hello"}}\n' for number in (1, 2)),
    # In this one it can be seen which revision is spoken.
    "opened.jsonl": (
        Path(__file__).parent.parent / "screens" / "files" / "conversation-without-head" / "conversation.jsonl"
    ).read_text(),
    "tests/first.test.mcp.yml": """\
description: a first suite
tests:
  - it: adds
    call: {tool: add, args: {a: 1, b: 2}}
  # An example names line 6.
  - it: answers ping
    request: {method: ping}
""",
}

_SETTINGS = json.dumps(
    {"mcpServers": {name: {"command": "python", "args": ["server.py"]} for name in ("books", "files")}}
)
# Settings of clients, for examples that change them: the home directory of every example is its own.
OF_CLIENTS = dict.fromkeys((".cursor/mcp.json", "home/.config/Claude/claude_desktop_config.json"), _SETTINGS)


def reason(example: str) -> str | None:
    return next((why for part, why in NOT_RUN.items() if part in example), None)


@pytest.mark.parametrize(
    "example",
    [
        pytest.param(line, marks=pytest.mark.slow if any(part in line for part in SLOW) else ())
        for line in ALL
        if reason(line) is None
    ],
)
def test_an_example_succeeds(example, tmp_path, environment, survivors):
    write_files(tmp_path, FILES | OF_CLIENTS if "wrap" in example else FILES, new=" init" in example)
    programs = str(Path(sys.executable).parent)
    place = f"{programs}{os.pathsep}{os.environ['PATH']}"
    words = shlex.split(example)
    done = prefork.run(
        [f"{programs}/{words[0]}", *words[1:]],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        input="",
        env={**environment, "PATH": place, "HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": ""},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert survivors() == []


def write_files(directory: Path, files: dict[str, str], *, new: bool) -> None:
    for name, text in files.items():
        if not (new and name in ("conductor.config.json", "tests/first.test.mcp.yml")):
            file = directory / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


def test_most_examples_are_run():
    assert len([line for line in ALL if reason(line) is None]) > len(ALL) / 2
