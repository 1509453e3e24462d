"""What MCP says, as pure values and functions: no I/O, no clock, no event loop."""

from typing import Any

Json = dict[str, Any]
Id = str | int | float
