"""A recording, read and served, as `conductor replay` was asked to."""

import asyncio
import os
from collections.abc import Callable
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from mcp_conductor.cli.commands.replay.flags import OF_UPSTREAM
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.flags.secrets import read_secrets
from mcp_conductor.cli.flags.sessions import known_session
from mcp_conductor.cli.flags.shared import served_transport, serving_flags
from mcp_conductor.cli.flags.values import number
from mcp_conductor.cli.output.terminal import Terminal, hold_standard_streams
from mcp_conductor.cli.process.interruptible import run_interruptibly, serve_until_cancelled
from mcp_conductor.errors import UsageError
from mcp_conductor.recording.reader import read_recording
from mcp_conductor.replaying.matching import Pool
from mcp_conductor.replaying.playing import PROGRESS_LEAD
from mcp_conductor.replaying.recorded_calls import calls_of_sessions
from mcp_conductor.replaying.replay_server import ReplayServer
from mcp_conductor.replaying.request_keys import Forget
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.text.redaction import secrets_by_name

if TYPE_CHECKING:
    from mcp_conductor.recording.continuing import GrowingRecording
    from mcp_conductor.recording.writer import RecordingWriter


def run(given: Given, terminal: Terminal) -> int:
    """Serve until we are told to stop: the exit code."""
    given = read_secrets(given, terminal)
    if not given.words:
        raise UsageError("no recording is given", hint="conductor replay FILE")
    file, words = given.words[0], (*given.words[1:], *given.after)
    transport, asks = served_transport(given, 0), given.one("--miss") == "upstream"
    if not asks:
        _refuse_server(given, words)
    replay = Replay(file, given, terminal, real_time=given.one("--timing") == "real")
    if asks:
        about_clients = {flag.name for flag in serving_flags("")}
        values = {name: texts for name, texts in given.values.items() if name not in about_clients}
        replay.ask_upstream(Given(words, values, (), given.program))
    hold_standard_streams()
    return run_interruptibly(replay.serve(transport))


def _refuse_server(given: Given, words: tuple[str, ...]) -> None:
    """Without --miss upstream, no server is asked."""
    if words:
        hint = "with --miss upstream, words after FILE are the server that is asked"
        raise UsageError(f"conductor replay takes one recording, and {words[0]!r} is one word more", hint=hint)
    given.refuse(OF_UPSTREAM, "is about a server to ask", hint="add --miss upstream")


class Replay:
    """One command line of `conductor replay`."""

    def __init__(self, file: str, given: Given, terminal: Terminal, *, real_time: bool) -> None:
        self._file = file
        self._terminal = terminal
        self._path = os.path.join(terminal.directory, os.path.expanduser(file))
        self._recording = read_recording(self._path, shown=file)
        self._pool = self._read_pool(given)
        self._options: dict[str, Any] = {"real_time": real_time, "lead": PROGRESS_LEAD, "complain": terminal.say}
        self._make: Callable[..., ReplayServer] = ReplayServer
        self._grown: GrowingRecording | None = None

    def _read_pool(self, given: Given) -> Pool:
        """All that there is to play; what a person should know of it is told."""
        if self._recording.warning is not None:
            self._terminal.say(f"warning: {self._recording.warning}")
        session = known_session(self._recording, number(given, "--session", 1))
        pool = Pool(calls_of_sessions(self._recording.entries, session), _forget(given))
        if pool.redacted_answers:
            answers = f"{pool.redacted_answers} answers" if pool.redacted_answers > 1 else "1 answer"
            self._terminal.say(
                f"warning: {answers} in {self._file} had secrets, and will say [redacted] in their place"
            )
        return pool

    def ask_upstream(self, given: Given) -> None:
        """Ask the server that is GIVEN for what is not in the recording."""
        from mcp_conductor.cli.flags.target import target
        from mcp_conductor.recording.continuing import GrowingRecording, continue_recording, lost_recording
        from mcp_conductor.replaying.extending_server import ExtendingServer

        terminal = self._terminal
        spec = target(given, terminal, program="conductor replay FILE --miss upstream")
        terminal.learn(secrets_by_name(terminal.environ))
        if not os.access(self._path, os.W_OK):
            raise UsageError(f"cannot write {self._file}, to which answers of the server are to be added")

        def begin() -> "RecordingWriter":
            try:
                return continue_recording(
                    self._path,
                    self._recording,
                    terminal.redactor,
                    shown=self._file,
                    complain=lambda text: terminal.say(f"warning: {text}"),
                )
            except UsageError as error:
                terminal.say(f"warning: {error.message}; answers of the server are not added")
                return lost_recording(terminal.redactor)

        self._grown = GrowingRecording(begin, self._path)
        self._make = partial(ExtendingServer, spec=spec, recording=self._grown, redactor=terminal.redactor)

    async def serve(self, transport: TransportConfig) -> int:
        """Serve until we are told to stop, or stdin ends: the exit code."""
        if not self._pool.answers and self._grown is None:
            raise UsageError(f"{self._file} has no request with an answer, so that there is nothing to play")
        server = self._make(self._pool, transport, **self._options)
        try:
            return await serve_until_cancelled(lambda stop: self._host(server, transport, stop))
        finally:
            await server.close()
            if self._grown is not None:
                self._close(self._grown, server)
            self._tell(server)

    def _close(self, grown: "GrowingRecording", server: ReplayServer) -> None:
        """End the recording that has GROWN, and find out whether it is still there."""
        grown.close()
        if grown.gone:
            self._terminal.say(f"warning: {self._file} was removed or replaced while it was played")
            server.added, server.not_added = 0, server.added + server.not_added

    def _tell(self, server: ReplayServer) -> None:
        """Say what was not in the recording, in a line each."""
        for count, what in (
            (server.added, f"answered by the server, and added to {self._file}"),
            (server.not_added, f"answered by the server, but could not be added to {self._file}"),
            (server.missed, "not in the recording"),
        ):
            if count:
                self._terminal.say(f"{'1 request was' if count == 1 else f'{count} requests were'} {what}")

    async def _host(self, server: ReplayServer, transport: TransportConfig, stop: asyncio.Event) -> int:
        if transport.type == "stdio":
            from mcp_conductor.server.stdio_host import serve_stdio

            return await serve_stdio(server, stop, self._terminal.say)
        from mcp_conductor.server.http.serving import serve_http

        tell = self._terminal.announce
        return await serve_http(server, transport, stop, lambda url: tell(f"Replaying {self._file} at {url}", url))


def _forget(given: Given) -> Forget | None:
    """What leaves out of a request what --ignore names."""
    if "--ignore" not in given:
        return None
    from mcp_conductor.suites.verifying.verification import read_ignored

    paths = read_ignored(given.all("--ignore"))
    return lambda request: reduce(lambda said, path: path.without(said), paths, request)
