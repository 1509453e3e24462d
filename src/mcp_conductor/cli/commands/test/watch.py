"""`conductor test --watch`: the same run again, after each change; on a terminal, also when a key says so."""

import asyncio
import os
from collections.abc import Mapping
from contextlib import suppress

from mcp_conductor.cli.commands.test.test_run import TestRun
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.errors import UsageError
from mcp_conductor.plugins import forget, loaded_files
from mcp_conductor.posix import typed

_WATCH_SECONDS = 0.3
_MAX_NAMES = 3  # of files that changed
_RULE = 60  # columns of the line between two runs


async def watch(run: TestRun, given: Given, terminal: Terminal) -> int:
    """Run again whenever a test file, a plugin, or a file that the server is started from, changes."""
    plugins: set[str] = set()
    keys = _Keys(terminal)
    current = wanted = given
    code = 0
    while True:
        try:
            if plugins.difference(loaded_files()) or wanted is not current:
                run, current = TestRun(wanted, terminal), wanted  # it loads them
            plan = run.plan()
            if run.begin(plan):
                code = await run.once(plan)
        except UsageError as error:
            terminal.say_error(error)
            code = 2
        plugins.update(loaded_files())
        seen = run.stamps(plugins)
        terminal.say(f"waiting for a change; {keys.manual}Ctrl-C ends")
        while (now := run.stamps(plugins)) == seen and (key := keys.pressed()) is None:  # noqa: ASYNC110  # there is no event for a file that changes
            await asyncio.sleep(_WATCH_SECONDS)
        if now != seen:
            key, reason = "", _told_changes(seen, now, terminal.directory)
        elif key == "q":
            return code
        else:
            reason = "failed tests only" if key == "f" else "all tests"
        terminal.say(f"\n{f'--- {reason} ':-<{_RULE}}")
        for file in plugins:
            if now.get(file) != seen.get(file):
                forget(file)
        wanted = given.with_values({**given.values, "--lf": []}) if key == "f" else given


def _told_changes(before: Mapping[str, float], after: Mapping[str, float], directory: str) -> str:
    """Say which files changed between two looks at them."""
    changed = sorted(file for file in before.keys() | after.keys() if before.get(file) != after.get(file))
    names = [os.path.relpath(os.path.join(directory, file), directory) for file in changed[:_MAX_NAMES]]
    more = f" and {len(changed) - _MAX_NAMES} more" if len(changed) > _MAX_NAMES else ""
    return f"{', '.join(names)}{more} changed"


class _Keys:
    """What a person types meanwhile: a letter, and Enter. Without a terminal, or after its end, nothing is read."""

    def __init__(self, terminal: Terminal) -> None:
        self._stdin: int | None = None
        with suppress(OSError, ValueError):
            if terminal.stdin is not None and terminal.is_shown(on_stderr=True) and os.isatty(terminal.stdin.fileno()):
                self._stdin = terminal.stdin.fileno()

    @property
    def manual(self) -> str:
        return "" if self._stdin is None else "Enter runs all again, f Enter those that failed, q Enter or "

    def pressed(self) -> str | None:
        """Return the letter of a line that was typed, or "" for an empty line; None if there is none."""
        if self._stdin is None or (data := typed(self._stdin)) is None:
            return None
        if not data:
            self._stdin = None
            return None
        key = data.decode(errors="replace").split("\n")[0].strip().lower()
        return key if key in ("", "f", "q") else None
