"""`conductor check --transcript FILE`: did this server follow the specification in a recorded conversation?"""

import os

from mcp_conductor.checks.engine.judging import Verdicts, judge
from mcp_conductor.cli.check_run import CheckRun
from mcp_conductor.cli.chosen_session import chosen_session
from mcp_conductor.errors import UsageError
from mcp_conductor.recording.reader import read_recording

_NOT_FOR_RECORDINGS = (
    "--client", "--config", "--server", "--transport", "--header", "--token", "--cacert", "--insecure", "--env",
    "--cwd", "--protocol", "--call-tools", "--trigger", "--timeout",
)  # fmt: skip


class RecordingCheckRun(CheckRun):
    """One command line of `conductor check --transcript`."""

    def _aim(self) -> str:
        given, file = self._given, self._given.need("--transcript")
        if given.words:
            raise UsageError(f"both a recording and a server ({given.words[0]!r}) are given")
        for flag in _NOT_FOR_RECORDINGS:
            if flag in given:
                raise UsageError(f"{flag} has no meaning with --transcript: nothing is sent")
        recording = read_recording(os.path.join(self._terminal.directory, file), shown=file)
        if recording.warning is not None:
            self._terminal.say(f"warning: {recording.warning}")
        self._transcript = recording.transcript(
            chosen_session(recording, given, self._terminal, does="judges", done="judged")
        )
        return file

    async def _versions(self) -> list[str]:
        return ["recorded"]

    async def _check(self, version: str) -> Verdicts:  # noqa: ARG002  # the recording says which
        return judge(self._transcript, self._options)
