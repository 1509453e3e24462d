"""`conductor test --watch`: the same run again, after each change."""

import asyncio

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.cli.test_run import TestRun
from mcp_conductor.errors import UsageError
from mcp_conductor.plugins import forget, loaded_files

_WATCH_SECONDS = 0.3


async def watch(run: TestRun, given: Given, terminal: Terminal) -> int:
    """Run again whenever a test file, a plugin, or a file that the server is started from, changes."""
    plugins: set[str] = set()
    while True:
        try:
            if plugins.difference(loaded_files()):
                run = TestRun(given, terminal)  # it loads them
            plan = run.plan()
            if run.begin(plan):
                await run.once(plan)
        except UsageError as error:
            terminal.say_error(error)
        plugins.update(loaded_files())
        seen = run.stamps(plugins)
        terminal.say("waiting for a change; Ctrl-C ends")
        while (now := run.stamps(plugins)) == seen:  # noqa: ASYNC110  # there is no event for this in the standard library
            await asyncio.sleep(_WATCH_SECONDS)
        for file in plugins:
            if now.get(file) != seen.get(file):
                forget(file)
