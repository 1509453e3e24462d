"""The modern era, as it is heard: that a server asks nothing, and that streams over HTTP are not buffered."""

from collections.abc import Iterator, Mapping

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.report.model import Finding


@judged("httpm-no-server-requests", "stdio-no-server-requests")
def servers_ask_nothing(record: Record) -> Iterator[Finding]:
    """Look at every message of the server: none is a request."""
    for question in record.questions():
        yield fault("the server sends a request", question.raw)


@judged("httpm-accel-buffering")
def streams_are_not_buffered(record: Record) -> Iterator[Finding]:
    """Look at the head of every event stream: it says X-Accel-Buffering: no."""
    streams = [head for head in _heads(record) if head.get("content-type", "").lower().startswith("text/event-stream")]
    if not streams:
        raise NotSeen("no request was answered with a stream")
    without = [head for head in streams if head.get("x-accel-buffering", "").lower() != "no"]
    if without:
        yield fault("an event stream does not say X-Accel-Buffering: no", without[0])


def _heads(record: Record) -> Iterator[Mapping[str, str]]:
    """The headers of the answers, by lower-case names."""
    for frame in record.frames:
        first, *lines = frame.text.split("\n")
        if frame.source == "http" and first.startswith("HTTP "):
            fields = (line.partition(": ") for line in lines)
            yield {name.lower(): value for name, _, value in fields}
