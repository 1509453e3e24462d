"""Lists whose pages never end: the budgets hold for all pages together, and long lists that end are read whole."""

import json
import subprocess
import sys

import pytest
from tests.conftest import MCP_CLI
from tests.e2e.listing import LIST

from mcp_conductor import StdioSpec, connect

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
ENDLESS = """
    from itertools import count
    numbers = count()
    hello(tools={}, resources={}, prompts={})
    members = {"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts",
               "resources/templates/list": "resourceTemplates"}
    def page(member):
        n = next(numbers)
        item = {"name": f"n{n}", "uri": f"a://{n}", "uriTemplate": f"a://{n}", "inputSchema": {"type": "object"}, "description": "x" * SIZE}
        return {member: [item] if SIZE else [], "nextCursor": str(n)}
    serve({method: lambda _, member=member: page(member) for method, member in members.items()} | {"ping": {}})
"""


@pytest.fixture
def ended(environment, tmp_path, survivors):
    """Run a program that has to end by itself: its exit code, and all that it wrote."""

    def run(*words):
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=30, cwd=tmp_path, env=environment, check=False
        )
        assert "Traceback" not in done.stderr
        assert survivors() == []
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("program", ["mcp-cli", "discover", "test", "check"])
def test_pages_without_end_are_too_large_together(ended, serve, tmp_path, program):
    server = serve(f"\n    SIZE = 500_000{ENDLESS}")
    (tmp_path / "a.test.mcp.yml").write_text(
        "description: d\ntests:\n  - it: lists\n    list: tools\n    expect: {ok: true}\n"
    )
    command = {
        "mcp-cli": (*MCP_CLI, *LIST),
        "discover": (*CONDUCTOR, "discover"),
        "test": (*CONDUCTOR, "test", "a.test.mcp.yml"),
        "check": (*CONDUCTOR, "check", "-q", "--only", "pagination"),
    }[program]
    code, said = ended(*command, "--max-message-size", "5MB", "--", *server)
    assert code != 0 or program == "check"
    assert "the pages of tools/list are together longer than 5 MB (--max-message-size)" in said


def test_a_check_of_a_server_whose_pages_are_empty_ends(ended, serve):
    code, said = ended(*CONDUCTOR, "check", "-q", "--only", "pagination", "--", *serve(f"\n    SIZE = 0{ENDLESS}"))
    assert code in (0, 1), said


def test_empty_pages_without_end_are_said(cli, serve):
    run = cli(*serve(f"\n    SIZE = 0{ENDLESS}"), *LIST)
    assert run.code == 0
    assert json.loads(run.out)["tools"] == []
    assert "tools/list: stopped after 100 empty pages in a row" in run.err


@pytest.mark.parametrize("each", [pytest.param(1, marks=pytest.mark.slow), 100])
async def test_a_list_of_ten_thousand_is_read_whole(serve, environment, each):
    server = serve(f"""
        hello(tools={{}})
        def page(params):
            n = int(params.get("cursor", 0))
            more = {{"nextCursor": str(n + {each})}} if n + {each} < 10_000 else {{}}
            return {{"tools": [{{"name": f"t{{i}}", "inputSchema": {{"type": "object"}}}} for i in range(n, n + {each})], **more}}
        serve({{"tools/list": page}})
    """)
    async with connect(StdioSpec(command=server, env=environment)) as session:
        assert [tool.name for tool in await session.list_tools()] == [f"t{n}" for n in range(10_000)]
