"""Log messages of a server, and what is wrong with them."""

from collections.abc import Iterator

from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.shapes import need_opening
from mcp_conductor.protocol.dialect import LOG_LEVELS
from mcp_conductor.protocol.message import Message, render
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

# Only what is a credential beyond doubt.
_SECRETS = compiled_later(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{36}\b"
    r"|\bxox[abp]-[A-Za-z0-9-]{20,}"
    r"|\bBearer [A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
)
_MOST_SEARCHED = 100_000  # characters of a message; more take longer than what is found there is worth


def log_messages(record: Record) -> list[Message]:
    """All log messages; `NotSeen` where there are none."""
    found = list(record.notifications("notifications/message"))
    if not found:
        raise NotSeen("no log message came")
    return found


def undeclared_log_messages(record: Record) -> Iterator[Finding]:
    """Look for log messages of a server that does not declare logging."""
    found = log_messages(record)
    need_opening(record)
    if not record.declares("logging"):
        yield fault("log messages are sent, but logging is not declared", found[0].raw)


def misshapen_log_messages(record: Record) -> Iterator[Finding]:
    """Look at every log message: level is one of eight, data is there, logger is a string if it is given."""
    for message in log_messages(record):
        params = message.params
        if params.get("level") not in LOG_LEVELS:
            yield fault(f"{render(params.get('level'))} is not a log level", message.raw)
        if "data" not in params:
            yield fault("a log message has no data", message.raw)
        if "logger" in params and not isinstance(params["logger"], str):
            yield fault("logger is not a string", message.raw)


def secrets_in_log_messages(record: Record) -> Iterator[Finding]:
    """Look for private keys and well-known kinds of tokens in log messages."""
    for message in log_messages(record):
        if _SECRETS.search(message.text, 0, _MOST_SEARCHED):
            yield fault("a log message has a credential in it", message.raw)
