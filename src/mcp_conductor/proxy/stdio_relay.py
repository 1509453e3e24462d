"""A server on stdio with a relay before it: every byte passes, and it ends as the server does.

What one side does not read is not read from the other, as if there were no relay. When a side closes a stream, it is
closed on the other side too. Signals go to the server; how the server ends is how we end. What came is passed on first,
and recorded then: in one thread, so that the order is that in which it came.

A stream may do more than pass on (`faulty_stream`): hold something back until its time has come, or end everything.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from signal import SIGTERM
from subprocess import PIPE, Popen
from time import monotonic, sleep
from typing import IO

from mcp_conductor import posix
from mcp_conductor.errors import UsageError
from mcp_conductor.protocol.server_spec import StdioSpec
from mcp_conductor.protocol.transcript import Source
from mcp_conductor.proxy.recorder import StreamRecorder
from mcp_conductor.recording.format import CLIENT_LEFT
from mcp_conductor.recording.writer import RecordingWriter

_CHUNK = 1 << 16  # what a pipe holds
_DRAIN_SECONDS = 0.5  # in which the last output of a server that has exited arrives
_UNREAD_SECONDS = 10.0  # for a client to read the last output, if no signal ends us
_LOOK_SECONDS = 0.05  # at a server whose end the system does not tell
_REST_SECONDS = 1.0  # for what the server has started to end by itself
_LEAVE_SECONDS = 2.0  # for a server to end when it is left alone; then as long again after SIGTERM
_KILL_SECONDS = 5.0  # for the system to end it


def start(spec: StdioSpec, environ: Mapping[str, str]) -> "Popen[bytes]":
    """Start the server of SPEC. Signals for our group do not reach it, and it does not outlive us."""
    if not posix.CAN_WATCH:
        raise UsageError("a server on stdio can be recorded on POSIX systems only")
    apart = {**posix.group_of_its_own(), **posix.killed_with_us()}
    env = {**environ, **spec.env}
    try:
        return Popen(spec.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, bufsize=0, cwd=spec.cwd, env=env, **apart)
    except (OSError, ValueError) as error:
        from mcp_conductor.transport.start_hints import start_error

        raise start_error(spec, error) from error


def relay(
    server: "Popen[bytes]",
    writer: RecordingWriter,
    passing: "Callable[[int, int, RecordingWriter, Source], Stream] | None" = None,
    is_interrupted: Callable[[], bool] = lambda: False,
) -> int:
    """Pass everything on until SERVER has ended: its return code, as Popen has it, or that of a fault.

    PASSING makes the streams of messages. Once IS_INTERRUPTED, nothing is held back for later, and a client that does
    not read is not waited for.
    """
    assert server.stdin is not None
    assert server.stdout is not None
    assert server.stderr is not None
    writer.add("process", "started")
    passing = passing or Stream
    streams = [
        passing(0, _taken(server.stdin), writer, "client"),
        passing(_taken(server.stdout), 1, writer, "server"),
        Stream(_taken(server.stderr), 2, writer, "stderr"),
    ]
    code = _Relay(server, streams, is_interrupted).run()
    for each in streams:
        each.recorder.end()
    writer.add("process", "was killed" if server.returncode is None else posix.how_it_ended(server.returncode))
    return code


def end_rest(leader: int) -> None:
    """End what a server that was ended by a signal leaves behind in its process group, as the server behind `npx`.

    A signal for our whole group would have reached it, if we did not stand between.
    """
    for number in (SIGTERM, posix.KILL):
        posix.signal_group(leader, number)
        until = monotonic() + _REST_SECONDS
        while posix.group_lives(leader) and monotonic() < until:
            sleep(_LOOK_SECONDS)


class Stream:
    """What comes from one descriptor, and goes to another; at most one piece of it waits to be written."""

    is_faulty = False  # whether it does more than pass on
    exit_code: int | None = None  # everything is to end with it
    reads = True  # whether more is to be read, once all is written

    def __init__(self, source: int, sink: int, writer: RecordingWriter, name: Source) -> None:
        self.source = source
        self.sink = sink
        self.recorder = StreamRecorder(writer, name)
        self.rest = memoryview(b"")  # what is not written yet
        self.since = monotonic()  # when anything last moved
        self.name = name
        self._writer = writer
        self._room = posix.Watch()
        self._room.add(sink, write=True)

    def read(self) -> bool:
        """Pass on what there is; False at the end."""
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:  # another process reads from it, too
            return True
        except OSError:
            data = b""
        return self.take(data) if data else self.end()

    def take(self, data: bytes) -> bool:
        """Pass DATA on; False if it is not read any more."""
        at, self.rest = self._writer.now(), memoryview(data)
        goes_on = self.write()
        self.recorder.take(at, data)
        return goes_on

    def end(self) -> bool:
        """Nothing more comes; False if the other side is to know at once."""
        if self.name == "client":
            self._writer.add("process", CLIENT_LEFT)
        return False

    def due(self) -> float | None:
        """When the next of what is held back is to be written, by the monotonic clock."""
        return None

    def wake(self) -> bool:
        """Write what is due, as `write` does."""
        return True

    def write(self) -> bool:
        """Write what can be written without waiting; False if it is not read any more."""
        try:
            # Not set to non-blocking: other processes may share what we were given. A pipe that is ready takes so much.
            while self.rest and self._room.ready(0):
                self.rest = self.rest[os.write(self.sink, self.rest[: posix.PIPE_BYTES]) :]
        except BlockingIOError:
            pass
        except OSError:
            return False
        self.since = monotonic()
        return True

    def close(self) -> None:
        """Let both sides know that it is over."""
        for descriptor in (self.sink, self.source):
            _give_up(descriptor)


class _Relay:
    """The loop that waits for all streams at once, and for the end of the server."""

    def __init__(self, server: "Popen[bytes]", streams: list[Stream], is_interrupted: Callable[[], bool]) -> None:
        self._server = server
        self._is_interrupted = is_interrupted
        self._by_descriptor: dict[int, Stream] = {}
        self._watch = posix.Watch()
        self._end = posix.descriptor_of(server.pid)
        if self._end is not None:
            self._watch.add(self._end, read=True)
        for stream in streams:
            self._by_descriptor |= {stream.source: stream, stream.sink: stream}
            self._listen(stream)
        self._faulty = [stream for stream in streams if stream.is_faulty]
        self._live = set(streams)

    def run(self) -> int:
        """Pass on until the server has ended, and all that it said has passed: its return code."""
        while (code := self._server.poll()) is None:
            self._step(None if self._end is not None else _LOOK_SECONDS)
            if (fatal := self._fatal()) is not None:
                self._end_server(at_once=fatal.name == "server")
                break
        ended = monotonic()
        if self._end is not None:
            self._watch.remove(self._end)
            os.close(self._end)
        while any(stream.sink in (1, 2) and not self._is_over(stream, ended) for stream in self._live):
            self._step(_LOOK_SECONDS)
        codes = [stream.exit_code for stream in self._faulty if stream.exit_code is not None]
        return codes[0] if codes else code or 0

    def _is_over(self, stream: Stream, ended: float) -> bool:
        """Whether nothing more is to be expected of STREAM, whose server has ended."""
        interrupted = self._is_interrupted()
        if stream.due() is None or interrupted:
            return _is_late(stream, _DRAIN_SECONDS if interrupted else _UNREAD_SECONDS)
        return monotonic() - ended > _UNREAD_SECONDS

    def _fatal(self) -> Stream | None:
        """The stream that ends everything, once all is written that is to be read before that."""
        for stream in self._faulty:
            is_read = stream.rest and stream in self._live and not _is_late(stream)
            if stream.exit_code is not None and not is_read:
                return stream
        return None

    def _end_server(self, *, at_once: bool) -> None:
        """End the server, and what it has started in its process group; the client sees that at once."""
        for stream in [each for each in self._live if each.sink != 2]:
            self._forget(stream)
        group = self._server.pid
        waits = {} if at_once else {posix.TERMINATE: _LEAVE_SECONDS, posix.KILL: _LEAVE_SECONDS}
        for number, seconds in waits.items():
            if not self._has_ended_in(seconds):
                posix.signal_group(group, number)
        posix.signal_group(group, posix.KILL)  # before its number may be that of another
        self._has_ended_in(_KILL_SECONDS)
        self._server.poll()

    def _has_ended_in(self, seconds: float) -> bool:
        until = monotonic() + seconds
        while not posix.has_ended(self._server.pid) and monotonic() < until:
            self._step(_LOOK_SECONDS)
        return posix.has_ended(self._server.pid)

    def _step(self, seconds: float | None) -> None:
        for descriptor, closed in self._watch.ready(self._until_due(seconds)):
            stream = self._by_descriptor.get(descriptor)
            if stream is None or stream not in self._live:
                continue
            if stream.rest:
                goes_on = stream.write()
            elif descriptor == stream.sink:
                goes_on = not closed
            else:
                goes_on = stream.read()
            self._go_on(stream, goes_on=goes_on)

    def _until_due(self, seconds: float | None) -> float | None:
        """Write what is due: how long to wait for anything else, SECONDS at most."""
        for stream in self._faulty:
            if stream.exit_code is not None:
                seconds = _LOOK_SECONDS
            elif stream in self._live and not stream.rest and (due := stream.due()) is not None:
                if (left := due - monotonic()) > 0:
                    seconds = left if seconds is None else min(seconds, left)
                else:
                    self._go_on(stream, goes_on=stream.wake())
                    seconds = 0.0
        return seconds

    def _go_on(self, stream: Stream, *, goes_on: bool) -> None:
        if goes_on:
            self._listen(stream)
        else:
            self._forget(stream)

    def _listen(self, stream: Stream) -> None:
        """Wait for what comes next of STREAM; that the other side does not read any more is always told."""
        self._watch.add(stream.sink, write=bool(stream.rest))
        if not stream.rest and stream.reads:
            self._watch.add(stream.source, read=True)
        else:  # that it was closed would be told again and again
            self._watch.remove(stream.source)

    def _forget(self, stream: Stream) -> None:
        self._live.discard(stream)
        for descriptor in (stream.source, stream.sink):
            self._watch.remove(descriptor)
        stream.close()


def _is_late(stream: Stream, unread_seconds: float = _UNREAD_SECONDS) -> bool:
    """Whether nothing more is to be expected: another process may hold the stream open, or the client not read."""
    return monotonic() - stream.since > (unread_seconds if stream.rest else _DRAIN_SECONDS)


def _taken(pipe: IO[bytes]) -> int:
    """The descriptor of PIPE, for us alone: Python complains of a file that is closed behind its back."""
    descriptor = os.dup(pipe.fileno())
    pipe.close()
    return descriptor


def _give_up(descriptor: int) -> None:
    """Close DESCRIPTOR. The place of a standard stream stays taken; stderr stays open, for what we have to say."""
    with suppress(OSError):
        if descriptor > 2:
            os.close(descriptor)
        elif descriptor < 2:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, descriptor)
            os.close(null)
