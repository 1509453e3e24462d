"""Program `mcp-cli`: one connection, one operation or a script, JSON on stdout; everything else on stderr.

The exit code comes from what happened on the wire, never from the wording of a message.
"""

from mcp_conductor.cli.commands.mcp_cli import methods
from mcp_conductor.cli.commands.mcp_cli.plan import FLAGS, CallPlan, plan
from mcp_conductor.cli.flags import Given, help_page, parse
from mcp_conductor.cli.flags.secrets import read_secrets, secrets_of_flags
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.cli.process.program import output_form, run_program
from mcp_conductor.errors import UsageError, nearest

USAGE = """\
usage: mcp-cli COMMAND [ARGS …] --method METHOD [FLAGS]
       mcp-cli COMMAND [ARGS …] -- [SERVER'S FLAGS …] --method METHOD [FLAGS]
       mcp-cli URL --method METHOD [FLAGS]
       mcp-cli --config FILE [--server NAME] --method METHOD [FLAGS]
       mcp-cli COMMAND [ARGS …] --script FILE|- [FLAGS]

Call one method of an MCP server and print the result as JSON.
"""
EXAMPLES = {
    "mcp-cli python server.py --method tools/list": "a server on stdio",
    "mcp-cli python server.py --method tools/call --tool-name add --tool-arg a=1 --tool-arg b=2": "",
    "mcp-cli python -- server.py --verbose --method server/info": "flags of the server go after --",
    "mcp-cli --config mcp.json --server books --method resources/list": "one of a settings file",
    "mcp-cli https://example.com/mcp --token env:TOKEN --method prompts/list": "a server at a URL",
    "mcp-cli --method tools/call --help": "what one method takes",
}
EXIT_CODES = """\
Exit codes: 0 success, 1 bad arguments or no connection, 2 the server answered with an error (or isError),
70 a bug of ours, 124 --timeout exceeded, 130 and 143 interrupted.
"""


def main(argv: list[str], terminal: Terminal, *, program: str = "mcp-cli") -> int:
    """Run mcp-cli; every way it can end has an exit code and, unless all went well, a message on stderr.

    PROGRAM is what the user called: hints and examples begin with it.
    """
    return run_program(lambda: _main(argv, terminal, program), argv, terminal, "mcp-cli")


def _main(argv: list[str], terminal: Terminal, program: str) -> int:
    given = parse(argv, FLAGS, program=program)
    output_form(given, terminal)
    terminal.learn(secrets_of_flags(given))
    if "--help" in given:
        terminal.show_help(_help(given, program))
        return OK
    if "--version" in given:
        from mcp_conductor.cli.process.version import version_line

        terminal.show(version_line(program))
        return OK
    given = read_secrets(given, terminal)
    if (given.one("--method") or "").startswith("oauth/"):
        _refuse_dry_run(given)
        from mcp_conductor.cli.commands.mcp_cli.oauth_run import run_oauth_step

        return run_oauth_step(given, terminal)
    if given.one("--server") == "all":
        from mcp_conductor.cli.commands.mcp_cli.all_servers import for_one_server, list_all, means_all

        if means_all(given, terminal):
            one = for_one_server(given, terminal)
            if one is None:
                return list_all(given, terminal)
            given = one
    call = plan(given, terminal)
    if "--dry-run" in given:
        from mcp_conductor.cli.commands.mcp_cli.dry_run import dry_run

        return dry_run(call, terminal)
    return _call(call, terminal)


def _help(given: Given, program: str) -> str:
    """The help that is asked for: that of a method, if one is named, or else that of the whole program."""
    method = given.one("--method") or next((word for word in given.words if word in methods.METHODS), None)
    if method is None and len(given.words) == 1:
        (word,) = given.words
        method = word if "/" in word and nearest(word, [*methods.METHODS]) else None  # a typing error, which is told
    if method is not None:
        from mcp_conductor.cli.commands.mcp_cli.method_help import method_help

        return method_help(method, methods.known(method, program), FLAGS, program)
    examples = {command.replace("mcp-cli", program): what for command, what in EXAMPLES.items()}
    usage = USAGE.replace("mcp-cli", program)
    listing = f"Methods:\n{methods.listing()}\n\n"
    return help_page(usage, FLAGS, examples, EXIT_CODES, given=given, program=program, more=listing)


def _refuse_dry_run(given: Given) -> None:
    if "--dry-run" in given:
        method = given.one("--method")
        hint = "each of its requests depends on the one before"
        raise UsageError(f"--dry-run has no meaning for {method}", hint=hint)


def _call(call: CallPlan, terminal: Terminal) -> int:
    """Carry out the plan. The server gets ready while we import the rest of what we need, which takes as long."""
    from mcp_conductor.cli.output.display import Display
    from mcp_conductor.transport.children import kill_unused, start_ahead

    display = Display(call.given, call.spec.budgets, terminal, spec=call.spec)
    try:
        if call.spec.kind == "stdio" and (server := call.spec.as_process()) is not None:
            start_ahead(server.command, cwd=server.cwd, env=server.env)
        from mcp_conductor.cli.commands.mcp_cli.call_run import CallRun

        return CallRun(call, terminal, display).run()
    finally:
        kill_unused()
        display.close()
