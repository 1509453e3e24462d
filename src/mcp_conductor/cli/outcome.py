"""What came of a method that `mcp-cli` carried out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp_conductor.protocol import Json

# Told how a task is while it is waited for.
NoteStatus = Callable[[Json], None]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What to print; whether the server says that it failed; and what we have to complain of."""

    result: Any
    failed: bool = False
    complaint: str | None = None
