"""What a check says: findings with their evidence, or that there was nothing to look at."""

from collections.abc import Iterable
from typing import Any

from mcp_conductor.errors import TransportError
from mcp_conductor.report.model import NOTHING, Finding


class NotSeen(Exception):  # noqa: N818  # an event, not an error
    """There was nothing to look at: the reason why a check is skipped."""


SERVER_ERROR = 500  # statuses from here on tell that the server failed, and are no answer to a proper request


class NoAnswer(TransportError):  # noqa: N818  # what happened, not what kind of class it is
    """What came over HTTP to a request was no answer; the server may answer others."""

    def __init__(self, method: str, error: TransportError) -> None:
        super().__init__(error.message, hint=error.hint)
        self.method = method


class FailedCheck(Finding):
    """A check of a plugin failed: the server is not to blame."""

    __slots__ = ()


def fault(
    message: str,
    actual: Any = NOTHING,
    *,
    path: str | None = None,
    hint: str | None = None,
    beside: Iterable[Any] = (),
) -> Finding:
    """A finding with its evidence: a message, or a part of one; and what BESIDE it is needed to see the fault."""
    return Finding(message=message, actual=actual, path=path, hint=hint, beside=tuple(beside))
