"""A program that runs inside a Python process leaves that process as it was."""

from io import BytesIO

import pytest

from mcp_conductor.cli.commands.mcp_cli.run import main
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import way


@pytest.mark.parametrize("words", [["--version"], ["--method", "ping"], ["server.py", "--no-such-flag"]])
def test_after_a_program_the_library_speaks_of_keywords_again(words, tmp_path):
    main(words, Terminal(BytesIO(), BytesIO(), BytesIO(), {}, str(tmp_path)))
    assert way("--token", "auth=") == "auth="
