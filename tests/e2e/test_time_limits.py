"""--timeout holds for a whole run, also while our own program computes or writes what is not read."""

import fcntl
import os
import select
import signal
import subprocess
import sys

import pytest

QUICK = "from mcp_conductor.cli.process import interruptible; interruptible.DEAF_SECONDS = 0.3;"  # else the tests take seconds each
MCP_CLI = f"{QUICK} import sys; from mcp_conductor.cli import mcp_cli; sys.exit(mcp_cli())"
CONDUCTOR = f"{QUICK} import sys; from mcp_conductor.cli import conductor; sys.exit(conductor())"
SUITE = "description: one\ntests:\n" + "".join(
    f"  - {{it: answer {n}, list: tools, expect: {{}}}}\n" for n in range(40)
)
LATE = f"""
{QUICK}
from mcp_conductor.cli.output import terminal

async def compute():
    async with interruptible.TimeLimit(0.2, terminal.Terminal.of_process(bad=1)):
        while True:
            pass

interruptible.run_interruptibly(compute())
"""
CHATTY = r"""
    hello()
    while True:
        shout('{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}\n' * 100)
"""
LARGE = """
    hello()
    result(hear(), {"tools": [{"name": "x" * 500_000, "inputSchema": {"type": "object"}}]})
    hear()
"""
ALIKE = "hello(); serve({'tools/list': {'tools': []}})"


@pytest.fixture
def started(in_background):
    """A program of this file, whose output is not read unless a test does it."""
    return lambda code, *words: in_background([sys.executable, "-c", code, *words])


def test_a_time_limit_ends_a_program_that_is_in_the_middle_of_long_work(started):
    process = started(LATE)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 124
    assert err.decode().splitlines() == [
        "error: not done within 0.2 s: this program was busy, or its output was not read",
        "  hint: --timeout TIME allows more",
    ]


@pytest.mark.parametrize(("server", "flags"), [(CHATTY, ["--verbose"]), (LARGE, [])], ids=["stderr", "stdout"])
def test_a_time_limit_holds_although_what_we_write_is_not_read(serve, started, server, flags):
    process = started(MCP_CLI, *serve(server), "--method", "tools/list", "--timeout", "1s", *flags)
    assert process.wait(timeout=20) == 124


def test_a_result_waits_for_its_reader_if_no_time_limit_was_given(serve, started):
    code = f"from mcp_conductor.cli.commands.mcp_cli import plan; plan.DEFAULT_TIMEOUT = '1s'; {MCP_CLI}"
    process = started(code, *serve(LARGE), "--method", "tools/list")
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=2.5)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, len(out) > 500_000, err) == (0, True, b"")


def test_a_run_of_tests_ends_in_time_although_its_report_is_not_read(serve, started, tmp_path):
    (tmp_path / "a.test.mcp.yml").write_text(SUITE)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)  # less than the report has
    try:
        process = started(
            f"{QUICK} interruptible.CLEANUP_SECONDS = 1; {CONDUCTOR}",
            "test", "a.test.mcp.yml", "--timeout", "1s", "--report", "json:pipe", "--", *serve(ALIKE),
        )  # fmt: skip
        assert process.wait(timeout=20) == 124
    finally:
        os.close(reader)


@pytest.mark.parametrize("flag", ["--record", "--cacert", "--token-store"])
def test_a_pipe_that_nothing_serves_is_one_clear_line(serve, started, tmp_path, flag):
    os.mkfifo(tmp_path / "pipe")
    target = serve(LARGE) if flag == "--record" else ["https://127.0.0.1:9/mcp"]
    oauth = ["--oauth"] if flag == "--token-store" else []
    code = f"from mcp_conductor import files; files._READER_SECONDS = 0.1; {MCP_CLI}"
    process = started(code, *target, "--method", "tools/list", flag, "pipe", *oauth)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 1
    assert len(err.splitlines()) == 1
    assert b"pipe: it is " in err


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_signal_while_a_result_is_written_never_looks_like_success(serve, tmp_path, environment, unbuffered):
    code = MCP_CLI.replace("0.3", "0.5")
    words = [sys.executable, "-c", code, *serve(LARGE), "--method", "tools/list"]
    environ = {**environment, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environ) as process:
        select.select([process.stdout], [], [], 20)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 143


def test_a_pipe_that_does_not_block_gets_everything(serve, tmp_path, environment):
    read, write = os.pipe()
    os.set_blocking(write, False)
    words = [sys.executable, "-c", MCP_CLI, *serve(LARGE), "--method", "tools/list"]
    with subprocess.Popen(words, stdout=write, stderr=subprocess.PIPE, cwd=tmp_path, env=environment) as process:
        os.close(write)
        with open(read, "rb") as pipe:
            assert len(pipe.read()) > 500_000
        assert (process.wait(timeout=20), process.stderr.read()) == (0, b"")
