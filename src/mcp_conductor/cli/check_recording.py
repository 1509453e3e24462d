"""`conductor check --transcript FILE`: did this server follow the specification in a recorded conversation?"""

import os

from mcp_conductor.checks.engine.judging import Verdicts, judge
from mcp_conductor.cli.check_run import CheckRun
from mcp_conductor.cli.flag_values import number
from mcp_conductor.errors import UsageError
from mcp_conductor.recording.reader import Recording, read_recording

_NOT_FOR_RECORDINGS = (
    "--client", "--config", "--server", "--transport", "--header", "--token", "--cacert", "--insecure", "--env",
    "--cwd", "--protocol", "--call-tools", "--trigger", "--timeout",
)  # fmt: skip


_MOST_NAMED = 20  # sessions in a message


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
        self._transcript = recording.transcript(self._session(recording))
        return file

    def _session(self, recording: Recording) -> int | None:
        """The number of the conversation to judge: several at once would be judged as one that contradicts itself."""
        known, wanted = recording.sessions(), number(self._given, "--session", 1)
        if wanted is not None and wanted not in known:
            raise UsageError(f"the recording has no session {wanted}", hint=f"it has: {', '.join(map(str, known))}")
        if len(known) < 2:
            return None
        if wanted is None:
            self._terminal.say(
                f"note: the recording has {len(known)} sessions; session {known[0]} is judged\n"
                f"  hint: --session N judges another of {', '.join(map(str, known[:_MOST_NAMED]))}"
                + (" …" if len(known) > _MOST_NAMED else "")
            )
        return wanted or known[0]

    async def _versions(self) -> list[str]:
        return ["recorded"]

    async def _check(self, version: str) -> Verdicts:  # noqa: ARG002  # the recording says which
        return judge(self._transcript, self._options)
