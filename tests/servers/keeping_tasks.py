"""A server that has tasks to be looked at."""

from raw import hello, serve

TASK = {
    "taskId": "t-1",
    "status": "completed",
    "createdAt": "2026-01-01T00:00:00Z",
    "lastUpdatedAt": "2026-01-01T00:00:01Z",
    "ttl": None,
}
hello(tasks={"list": {}, "cancel": {}})
serve(
    {
        "tasks/list": {"tasks": [TASK]},
        "tasks/get": lambda params: {**TASK, "taskId": params["taskId"]},
        "tasks/result": {"content": [{"type": "text", "text": "42"}]},
        "tasks/cancel": lambda params: {**TASK, "taskId": params["taskId"], "status": "cancelled"},
    }
)
