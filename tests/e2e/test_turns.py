"""The event loop of our programs never waits for the worker, for any schema or pattern."""

import json
import signal
import sys
import time
from asyncio import create_subprocess_exec
from subprocess import PIPE

import pytest
from tests.e2e.test_hostile_schemas import MULTIPLYING

# Runs a program of ours, and writes into a file whether its worker was used, and whether the loop waited for it.
WATCHED = """
import asyncio, sys
from mcp_conductor.bounded import worker
ask, uses = worker._Worker.ask, sys.argv[1]
def watched(*arguments):
    with open(uses, "a") as file:
        file.write("in the loop\\n" if asyncio._get_running_loop() else "in a thread\\n")
    return ask(*arguments)
worker._Worker.ask = watched
program = sys.argv[2]
sys.argv[:] = [program, *sys.argv[3:]]
from mcp_conductor import cli
sys.exit(getattr(cli, program)())
"""
SERVER = f"""
    schema = json.loads({json.dumps(json.dumps(MULTIPLYING))})
    sys.stderr.write("a" * 60 + "\\n")
    sys.stderr.flush()
    hello(tools={{}})
    tool = {{"name": "x", "inputSchema": schema, "outputSchema": schema, "annotations": {{"readOnlyHint": True}}}}
    serve({{
        "ping": {{}},
        "tools/list": {{"tools": [tool]}},
        "tools/call": {{"content": [{{"type": "text", "text": "a" * 60}}], "structuredContent": {{"a": "x"}}}},
    }})
"""
INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "c", "version": "1"},
    },
}
SUITE = r"""
description: d
tests:
- {it: is slow by a pattern, call: x, expect: {result: {'match:partial': {content: [{text: 'match:regex:(a)\1+$'}]}}}}
- {it: is slow by a schema, call: x, expect: {result: match:outputSchema}}
- {it: is slow by an assertion, call: x, expect: {asserts: ['result.content[0].text matches /(a)\1+$/']}}
"""


@pytest.fixture
def uses(serve, tmp_path, environment):
    """How a program of ours used the worker on the server with such a schema."""

    async def run(program, *words, server=True, stdin=None):
        file = tmp_path / "uses"
        words = (program, *words, *(("--", *serve(SERVER)) if server else ()))
        process = await create_subprocess_exec(
            sys.executable, "-c", WATCHED, str(file), *words,
            cwd=tmp_path, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE,
        )  # fmt: skip
        out, err = await process.communicate(stdin)
        return set(file.read_text().splitlines()) if file.exists() else (out, err)

    return run


async def test_of_mcp_cli(uses):
    words = ("--method", "tools/call", "--tool-name", "x", "--output-schema-validate")
    assert await uses("mcp_cli", *words) == {"in a thread"}


async def test_of_check(uses):
    ids = ("tools-structured-content-conforms", "tools-call-arguments-omitted", "tools-call-invalid-args-tool-error")
    only = [word for each in ids for word in ("--only", each)]
    assert await uses("conductor", "check", *only) == {"in a thread"}


async def test_of_test(uses, tmp_path):
    (tmp_path / "a.test.mcp.yml").write_text(SUITE)
    assert await uses("conductor", "test") == {"in a thread"}


async def test_of_discover(uses):
    assert await uses("conductor", "discover", "--record-expectations") == {"in a thread"}


async def test_of_a_ready_pattern(uses, serve, tmp_path):
    command, *args = serve(SERVER)
    config = {"name": "s", "command": command, "args": args, "readyPattern": r"(a)\1+$"}
    (tmp_path / "conductor.config.json").write_text(json.dumps(config))
    assert await uses("mcp_cli", "--method", "ping", "--config", "conductor.config.json", server=False) == {
        "in a thread"
    }


async def test_of_a_server(uses, tmp_path):
    result = {"content": [], "structuredContent": {"a": "x"}}
    tool = {"name": "x", "inputSchema": MULTIPLYING, "outputSchema": MULTIPLYING, "result": result}
    server = {"serverInfo": {"name": "s", "version": "1"}, "transport": {"type": "stdio"}, "tools": [tool]}
    (tmp_path / "server.json").write_text(json.dumps(server))
    call = {"method": "tools/call", "params": {"name": "x", "arguments": {"a": "y"}}}
    said = [INITIALIZE, {"method": "notifications/initialized"}, {"id": 2, **call}]
    lines = "".join(json.dumps({"jsonrpc": "2.0", **each}) + "\n" for each in said)
    assert await uses("conductor", "serve", "server.json", server=False, stdin=lines.encode()) == {"in a thread"}


async def test_a_run_that_is_stopped_waits_for_no_judge(serve, tmp_path, environment, survivors):
    slow = SERVER.replace('"structuredContent": {"a": "x"}', '"structuredContent": {"a": 5}')
    case = "- {it: one, call: x, expect: {ok: true}}\n- {it: two, delay: 60s, call: x, expect: {ok: true}}\n"
    (tmp_path / "a.test.mcp.yml").write_text(f"description: d\ntests:\n{case}")
    program = "import sys; from mcp_conductor import cli; sys.exit(cli.conductor())"
    words = ("test", "--report", "events", "--", *serve(slow))
    process = await create_subprocess_exec(
        sys.executable, "-c", program, *words, cwd=tmp_path, env=environment, stdout=PIPE, stderr=PIPE
    )
    while b'"title":"two"' not in await process.stdout.readline():
        pass
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    await process.communicate()
    assert process.returncode == 130
    assert time.monotonic() - began < 2  # the schema alone takes longer than that
    assert survivors() == []
