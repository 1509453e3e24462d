"""Program `conductor`: its commands, of which only the one that is asked for is imported."""

from mcp_conductor import __version__
from mcp_conductor.cli.terminal import ReaderGone, Terminal, diagnostic
from mcp_conductor.errors import UsageError, nearest

COULD_NOT_RUN = 2
COMMANDS = {"serve": "serve MCP as a JSON or YAML file describes it"}


def main(argv: list[str], terminal: Terminal) -> int:
    """Run one command: the exit code."""
    command, rest = (argv[0], argv[1:]) if argv else ("--help", [])
    if command == "serve":
        from mcp_conductor.cli.serve import main as serve

        return serve(rest, terminal, program="conductor serve", bad=COULD_NOT_RUN)
    try:
        if command in ("--help", "-h"):
            terminal.write(_help())
        elif command == "--version":
            terminal.write(f"conductor {__version__}\n")
        else:
            near = nearest(command, tuple(COMMANDS))
            hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(COMMANDS)}"
            terminal.say(diagnostic(UsageError(f"unknown command {command!r}", hint=hint)))
            return COULD_NOT_RUN
    except ReaderGone:
        pass
    return 0


def _help() -> str:
    commands = "".join(f"  {name:<10}{what}\n" for name, what in COMMANDS.items())
    return f"usage: conductor COMMAND [flags]\n\nCommands:\n{commands}\nconductor COMMAND --help tells more.\n"
