"""Tasks of 2025-11-25: a request that asks for one gets a receipt; the result is fetched later."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import field
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import Record
from mcp_conductor.checks.engine.replies import code_of
from mcp_conductor.checks.engine.shapes import is_notification
from mcp_conductor.checks.engine.task_shapes import TERMINAL, UNKNOWN_TASK, guessable_ids, task_flaw
from mcp_conductor.checks.engine.tool_calls import calls
from mcp_conductor.client.session import Session
from mcp_conductor.errors import RequestTimeout, UsageError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, RELATED_TASK
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding
from mcp_conductor.values import dataclass

CALL = "tasks.requests.tools.call"
MOST_LIVES = 6
AFTERWARDS_SECONDS = 0.3  # how long a task that has ended is watched


@dataclass(slots=True)
class TaskLife:
    """One task, from the request that made it to some time after its end."""

    tool: Json
    created: Message
    states: list[Json] = field(default_factory=list)  # what tasks/get said, in order
    result: Message | None = None  # what answered tasks/result
    after: list[Json] = field(default_factory=list)  # what tasks/get said after that

    @property
    def task(self) -> Json | None:
        result = self.created.result if self.created.kind == "result" else None
        task = result.get("task") if isinstance(result, dict) else None
        return task if isinstance(task, dict) else None


_lives: "WeakKeyDictionary[Session, list[TaskLife]]" = WeakKeyDictionary()


def _support(tool: Json) -> str:
    execution = tool.get("execution")
    return str(execution.get("taskSupport", "forbidden")) if isinstance(execution, dict) else "forbidden"


def _tools(probe: Probe, *support: str) -> list[Json]:
    """The params of calls that may be made, of tools with this support of tasks; without `task`."""
    named = {tool.get("name") for tool in probe.found.tools if _support(tool) in support}
    found = [params for params, _ in calls(probe) if params.get("name") in named]
    if not found:
        raise NotSeen(f"no tool whose taskSupport is {' or '.join(support)} may be called")
    return [{key: value for key, value in params.items() if key != "task"} for params in found]


async def _create(probe: Probe, params: Json) -> Message:
    token = f"task-{params.get('name')}"
    return await probe.ask("tools/call", {**params, "task": {"ttl": 60_000}, "_meta": {"progressToken": token}})


async def _task_lives(probe: Probe) -> list[TaskLife]:
    """The lives of some tasks; lived once for each session."""
    if not probe.declares(CALL):
        raise NotSeen(f"the server does not declare {CALL}")
    if probe.session not in _lives:
        tools = _tools(probe, "required", "optional")[:MOST_LIVES]
        _lives[probe.session] = [await _live(probe, each) for each in tools]
    return _lives[probe.session]


async def _tasks(probe: Probe) -> list[TaskLife]:
    found = [
        life for life in await _task_lives(probe) if life.task is not None and isinstance(life.task.get("taskId"), str)
    ]
    if not found:
        raise NotSeen("no task was made")
    return found


async def _live(probe: Probe, params: Json) -> TaskLife:
    life = TaskLife(params, await _create(probe, params))
    if life.task is None:
        return life
    named = {"taskId": life.task.get("taskId")}
    life.states += [await probe.result("tasks/get", named) or {}]
    try:
        life.result = await probe.ask("tasks/result", named)
    except RequestTimeout:
        return life
    life.after += [await probe.result("tasks/get", named) or {}]
    await asyncio.sleep(AFTERWARDS_SECONDS)
    life.after += [await probe.result("tasks/get", named) or {}]
    return life


@probed("taskc-capability-server")
async def what_tasks_can_do_is_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Send tasks/list to a server that does not declare it: it is not served."""
    if probe.declares("tasks.list"):
        return
    result = await probe.served("tasks/list")
    if result is None or "tasks" not in result:
        raise NotSeen("the server has no list of tasks")
    yield fault("tasks/list is served, but tasks.list is not declared", result)


@probed("taskc-undeclared-ignored-server", needs="tools")
async def tasks_that_are_not_offered_are_ignored(probe: Probe) -> AsyncIterator[Finding]:
    """Ask a server without tasks for a task: the tool is called as without it."""
    if probe.declares(CALL):
        raise NotSeen(f"the server declares {CALL}")
    for params, usual in calls(probe):
        if usual.reply is not None and usual.reply.kind == "result" and "task" not in params:
            try:
                reply = await probe.ask("tools/call", {**params, "task": {"ttl": 60_000}})
            except UsageError as error:
                raise NotSeen(error.message) from error  # it asks what we cannot answer
            if reply.kind != "result" or not isinstance(reply.result, dict) or "task" in reply.result:
                yield fault(f"tool {params['name']!r} does not ignore the task member of the call", reply.raw)
            return
    raise NotSeen("no tool may be called (--call-tools names those that do more than read)")


@probed("taskc-create-result")
async def tasks_are_answered_with_a_receipt(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools that can run as tasks with `task`: the result is a task, not what the tool gives."""
    for life in await _task_lives(probe):
        if life.created.kind == "result" and life.task is None:
            yield fault(f"tool {life.tool['name']!r}: a call as a task is not answered with a task", life.created.raw)


@probed("taskc-task-fields")
async def tasks_are_whole(probe: Probe) -> AsyncIterator[Finding]:
    """Look at tasks in all messages: taskId, status, createdAt, lastUpdatedAt, and ttl, which may be null."""
    for life in await _tasks(probe):
        for task in (life.task, *life.states, *life.after):
            problem = task_flaw(task)
            if problem is not None:
                yield fault(f"a task {problem}", task)
                break


@probed("taskc-initial-working")
async def tasks_begin_as_working(probe: Probe) -> AsyncIterator[Finding]:
    """Look at new tasks: their status is working."""
    for life in await _tasks(probe):
        if life.task is not None and life.task.get("status") != "working":
            yield fault("the status of a new task is not working", life.created.raw)


@probed("taskc-transitions")
async def ended_tasks_stay_ended(probe: Probe) -> AsyncIterator[Finding]:
    """Look at tasks until some time after their end: once they have ended, their status does not change."""
    for life in await _tasks(probe):
        for earlier, later in pairwise(task for task in (life.task, *life.states, *life.after) if task):
            before, now = earlier.get("status"), later.get("status")
            if before in TERMINAL and now != before:
                yield fault(f"a task that was {before} is {now} later", later, beside=[earlier])


@probed("taskc-id-unique-random")
async def ids_of_tasks_cannot_be_guessed(probe: Probe) -> AsyncIterator[Finding]:
    """Make some tasks: their ids are all different, and long enough not to be guessed."""
    lives = await _tasks(probe)
    lives = [*lives, TaskLife(lives[0].tool, await _create(probe, lives[0].tool))]
    for finding in guessable_ids([life.task for life in lives if life.task is not None]):
        yield finding


@probed("taskc-required-tool")
async def tools_that_must_be_tasks_are_not_called_plainly(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool that must be a task without `task`: the error has the code -32601 (or -32600)."""
    if not probe.declares(CALL):
        raise NotSeen(f"the server does not declare {CALL}")
    for params in _tools(probe, "required"):
        reply = await probe.ask("tools/call", params)
        if code_of(reply) not in (METHOD_NOT_FOUND, INVALID_REQUEST):
            yield fault(
                f"tool {params['name']!r}: a call without a task is not answered with {METHOD_NOT_FOUND}", reply.raw
            )


@probed("taskc-forbidden-tool")
async def tools_that_cannot_be_tasks_are_not_made_some(probe: Probe) -> AsyncIterator[Finding]:
    """Call a tool that cannot be a task with `task`: the error has the code -32601."""
    if not probe.declares(CALL):
        raise NotSeen(f"the server does not declare {CALL}")
    params = _tools(probe, "forbidden")[0]
    reply = await _create(probe, params)
    if code_of(reply) != METHOD_NOT_FOUND:
        yield fault(
            f"tool {params['name']!r}: a call as a task, which it forbids, is not answered with {METHOD_NOT_FOUND}",
            reply.raw,
        )


@probed("taskc-get")
async def tasks_can_be_looked_at(probe: Probe) -> AsyncIterator[Finding]:
    """Look at a task that was just made: it has its id, its status and its ttl."""
    for life in await _tasks(probe):
        state, made = life.states[0], life.task or {}
        if state.get("taskId") != made.get("taskId") or "status" not in state or "ttl" not in state:
            yield fault("tasks/get does not return the task that was just made", state)


@probed("taskc-result-blocks")
async def results_wait_for_the_end(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for the result of a task at once: it comes when the task has ended, and is what the tool gives."""
    for life in await _tasks(probe):
        if life.result is None:
            continue
        if life.after and life.after[0].get("status") not in TERMINAL:
            told = "tasks/result is answered before the task has ended"
            yield fault(told, life.result.raw, beside=[life.after[0]])
        elif life.result.kind == "result" and "content" not in _object(life.result.result):
            yield fault("tasks/result does not return the result of the tool", life.result.raw)


@probed("taskc-result-related-meta")
async def results_name_their_task(probe: Probe) -> AsyncIterator[Finding]:
    """Look at the results of tasks: their _meta names the task."""
    for life in await _tasks(probe):
        if life.result is not None and life.result.kind == "result":
            meta = _object(_object(life.result.result).get("_meta"))
            if _object(meta.get(RELATED_TASK)).get("taskId") != (life.task or {}).get("taskId"):
                yield fault(f"the result of a task does not name it in _meta as {RELATED_TASK}", life.result.raw)


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


@probed("taskc-related-meta-messages")
async def questions_name_their_task(probe: Probe) -> AsyncIterator[Finding]:
    """Look at questions that come while nothing but tasks is being worked on: their _meta names the task."""
    await _tasks(probe)
    questions = [message for message in _during_tasks(probe.record()) if message.method != "ping"]
    if not questions:
        raise NotSeen("no task asked anything")
    for message in questions:
        related = _object(_object(message.params.get("_meta")).get(RELATED_TASK))
        if not isinstance(related.get("taskId"), str):
            yield fault(f"{message.method} does not name its task in _meta as {RELATED_TASK}", message.raw)


def _during_tasks(record: Record) -> Iterator[Message]:
    """Requests of the server while the only requests of the client that are open are for results of tasks."""
    open_requests: dict[Any, str] = {}
    for frame in record.frames:
        for message in frame.messages():
            if frame.source == "client" and message.kind == "request":
                open_requests[message.id] = message.method
            elif frame.source == "server" and message.kind in ("result", "error"):
                open_requests.pop(message.id, None)
            elif (
                frame.source == "server" and message.kind == "request" and {*open_requests.values()} == {"tasks/result"}
            ):
                yield message


@probed("taskc-iserror-failed")
async def failed_tools_are_failed_tasks(probe: Probe) -> AsyncIterator[Finding]:
    """Look at tasks whose result is an error of the tool: their status is failed."""
    seen = False
    for life in await _tasks(probe):
        result = life.result.result if life.result is not None and life.result.kind == "result" else None
        if _object(result).get("isError") is True and life.after:
            seen = True
            if life.after[0].get("status") != "failed":
                yield fault("the tool of a task failed, but the status of the task is not failed", life.after[0])
    if not seen:
        raise NotSeen("no tool failed as a task")


@probed("taskc-list", needs="tasks.list")
async def tasks_are_listed(probe: Probe) -> AsyncIterator[Finding]:
    """Make a task, and list all: it is among them."""
    life = (await _tasks(probe))[-1]
    wanted = (life.task or {}).get("taskId")
    listed = _object(await probe.session.everything("tasks/list")).get("tasks")
    if not isinstance(listed, list):
        yield fault("tasks/list has no array tasks", listed)
    elif await probe.result("tasks/get", {"taskId": wanted}) is None:
        raise NotSeen("the task is gone already")
    elif not any(_object(task).get("taskId") == wanted for task in listed):
        yield fault(f"task {wanted!r} exists, but is not in tasks/list", listed)


@probed("taskc-cancel", needs="tasks.cancel")
async def tasks_can_be_cancelled(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel a task that was just made: the answer is the task with the status cancelled, and so it stays."""
    for life in await _tasks(probe):
        task = _object(_object(await _receipt(probe, life.tool)).get("task"))
        reply = await probe.ask("tasks/cancel", {"taskId": task.get("taskId")})
        if code_of(reply) == INVALID_PARAMS:
            continue  # it has ended in the meantime
        if reply.kind != "result" or _object(reply.result).get("status") != "cancelled":
            yield fault("tasks/cancel is not answered with the status cancelled", reply.raw)
            return
        await asyncio.sleep(AFTERWARDS_SECONDS)
        later = await probe.ask("tasks/get", {"taskId": task.get("taskId")})
        if later.kind == "result" and _object(later.result).get("status") != "cancelled":
            yield fault("a cancelled task does not stay cancelled", later.raw)
        return
    raise NotSeen("no task takes long enough to be cancelled")


async def _receipt(probe: Probe, tool: Json) -> Any:
    reply = await _create(probe, tool)
    return reply.result if reply.kind == "result" else None


@probed("taskc-cancel-terminal", needs="tasks.cancel")
async def ended_tasks_cannot_be_cancelled(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel a task that has ended: the error has the code -32602."""
    ended = [life for life in await _tasks(probe) if life.after and life.after[-1].get("status") in TERMINAL]
    if not ended:
        raise NotSeen("no task has ended")
    reply = await probe.ask("tasks/cancel", {"taskId": (ended[0].task or {}).get("taskId")})
    if code_of(reply) != INVALID_PARAMS:
        yield fault(f"a task that has ended is cancelled without the error {INVALID_PARAMS}", reply.raw)


@probed("taskc-unknown-id", needs="tasks")
async def unknown_tasks_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Ask for a task that does not exist: the error has the code -32602."""
    methods = ["tasks/get", "tasks/result", *(["tasks/cancel"] if probe.declares("tasks.cancel") else [])]
    for method in methods:
        reply = await probe.ask(method, {"taskId": UNKNOWN_TASK})
        if code_of(reply) != INVALID_PARAMS:
            yield fault(f"{method} of an unknown task is not answered with {INVALID_PARAMS}", reply.raw)


@probed("taskc-invalid-cursor", needs="tasks.list")
async def unknown_cursors_of_tasks_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """List tasks with a cursor that the server never gave: the error has the code -32602."""
    reply = await probe.ask("tasks/list", {"cursor": "conductor-no-such-cursor"})
    if code_of(reply) != INVALID_PARAMS:
        yield fault(f"tasks/list does not answer an unknown cursor with {INVALID_PARAMS}", reply.raw)


@probed("progress-task-lifetime")
async def progress_ends_with_the_task(probe: Probe) -> AsyncIterator[Finding]:
    """Make tasks with a progress token: no progress comes for it after the task was seen to have ended."""
    for life in await _tasks(probe):
        if not life.after:
            continue
        ended = False
        token, named = f"task-{life.tool.get('name')}", (life.task or {}).get("taskId")
        for message in probe.record().heard:
            if message.kind == "result" and _object(message.result).get("taskId") == named:
                ended = ended or _object(message.result).get("status") in TERMINAL
            elif (
                ended
                and is_notification(message, "notifications/progress")
                and message.params.get("progressToken") == token
            ):
                yield fault("progress is reported on a task that has ended", message.raw)
                break
