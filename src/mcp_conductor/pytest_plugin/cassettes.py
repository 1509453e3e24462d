"""Recordings that stand for servers in tests: made once, and played from then on."""

import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial, reduce
from typing import Any, Literal, get_args

import pytest

from mcp_conductor.errors import ConductorError, UsageError
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.pytest_plugin.servers import server_in_root
from mcp_conductor.pytest_plugin.texts import error_text
from mcp_conductor.recording.continuing import GrowingRecording, continue_recording
from mcp_conductor.recording.format import server_of
from mcp_conductor.recording.reader import Recording, read_recording
from mcp_conductor.recording.writer import open_recording
from mcp_conductor.replaying.extending_server import ExtendingServer
from mcp_conductor.replaying.matching import Pool
from mcp_conductor.replaying.recorded_calls import calls_of_sessions
from mcp_conductor.replaying.replay_server import ReplayServer
from mcp_conductor.replaying.replay_spec import IN_PROCESS, ReplaySpec
from mcp_conductor.replaying.request_keys import Forget
from mcp_conductor.text.redaction import Redactor, secrets_by_name
from mcp_conductor.text.visible import visible

Record = Literal["once", "new", "none"]
_MOST_SHOWN = 5  # requests that were not in a recording


class Cassettes:
    """The recordings of one test."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._config = request.config
        self._folder = os.path.dirname(request.path)
        self._servers: list[tuple[str, ReplayServer]] = []
        self._growing: dict[str, GrowingRecording] = {}  # by path
        self._drafts: dict[str, str] = {}  # of files that this test has begun, by path
        self.redactor = Redactor()

    def open(self, file: str, server: Any = None, *, record: Record = "once", ignore: Sequence[str] = ()) -> ReplaySpec:
        """The recording FILE as a server, for `connect()`; SERVER is asked for what is to be recorded."""
        __tracebackhide__ = True
        try:
            return self._open(str(file), server, record, ignore)
        except ConductorError as error:
            raise pytest.fail.Exception(error_text(error), pytrace=False) from None

    def _open(self, file: str, server: Any, record: Record, ignore: Sequence[str]) -> ReplaySpec:
        if record not in get_args(Record):
            raise UsageError(f"record is one of {', '.join(get_args(Record))}, not {record!r}")
        path = os.path.join(self._folder, file)
        place = self._drafts.get(path, path)
        recording = read_recording(place, shown=file) if os.path.exists(place) else None
        if recording is None and record == "none":
            raise UsageError(f"there is no recording {file}", hint='record="once" makes it')
        pool = Pool(calls_of_sessions(() if recording is None else recording.entries), _forget(ignore))
        if recording is not None and record != "new":
            return ReplaySpec(file=file, make=partial(self._made, file, partial(ReplayServer, pool, IN_PROCESS)))
        if server is None:
            why = "it is not there" if recording is None else "it is to grow"
            raise UsageError(f"the recording {file} needs a server: {why}", hint=f'cassette("{file}", server=COMMAND)')
        spec, _ = server_in_root(self._config, server, {})
        growing = self._grow(path, file, spec, recording)
        make = partial(ExtendingServer, pool, IN_PROCESS, spec=spec, recording=growing, redactor=self.redactor)
        return ReplaySpec(file=file, make=partial(self._made, file, make))

    def _grow(self, path: str, file: str, spec: ServerSpec, recording: Recording | None) -> GrowingRecording:
        self.redactor.learn([*spec.secrets(), *secrets_by_name(os.environ)])

        def opened() -> Any:
            if recording is not None:
                return continue_recording(path, recording, self.redactor, shown=file)
            folder, name = os.path.split(path)
            os.makedirs(folder, exist_ok=True)
            draft = self._drafts[path] = os.path.join(folder, f".{name}.{os.getpid()}.part")
            return open_recording(draft, self.redactor, shown=file, transport=spec.kind, server=server_of(spec))

        return self._growing.setdefault(path, GrowingRecording(opened))

    def _made(self, file: str, make: Any) -> ReplayServer:
        server: ReplayServer = make()
        self._servers.append((file, server))
        return server

    # What has become of them.

    def misses(self) -> str | None:
        """What the test asked that was not in the recordings; None if there was nothing."""
        missed = [(file, why) for file, server in self._servers for why in server.misses]
        if not missed:
            return None
        count = sum(server.missed for _, server in self._servers)
        files = sorted({file for file, _ in missed})
        lines = [f"{count} {'request was' if count == 1 else 'requests were'} not in {', '.join(files)}"]
        lines += [f"  {why}" for _, why in missed[:_MOST_SHOWN]]
        lines.append('  hint: record="new" asks the server; without the file, record="once" makes it again')
        return visible(self.redactor.redact("\n".join(lines)))

    def discard_new(self) -> None:
        """Remove the recordings that this test has begun: it failed, so that they may not be whole."""
        for draft in self._drafts.values():
            with suppress(FileNotFoundError):
                os.unlink(draft)
        self._drafts.clear()

    def close(self) -> None:
        """End all recordings. A new one gets its name only now: a test that runs beside this one sees it whole."""
        for growing in self._growing.values():
            growing.close()
        if any(self._growing[path].broken for path in self._drafts):
            names = ", ".join(map(os.path.basename, self._drafts))
            self.discard_new()
            raise pytest.fail.Exception(f"cannot write all of {names}: is the disk full?", pytrace=False)
        for path, draft in self._drafts.items():
            if not os.path.exists(path):  # else another test was first
                os.rename(draft, path)
        self.discard_new()


def _forget(ignore: Sequence[str]) -> Forget | None:
    """What leaves out of a request what IGNORE names."""
    if not ignore:
        return None
    from mcp_conductor.suites.verifying.verification import read_ignored

    paths = read_ignored([ignore] if isinstance(ignore, str) else ignore)
    return lambda request: reduce(lambda said, path: path.without(said), paths, request)
