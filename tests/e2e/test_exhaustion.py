"""Too little memory, too few open files: one clear line, a documented exit code, and nothing left running."""

import resource
import subprocess
import sys

import pytest
from tests.conftest import MCP_CLI
from tests.e2e.listing import LIST

CONDUCTOR = (sys.executable, "-c", "import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())")
# The server takes little memory itself: what it says grows while it is read.
LARGE = """
    hello(tools={})
    request = hear()
    shout('{"jsonrpc":"2.0","id":' + json.dumps(request["id"]) + ',"result":{"tools":[' + '{"a":1},' * 440_000 + '{}]}}\\n')
    hear()
"""
SUITE = "description: d\ntests:\n  - it: lists\n    list: tools\n    expect: {ok: true}\n"


@pytest.fixture
def limited(environment, tmp_path, survivors):
    """Run a program with less of something: its exit code, and what it wrote to stderr."""

    def run(limit, amount, *words):
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=30, cwd=tmp_path, env=environment, check=False,
            preexec_fn=lambda: resource.setrlimit(limit, (amount, amount)),  # noqa: PLW1509
        )  # fmt: skip
        assert survivors() == []
        return done.returncode, done.stderr

    return run


@pytest.mark.parametrize(("program", "code"), [("mcp-cli", 1), ("test", 2), ("discover", 2)])
def test_too_little_memory_is_one_line(limited, serve, tmp_path, program, code):
    (tmp_path / "a.test.mcp.yml").write_text(SUITE)
    words = {
        "mcp-cli": (*MCP_CLI, *LIST),
        "test": (*CONDUCTOR, "test", "a.test.mcp.yml"),
        "discover": (*CONDUCTOR, "discover"),
    }[program]
    done = limited(resource.RLIMIT_AS, 115 << 20, *words, "--", *serve(LARGE))
    hint = "  hint: --max-message-size and --max-message-values take in less of a server\n"
    assert done == (code, f"error: out of memory\n{hint}")


@pytest.mark.parametrize(("program", "codes"), [("mcp-cli", {1}), ("check", {2, 3})])
@pytest.mark.parametrize("files", [5, 6])
def test_too_few_files_are_one_line(limited, serve, program, codes, files):
    words = {"mcp-cli": (*MCP_CLI, *LIST), "check": (*CONDUCTOR, "check")}[program]
    code, said = limited(resource.RLIMIT_NOFILE, files, *words, "--", *serve("serve({})"))
    assert code in codes
    error, *hint = said.splitlines()
    assert error.startswith("error: ")
    assert "too many open files" in error.lower()
    assert hint in ([], ["  hint: `ulimit -n NUMBER` allows more"])
