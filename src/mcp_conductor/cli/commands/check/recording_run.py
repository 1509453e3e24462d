"""`conductor check --transcript FILE`: did both sides follow the specification in a recorded conversation?"""

import os
from dataclasses import replace

from mcp_conductor.checks.engine.judging import Verdicts, judge
from mcp_conductor.checks.harness.recorded_client import judge_client
from mcp_conductor.cli.commands.check.server_run import CheckRun
from mcp_conductor.cli.flags.sessions import chosen_session
from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import no_collecting
from mcp_conductor.protocol.transcript import Transcript
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
        given.refuse(_NOT_FOR_RECORDINGS, "has no meaning with --transcript: nothing is sent")
        with no_collecting():
            return self._read(file)

    def _read(self, file: str) -> str:
        given = self._given
        recording = read_recording(os.path.join(self._terminal.directory, file), shown=file)
        if recording.warning is not None:
            self._terminal.say(f"warning: {recording.warning}")
        self._side = given.one("--side")
        session = chosen_session(recording, given, self._terminal, does="judges", done="judged")
        self._entries = [entry for entry in recording.entries if session in (None, entry.session)]
        self._transcript = Transcript.read(entry.frame for entry in self._entries)
        return file

    async def _versions(self) -> list[str]:
        return ["recorded"]

    async def _check(self, version: str) -> Verdicts:  # noqa: ARG002  # the recording says which
        found: list[Verdicts] = []
        if self._side != "client":
            server = judge(self._transcript, self._options)
            found.append(replace(server, outcomes=[replace(each, side="server") for each in server.outcomes]))
        if self._side != "server":
            client = judge_client(self._entries, self._options, transcript=self._transcript)
            outcomes = [replace(each, side="client") for each in client.outcomes]
            found.append(replace(client, server={}, client=client.server, outcomes=outcomes))
        first, *rest = found
        for each in rest:
            first = replace(first, client=each.client, outcomes=[*first.outcomes, *each.outcomes])
        return first
