"""A suite for a server, written as `conductor discover` was asked to."""

from mcp_conductor.cli.commands.discover.suite_output import output_file, personal_values, write_found
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import read_secrets, secrets_of_flags
from mcp_conductor.cli.flags.target import load_plugins, target
from mcp_conductor.cli.flags.values import time
from mcp_conductor.cli.output.live import telling
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.cli.process.interruptible import run_interruptibly
from mcp_conductor.suites.authoring.discover import Wishes, discover
from mcp_conductor.suites.authoring.suite_text import suite_text
from mcp_conductor.suites.running.job import DEFAULT_SECONDS


def run(given: Given, terminal: Terminal) -> int:
    """Run `conductor discover`: the exit code."""
    given = read_secrets(given, terminal)
    if "--from" in given:
        from mcp_conductor.cli.commands.discover.from_recording import write_recorded_suite

        return write_recorded_suite(given, terminal)
    load_plugins(given, terminal)
    return run_interruptibly(_write_suite(given, terminal))


async def _write_suite(given: Given, terminal: Terminal) -> int:
    """Ask the server what it offers, and write the suite: the exit code."""
    terminal.learn(secrets_of_flags(given))
    output = output_file(given, terminal)
    spec = target(given, terminal, program="conductor discover")
    wishes = Wishes(
        record="--record-expectations" in given,
        writes="--include-writes" in given,
        arguments=tuple(given.pairs("--arg")),
        timeout=time(given, "--timeout") or DEFAULT_SECONDS,
        personal=personal_values(terminal, spec),
        redactor=terminal.redactor,
    )
    async with telling(terminal) as tell:
        found = await discover(spec, wishes, tell)
    write_found(found, suite_text(found, protocol=given.one("--protocol")), output, terminal)
    return 0
