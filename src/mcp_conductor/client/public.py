"""`connect` as users of the library see it: its signature has no keyword that only our own modules give.

It is apart because `inspect` takes longer to import than a call of `mcp-cli` has time for.
"""

from inspect import signature

from mcp_conductor.client.connect import connect

__all__ = ["connect"]

_INTERNAL = ("authorize", "lenient", "needs_version", "probe_seconds", "on_reopened", "on_request")
_whole = signature(connect)
connect.__dict__["__signature__"] = _whole.replace(
    parameters=[each for name, each in _whole.parameters.items() if name not in _INTERNAL]
)
