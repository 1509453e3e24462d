"""stdio as it is: one message on each line of stdout, and nothing else there."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Literal

from mcp_conductor.checks.engine.check import judged, probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.timing import eventually
from mcp_conductor.errors import ConductorError, RequestTimeout
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.message import Message, compact, parse
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later
from mcp_conductor.transport import meanwhile

LONG_LINE = 2**20
SLOW_SECONDS = 0.2  # a call that takes longer can be cancelled on its way
IN_FLIGHT_SECONDS = 0.1  # what was on its way when a request was cancelled may still arrive
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


@probed("stdio-fragmented-input-server", alone=True)
async def lines_may_come_in_any_pieces(probe: Probe) -> AsyncIterator[Finding]:
    """Write two requests at once, and one of a mebibyte, which comes in many pieces: all are answered."""
    method = "ping" if probe.dialect.handshake else "server/discover"
    async with probe.odd_session() as other:
        two = [_request(other, method, identity) for identity in ("conductor-a", "conductor-b")]
        other.session.transport.send(parse("\n".join(two)))
        await other.ask(method)
        if not await eventually(lambda: _heard_both(other), other.patience, other.trail):
            yield fault("two requests that are written at once are not both answered", two)
    async with probe.odd_session() as other:
        if not await _answers_long_line(other, method):
            yield fault(f"a request of {LONG_LINE} bytes is not answered")


def _request(probe: Probe, method: str, identity: str) -> str:
    context = probe.dialect.context(probe.session.client, {})
    params = probe.dialect.stamp(None, context)
    return compact(compose(method, params, identity=identity))


def _heard_both(probe: Probe) -> bool:
    return {"conductor-a", "conductor-b"} <= {message.id for message in probe.record().heard}


async def _answers_long_line(probe: Probe, method: str) -> bool:
    try:
        await probe.ask(method, {"_meta": {"example.com/padding": "x" * LONG_LINE}}, seconds=probe.patience)
    except ConductorError:
        return False
    return True


@probed("stdio-cancel-silences-server", alone=True)
async def cancelled_requests_are_silent(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel a tool call that took some time before: neither an answer nor progress comes for it."""
    is_slow = next(
        (
            each
            for each in probe.record().exchanges
            if each.request.method == "tools/call" and each.seconds > SLOW_SECONDS
        ),
        None,
    )
    if is_slow is None or is_slow.reply is None:
        raise NotSeen("no tool that may be called takes long enough to be cancelled")
    token = "conductor-cancelled"
    params = {**is_slow.request.params, "_meta": {**is_slow.request.params.get("_meta", {}), "progressToken": token}}
    async with probe.new_session() as other:
        async with meanwhile(other.ask("tools/call", params, id=token)):
            await asyncio.sleep(SLOW_SECONDS / 4)
        # It is cancelled now, and the session has told the server so.
        # Once a later request is answered, the server has read the cancellation, however busy it was.
        try:
            await other.ask("server/discover")
        except RequestTimeout:
            raise NotSeen("the server does nothing else while the call runs") from None
        await asyncio.sleep(IN_FLIGHT_SECONDS)
        before = len(other.record().heard)
        await asyncio.sleep(min(is_slow.seconds * 1.5, probe.timeout))
        for message in other.record().heard[before:]:
            if message.id == token or (message.kind == "notification" and message.params.get("progressToken") == token):
                yield fault("a message is sent for a request that was cancelled", message.raw)
