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
