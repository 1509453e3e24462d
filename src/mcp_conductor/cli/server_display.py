"""What crosses the wire of `conductor serve`: shown on stderr (`--verbose`), and recorded (`--record`)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_conductor.cli.display import Display
from mcp_conductor.cli.flags import Given
from mcp_conductor.cli.terminal import Terminal
from mcp_conductor.protocol.budgets import DEFAULT
from mcp_conductor.protocol.transcript import Frame, Source
from mcp_conductor.server.server import Server
from mcp_conductor.text.visible import one_line


@contextmanager
def observing(server: Server, given: Given, terminal: Terminal) -> Iterator[None]:
    """Show and record what SERVER and its clients say, as the flags GIVEN want it."""
    display = Display(given, DEFAULT, terminal, _on_one_line)
    began = time.monotonic()

    def observe(source: Source, text: str) -> None:
        display.transcript.add(time.monotonic() - began, source, text)

    server.observe = observe
    try:
        yield
    finally:
        display.close()


def _on_one_line(frame: Frame) -> str:
    """Of the head of a request or an answer its first line; a message that was written over several lines, in one."""
    return one_line(frame.text.partition("\n")[0] if frame.source == "http" else frame.text)
