"""What crosses the wire of a server of ours: shown on stderr (`--verbose`), and recorded (`--record`)."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Literal

from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.output.display import Display
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.protocol.budgets import DEFAULT
from mcp_conductor.protocol.transcript import Frame
from mcp_conductor.recording.http_sessions import HttpSessions
from mcp_conductor.recording.writer import RecordingWriter, open_recording
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.definitions import Observe, Observer
from mcp_conductor.server.server import Server
from mcp_conductor.text.visible import one_line

_KINDS = {"streamable-http": "http"}  # transports that recordings call otherwise


@contextmanager
def observing(server: Server, given: Given, terminal: Terminal, name: str) -> Iterator[None]:
    """Show and record what SERVER, called NAME, and its clients say, as the flags GIVEN want it."""
    with ExitStack() as stack:
        told: list[Callable[[], Observer]] = []
        if "--verbose" in given:
            shown = _Plain(_shown(given, terminal))
            told.append(lambda: shown)
        if (file := given.one("--record")) is not None:
            writer = stack.enter_context(closing(begin_recording(file, terminal, name, server.config.transport)))
            told.append(recorder(writer, server.config.transport))
        watch(server, told)
        yield


def begin_recording(file: str, terminal: Terminal, name: str, transport: TransportConfig) -> RecordingWriter:
    """Begin the recording of a server of ours, called NAME."""
    return open_recording(
        os.path.join(terminal.directory, file),
        terminal.redactor,
        shown=file,
        transport=_KINDS.get(transport.type, transport.type),
        server={"name": name},
        complain=lambda text: terminal.say(f"warning: {text}"),
    )


def recorder(writer: RecordingWriter, transport: TransportConfig) -> Callable[[], Observer]:
    """What makes an observer that records: one for stdio, one for each exchange of HTTP."""
    if transport.type == "stdio":
        session = writer.next_session()
        return lambda: _Plain(lambda source, text: writer.add(source, text, session=session))
    return HttpSessions(writer).exchange


def watch(server: Server, told: list[Callable[[], Observer]]) -> None:
    """Tell observers that TOLD make what crosses the wire of SERVER."""
    if server.config.transport.type == "stdio":
        server.observe = _Together([make() for make in told]).observe
    else:
        server.observe_exchange = lambda: _Together([make() for make in told])


class _Plain:
    """An observer to which it does not matter which conversation something belongs to."""

    def __init__(self, observe: Observe) -> None:
        self.observe = observe

    def join(self, name: str) -> None: ...


class _Together:
    """Several observers as one."""

    def __init__(self, observers: list[Observer]) -> None:
        self._observers = observers

    def observe(self, source: Literal["client", "server", "http"], text: str) -> None:
        for each in self._observers:
            each.observe(source, text)

    def join(self, name: str) -> None:
        for each in self._observers:
            each.join(name)


def _shown(given: Given, terminal: Terminal) -> Observe:
    unrecorded = given.with_values({name: texts for name, texts in given.values.items() if name != "--record"})
    display = Display(unrecorded, DEFAULT, terminal, _on_one_line)
    began = time.monotonic()
    return lambda source, text: display.transcript.add(time.monotonic() - began, source, text)


def _on_one_line(frame: Frame) -> str:
    """Of the head of a request or an answer its first line; a message that was written over several lines, in one."""
    return one_line(frame.text.partition("\n")[0] if frame.source == "http" else frame.text)
