"""Questions that the server asks as tasks of the client: it is given a task, looks at that, and gets the answer then.

The answer is known at once; so a task is `working` when it is made, as the specification wants it, and has ended when
the server looks at it.
"""

import time

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Answer
from mcp_conductor.protocol.dialect import INVALID_PARAMS, RELATED_TASK

# What can be asked as a task, and how the capability `tasks` names it.
OF_TASKS = {"sampling": "createMessage", "elicitation": "create"}
_MOST_TASKS = 1000  # that are remembered, the newest


class ClientTasks:
    """The tasks of one client, for questions of some KINDS."""

    def __init__(self, kinds: frozenset[str]) -> None:
        self.kinds = kinds
        self._made: dict[str, tuple[Json, Answer]] = {}

    def capability(self) -> Json:
        """What `tasks` declares."""
        return {"requests": {kind: {name: {}} for kind, name in OF_TASKS.items() if kind in self.kinds}}

    def make(self, answer: Answer, asked: Json) -> Answer:
        """A task for ANSWER, as it was ASKED for: its `ttl`."""
        import uuid  # which few runs of tests need

        now, identity = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), str(uuid.uuid4())
        times = {"createdAt": now, "lastUpdatedAt": now, "ttl": asked.get("ttl")}
        task = {"taskId": identity, "status": "working", **times}
        self._made[identity] = task, answer
        if len(self._made) > _MOST_TASKS:
            del self._made[next(iter(self._made))]
        return Answer(result={"task": task}, warning=answer.warning)

    def to(self, method: str, params: Json) -> Answer | None:
        """The answer to tasks/get and tasks/result; None to anything else."""
        if not self.kinds or method not in ("tasks/get", "tasks/result"):
            return None
        identity = params.get("taskId")
        task, answer = self._made.get(identity, (None, None)) if isinstance(identity, str) else (None, None)
        if task is None or answer is None:
            return Answer(error={"code": INVALID_PARAMS, "message": "this client has no such task"})
        if method == "tasks/get":
            return Answer(result={**task, "status": "completed" if answer.error is None else "failed"})
        if answer.error is not None:
            return Answer(error=answer.error)
        result = answer.result or {}
        meta = result.get("_meta")
        related = {**(meta if isinstance(meta, dict) else {}), RELATED_TASK: {"taskId": identity}}
        return Answer(result={**result, "_meta": related})
