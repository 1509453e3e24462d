"""What our programs import: for their help no event loop, for one call nothing that it does not use.

The lists are exact, so that each module more is a decision. Times are for `benchmarks/run`: a busy machine has others.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_conductor.cli.commands.dispatch import COMMANDS

ROOT = Path(__file__).parent.parent
# Names within mcp_conductor; the packages that they are in are imported, too.
# What every program needs: signals first, then a place for its words.
PROGRAM = """
    cli.process.deferred cli.process.ending cli.process.exit_codes cli.process.program cli.flags cli.output.terminal
    errors posix text text.redaction text.secret_forms text.visible values
"""
CONDUCTOR = f"{PROGRAM} cli.commands.dispatch cli.flags.help"
# Flags that several commands have: how much is taken in, how it is served; plugins, tokens.
SHARED = "cli.flags.shared cli.flags.values protocol protocol.budgets protocol.duration"
# The flags that say which server is meant.
TARGET = f"""
    {SHARED} cli.flags.secrets cli.flags.target files files.settings_file protocol.dialect protocol.server_spec
"""
CALL = f"""
    {PROGRAM} {TARGET} cli.commands.mcp_cli.run cli.commands.mcp_cli.flags cli.commands.mcp_cli.methods
    cli.commands.mcp_cli.plan protocol.answers protocol.message
"""
SERVE = f"{SHARED} cli.commands.serve.flags cli.commands.serve.run cli.flags.help protocol.message"
HELP = {
    "mcp_cli": f"{CALL} cli.commands.mcp_cli.help cli.flags.help",
    "mcp_cli --method tools/call": f"{CALL} cli.commands.mcp_cli.help cli.flags.help",
    "conductor": CONDUCTOR,
    "conductor call": f"{CALL} cli.commands.mcp_cli.help {CONDUCTOR}",
    "conductor test": f"{CONDUCTOR} {TARGET} cli.commands.test.flags",
    "conductor check": f"{CONDUCTOR} {TARGET} cli.commands.check.flags",
    "conductor discover": f"{CONDUCTOR} {TARGET} cli.commands.discover.flags",
    "conductor wrap": f"{CONDUCTOR} cli.commands.wrap.flags",
    "conductor unwrap": f"{CONDUCTOR} cli.commands.unwrap.flags cli.commands.wrap.flags",
    "conductor init": f"{CONDUCTOR} cli.commands.init.flags files files.settings_file",
    "conductor record": f"{CONDUCTOR} {TARGET} cli.commands.record.flags",
    "conductor proxy": f"{CONDUCTOR} {TARGET} cli.commands.proxy.flags cli.commands.record.flags",
    "conductor serve": f"{CONDUCTOR} {SERVE}",
    "conductor show": f"{CONDUCTOR} cli.commands.show.flags",
    "conductor verify": f"{CONDUCTOR} {TARGET} cli.commands.verify.flags",
    "conductor bridge": f"{CONDUCTOR} {SHARED} cli.commands.bridge.flags",
    "conductor replay": f"{CONDUCTOR} {TARGET} cli.commands.replay.flags",
    "server_composable": f"{PROGRAM} {SERVE}",
}
# Until asyncio is imported, when the server of a call has been started, and after that.
STARTED = """
    cli.commands.mcp_cli.call_run cli.output.display protocol.ledger protocol.transcript transport transport.children
    transport.process_tree
"""
CALLED = """
    bounded bounded.direct bounded.turns cli.process.interruptible cli.commands.mcp_cli.method_result cli.commands.mcp_cli.operations client
    client.callbacks client.calls client.connect client.deadlines client.ids client.negotiation
    client.server_questions client.session client.subscriptions client.wire protocol.compose protocol.input_rounds
    protocol.oddities protocol.paging protocol.views protocol.line_splitter transport.processes transport.stdio
"""
# Modules of Python that asyncio does not need, but we do.
BESIDES_ASYNCIO = {"dataclasses", "copy", "gc", "json", "json.decoder", "json.encoder", "json.scanner"}
SERVER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        opened = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
        result = opened if asked["method"] == "initialize" else {"tools": []}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


def python(script, *words):
    """What SCRIPT prints on stderr; -S, because a .pth file of site-packages may import anything before we do."""
    begin = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n"
    command = [sys.executable, "-S", "-c", begin + script, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return done.stderr.split("\n")[:-1]


def ours(names):
    return {name for name in names if name.partition(".")[0] == "mcp_conductor"}


def listed(names):
    """The modules of a list above, and the packages that they are in."""
    parts = [f"mcp_conductor.{name}".split(".") for name in names.split()]
    return {".".join(each[:end]) for each in parts for end in range(1, len(each) + 1)}


@pytest.mark.parametrize("program", HELP)
def test_help_needs_no_event_loop_and_few_modules(program):
    name, *command = program.split()
    script = f"from mcp_conductor.cli import {name}\n{name}(); print(*sys.modules, file=sys.stderr)"
    loaded = set(python(script, *command, "--help")[0].split())
    assert ours(loaded) == listed(HELP[program])
    assert loaded & {"asyncio", "subprocess", "threading", "ssl", "socket", "urllib.parse", "yaml"} == set()


def test_nothing_of_ours_is_imported_before_an_interrupt_is_caught():
    loaded = python("import mcp_conductor.cli; print(*sys.modules, file=sys.stderr)")
    assert ours(loaded[0].split()) == {"mcp_conductor", "mcp_conductor.cli"}


def test_the_help_of_every_command_is_looked_at():
    assert {f"conductor {name}" for name in COMMANDS} <= HELP.keys()


def test_a_call_starts_its_server_before_it_imports_asyncio_and_little_more_after_that(tmp_path):
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    script = """
from mcp_conductor.cli import mcp_cli
class Seen:
    def find_spec(self, name, *_):
        if name == "asyncio":
            print(*sys.modules, file=sys.stderr)
            print(len(sys.modules["mcp_conductor.transport.children"]._running), file=sys.stderr)
sys.meta_path.insert(0, Seen())
mcp_cli()
print(*sys.modules, file=sys.stderr)
"""
    before, servers, after = python(script, sys.executable, str(server), "--method", "tools/list")
    assert servers == "1"
    assert ours(before.split()) == listed(f"{CALL} {STARTED}")
    loaded = set(after.split())
    assert ours(loaded) == listed(f"{CALL} {STARTED} {CALLED}")
    (alone,) = python("import asyncio, subprocess; print(*sys.modules, file=sys.stderr)")
    others = {name for name in loaded - ours(loaded) - set(alone.split()) if not name.startswith("_")}
    assert others <= BESIDES_ASYNCIO


def test_a_check_starts_its_server_before_it_imports_asyncio_and_imports_nothing_of_suites(tmp_path):
    server = tmp_path / "server.py"
    server.write_text(SERVER)
    script = """
from mcp_conductor.cli import conductor
class Seen:
    def find_spec(self, name, *_):
        if name == "asyncio":
            print(len(sys.modules["mcp_conductor.transport.children"]._running), file=sys.stderr)
sys.meta_path.insert(0, Seen())
import os
os._exit = lambda code: None  # with it, a program ends without waiting for the threads that judges ran in
conductor()
print(*sys.modules, file=sys.stderr)
"""
    said = python(script, "check", "--json", "--", sys.executable, str(server))
    assert said[0] == "1"
    assert {name for name in said[-1].split() if name.startswith("mcp_conductor.suites.")} == set()


def test_a_run_of_tests_starts_its_server_before_it_imports_asyncio(tmp_path):
    server, file = tmp_path / "server.py", tmp_path / "a.test.mcp.yml"
    server.write_text(SERVER)
    file.write_text("description: d\ntests:\n  - it: lists\n    list: tools\n    expect: {ok: true}\n")
    script = """
from mcp_conductor.cli import conductor
class Seen:
    def find_spec(self, name, *_):
        if name == "asyncio":
            print(len(sys.modules["mcp_conductor.transport.children"]._running), file=sys.stderr)
sys.meta_path.insert(0, Seen())
conductor()
"""
    servers = python(script, "test", "--no-judge", str(file), "--", sys.executable, str(server))
    assert servers == ["1"]


@pytest.mark.parametrize(
    ("text", "flags"),
    [("description: d\ntests: [{it: lists, lost: tools}]", ()), ("description: d\ntests: [{it: a, list: tools}]", ("--collect-only",))],
)  # fmt: skip
def test_what_is_known_without_a_server_needs_no_event_loop(tmp_path, text, flags):
    file = tmp_path / "a.test.mcp.yml"
    file.write_text(text)
    script = "from mcp_conductor.cli import conductor\nconductor(); print(*sys.modules, file=sys.stderr)"
    *_, loaded = python(script, "test", *flags, str(file), "--", "no-such-program")
    assert "asyncio" not in loaded.split()


def test_a_run_of_tests_over_stdio_executes_neither_inspect_nor_ssl(tmp_path):
    server, file = tmp_path / "server.py", tmp_path / "a.test.mcp.yml"
    server.write_text(SERVER)
    expected = '{result: {tools: "match:arrayLength:0"}}'
    file.write_text(f"description: d\ntests:\n  - it: lists\n    list: tools\n    expect: {expected}\n")
    script = """
from mcp_conductor.cli import conductor
from mcp_conductor.cli.process import deferred
assert conductor() == 0
print(*(name for name in deferred.DEFERRED if type(sys.modules[name]) is type(sys)), file=sys.stderr)
"""
    assert python(script, "test", str(file), "--", sys.executable, str(server)) == [""]
