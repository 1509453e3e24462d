"""Requests that outlive their answer: the tasks of 2025-11-25, and the tasks extension of 2026-07-28.

They differ in who decides, in how they are written and in how a question reaches the client; how a task lives is the
same: working, perhaps input_required, then completed, failed or cancelled, and what has ended stays as it ended.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import INVALID_PARAMS, RELATED_TASK, TASKS_EXTENSION
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.server.client import ASK_SECONDS, Client, Send, missing_capability
from mcp_conductor.server.definitions import AskFailed, Refusal, error_result
from mcp_conductor.server.identity import new_uuid

EXTENSION_TTL_MS = 60_000
_MOST_KEPT = 10_000
_LONGEST_TTL_MS = 24 * 3600 * 1000
_ENDED = ("completed", "failed", "cancelled")


class _Question:
    """Something that a task wants to know."""

    def __init__(self, question: Json) -> None:
        self.question = question
        self.asked = False
        self.answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()


class Task:
    """One task, and those who wait for it."""

    def __init__(self, client: Client, ttl: int | None, poll_interval: int, changed: "Callable[[Task], None]") -> None:
        self.id = new_uuid()
        self.client = client  # the one that it was made for
        self.status = "working"
        self.status_message: str | None = "The operation is now in progress."
        self.created = self.updated = _now()
        self.ttl = ttl
        self.poll_interval = poll_interval
        self.result: Json | None = None
        self.error: Json | None = None
        self.questions: dict[str, _Question] = {}
        self.polls = 0
        self.job: asyncio.Task[None] | None = None
        self._changed = changed
        self._watchers: list[asyncio.Future[None]] = []

    @property
    def ended(self) -> bool:
        return self.status in _ENDED

    def core(self) -> Json:
        """The task as 2025-11-25 writes it."""
        return {**self._described(), "ttl": self.ttl, "pollInterval": self.poll_interval}

    def extension(self) -> Json:
        """The task as the extension writes it when it is made."""
        return {**self._described(), "ttlMs": self.ttl, "pollIntervalMs": self.poll_interval}

    def detailed(self) -> Json:
        """The task as the extension writes it for tasks/get: with its result, its error, or its questions."""
        described = self.extension()
        if self.status == "completed":
            described["result"] = self.result
        elif self.status == "failed":
            described["error"] = self.error
        elif self.status == "input_required":
            described["inputRequests"] = {key: question.question for key, question in self.questions.items()}
        return described

    def _described(self) -> Json:
        said = {} if self.status_message is None else {"statusMessage": self.status_message}
        return {
            "taskId": self.id,
            "status": self.status,
            **said,
            "createdAt": self.created,
            "lastUpdatedAt": self.updated,
        }

    def become(self, status: str, message: str | None = None) -> None:
        """Change the status, and tell those who wait; a task that has ended does not change any more."""
        if self.ended or status == self.status:
            return
        self.status, self.status_message, self.updated = status, message, _now()
        self._changed(self)
        self.touch()

    def touch(self) -> None:
        """Wake those who wait for something to happen."""
        watchers, self._watchers = self._watchers, []
        for watcher in watchers:
            if not watcher.done():
                watcher.set_result(None)

    async def change(self) -> None:
        watcher: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._watchers.append(watcher)
        await watcher

    async def wait_for_polls(self, times: int) -> None:
        """Wait until the client has looked at the task so often."""
        while self.polls < times:
            await self.change()

    async def ask(self, questions: Json) -> Json:
        """Wait for the client to answer QUESTIONS."""
        opened = {key: _Question(question) for key, question in questions.items()}
        self.questions.update(opened)
        self.become("input_required", "The task needs input.")
        self.touch()
        try:
            async with asyncio.timeout(ASK_SECONDS):
                return {key: await question.answer for key, question in opened.items()}
        except TimeoutError as error:
            raise AskFailed(f"the client did not answer the questions of the task within {ASK_SECONDS:g} s") from error
        finally:
            for key in opened:
                self.questions.pop(key, None)
            if not self.questions:
                self.become("working", "The operation is now in progress.")


class Tasks:
    """All tasks of a server."""

    def __init__(self, poll_interval: int, publish: Callable[[Task], None]) -> None:
        self._poll_interval = poll_interval
        self._publish = publish
        self._tasks: dict[str, Task] = {}

    def start(self, client: Client, params: Json, run: Callable[[Task], Awaitable[Json]]) -> Json:
        """Make a task of the request with PARAMS; RUN is its work. The result says that there is a task now."""
        core = client.revision.tasks == "core"
        task = Task(client, _asked_ttl(params) if core else EXTENSION_TTL_MS, self._poll_interval, self._tell)
        self._keep(task)
        made = {"task": task.core()} if core else {"resultType": "task", **task.extension()}
        task.job = asyncio.create_task(self._run(task, run))
        return made

    async def _run(self, task: Task, run: Callable[[Task], Awaitable[Json]]) -> None:
        try:
            result = await run(task)
        except Refusal as refusal:
            task.error = refusal.error()
            task.become("failed", refusal.message)
        except AskFailed as failure:
            self._complete(task, error_result(str(failure)))
        except asyncio.CancelledError:
            task.become("cancelled", "The task was cancelled.")
            raise
        except Exception as error:  # noqa: BLE001  # a task that fails must be seen to have failed
            task.error = Refusal.of(error).error()
            task.become("failed", str(error))
        else:
            self._complete(task, result)

    def _complete(self, task: Task, result: Json) -> None:
        task.result = result
        core = task.client.revision.tasks == "core"
        task.become("failed" if core and result.get("isError") else "completed")

    def _keep(self, task: Task) -> None:
        if len(self._tasks) >= _MOST_KEPT:
            oldest = next((kept for kept in self._tasks.values() if kept.ended), None)
            if oldest is not None:
                del self._tasks[oldest.id]
        self._tasks[task.id] = task
        if task.ttl is not None:
            asyncio.get_running_loop().call_later(task.ttl / 1000, self._expire, task)

    def _expire(self, task: Task) -> None:
        self._tasks.pop(task.id, None)
        if task.job is not None:
            task.job.cancel()

    def _tell(self, task: Task) -> None:
        client = task.client
        if client.revision.handshake:
            client.send(compose("notifications/tasks/status", task.core()))
        else:
            self._publish(task)

    def stop(self) -> None:
        for task in self._tasks.values():
            if task.job is not None:
                task.job.cancel()

    def find(self, params: Json) -> Task:
        task = self._tasks.get(str(params.get("taskId")))
        if task is None:
            raise Refusal(INVALID_PARAMS, f"Unknown taskId: {params.get('taskId')}")
        return task

    def is_known(self, identity: Any) -> bool:
        return identity in self._tasks

    # The methods.

    def list(self) -> "list[Json]":
        return [task.core() for task in self._tasks.values()]

    def get(self, client: Client, params: Json) -> Json:
        core = client.revision.tasks == "core"
        if not core:
            need_extension(client)
        task = self.find(params)
        answer = task.core() if core else task.detailed()
        task.polls += 1
        task.touch()
        return answer

    async def result(self, client: Client, params: Json, send: Send) -> Json:
        """Wait for the end of a task, and put its questions to the client meanwhile."""
        task = self.find(params)
        while not task.ended:
            waiting = next((question for question in task.questions.values() if not question.asked), None)
            if waiting is None:
                await task.change()
            else:
                await _put_question(waiting, task, client, send)
        if task.error is not None:
            raise Refusal(task.error["code"], task.error["message"], task.error.get("data"))
        if task.result is None:
            raise Refusal(INVALID_PARAMS, f"Task {task.id} was {task.status}: it has no result")
        meta = {**task.result.get("_meta", {}), RELATED_TASK: {"taskId": task.id}}
        return {**task.result, "_meta": meta}

    def cancel(self, client: Client, params: Json) -> Json:
        core = client.revision.tasks == "core"
        if not core:
            need_extension(client)
        task = self.find(params)
        if core and task.ended:
            raise Refusal(INVALID_PARAMS, f"Cannot cancel task: it is {task.status} already")
        task.become("cancelled", "The task was cancelled by request.")
        if task.job is not None:
            task.job.cancel()
        return task.core() if core else {}

    def update(self, client: Client, params: Json) -> Json:
        need_extension(client)
        task = self.find(params)
        responses = params.get("inputResponses")
        if not isinstance(responses, dict):
            raise Refusal(INVALID_PARAMS, f"inputResponses must be an object, not {kind_of(responses)}")
        for key, answer in responses.items():
            question = task.questions.pop(key, None)
            if question is not None and not question.answer.done():
                question.answer.set_result(answer)
        if not task.questions and task.status == "input_required":
            task.become("working", "The operation is now in progress.")
        return {}


async def _put_question(waiting: _Question, task: Task, client: Client, send: Send) -> None:
    waiting.asked = True
    params = waiting.question.get("params") or {}
    meta = {**params.get("_meta", {}), RELATED_TASK: {"taskId": task.id}}
    try:
        answer = await client.ask({**waiting.question, "params": {**params, "_meta": meta}}, send)
    except AskFailed as failure:
        if not waiting.answer.done():
            waiting.answer.set_exception(failure)
    except asyncio.CancelledError:
        waiting.asked = False  # the next tasks/result is asked again
        task.touch()
        raise
    else:
        if not waiting.answer.done():
            waiting.answer.set_result(answer)
    await asyncio.sleep(0)  # the task takes its answer before anybody looks for the next question


def has_extension(client: Client) -> bool:
    extensions = client.capabilities.get("extensions")
    return isinstance(extensions, dict) and TASKS_EXTENSION in extensions


def need_extension(client: Client) -> None:
    if not has_extension(client):
        raise missing_capability({"extensions": {TASKS_EXTENSION: {}}})


def _asked_ttl(params: Json) -> int | None:
    asked = params.get("task")
    ttl = asked.get("ttl") if isinstance(asked, dict) else None
    if not isinstance(asked, dict) or (
        ttl is not None and (not isinstance(ttl, int) or isinstance(ttl, bool) or ttl < 0)
    ):
        raise Refusal(INVALID_PARAMS, "task must be an object, and task.ttl a number of milliseconds")
    return None if ttl is None else min(ttl, _LONGEST_TTL_MS)


def _now() -> str:
    now = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z"
