"""What a task looks like, in the revisions and extensions that have tasks."""

from typing import Any

from mcp_conductor.checks.engine.shapes import is_integer
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import TASKS_EXTENSION

STATUSES = ("working", "input_required", "completed", "failed", "cancelled")
TERMINAL = STATUSES[2:]
SHORTEST_ID = 8  # anything shorter can be guessed
UNKNOWN_TASK = "conductor-no-such-task"
FOLLOWING = ("tasks/get", "tasks/update", "tasks/cancel")  # the methods of the extension


def task_flaw(task: Any, ttl: str = "ttl") -> str | None:
    """What is wrong with the members of a task; TTL is what the revision calls its time to live."""
    if not isinstance(task, dict):
        return "is not an object"
    if not isinstance(task.get("taskId"), str) or not task["taskId"]:
        return "has no taskId"
    if task.get("status") not in STATUSES:
        return "has no status that there is"
    for name in ("createdAt", "lastUpdatedAt"):
        if not is_date(task.get(name)):
            return f"has no {name} that is a date and time of ISO 8601"
    if ttl not in task or not (task[ttl] is None or is_integer(task[ttl])):
        return f"has no {ttl} that is an integer or null"
    return None


def extension_flaw(task: Json) -> str | None:
    """What is wrong with the members that all tasks of the extension have."""
    flaw = task_flaw(task, ttl="ttlMs")
    if flaw is not None:
        return flaw
    if "pollIntervalMs" in task and not is_integer(task["pollIntervalMs"]):
        return "has a pollIntervalMs that is not an integer"
    return None


def declares_extension(capabilities: Json) -> bool:
    """Whether a server has tasks as an extension."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and TASKS_EXTENSION in extensions


def is_date(value: Any) -> bool:
    """Whether this is a date and time of ISO 8601."""
    from datetime import datetime  # which a run of tests does not need otherwise

    try:
        return bool(datetime.fromisoformat(value))
    except (ValueError, TypeError):
        return False
