"""Program `conductor`: its commands, of which only the one that is asked for is imported."""

import os

from mcp_conductor import __version__
from mcp_conductor.cli.program import run_program
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.errors import UsageError, nearest

COMMANDS = {
    "call": "call one method of an MCP server and print the result: the same as mcp-cli",
    "test": "run declarative tests of an MCP server",
    "discover": "write a first suite for a server",
    "init": "write the settings and a first suite for the project in this directory",
    "check": "check whether an MCP server follows the specification",
    "serve": "serve MCP as a JSON or YAML file describes it",
    "bridge": "serve many MCP servers as one",
}


def main(argv: list[str], terminal: Terminal) -> int:
    """Run one command: the exit code."""
    if argv[:1] == ["call"]:
        from mcp_conductor.cli.mcp_cli import main as call

        return call(argv[1:], terminal, program="conductor call")
    return run_program(lambda: _main(argv, terminal), argv, terminal, "conductor")


def _main(argv: list[str], terminal: Terminal) -> int:
    command, rest = (argv[0], argv[1:]) if argv else ("--help", [])
    if command == "serve":
        from mcp_conductor.cli.serve import main as serve

        return serve(rest, terminal, program="conductor serve")
    if command in COMMANDS:
        return _run(command, rest, terminal)
    if _is_pattern(argv, terminal.directory):
        return _run("test", argv, terminal)
    if command in ("--help", "-h"):
        terminal.show(_help())
    elif command == "--version":
        terminal.show(f"conductor {__version__}\n")
    else:
        is_flag = command.startswith("-")
        known = ("--help", "--version") if is_flag else tuple(COMMANDS)
        near = nearest(command, known)
        hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
        if os.path.isfile(os.path.join(terminal.directory, command)):
            hint = f"conductor serve {command}, if it is the file of a server"
        raise UsageError(f"unknown {'flag' if is_flag else 'command'} {command!r}", hint=hint)
    return 0


def _run(command: str, argv: list[str], terminal: Terminal) -> int:
    """Run COMMAND, which is the module of that name; errors that stop it are raised."""
    from importlib import import_module

    exit_code: int = import_module(f"mcp_conductor.cli.{command}").main(argv, terminal)
    return exit_code


def _is_pattern(argv: list[str], directory: str) -> bool:
    """`conductor PATTERN …` is `conductor test PATTERN …`, also where flags come first."""
    word = next((word for word in argv if not word.startswith("-")), "")
    looks = any(part in word for part in ("/", "*", ".yml", ".yaml"))
    return looks or (bool(word) and word not in COMMANDS and os.path.isdir(os.path.join(directory, word)))


def _help() -> str:
    commands = "".join(f"  {name:<10}{what}\n" for name, what in COMMANDS.items())
    return f"usage: conductor COMMAND [flags]\n\nCommands:\n{commands}\nconductor COMMAND --help shows more.\n"
