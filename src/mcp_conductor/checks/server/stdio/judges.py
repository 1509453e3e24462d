"""stdio as it is: one message on each line of stdout, and nothing else there."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal

from mcp_conductor.checks.engine.check import judged, judged_everywhere
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.protocol.message import Message, is_cut_off, parse
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

_HEADER = compiled_later(r"content-(length|type)\s*:", re.IGNORECASE)
_MEMBERS = ("jsonrpc", "id", "method", "result", "error")
_MOST_TRIES = 1000  # lines from which a message is tried to be read; each may take as long as all of the text
Spill = Literal["framing", "newline", "noise"]


@judged("stdio-streams-server")
def answers_come_on_stdout(record: Record) -> Iterator[Finding]:
    """Look for answers that were written to stderr instead of stdout."""
    lost = {exchange.request.id: exchange.request for exchange in record.exchanges if exchange.reply is None}
    for frame in record.frames:
        if frame.source == "stderr" and lost:
            message = parse(frame.text)
            if message.kind in ("result", "error") and message.id in lost:
                request = lost[message.id]
                yield fault(f"the answer to {request.method} is on stderr", frame.text, beside=[request.raw])


@judged("stdio-stderr-logging-server")
def what_is_logged_is_text(record: Record) -> Iterator[Finding]:
    """Look at every line of stderr: it is UTF-8."""
    lines = [frame.text for frame in record.frames if frame.source == "stderr"]
    for text in lines:
        if "\ufffd" in text:  # what our transport puts in the place of other bytes; programs do not log it on purpose
            yield fault("a line on stderr is not UTF-8, or has U+FFFD in it", text)
    if not lines:
        raise NotSeen("nothing was written to stderr")


@judged_everywhere("stdio-newline-framing-server")
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


@judged_everywhere("stdio-stdout-clean-server")
@judged("stdio-stdout-clean-server")
def stdout_is_for_messages(record: Record) -> Iterator[Finding]:
    """Look at every line of stdout: each is a message, not a banner, a print or a log line."""
    for spill, text in _stdout_spills(record):
        if spill == "noise":
            yield fault("a line of stdout is not a message", text)


def _stdout_spills(record: Record) -> list[tuple[Spill, str]]:
    """What is on stdout that is not a message, and what it is instead; lines that belong together are joined."""
    found: list[tuple[Spill, str]] = []
    run: list[Message] = []
    for _, source, message in record.transcript.decoded():
        if source != "server" or is_cut_off(message.text):
            continue
        if _is_line(message.raw):
            found += _classify(run)
            run = []
        else:
            run.append(message)
    return [*found, *_classify(run)]


def _is_line(raw: Any) -> bool:
    """Whether a line is a message or a batch by itself, right or wrong, and no part of one."""
    return "jsonrpc" in raw if isinstance(raw, dict) else isinstance(raw, list) and any(map(_is_line, raw))


def _classify(run: list[Message]) -> Iterator[tuple[Spill, str]]:
    """What RUN is, lines that are no messages: messages of several lines each, or noise."""
    lines = [message.text for message in run]
    text = "\n".join(lines)
    start = place = tries = 0  # where line number PLACE begins
    while place < len(lines):
        length, strict = _length_of_message(text, start) if tries < _MOST_TRIES else (0, True)
        tries += not length and lines[place].lstrip()[:1] == "{"
        whole = text[start : start + length]
        more = whole.count("\n")
        if more:
            yield "framing" if strict else "newline", whole
        else:
            yield from _alone(run[place])
        start += sum(len(line) + 1 for line in lines[place : place + more + 1])
        place += more + 1


def _alone(message: Message) -> Iterator[tuple[Spill, str]]:
    """What a line is that belongs to no other; of an object with members of a message, other checks tell."""
    raw = message.raw
    if raw is None and (_HEADER.match(message.text) or _length_of_message(message.text, 0)[0]):
        yield "framing", message.text
    elif not (isinstance(raw, dict) and any(name in raw for name in _MEMBERS)) and raw != []:
        yield "noise", message.text


def _length_of_message(text: str, start: int) -> tuple[int, bool]:
    """How many characters from START on are a message, which may go on over lines; and whether it is strict JSON."""
    begin = start
    while text[begin : begin + 1].isspace():
        begin += 1
    for strict in (True, False) if text[begin : begin + 1] == "{" else ():
        with suppress(ValueError, RecursionError):
            raw, end = json.JSONDecoder(strict=strict).raw_decode(text, begin)
            if isinstance(raw, dict) and "jsonrpc" in raw:
                return end - start, strict
    return 0, True
