"""Flags for how much of what a server says is taken in; see `protocol/budgets.py`."""

from mcp_conductor.cli.flags import Flag, Given
from mcp_conductor.cli.flags.values import count, size
from mcp_conductor.protocol.budgets import DEFAULT, Budgets

MESSAGE_LIMIT_FLAGS = (
    Flag(
        "--max-message-size", "the size of one message of the server: 64MB, 512kB, 1000 (bytes); default 64MiB", "SIZE"
    ),
    Flag("--max-message-values", "the number of JSON values in one message; default 1000000", "N"),
)
_NOTIFICATIONS = Flag(
    "--max-notifications-size", "the size of the notifications that one test sees; default 16MB", "SIZE"
)
LIMIT_FLAGS = (
    *MESSAGE_LIMIT_FLAGS,
    Flag("--max-transcript-size", "the size of the transcript that is kept of a conversation; default 256MB", "SIZE"),
    Flag("--max-stderr-size", "the part of the transcript for the server's stderr; default 8MB", "SIZE"),
)
# `mcp-cli` remembers only the end of a conversation.
ONE_SHOT_LIMIT_FLAGS = (
    *MESSAGE_LIMIT_FLAGS,
    _NOTIFICATIONS._replace(help="--follow: the size of the notifications that wait to be printed; default 16MB"),
)
TEST_LIMIT_FLAGS = (*LIMIT_FLAGS, _NOTIFICATIONS)


def budgets_of(given: Given) -> Budgets:
    """What the flags allow; for the rest, the defaults."""
    return Budgets(
        message_bytes=size(given, "--max-message-size", DEFAULT.message_bytes),
        message_values=count(given, "--max-message-values", DEFAULT.message_values),
        transcript_bytes=size(given, "--max-transcript-size", DEFAULT.transcript_bytes),
        stderr_bytes=size(given, "--max-stderr-size", DEFAULT.stderr_bytes),
        notification_bytes=size(given, "--max-notifications-size", DEFAULT.notification_bytes),
    )
