"""What `--events` and `--script` tell of a conversation: one JSON object per event, each with its kind as `event`.

`--follow` has another form, that of the original design (`follow.py`).
"""

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Incoming

PROGRESS, LOG, UPDATE, NOTIFICATION, REQUEST, RESULT, ERROR = KINDS = (
    "progress",
    "log",
    "update",
    "notification",
    "request",
    "result",
    "error",
)
_OF_METHODS = {
    "notifications/progress": PROGRESS,
    "notifications/message": LOG,
    "notifications/resources/updated": UPDATE,
}


def event_of(incoming: Incoming) -> Json:
    """What the server said as an event: a notification, or its question with our answer."""
    message = incoming.message
    said = {"method": message.method, "params": message.raw.get("params", {})}
    if incoming.answer is None:
        return {"event": _OF_METHODS.get(message.method, NOTIFICATION), **said}
    return {"event": REQUEST, **said, **incoming.answer.members}
