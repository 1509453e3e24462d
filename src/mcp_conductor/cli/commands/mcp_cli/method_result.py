"""What came of a method that `mcp-cli` carried out."""

from collections.abc import Callable
from typing import Any, NamedTuple

from mcp_conductor.protocol import Json

# Told how a task is while it is waited for.
NoteStatus = Callable[[Json], None]


class MethodResult(NamedTuple):
    """What to print, whether the server reports a failure, and our own complaint."""

    result: Any
    failed: bool = False
    complaint: str | None = None
