"""What a server says is shown by pytest without secrets of the run, and nothing in it is obeyed by a terminal or CI."""

import re

import pytest
from tests.conftest import SERVERS

# It tells its secret and orders to terminals wherever it can: in errors, results, on stderr.
SERVER = """
import os
import sys

sys.path.insert(0, SERVERS)
from raw import error, hear, hello, result

TEXT = f"\\x1b[2J\\x1b]0;x\\x07 {os.environ['API_KEY']}\\n::error::x ##[error]y"
sys.stderr.write(TEXT + "\\n")
sys.stderr.flush()
if sys.argv[1:] == ["dies"]:
    sys.exit(3)
hello()
while request := hear():
    method = request["method"]
    if method == "die":
        sys.exit(3)
    if method == "ping":
        result(request, {"told": TEXT})
    elif "id" in request:
        error(request, -32000, TEXT, data=TEXT)
"""
TESTS = """
    import sys
    import pytest

    def server(*words):
        return {"command": sys.executable, "args": ["server.py", *words], "env": {"API_KEY": "hunter22" + "hunter22"}}

    def test_error(mcp_connect):
        mcp_connect(server()).request("x")

    def test_data(mcp_connect):
        assert mcp_connect(server()).request("ping") == {"told": "y"}

    def test_text(mcp_connect):
        assert mcp_connect(server()).request("ping")["told"] == "x\\ny"

    def test_end(mcp_connect):
        mcp_connect(server()).request("die")

    def test_start(mcp_connect):
        mcp_connect(server("dies"))

    @pytest.mark.asyncio
    async def test_awaited(mcp_connect):
        await mcp_connect(server()).request("x")

    def test_shown(mcp_connect):
        session = mcp_connect({"url": "http://me:hunter22hunter22@127.0.0.1:9/mcp"})

    @pytest.fixture
    def broken(mcp_connect):
        return mcp_connect(server()).request("x")

    def test_set_up(broken):
        pass
"""


@pytest.mark.parametrize("style", ["--tb=long", pytest.param("--tb=native", marks=pytest.mark.slow)])
def test_nothing_that_a_server_says_is_obeyed_and_no_secret_is_shown(run, write, style):
    write("server.py", SERVER.replace("SERVERS", repr(str(SERVERS))))
    write("test_python.py", TESTS)
    done = run(style, "--showlocals", "--junitxml=it.xml")
    assert done.code == 1
    assert set(done.statuses.values()) == {"FAILED", "ERROR"}
    assert len(done.statuses) == 8
    shown = done.out + (write("x", "").parent / "it.xml").read_text()
    assert re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown) == []
    assert [line for line in shown.split("\n") if line.strip().startswith("::") or "##[" in line] == []
    assert [line for line in shown.split("\n") if "hunter22hunter22" in line] == []
    assert done.out.count("was answered with error -32000") >= 3
    assert "[redacted]" in done.out


def test_tests_without_a_server_are_shown_as_pytest_does(run, write):
    write("test_python.py", "def test_it():\n    assert '::a' == '##[b]'\n")
    assert "AssertionError: assert '::a' == '##[b]'" in run().out
