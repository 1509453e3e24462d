"""Program `conductor`: its commands, of which only the one that is asked for is imported."""

import os

from mcp_conductor import __version__
from mcp_conductor.cli.terminal import ReaderGone, Terminal, diagnostic
from mcp_conductor.errors import UsageError, nearest

FAILED = 1
COULD_NOT_RUN = 2
NO_SERVER = 3
TIMED_OUT = 124
COMMANDS = {
    "test": "run declarative tests of an MCP server",
    "discover": "write a first suite for a server",
    "init": "write the settings and a first suite for the project in this directory",
    "check": "check whether an MCP server keeps the specification",
    "serve": "serve MCP as a JSON or YAML file describes it",
}


def main(argv: list[str], terminal: Terminal) -> int:
    """Run one command: the exit code."""
    command, rest = (argv[0], argv[1:]) if argv else ("--help", [])
    if command == "check":
        from mcp_conductor.cli.check import main as check

        return check(rest, terminal)
    if command == "serve":
        from mcp_conductor.cli.serve import main as serve

        return serve(rest, terminal, program="conductor serve", bad=COULD_NOT_RUN)
    if command == "discover":
        from mcp_conductor.cli.discover import main as discover

        return discover(rest, terminal)
    if command == "init":
        from mcp_conductor.cli.init import main as init

        return init(rest, terminal)
    if command == "test" or _is_pattern(argv, terminal.directory):
        from mcp_conductor.cli.test import main as test

        return test(rest if command == "test" else argv, terminal)
    try:
        if command in ("--help", "-h"):
            terminal.write(_help())
        elif command == "--version":
            terminal.write(f"conductor {__version__}\n")
        else:
            is_flag = command.startswith("-")
            known = ("--help", "--version") if is_flag else tuple(COMMANDS)
            near = nearest(command, known)
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
            terminal.say(diagnostic(UsageError(f"unknown {'flag' if is_flag else 'command'} {command!r}", hint=hint)))
            return COULD_NOT_RUN
    except ReaderGone:
        pass
    return 0


def _is_pattern(argv: list[str], directory: str) -> bool:
    """`conductor PATTERN …` is `conductor test PATTERN …`, also where flags come first."""
    word = next((word for word in argv if not word.startswith("-")), "")
    looks = any(part in word for part in ("/", "*", ".yml", ".yaml"))
    return looks or (bool(word) and word not in COMMANDS and os.path.isdir(os.path.join(directory, word)))


def _help() -> str:
    commands = "".join(f"  {name:<10}{what}\n" for name, what in COMMANDS.items())
    return f"usage: conductor COMMAND [flags]\n\nCommands:\n{commands}\nconductor COMMAND --help tells more.\n"
