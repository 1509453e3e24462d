"""stdio as it is: one message on each line of stdout, and nothing else there."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Literal

from mcp_conductor.checks.engine.check import judged
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.message import Message, parse
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

_HEADER = compiled_later(r"content-(length|type)\s*:", re.IGNORECASE)
_MEMBERS = ("jsonrpc", "id", "method", "result", "error")
Spill = Literal["framing", "newline", "noise"]


@judged("stdio-streams-server")
def answers_come_on_stdout(record: Record) -> Iterator[Finding]:
    """Look for answers that were written to stderr instead of stdout."""
    lost = {exchange.request.id: exchange.request for exchange in record.exchanges if exchange.reply is None}
    for frame in record.frames:
        if frame.source == "stderr" and lost:
            message = parse(frame.text)
            if message.kind in ("result", "error") and message.id in lost:
                yield fault(f"the answer to {lost[message.id].method} is on stderr", frame.text)


@judged("stdio-stderr-logging-server")
def what_is_logged_is_text(record: Record) -> Iterator[Finding]:
    """Look at every line of stderr: it is UTF-8."""
    lines = [frame.text for frame in record.frames if frame.source == "stderr"]
    for text in lines:
        if "\ufffd" in text:  # what our transport puts in the place of other bytes; programs do not log it on purpose
            yield fault("a line on stderr is not UTF-8, or has U+FFFD in it", text)
    if not lines:
        raise NotSeen("nothing was written to stderr")


@judged("stdio-newline-framing-server")
def each_message_is_a_line(record: Record) -> Iterator[Finding]:
    """Look at every line of stdout: none is a Content-Length header, a part of a message, or several messages."""
    for spill, text in _stdout_spills(record):
        if spill == "framing":
            yield fault("a message is not exactly one line", text)


@judged("stdio-embedded-newlines-escaped-server")
def newlines_are_escaped(record: Record) -> Iterator[Finding]:
    """Look at messages with newlines in their texts: these are written as an escape, and the message stays one line."""
    found = [text for spill, text in _stdout_spills(record) if spill == "newline"]
    for text in found:
        yield fault("a text within a message has a newline that is not escaped", text)
    if not found and not any("\\n" in message.text for message in record.heard):
        raise NotSeen("no text with a newline was sent")


@judged("stdio-stdout-clean-server")
def stdout_is_for_messages(record: Record) -> Iterator[Finding]:
    """Look at every line of stdout: each is a message, not a banner, a print or a log line."""
    for spill, text in _stdout_spills(record):
        if spill == "noise":
            yield fault("a line of stdout is not a message", text)


def _stdout_spills(record: Record) -> list[tuple[Spill, str]]:
    """What is on stdout that is not a message, and what it is instead; lines that belong together are joined."""
    found: list[tuple[Spill, str]] = []
    run: list[str] = []
    for message in [*record.heard, None]:
        if message is not None and _unreadable(message):
            run.append(message.text)
            continue
        if run:
            found += _classify(run)
            run = []
        if message is not None and _no_message(message):
            found.append(("noise", message.text))
    return found


def _unreadable(message: Message) -> bool:
    return message.kind == "invalid" and message.raw is None and message.text.strip() != "null"


def _no_message(message: Message) -> bool:
    """JSON, but nothing like a message: a structured log line, or a single value."""
    raw = message.raw
    return message.kind == "invalid" and not (isinstance(raw, dict) and any(name in raw for name in _MEMBERS))


def _classify(lines: list[str]) -> Iterator[tuple[Spill, str]]:
    whole = "\n".join(lines)
    if len(lines) > 1 and _is_message(whole, strict=True):
        yield "framing", whole
    elif len(lines) > 1 and _is_message(whole, strict=False):
        yield "newline", whole
    else:
        for line in lines:
            yield "framing" if _HEADER.match(line) or _several(line) else "noise", line


def _is_message(text: str, *, strict: bool) -> bool:
    try:
        raw = json.loads(text, strict=strict)
    except (ValueError, RecursionError):
        return False
    return isinstance(raw, dict) and "jsonrpc" in raw


def _several(line: str) -> bool:
    """Whether a line begins with a whole message, and goes on."""
    with suppress(ValueError, RecursionError):
        raw, _ = json.JSONDecoder().raw_decode(line.lstrip())
        return isinstance(raw, dict) and "jsonrpc" in raw
    return False
