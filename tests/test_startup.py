"""What our programs import: for their help no event loop, for one call nothing that it does not use.

The lists are exact, so that each module more is a decision. Times are for `benchmarks/run`: a busy machine has others.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from mcp_conductor.cli.conductor import COMMANDS

ROOT = Path(__file__).parent.parent
# What every program needs: signals first, then a place for its words.
PROGRAM = """
    mcp_conductor mcp_conductor.cli mcp_conductor.cli.deferred mcp_conductor.cli.exhaustion mcp_conductor.cli.exit_codes mcp_conductor.cli.flags
    mcp_conductor.cli.program mcp_conductor.cli.signals mcp_conductor.cli.terminal mcp_conductor.errors
    mcp_conductor.posix mcp_conductor.text mcp_conductor.text.redaction mcp_conductor.text.secret_forms
    mcp_conductor.text.visible mcp_conductor.values
"""
CONDUCTOR = f"{PROGRAM} mcp_conductor.cli.conductor"
# The flags that say which server is meant, and how much of what it says is taken in.
TARGET = """
    mcp_conductor.cli.budget_flags mcp_conductor.cli.flag_values mcp_conductor.cli.plugin_flag
    mcp_conductor.cli.secret_flags mcp_conductor.cli.target mcp_conductor.files mcp_conductor.files.settings_file
    mcp_conductor.protocol mcp_conductor.protocol.budgets mcp_conductor.protocol.dialect mcp_conductor.protocol.duration
    mcp_conductor.protocol.server_spec
"""
PASSING = "mcp_conductor.cli.oauth_flags mcp_conductor.cli.passing"
SERVE = """
    mcp_conductor.cli.flag_values mcp_conductor.cli.plugin_flag mcp_conductor.cli.serve mcp_conductor.protocol
    mcp_conductor.protocol.budgets mcp_conductor.protocol.duration mcp_conductor.protocol.message
"""
CALL = f"""
    {PROGRAM} {TARGET} mcp_conductor.cli.mcp_cli mcp_conductor.cli.methods mcp_conductor.cli.oauth_flags
    mcp_conductor.cli.plan
    mcp_conductor.protocol.answers mcp_conductor.protocol.message
"""
COMMAND = f"{CONDUCTOR} mcp_conductor.cli.command"
HELP = {
    "mcp_cli": CALL,
    "mcp_cli --method tools/call": f"{CALL} mcp_conductor.cli.method_help",
    "conductor": CONDUCTOR,
    "conductor call": f"{CALL} mcp_conductor.cli.conductor",
    "conductor test": f"{COMMAND} {TARGET} mcp_conductor.cli.run_flags mcp_conductor.cli.test",
    "conductor check": f"""{COMMAND} {TARGET} mcp_conductor.cli.run_flags mcp_conductor.cli.check
    mcp_conductor.cli.check_target""",
    "conductor discover": f"{COMMAND} {TARGET} mcp_conductor.cli.discover",
    "conductor wrap": f"{COMMAND} mcp_conductor.cli.wrap",
    "conductor unwrap": f"{COMMAND} mcp_conductor.cli.unwrap mcp_conductor.cli.wrap",
    "conductor init": f"""{COMMAND} mcp_conductor.cli.init mcp_conductor.cli.flag_values mcp_conductor.files
    mcp_conductor.files.settings_file mcp_conductor.protocol mcp_conductor.protocol.duration""",
    "conductor record": f"{COMMAND} {TARGET} {PASSING} mcp_conductor.cli.record",
    "conductor proxy": f"{COMMAND} {TARGET} {PASSING} mcp_conductor.cli.proxy",
    "conductor serve": f"{CONDUCTOR} {SERVE}",
    "conductor show": f"{COMMAND} mcp_conductor.cli.exit_codes mcp_conductor.cli.show",
    "conductor verify": f"{COMMAND} {TARGET} mcp_conductor.cli.run_flags mcp_conductor.cli.verify",
    "conductor bridge": f"""{COMMAND} {SERVE} mcp_conductor.cli.bridge mcp_conductor.cli.budget_flags
    mcp_conductor.cli.serving_flags""",
    "conductor replay": f"{COMMAND} {SERVE} {TARGET} mcp_conductor.cli.replay mcp_conductor.cli.serving_flags",
    "server_composable": f"{PROGRAM} {SERVE}",
}
# Until asyncio is imported, when the server of a call has been started, and after that.
STARTED = """
    mcp_conductor.cli.call_run mcp_conductor.cli.display mcp_conductor.protocol.ledger
    mcp_conductor.protocol.transcript mcp_conductor.transport mcp_conductor.transport.children
    mcp_conductor.transport.process_tree
"""
CALLED = """
    mcp_conductor.bounded mcp_conductor.bounded.direct mcp_conductor.bounded.turns mcp_conductor.cli.alarm
    mcp_conductor.cli.interruptible mcp_conductor.cli.method_result mcp_conductor.cli.operations
    mcp_conductor.cli.time_limit mcp_conductor.client mcp_conductor.client.callbacks mcp_conductor.client.calls
    mcp_conductor.client.connect
    mcp_conductor.client.deadlines mcp_conductor.client.ids mcp_conductor.client.negotiation
    mcp_conductor.client.server_questions mcp_conductor.client.session mcp_conductor.client.subscriptions
    mcp_conductor.client.wire mcp_conductor.protocol.compose mcp_conductor.protocol.input_rounds
    mcp_conductor.protocol.oddities mcp_conductor.protocol.paging mcp_conductor.protocol.views
    mcp_conductor.protocol.line_splitter mcp_conductor.transport.processes mcp_conductor.transport.stdio
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


@pytest.mark.parametrize("program", HELP)
def test_help_needs_no_event_loop_and_few_modules(program):
    name, *command = program.split()
    script = f"from mcp_conductor.cli import {name}\n{name}(); print(*sys.modules, file=sys.stderr)"
    loaded = set(python(script, *command, "--help")[0].split())
    assert ours(loaded) == set(HELP[program].split())
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
    assert ours(before.split()) == set(f"{CALL} {STARTED}".split())
    loaded = set(after.split())
    assert ours(loaded) == set(f"{CALL} {STARTED} {CALLED}".split())
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
from mcp_conductor.cli import conductor, deferred
assert conductor() == 0
print(*(name for name in deferred.DEFERRED if type(sys.modules[name]) is type(sys)), file=sys.stderr)
"""
    assert python(script, "test", str(file), "--", sys.executable, str(server)) == [""]
