"""Plain tests take a short way through the engine: they come out as they would in the usual one, word for word.

They are also sent ahead, while the reply to the one before is judged: nothing that belongs to one is blamed on the other.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests import prefork
from tests.conftest import SERVERS
from tests.e2e.suites.conftest import CONDUCTOR

FILES = Path(__file__).parent / "two_ways"
# No test is plain, so that all of them go the usual way.
USUAL = (
    *CONDUCTOR[:2],
    f"from mcp_conductor.suites.language import steps; steps._is_plain = lambda *_: False; {CONDUCTOR[2]}",
)
MANNERS = ("", "other", "usage", "traceback", "rude")
# It answers calls as they ask it to; what it does besides that comes before its reply.
SERVER = """
hello(tools={})
while True:
    asked = hear()
    if "id" not in asked:
        continue
    if asked["method"] == "tools/list":
        result(asked, {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]})
        continue
    name, arguments = asked["params"].get("name"), asked["params"].get("arguments", {})
    if name != "say":
        error(asked, -32602, f"unknown tool {name}")
        continue
    if "stderr" in arguments:
        print(arguments["stderr"], file=sys.stderr, flush=True)
    if "stray" in arguments:
        shout(arguments["stray"] + "\\n")
    if "log" in arguments:
        notify("notifications/message", level="info", data=arguments["log"])
    if "exit" in arguments:
        sys.exit(arguments["exit"])
    reply = {"jsonrpc": "2.0", "id": asked["id"], "result": {"content": [{"type": "text", "text": arguments.get("text", "")}]}}
    shout((json.dumps(reply) + "\\n") * (2 if "twice" in arguments else 1))
"""
TESTS = """
description: plain ones
tests:
  - it: passes
    call: {tool: say, args: {text: yes}}
    expect: {result: {content: [{type: text, text: "match:contains:ye"}]}, stderr: toBeEmpty}
  - it: fails
    call: {tool: say, args: {text: yes}}
    expect: {result: {content: [{type: text, text: no}]}, stderr: toBeEmpty}
  - it: fails in two places
    request: {jsonrpc: "2.0", id: seven, method: tools/call, params: {name: say, arguments: {text: yes}}}
    expect: {response: {jsonrpc: "2.0", id: eight, result: {content: []}}}
  - it: passes after these
    request: {jsonrpc: "2.0", id: nine, method: tools/call, params: {name: say, arguments: {text: yes}}}
    expect: {response: {jsonrpc: "2.0", id: nine, result: {content: "match:arrayLength:1"}}, stderr: toBeEmpty}
  - it: writes to stderr
    call: {tool: say, args: {stderr: Ouch}}
    expect: {ok: true, stderr: toBeEmpty}
  - it: writes nothing to stderr
    call: {tool: say, args: {}}
    expect: {ok: true, stderr: toBeEmpty}
  - it: writes what is expected to stderr
    call: {tool: say, args: {stderr: Ouch}}
    expect: {ok: true, stderr: "match:contains:Ouch"}
  - it: writes less than is expected to stderr
    call: {tool: say, args: {}}
    expect: {ok: true, stderr: "match:contains:Ouch"}
  - it: prints a stray line
    call: {tool: say, args: {stray: hello there}}
    expect: {ok: true}
  - it: hears nothing of that
    call: {tool: say, args: {}}
    expect: {ok: true}
  - it: is told something
    call: {tool: say, args: {log: by the way}}
    expect: {ok: true, stderr: toBeEmpty}
  - it: answers twice
    call: {tool: say, args: {twice: true}}
    expect: {ok: true}
  - it: calls what is not there
    call: {tool: sya, args: {}}
    expect: {ok: true}
  - it: expects what is not there
    call: {tool: sya, args: {}}
    expect: {error: "match:contains:unknown"}
  - it: needs a worker
    call: {tool: say, args: {text: aaaaaaaaaaaaaaaa}}
    expect: {result: {content: [{type: text, text: "match:regex:(a|aa)*c"}]}}
  - it: comes after the worker
    call: {tool: say, args: {text: 'yes'}}
    expect: {result: {content: [{type: text, text: 'yes'}]}, performance: {maxResponseTime: 9s}}
  - it: ends the server
    call: {tool: say, args: {exit: 3}}
    expect: {ok: true}
  - it: has no server
    call: {tool: say, args: {}}
    expect: {ok: true}
"""


def without_times(report):
    told = json.loads(report.read_text())
    for outcome in told["outcomes"]:
        del outcome["seconds"]
    return {key: value for key, value in told.items() if key not in ("started", "seconds")}


@pytest.fixture
def both(tmp_path, surroundings, survivors):
    """Run conductor in copies of a directory, the short way where it can and the usual way: what came of each."""

    def run(folder, *words):
        runs = []
        for way, program in (("short", CONDUCTOR), ("usual", USUAL)):
            place = tmp_path / way
            shutil.copytree(folder, place)
            command = [*program, "test", "--report", "json:report.json", "--report", "junit:report.xml", *words]
            options = {"cwd": place, "env": {**surroundings, "COLUMNS": "100"}, "text": True}
            start = prefork.start if program is CONDUCTOR else subprocess.Popen
            runs.append(start(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options))
        done = [(*each.communicate(timeout=60), each.returncode) for each in runs]
        assert survivors() == []
        return [(code, without_times(tmp_path / way / "report.json")) for (*_, code), way in zip(done, ("short", "usual"), strict=True)]  # fmt: skip

    return run


@pytest.mark.parametrize("name", ["all", "only"])
def test_each_test_of_many_files_comes_out_the_same(both, tmp_path, name):
    folder = tmp_path / "files"
    shutil.copytree(FILES / name, folder)
    servers = {manner or "book": {"command": sys.executable, "args": ["-S", str(SERVERS / "many_tools.py"), manner]} for manner in MANNERS}  # fmt: skip
    servers["missing"] = {"command": "no-such-program"}
    (folder / "conductor.config.json").write_text(json.dumps({"mcpServers": servers}))
    short, usual = both(folder, "--server", "book")
    assert short == usual


@pytest.mark.parametrize("flags", [(), ("--exitfirst",), ("--restart",), ("--wire",), ("--isolation", "test")])
def test_what_a_server_says_is_blamed_on_the_test_that_made_it(both, tmp_path, serve, flags):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.test.mcp.yml").write_text(TESTS)
    short, usual = both(folder, *flags, "--", *serve(SERVER))
    assert short == usual
    statuses = {each["title"]: each["status"] for each in short[1]["outcomes"]}
    if not flags:
        assert [title for title, status in statuses.items() if status == "passed"] == [
            "passes", "passes after these", "writes nothing to stderr", "writes what is expected to stderr",
            "hears nothing of that", "is told something", "expects what is not there", "comes after the worker",
        ]  # fmt: skip
