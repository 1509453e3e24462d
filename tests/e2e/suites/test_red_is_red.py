"""A run that is red looks red: by its exit code, on the console and in every report, whatever happens to it."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize(("program", "words"), [("conductor", ["test"]), ("mcp_cli", ["true", "--method", "ping"])])
def test_a_bug_of_ours_is_one_line_and_a_code_of_its_own(program, words, tmp_path, surroundings):
    code = f"""
import sys
from importlib import import_module
test, cli = import_module("mcp_conductor.cli.test"), import_module("mcp_conductor.cli.mcp_cli")
test.main = cli.plan = lambda *_: 1 / 0
sys.exit(import_module("mcp_conductor.cli")._program({program!r}, 1))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=surroundings,
        timeout=30,
        check=False,
    )
    assert done.returncode == 70
    name = program.replace("_", "-")
    assert done.stderr == (
        "internal error: ZeroDivisionError: division by zero\n"
        f"  hint: this is a bug in {name}; report it with what --verbose shows\n"
    )
