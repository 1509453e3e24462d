"""`conductor test`, once or again after each change."""

from mcp_conductor.cli.commands.test.flags import in_our_words
from mcp_conductor.cli.commands.test.test_run import TestRun
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import read_secrets
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.suites.running.plan import Plan


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor test`: the exit code."""
    given = read_secrets(in_our_words(given), terminal)
    tests = TestRun(given, terminal)
    if "--watch" in given:
        from mcp_conductor.cli.commands.test.watch import watch
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(watch(tests, given, terminal))
    plan = tests.plan()
    return _run(tests, plan) if tests.begin(plan) else OK


def _run(tests: TestRun, plan: Plan) -> int:
    """Run PLAN. The first server gets ready while we import the rest of what we need, which takes as long."""
    from mcp_conductor.transport.children import kill_unused, start_ahead

    try:
        if (server := plan.first_process) is not None:
            start_ahead(server.command, cwd=server.cwd, env=server.env)
        from mcp_conductor.cli.process.interruptible import run_interruptibly

        return run_interruptibly(tests.once(plan))
    finally:
        kill_unused()
