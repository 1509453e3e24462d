"""`conductor check`: does this server follow the specification?"""

from mcp_conductor.cli.commands.check.target import asked_revision, checked_server
from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.flags import HELP, Flag, Given, Groups
from mcp_conductor.cli.flags.budgets import LIMIT_FLAGS
from mcp_conductor.cli.flags.plugins import load_named_plugins
from mcp_conductor.cli.flags.run_flags import OUTPUT_FLAGS
from mcp_conductor.cli.flags.secrets import read_secrets
from mcp_conductor.cli.flags.target import TARGET_FLAGS, load_plugins
from mcp_conductor.cli.flags.values import time
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.errors import UsageError

_SERVER_FLAGS = tuple(flag for flag in TARGET_FLAGS if flag.name != "--protocol")
FLAGS: Groups = {
    "Server": _SERVER_FLAGS,
    "What to check": (
        Flag(
            "--protocol",
            "a revision, all of them, or auto; default: the one that the server prefers",
            "CHOICE",
            common=True,
        ),
        Flag("--level", "must, should or may: this and everything above; default may", "LEVEL"),
        Flag("--only", "a group of requirements, or one of them (repeatable)", "GROUP|ID", many=True, common=True),
        Flag("--skip", "leave out a group of requirements, or one of them (repeatable)", "GROUP|ID", many=True),
        Flag(
            "--call-tools",
            "call these tools too, not only those that are marked read-only (repeatable)",
            "NAME|all",
            many=True,
            common=True,
        ),
        Flag(
            "--trigger",
            "call this tool to cause a change; the server should send a notification (repeatable)",
            "TOOL[=JSON]",
            many=True,
        ),
        Flag("--expected-failures", "what is known to fail, and why: a JSON or YAML array", "FILE", common=True),
        Flag("--all-findings", "count what is of the framework of the server, not of its author, like everything else"),
        Flag("--timeout", "time limit of each answer; default 2s, with --client 20s", "TIME"),
    ),
    "Limits": LIMIT_FLAGS,
    "Recording": (
        Flag("--transcript", "check the messages of this recording, of both sides; nothing is started", "FILE"),
        Flag("--side", "check only the server or only the client of the recording", "SIDE"),
        Flag("--session", "which of several conversations to check; default: the first with a result", "N"),
    ),
    "Client": (
        Flag(
            "--client", "check this client instead; {server}, {url} or {config} in it is our server", "CMD", common=True
        ),
        Flag("--scenario", "run only this scenario, after the plain one (repeatable)", "NAME", many=True),
    ),
    "Instead of checking": (
        Flag("--list", "show all requirements, and whether they are checked"),
        Flag("--list-scenarios", "show all scenarios that clients meet, and what happens in each"),
        Flag(
            "--explain",
            "explain a requirement: its text, its source, the check, the remedy, examples (repeatable)",
            "GROUP|ID",
            many=True,
            common=True,
        ),
        HELP,
    ),
    "Output": (*OUTPUT_FLAGS, Flag("--badge", "write the grade as an SVG picture", "FILE")),
}
# Whether these are right is known before the rest is imported. With any other flag the server is started after that,
# because a mistake must be found before anything starts.
_KNOWN_AT_ONCE = {flag.name for flag in _SERVER_FLAGS} | {
    "--protocol", "--timeout", "--call-tools", "--quiet", "--verbose", "--wire", "--json", "--all-findings",
}  # fmt: skip
_USAGE = """\
usage: conductor check COMMAND [ARGS …] [FLAGS]
       conductor check [FLAGS] -- COMMAND [ARGS …]
       conductor check URL [FLAGS]
       conductor check --client "CMD {server}" [FLAGS]
       conductor check --transcript FILE [FLAGS]

Check whether an MCP server follows the specification: every MUST that is broken is a failure, every SHOULD a warning.
"""
EXAMPLES = {
    "conductor check -- python server.py": "the revision that it prefers",
    "conductor check --protocol all --level must -- python server.py": "every MUST, in every revision",
    "conductor check --only tools --call-tools all -- python server.py": "one group, calling every tool",
    "conductor check https://example.com/mcp --token env:TOKEN": "a server at a URL",
    'conductor check --client "python client.py {server}"': "a client; we are the server",
    "conductor check --transcript opened.jsonl --side client": "the client of a recording",
    "conductor check --explain tools-item-inputschema": "what it says, and the remedy",
    "conductor check --report junit:report.xml --badge grade.svg -- python server.py": "in CI",
}
_EXIT_CODES = """\
Exit codes: 0 no MUST is broken, or only expected ones, 1 some are, 2 could not run, or could
check less than half, or a report could not be written, 3 the server could not be started or went away.
"""
COMMAND = Command("conductor check", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES)


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor check`: the exit code."""
    if (given := COMMAND.read(argv, terminal)) is None:
        return OK
    if "--list-scenarios" in given:
        from mcp_conductor.cli.commands.check.client_run import scenario_listing, scenarios_as_json

        terminal.answer(scenario_listing(), scenarios_as_json())
        return 0
    given = read_secrets(given, terminal)
    for flag in ("--session", "--side"):
        if flag in given and "--transcript" not in given:
            raise UsageError(f"{flag} is for --transcript FILE")
    if "--client" in given or "--transcript" in given:
        from mcp_conductor.checks.requirements import any_of_plugins

        load_named_plugins(given, terminal)
        if "--client" in given and any_of_plugins():
            terminal.say("warning: checks of plugins are for servers: with --client they do not run")
    else:
        load_plugins(given, terminal)
    if "--list" in given or "--explain" in given:
        from mcp_conductor.checks.explain import explained, listed, listing, members_of, named_requirements

        if "--list" in given:
            subjects = ("client",) if "--client" in given else ("server", "client")
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
    if "--scenario" in given:
        raise UsageError("--scenario is for --client CMD")
    return _check_server(given, terminal)


def _check_server(given: Given, terminal: Terminal) -> int:
    """Check a server, which gets ready while we import what we need."""
    from mcp_conductor.transport.children import kill_unused, start_ahead

    try:
        if set(given.values) <= _KNOWN_AT_ONCE:
            asked_revision(given)
            time(given, "--timeout")
            spec = checked_server(given, terminal)
            if spec.kind == "stdio" and (server := spec.as_process()) is not None:
                start_ahead(server.command, cwd=server.cwd, env=server.env)
        from mcp_conductor.cli.commands.check.server_run import CheckRun
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(CheckRun(given, terminal).run())
    finally:
        kill_unused()
