"""The programs. Each entry point is small enough to be interrupted at any moment without a traceback."""

import sys


def mcp_cli() -> int:
    """Program `mcp-cli`."""
    try:
        from mcp_conductor.cli.mcp_cli import main
        from mcp_conductor.cli.terminal import Terminal

        return main(sys.argv[1:], Terminal.of_process())
    except KeyboardInterrupt:
        return 130


def conductor() -> int:
    """Program `conductor`."""
    try:
        from mcp_conductor.cli.conductor import main
        from mcp_conductor.cli.terminal import Terminal

        return main(sys.argv[1:], Terminal.of_process())
    except KeyboardInterrupt:
        return 130


def server_composable() -> int:
    """Program `server-composable`: `conductor serve` by the name and with the exit code of the Inspector's."""
    try:
        from mcp_conductor.cli.serve import main
        from mcp_conductor.cli.terminal import Terminal

        return main(sys.argv[1:], Terminal.of_process(), program="server-composable", bad=1)
    except KeyboardInterrupt:
        return 130
