"""Recordings of real clients and servers: one that is written here, whose values change, and those of others."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import prefork
from tests.conftest import MCP_CLI, ROOT, SERVERS
from tests.e2e.suites.conftest import CONDUCTOR

PROGRAMS = Path(sys.executable).parent
PEERS = ROOT / "tests" / "peers" / "node_modules" / "@modelcontextprotocol"
SDK = (sys.executable, str(SERVERS / "sdk_server.py"))

# A server whose ids, cursors and times are others in each process; it asks, notifies, and reports progress.
NOTES = r"""
import json, secrets, sys, time
notes, questions = {}, 0

def say(**members):
    print(json.dumps({"jsonrpc": "2.0", **members}), flush=True)

def ask(method, params):
    global questions
    questions += 1
    say(id=f"q{questions}", method=method, params=params)
    return json.loads(sys.stdin.readline()).get("result")

def add(arguments, meta):
    note = "note-" + secrets.token_hex(4)
    notes[note] = arguments["text"]
    say(method="notifications/message", params={"level": "info", "data": f"added {note}"})
    return {"content": [{"type": "text", "text": f"Saved as {note} at {time.strftime('%Y-%m-%d %H:%M:%S')}."}],
            "structuredContent": {"id": note, "number": secrets.randbelow(10**9) + 10**9, "at": time.time()}}

def get(arguments, meta):
    return {"content": [{"type": "text", "text": notes[arguments["id"]]}], "isError": False}

def count(arguments, meta):
    for each in range(3):
        say(method="notifications/progress", params={"progressToken": meta["progressToken"], "progress": each})
    return {"content": [{"type": "text", "text": json.dumps({"count": len(notes), "ids": list(notes)})}]}

def rename(arguments, meta):
    said = ask("elicitation/create", {"message": "Which name?", "requestedSchema": {"type": "object", "properties": {}}})
    return {"content": [{"type": "text", "text": said["content"]["name"]}]}

TOOLS = {"add": add, "get": get, "count": count, "rename": rename}
PAGES = {None: "page-" + secrets.token_hex(4)}

for line in sys.stdin:
    message = json.loads(line)
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}, "resources": {}},
                  "serverInfo": {"name": "notes", "version": "1.0"}}
    elif method == "tools/list":
        result = {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    elif method == "resources/list" and "cursor" not in params:
        result = {"resources": [], "nextCursor": PAGES[None]}
    elif method == "resources/list":
        result = {"resources": []} if params["cursor"] == PAGES[None] else None
    elif method == "tools/call":
        result = TOOLS[params["name"]](params["arguments"], params.get("_meta"))
    if "id" in message:
        if result is None:
            say(id=message["id"], error={"code": -32602, "message": "unknown cursor"})
        else:
            say(id=message["id"], result=result)
"""
CALLS = [
    ("tools/list", {}),
    ("tools/call", {"name": "add", "arguments": {"text": "buy milk"}}),
    ("tools/call", {"name": "get", "arguments": {"id": "{structuredContent.id}"}}),
    ("resources/list", {}),
    ("resources/list", {"cursor": "{nextCursor}"}),
    ("tools/call", {"name": "count", "arguments": {}, "_meta": {"progressToken": "t"}}),
    ("tools/call", {"name": "rename", "arguments": {}}),
]


class Verify:
    """Recordings in a directory, made by a client and played to servers."""

    def __init__(self, folder, environment):
        self.folder, self.environment = folder, environment

    def record(self, server, calls, *flags, file="said.jsonl"):
        lines = "".join(json.dumps({"method": method, "params": params}) + "\n" for method, params in calls)
        words = [*MCP_CLI, "--script", "-", "--record", file, *flags, "--", *server]
        done = prefork.run(
            words, input=lines, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode in (0, 2), done.stderr
        return file

    def __call__(self, server, *flags, file="said.jsonl", json_report=True):
        words = [*CONDUCTOR, "verify", file, *(("--json",) if json_report else ()), *flags, "--", *server]
        return prefork.run(words, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60)

    def passes(self, server, *flags, **options):
        done = self(server, *flags, **options)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def verify(tmp_path, environment):
    return Verify(tmp_path, environment)


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """What a client and the server of notes said, by way of `conductor record`."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "server.py").write_text(NOTES)
    words = [*CONDUCTOR, "record", "-o", "said.jsonl", "--", sys.executable, "server.py"]
    talk(prefork.start(words, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True), CALLS)
    return (folder / "said.jsonl").read_text()


@pytest.fixture
def notes(verify, said, serve):
    """The server of notes; the file of what was said is there."""
    (verify.folder / "said.jsonl").write_text(said)
    return serve(NOTES)


def talk(client, calls, capabilities=None):
    """Be a client of a process: an id or a cursor of an answer is sent back as `{path}` of the last answer says."""
    opening = {
        "protocolVersion": "2025-06-18",
        "capabilities": capabilities or {},
        "clientInfo": {"name": "c", "version": "1"},
    }
    last = {}
    for number, (method, params) in enumerate([("initialize", opening), *calls]):
        sent = json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        sent = sent.replace("{nextCursor}", str(last.get("nextCursor")))
        sent = sent.replace("{structuredContent.id}", str(last.get("structuredContent", {}).get("id")))
        client.stdin.write(sent + "\n")
        client.stdin.flush()
        while (heard := json.loads(client.stdout.readline())).get("id") != number:
            if heard.get("method") == "elicitation/create":
                answer = {"action": "accept", "content": {"name": "Ada"}}
                client.stdin.write(json.dumps({"jsonrpc": "2.0", "id": heard["id"], "result": answer}) + "\n")
                client.stdin.flush()
        last = heard.get("result", {})
    client.communicate(timeout=20)


# Servers that others wrote.


def node(name, *arguments):
    script = PEERS / f"server-{name}" / "dist" / "index.js"
    if not script.exists() or shutil.which("node") is None:
        pytest.skip("the servers from npm are not installed")
    return ("node", str(script), *arguments)


def everything(_):
    calls = [
        ("tools/list", {}),
        ("tools/call", {"name": "echo", "arguments": {"message": "hi there"}}),
        ("tools/call", {"name": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 2}, "_meta": {"progressToken": 7}}),
        ("tools/call", {"name": "trigger-sampling-request", "arguments": {"prompt": "hello", "maxTokens": 10}}),
        ("tools/call", {"name": "get-roots-list", "arguments": {}}),
        ("tools/call", {"name": "trigger-elicitation-request", "arguments": {}}),
        ("prompts/get", {"name": "simple-prompt"}),
    ]  # fmt: skip
    return (
        node("everything"),
        calls,
        ("--handle-sampling", "auto", "--handle-elicitation", "auto", "--roots", "file:///r"),
    )


def filesystem(folder):
    (folder / "files").mkdir()
    (folder / "files" / "a.txt").write_text("hello\n")
    calls = [
        ("tools/list", {}),
        ("tools/call", {"name": "list_directory", "arguments": {"path": str(folder / "files")}}),
        ("tools/call", {"name": "read_text_file", "arguments": {"path": str(folder / "files" / "a.txt")}}),
        ("tools/call", {"name": "read_text_file", "arguments": {"path": str(folder / "files" / "none.txt")}}),
    ]
    return node("filesystem", str(folder / "files")), calls, ()


def memory(folder):
    ada = {"name": "Ada", "entityType": "person", "observations": ["writes programs"]}
    calls = [
        ("tools/call", {"name": "create_entities", "arguments": {"entities": [ada]}}),
        ("tools/call", {"name": "search_nodes", "arguments": {"query": "Ada"}}),
        ("tools/call", {"name": "delete_entities", "arguments": {"entityNames": ["Ada"]}}),
    ]
    return node("memory"), calls, ("-e", f"MEMORY_FILE_PATH={folder / 'memory.json'}")


def git(folder):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    repository = folder / "r"
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    subprocess.run(["git", "-C", str(repository), *identity, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    calls = [
        ("tools/list", {}),
        ("tools/call", {"name": "git_log", "arguments": {"repo_path": str(repository)}}),
        ("tools/call", {"name": "git_status", "arguments": {"repo_path": str(repository)}}),
    ]
    return (str(PROGRAMS / "mcp-server-git"),), calls, ()


SDK_CALLS = [
    ("tools/list", {}),
    ("tools/call", {"name": "add", "arguments": {"a": 1, "b": 2}}),
    ("resources/read", {"uri": "test://static"}),
    ("prompts/get", {"name": "greet", "arguments": {"name": "Ada"}}),
]


def sdk(_):
    return SDK, SDK_CALLS, ("--protocol", "modern")


def sdk_handshake(_):
    return SDK, SDK_CALLS, ()


REAL = [everything, filesystem, memory, git, sdk, sdk_handshake]


@pytest.fixture
def recorded(verify, tmp_path):
    def record(peer):
        server, calls, flags = peer(tmp_path)
        verify.record(server, calls, *flags)
        kept = flags if peer is memory else ()
        return server, kept, len(calls) + 1

    return record
