"""`conductor check`: does this server follow the specification?"""

from mcp_conductor.cli.commands.check.flags import SERVER_FLAGS, checked_server
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import read_secrets
from mcp_conductor.cli.flags.shared import load_named_plugins
from mcp_conductor.cli.flags.target import load_plugins
from mcp_conductor.cli.flags.values import time
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK

# Whether these are right is known before the rest is imported. With any other flag the server is started after that,
# because a mistake must be found before anything starts.
_KNOWN_AT_ONCE = {flag.name for flag in SERVER_FLAGS} | {
    "--protocol", "--timeout", "--call-tools", "--quiet", "--verbose", "--wire", "--json", "--all-findings",
}  # fmt: skip


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor check`: the exit code."""
    if "--list-scenarios" in given:
        from mcp_conductor.cli.commands.check.client_run import scenario_listing, scenarios_as_json

        terminal.answer(scenario_listing(), scenarios_as_json())
        return 0
    given = read_secrets(given, terminal)
    if "--client" in given or "--transcript" in given:
        from mcp_conductor.checks.requirements import any_of_plugins

        load_named_plugins(given, terminal)
        if "--client" in given and any_of_plugins():
            terminal.say("warning: checks of plugins are for servers: with --client they do not run")
    else:
        load_plugins(given, terminal)
    if "--list" in given or "--explain" in given:
        from mcp_conductor.checks.explain import explained, listed, listing, members_of, named_requirements
        from mcp_conductor.checks.requirements import check_names

        if "--list" in given:
            subjects = ("client",) if "--client" in given else ("server", "client")
            check_names(given.all("--only"))
            only = frozenset(given.all("--only"))
            terminal.answer(listing(subjects, only), members_of(listed(subjects, only)))
            return OK
        them = named_requirements(given.all("--explain"))
        terminal.answer(explained(them), members_of(them))
        return OK
    if "--client" in given:
        from mcp_conductor.cli.commands.check.client_run import ClientCheckRun
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(ClientCheckRun(given, terminal).run())
    if "--transcript" in given:
        from mcp_conductor.cli.commands.check.recording_run import RecordingCheckRun
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(RecordingCheckRun(given, terminal).run())
    return _check_server(given, terminal)


def _check_server(given: Given, terminal: Terminal) -> int:
    """Check a server, which gets ready while we import what we need."""
    from mcp_conductor.transport.children import kill_unused, start_ahead

    try:
        if set(given.values) <= _KNOWN_AT_ONCE:
            time(given, "--timeout")
            spec = checked_server(given, terminal)
            if spec.kind == "stdio" and (server := spec.as_process()) is not None:
                start_ahead(server.command, cwd=server.cwd, env=server.env)
        from mcp_conductor.cli.commands.check.server_run import CheckRun
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(CheckRun(given, terminal).run())
    finally:
        kill_unused()
