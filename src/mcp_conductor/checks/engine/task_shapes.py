"""What a task looks like, in the revisions and extensions that have tasks."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import fault
from mcp_conductor.checks.engine.shapes import is_integer
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import TASKS_EXTENSION
from mcp_conductor.report.model import Finding

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


def guessable_ids(tasks: list[Json]) -> Iterator[Finding]:
    """TASKS of which two have the same id, or some one that is short."""
    first: dict[str, Json] = {}
    for task in tasks:
        earlier = first.setdefault(str(task.get("taskId")), task)
        if earlier is not task:
            yield fault("two tasks have the same id", task, beside=[earlier])
            break
    if short := [task for name, task in first.items() if len(name) < SHORTEST_ID]:
        yield fault("the id of a task is easy to guess", short[0])


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
