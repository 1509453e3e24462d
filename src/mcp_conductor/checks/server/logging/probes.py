"""Log messages and progress, asked for: levels, and tokens."""

from collections.abc import AsyncIterator, Iterator, Sequence
from weakref import WeakKeyDictionary

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.exploration import progress_token_of
from mcp_conductor.checks.engine.findings import NoAnswer, NotSeen, fault
from mcp_conductor.checks.engine.log_messages import (
    log_messages,
    misshapen_log_messages,
    secrets_in_log_messages,
    undeclared_log_messages,
)
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.progress import needed_reports, reports
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import acknowledges, is_notification, is_number
from mcp_conductor.checks.engine.tool_calls import MOST_CALLS, callable_again, calls, carry_out
from mcp_conductor.client.session import Session
from mcp_conductor.errors import RequestTimeout
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, LOG_LEVELS, META
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding

# Sessions in which tools have been called with the level debug, and what was not answered then.
_loud: WeakKeyDictionary[Session, list[RequestTimeout | NoAnswer]] = WeakKeyDictionary()


# Logging.


async def _provoke(probe: Probe) -> Record:
    """All that was said so far; tools are called once with the level debug, to hear more log messages."""
    if probe.session not in _loud:
        missed = len(probe.trail.missed)
        meta = {} if probe.dialect.handshake else {"_meta": {f"{META}logLevel": "debug"}}
        for params, _ in calls(probe)[:MOST_CALLS]:
            await carry_out(probe, {**params, **meta})
        _loud[probe.session] = probe.trail.missed[missed:]
    else:
        probe.trail.missed += _loud[probe.session]
    return probe.record()


@probed("logging-capability-declared")
async def logging_is_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools: if log messages come, here or in any other session, the server declares logging."""
    for finding in undeclared_log_messages(await _provoke(probe)):
        yield finding


@probed("logging-message-shape", follows="base-notification-shape-server")
async def log_messages_have_level_and_data(probe: Probe) -> AsyncIterator[Finding]:
    """Look at every log message: level is one of eight, data is there, logger is a string if it is given."""
    for finding in misshapen_log_messages(await _provoke(probe)):
        yield finding


@probed("logging-no-secrets")
async def log_messages_have_no_secrets(probe: Probe) -> AsyncIterator[Finding]:
    """Look for private keys and well-known kinds of tokens in log messages."""
    for finding in secrets_in_log_messages(await _provoke(probe)):
        yield finding


@probed("logging-setlevel-accepted", needs="logging")
async def every_level_can_be_set(probe: Probe) -> AsyncIterator[Finding]:
    """Set each of the eight levels: none is refused."""
    for level in (*reversed(LOG_LEVELS), "debug"):
        reply = await probe.ask("logging/setLevel", {"level": level})
        if not acknowledges(probe, "logging/setLevel", reply):
            yield fault(f"logging/setLevel {level} is not answered with a result", reply.raw)


@probed("logging-invalid-level", needs="logging")
async def unknown_levels_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Set the level verbose, which does not exist: the error has the code -32602."""
    reply = await probe.ask("logging/setLevel", {"level": "verbose"})
    if reply.kind != "error" or not isinstance(reply.error, dict) or reply.error.get("code") != INVALID_PARAMS:
        yield fault(f"an unknown level is not answered with {INVALID_PARAMS}", reply.raw)


@probed("logging-level-respected", needs="logging", alone=True)
async def lower_levels_are_not_sent(probe: Probe) -> AsyncIterator[Finding]:
    """Set the level error and call tools: no message of a lower level comes."""
    wanted = callable_again(probe)
    if not any(True for _ in probe.record().notifications("notifications/message")):
        raise NotSeen("no log message came in the session that was explored")
    async with probe.new_session(answers=probe.session.answers) as other:
        reply = await other.ask("logging/setLevel", {"level": "error"})
        mark = len(other.record().heard)
        if reply.kind != "result":
            raise NotSeen("the level cannot be set")
        for params in wanted:
            await carry_out(other, params)
        for finding in _lower(other.record().heard[mark:], "error", set_by=[reply.raw]):
            yield finding


def _lower(heard: list[Message], than: str, set_by: Sequence[Json] = ()) -> Iterator[Finding]:
    """Log messages of a level below the one that was SET_BY other messages, or by the request."""
    for message in heard:
        if not is_notification(message, "notifications/message"):
            continue
        level = message.params.get("level")
        if level in LOG_LEVELS and LOG_LEVELS.index(level) < LOG_LEVELS.index(than):
            told = f"a message of level {level} is sent though only {than} and above was asked for"
            yield fault(told, message.raw, beside=set_by)


@probed("logging-modern-level")
async def the_level_of_a_request_is_kept(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools with the log level warning: no message of a lower level comes."""
    log_messages(await _provoke(probe))
    mark = len(probe.record().heard)
    for params in callable_again(probe):
        await carry_out(probe, {**params, "_meta": {f"{META}logLevel": "warning"}})
    for finding in _lower(probe.record().heard[mark:], "warning"):
        yield finding


@probed("logging-modern-invalid-level", needs="logging")
async def unknown_levels_of_requests_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Send a request with the log level verbose, which does not exist: the error has the code -32602."""
    reply = await probe.ask("server/discover", {"_meta": {f"{META}logLevel": "verbose"}})
    if reply.kind != "error" or not isinstance(reply.error, dict) or reply.error.get("code") != INVALID_PARAMS:
        yield fault(f"an unknown level is not answered with {INVALID_PARAMS}", reply.raw)


# Progress.


@probed("progress-notification-shape")
async def progress_has_its_token_and_ais_number(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools that report progress with the tokens 42 and "43": the same token is sent back, with a number."""
    record = probe.record()
    needed_reports(record)
    # A token that is in use must not be given again, and a task uses it for as long as it runs.
    talkative = {str(message.params.get("progressToken")) for message, state in reports(record) if state != "task"}
    for params in (each for each, _ in calls(probe) if progress_token_of(each) in talkative and "task" not in each):
        for token in (42, "43"):
            mark = len(probe.record().heard)
            await carry_out(probe, {**params, "_meta": {"progressToken": token}})
            for message in probe.record().heard[mark:]:
                given = (
                    message.params.get("progressToken") if is_notification(message, "notifications/progress") else token
                )
                if str(given) == str(token) and type(given) is not type(token):
                    yield fault(f"the progress token {token!r} is sent back as {given!r}", message.raw)
    for message, _ in needed_reports(probe.record()):
        if not is_number(message.params.get("progress")):
            yield fault("progress is not a number", message.raw)


@probed("progress-only-active")
async def progress_is_asked_for(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools without a token, and look at all progress: it has the token of a request that was made."""
    for params in callable_again(probe):
        await carry_out(probe, params)
    for message, state in reports(probe.record()):
        if state == "unknown":
            yield fault("progress is reported under a token that no request gave", message.raw)
