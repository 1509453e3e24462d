"""`conductor test`: declarative tests of MCP servers. What runs them is imported when they are to be run."""

from typing import TYPE_CHECKING

from mcp_conductor.cli.commands.command import Command
from mcp_conductor.cli.flags.run_flags import FLAGS, in_our_words
from mcp_conductor.cli.flags.secrets import read_secrets
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK

if TYPE_CHECKING:
    from mcp_conductor.cli.commands.test.run import TestRun
    from mcp_conductor.suites.running.plan import Plan

_USAGE = """\
usage: conductor test [PATTERN …] [FLAGS] [-- COMMAND [ARGS …]]

Run declarative tests of an MCP server. A pattern is a file, a directory, a glob, FILE:LINE or FILE::NAME; without one,
all *.test.mcp.yml below the current directory. The server is that of conductor.config.json, or as the flags say.
"""
EXAMPLES = {
    "conductor test": "the server of conductor.config.json",
    "conductor test -- python server.py": "on this server",
    "conductor test tests/first.test.mcp.yml:6": "the test that begins in this line",
    "conductor test -k ping -vv": "tests by name, with their messages",
    "conductor test --jobs auto --report junit:report.xml --report github": "in CI",
    "conductor test --coverage --min-coverage 20": "what no test uses",
}
_EXIT_CODES = """\
Exit codes: 0 all passed, 1 some failed, 2 nothing could be run, or a report or snapshot could not be written,
3 a server could not be started or went away, 70 a bug of ours, 124 --timeout exceeded, 130 and 143 interrupted.
"""
COMMAND = Command("conductor test", FLAGS, _USAGE, EXAMPLES, _EXIT_CODES, server_words=False)


def main(argv: list[str], terminal: Terminal) -> int:
    """Run `conductor test`: the exit code."""
    if (given := COMMAND.read(argv, terminal)) is None:
        return OK
    from mcp_conductor.cli.commands.test.run import TestRun

    given = read_secrets(in_our_words(given), terminal)
    run = TestRun(given, terminal)
    if "--watch" in given:
        from mcp_conductor.cli.commands.test.watch import watch
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(watch(run, given, terminal))
    plan = run.plan()
    return _run(run, plan) if run.begin(plan) else OK


def _run(run: "TestRun", plan: "Plan") -> int:
    """Run PLAN. The first server gets ready while we import the rest of what we need, which takes as long."""
    from mcp_conductor.transport.children import kill_unused, start_ahead

    try:
        if (server := plan.first_process) is not None:
            start_ahead(server.command, cwd=server.cwd, env=server.env)
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(run.once(plan))
    finally:
        kill_unused()
