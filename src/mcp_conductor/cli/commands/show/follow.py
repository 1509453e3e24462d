"""`conductor show --follow`: the frames of a recording while it is written.

A recording has no mark at its end, since its writer may be killed: it is followed until a signal comes, or until the
reader of stdout is gone.
"""

import asyncio
import os

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.cli.commands.show.lines import ShownLines, told
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.event_queue import alongside, reader_gone
from mcp_conductor.cli.output.terminal import ReaderGone, Terminal
from mcp_conductor.cli.process.exit_codes import OK
from mcp_conductor.recording.format import Header
from mcp_conductor.recording.selection import Selection, Wanted
from mcp_conductor.recording.tail import Began, RecordingTail

_LOOK_SECONDS = 0.1


async def follow(given: Given, wanted: Wanted, terminal: Terminal) -> int:
    """Show what is in the recording, and what comes: the exit code."""
    following = _Following(given, wanted, terminal)
    try:
        await alongside(following.run(), reader_gone(terminal))
    except ReaderGone:  # `| head`
        return OK
    finally:
        following.close()
    return OK


class _Following:
    def __init__(self, given: Given, wanted: Wanted, terminal: Terminal) -> None:
        self._given = given
        self._wanted = wanted
        self._terminal = terminal
        self._file = given.words[0]
        self._tail = RecordingTail(os.path.join(terminal.directory, self._file), self._file)
        self.close = self._tail.close
        self._begin()

    def _begin(self) -> None:
        self._selection = Selection(self._wanted, bounded=True)
        self._lines = ShownLines(self._terminal, as_json="--json" in self._given)
        self._session: int | None = None  # the first that was seen

    async def run(self) -> None:
        try:
            await self._show_as_it_comes()
        except asyncio.CancelledError:
            self._tell_what_was_left_out()
            raise

    async def _show_as_it_comes(self) -> None:
        pace = Pace()
        await self._show(pace)
        if not self._tail.is_there:
            self._terminal.say(f"waiting for {self._file}, which is not there yet")
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self._show(pace)

    async def _show(self, pace: Pace) -> None:
        for found in self._tail.read():
            if isinstance(found, Began):
                if found.again:
                    self._tell_what_was_left_out()
                    self._terminal.say(f"note: {self._file} was replaced; another recording begins")
                self._begin()
            elif isinstance(found, Header):
                self._lines.begin(found)
            else:
                self._session = self._session or found.session
                self._lines.several = self._lines.several or found.session != self._session
                for line in self._selection.take(found):
                    self._lines.put(line.entry)
            await pace.keep()

    def _tell_what_was_left_out(self) -> None:
        left_out = told(self._given, self._selection.shown, self._selection.seen)
        if left_out is not None:
            self._terminal.say(left_out)
