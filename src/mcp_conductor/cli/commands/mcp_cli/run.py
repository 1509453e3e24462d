"""Program `mcp-cli`: one connection, one operation or a script, JSON on stdout; everything else on stderr.

The exit code comes from what happened on the wire, never from the wording of a message.
"""

from mcp_conductor.cli.commands.mcp_cli.flags import FLAGS
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan, plan
from mcp_conductor.cli.flags import parse
from mcp_conductor.cli.flags.secrets import read_secrets, secrets_of_flags
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.cli.process.program import output_form, run_program, version_line


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
        from mcp_conductor.cli.commands.mcp_cli.help import help_of

        terminal.show_help(help_of(given, program))
        return OK
    if "--version" in given:
        terminal.show(version_line(program))
        return OK
    given = read_secrets(given, terminal)
    if (given.one("--method") or "").startswith("oauth/"):
        hint = "each of its requests depends on the one before"
        given.refuse(["--dry-run"], f"has no meaning for {given.one('--method')}", hint=hint)
        from mcp_conductor.cli.commands.mcp_cli.oauth import run_oauth_step

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
