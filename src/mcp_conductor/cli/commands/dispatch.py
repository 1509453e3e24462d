"""Program `conductor`: its commands, of which only the one that is asked for is imported."""

import os

from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.cli.process.program import run_program, version_line
from mcp_conductor.errors import UsageError, nearest

# A command is a row here and the folder of its name: COMMAND in `flags.py`, and `run` in `run.py`.
GROUPS = {
    "Call a server": {
        "call": "call one method of an MCP server and print the result: the same as mcp-cli",
        "bridge": "serve many MCP servers as one",
        "record": "stand between a client and a server, and keep what they say",
        "proxy": "stand between a client and a server, and let things go wrong on purpose",
        "wrap": "let a client record what it says to one of its servers; unwrap undoes it",
        "unwrap": "record a server of a client no more",
        "show": "show what was said in a recording, as lines or as a page",
    },
    "Test a server or a client": {
        "test": "run declarative tests of an MCP server",
        "check": "check whether an MCP server or client follows the specification",
        "discover": "write a first suite for a server",
        "verify": "play the client of a recording to a server, and show what has changed",
    },
    "Simulate a server": {
        "serve": "serve MCP as a JSON or YAML file describes it",
        "replay": "be the server of a recording",
    },
    "Work on a project": {
        "init": "find the servers of a project; write its settings, a first suite and a CI workflow",
    },
}
COMMANDS = {name: what for commands in GROUPS.values() for name, what in commands.items()}
EXAMPLES = {
    "conductor check -- python server.py": "does this server follow the specification?",
    "conductor init": "settings and a first suite for the project in this directory",
    "conductor test": "run all *.test.mcp.yml below this directory",
    "conductor call python server.py --method tools/list": "call one method",
}


def main(argv: list[str], terminal: Terminal) -> int:
    """Run one command: the exit code."""
    if argv[:1] == ["call"]:
        from mcp_conductor.cli.commands.mcp_cli.run import main as call

        return call(argv[1:], terminal, program="conductor call")
    return run_program(lambda: _main(argv, terminal), argv, terminal, "conductor")


def _main(argv: list[str], terminal: Terminal) -> int:
    command, rest = (argv[0], argv[1:]) if argv else ("--help", [])
    if command == "serve":
        from mcp_conductor.cli.commands.serve.run import main as serve

        return serve(rest, terminal, program="conductor serve")
    if command in COMMANDS:
        return _run(command, rest, terminal)
    if _is_method(command) and not os.path.exists(os.path.join(terminal.directory, command)):
        raise UsageError(f"{command!r} is a method, not a command", hint=f"mcp-cli --method {command} COMMAND (or URL)")
    if _is_pattern(argv, terminal.directory):
        return _run("test", argv, terminal)
    if command in ("--help", "-h", "help"):
        if rest and rest != ["all"]:
            return main([_known_command(rest[0], terminal), "--help", *rest[1:]], terminal)
        terminal.show_help(_help())
    elif command == "--version":
        terminal.show(version_line("conductor"))
    else:
        _known_command(command, terminal)
    return 0


def _known_command(command: str, terminal: Terminal) -> str:
    """COMMAND, if it is one of ours; otherwise an error that says what may have been meant."""
    if command in COMMANDS:
        return command
    is_flag = command.startswith("-")
    known = ("--help", "--version") if is_flag else tuple(COMMANDS)
    near = nearest(command, known)
    hint = f"did you mean {near!r}?" if near else f"there are: {', '.join(known)}"
    if os.path.isfile(os.path.join(terminal.directory, command)):
        hint = f"conductor serve {command}, if it is the file of a server"
    raise UsageError(f"unknown {'flag' if is_flag else 'command'} {command!r}", hint=hint)


def _run(command: str, argv: list[str], terminal: Terminal) -> int:
    """Run COMMAND, which is in the folder of that name; errors that stop it are raised."""
    from importlib import import_module

    folder = f"mcp_conductor.cli.commands.{command}"
    given = import_module(f"{folder}.flags").COMMAND.read(argv, terminal)
    if given is None:
        return OK
    exit_code: int = import_module(f"{folder}.run").run(given, terminal)
    return exit_code


def _is_method(command: str) -> bool:
    if command.startswith("-") or "." in command or "*" in command:
        return False
    from mcp_conductor.cli.commands.mcp_cli.methods import METHODS

    return command in METHODS or command == "initialize"


def _is_pattern(argv: list[str], directory: str) -> bool:
    """`conductor PATTERN …` is `conductor test PATTERN …`, also where flags come first."""
    word = next((word for word in argv if not word.startswith("-")), "")
    looks = any(part in word for part in ("/", "*", ".yml", ".yaml"))
    return looks or (bool(word) and word not in COMMANDS and os.path.isdir(os.path.join(directory, word)))


def _help() -> str:
    from mcp_conductor.cli.flags.help import examples_text

    lines = ["usage: conductor COMMAND [FLAGS]", "       conductor PATTERN …, the same as conductor test PATTERN …", ""]
    for title, commands in GROUPS.items():
        lines += [f"{title}:", *(f"  {name:<10}{what}" for name, what in commands.items()), ""]
    more = "conductor COMMAND --help shows the flags of a command, conductor --version what is installed."
    return "\n".join(lines) + f"\n{examples_text(EXAMPLES)}\n{more}\n"
