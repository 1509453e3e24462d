"""`--run-as-task` and `--poll`, in both task models.

In 2025-11-25 the client asks for a task (`params.task`), looks with tasks/get and fetches with tasks/result. In
2026-07-28 the server decides, and tasks/get brings the result, or questions that are answered with tasks/update.
"""

import asyncio
from typing import Any

from mcp_conductor.cli.commands.mcp_cli.method_result import MethodResult, NoteStatus
from mcp_conductor.cli.commands.mcp_cli.methods import is_tool_error
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan
from mcp_conductor.client.session import Session
from mcp_conductor.errors import MethodError
from mcp_conductor.protocol import Json

TERMINAL = ("completed", "failed", "cancelled")
DEFAULT_INTERVAL = 1.0
SHORTEST_INTERVAL = 0.01


async def result_of_task(session: Session, params: Json, plan: CallPlan, note_status: NoteStatus) -> MethodResult:
    """Call the tool as a task, wait for it, and give its result as if it had been called without one."""
    outcome = await run_as_task(session, params, plan, note_status, poll=True)
    told = outcome.result
    if not isinstance(told, dict) or "taskId" not in told:
        return outcome
    if "error" in told:
        raise MethodError("tools/call", told["error"])
    return MethodResult(told["result"], outcome.failed) if "result" in told else outcome


async def run_as_task(
    session: Session, params: Json, plan: CallPlan, note_status: NoteStatus, *, poll: bool
) -> MethodResult:
    """Call the tool as a task; POLL waits until it has ended."""
    core = session.dialect.tasks == "core"
    if session.dialect.tasks is None:
        session.note(f"{session.dialect.version} has no tasks; the call asks for one anyway")
    if session.dialect.tasks == "extension":
        if plan.task_ttl is not None:
            version = session.dialect.version
            session.note(f"the tasks of {version} live as long as the server decides; --task-ttl is not sent")
        answer = await session.request("tools/call", params)
        task = answer if isinstance(answer, dict) and answer.get("resultType") == "task" else None
    else:
        ttl = {} if plan.task_ttl is None else {"ttl": round(plan.task_ttl * 1000)}
        answer = await session.request("tools/call", {**params, "task": ttl})
        task = answer.get("task") if isinstance(answer, dict) else None
    if not isinstance(task, dict) or not isinstance(task.get("taskId"), str):
        session.note("the server did not create a task for the call")
        return MethodResult(answer, failed=is_tool_error(answer))
    if not poll:
        return MethodResult(task)
    waiting = _TaskWait(session, plan, note_status)
    return await (waiting.core(task) if core else waiting.extension(task))


class _TaskWait:
    """Waiting for one task."""

    def __init__(self, session: Session, plan: CallPlan, note_status: NoteStatus) -> None:
        self._session = session
        self._interval = plan.poll_interval
        self._note_status = note_status

    async def core(self, task: Json) -> MethodResult:
        """2025-11-25: tasks/result waits for the end, and is where the server asks for input meanwhile."""
        wanted = {"taskId": task["taskId"]}
        while task.get("status") not in (*TERMINAL, "input_required"):
            task = await self._look(task, "pollInterval")
        if task.get("status") == "cancelled":
            return _task_outcome(task, failed=True)
        try:
            result = await self._session.request("tasks/result", wanted)
        except MethodError as error:
            return _task_outcome(await self._final(task), failed=True, error=error.error)
        task = await self._final(task)
        failed = task.get("status") != "completed" or is_tool_error(result)
        return _task_outcome(task, failed=failed, result=result)

    async def _final(self, task: Json) -> Json:
        if task.get("status") in TERMINAL:
            return task
        found = await self._session.request("tasks/get", {"taskId": task["taskId"]})
        return found if isinstance(found, dict) else task

    async def extension(self, task: Json) -> MethodResult:
        """2026-07-28: everything comes with tasks/get."""
        answered: set[str] = set()
        while task.get("status") not in TERMINAL:
            questions = task.get("inputRequests")
            fresh = (
                {key: asked for key, asked in questions.items() if key not in answered}
                if isinstance(questions, dict)
                else {}
            )
            if fresh:
                answered |= set(fresh)
                responses = await self._session.input_responses(fresh)
                await self._session.request("tasks/update", {"taskId": task["taskId"], "inputResponses": responses})
            task = await self._look(task, "pollIntervalMs")
        members = {key: task[key] for key in ("result", "error") if key in task}
        return _task_outcome(task, failed=task["status"] != "completed" or is_tool_error(task.get("result")), **members)

    async def _look(self, task: Json, interval_member: str) -> Json:
        self._note_status(_brief(task))
        await asyncio.sleep(self._interval or _poll_seconds(task.get(interval_member)))
        found = await self._session.request("tasks/get", {"taskId": task["taskId"]})
        # A task without its id is still the task that we asked for.
        return {"taskId": task["taskId"], **found} if isinstance(found, dict) else task


def _poll_seconds(milliseconds: Any) -> float:
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)):
        return DEFAULT_INTERVAL
    return max(SHORTEST_INTERVAL, milliseconds / 1000)


def _brief(task: Json) -> Json:
    return {key: task[key] for key in ("taskId", "status", "statusMessage") if key in task}


def _task_outcome(task: Json, *, failed: bool, **members: Any) -> MethodResult:
    return MethodResult({**_brief(task), **members}, failed=failed)
