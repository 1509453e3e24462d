"""`conductor check --transcript FILE`: did this server follow the specification in a recorded conversation?"""

import os
from io import TextIOWrapper

from mcp_conductor.checks.engine.judging import Verdicts, judge
from mcp_conductor.cli.check_run import CheckRun
from mcp_conductor.errors import UsageError
from mcp_conductor.files.reading import open_file
from mcp_conductor.protocol.transcript import Transcript

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
        try:
            with TextIOWrapper(open_file(os.path.join(self._terminal.directory, file)), encoding="utf-8") as lines:
                self._transcript = Transcript.from_jsonl(lines)
        except OSError as error:
            raise UsageError(f"cannot read {file}: {str(error.strerror).lower()}") from error
        except UnicodeDecodeError as error:
            raise UsageError(f"{file} is not a recording: it is not UTF-8") from error
        return file

    async def _versions(self) -> list[str]:
        return ["recorded"]

    async def _check(self, version: str) -> Verdicts:  # noqa: ARG002  # the recording says which
        return judge(self._transcript, self._options)
