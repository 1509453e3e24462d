"""Tasks of 2026-07-28, an extension: the server decides, the receipt is flat, and tasks/get brings everything else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import field
from typing import Any
from weakref import WeakKeyDictionary

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.http_probe import HttpProbe
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.replies import code_of
from mcp_conductor.checks.engine.shapes import acknowledges, is_integer
from mcp_conductor.checks.engine.task_shapes import (
    FOLLOWING,
    TERMINAL,
    UNKNOWN_TASK,
    declares_extension,
    extension_flaw,
)
from mcp_conductor.checks.engine.tool_calls import calls
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    META,
    METHOD_NOT_FOUND,
    MISSING_CLIENT_CAPABILITY,
    TASKS_EXTENSION,
)
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding
from mcp_conductor.values import dataclass

MOST_LIVES = 6
MOST_LOOKS = 40
LONGEST_PAUSE = 0.2  # between two requests of tasks/get, even if the server proposes more
_WITHOUT: Json = {"_meta": {f"{META}clientCapabilities": {}}}


def _object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def _require_extension(probe: Probe) -> None:
    if not declares_extension(probe.record().capabilities):
        raise NotSeen(f"the server does not declare the extension {TASKS_EXTENSION}")


def _makers(probe: Probe) -> list[Json]:
    """The params of calls that became tasks, and may be made again."""
    _require_extension(probe)
    record = probe.record()
    made = {
        exchange.request.params.get("name")
        for exchange, result in record.results("tools/call")
        if result.get("resultType") == "task"
    }
    found = [params for params, _ in calls(probe) if params.get("name") in made]
    if not found:
        raise NotSeen("no tool that may be called becomes a task")
    return found[:MOST_LIVES]


@dataclass(slots=True)
class ExtensionTaskLife:
    """One task, from its receipt to its end."""

    tool: Json
    receipt: Json
    states: list[Message] = field(default_factory=list)  # the replies to tasks/get
    updates: list[Message] = field(default_factory=list)  # the replies to tasks/update

    @property
    def seen(self) -> list[Json]:
        return [_object(reply.result) for reply in self.states if reply.kind == "result"]


_lives: "WeakKeyDictionary[Session, list[ExtensionTaskLife]]" = WeakKeyDictionary()


async def _tasks(probe: Probe) -> list[ExtensionTaskLife]:
    """The lives of some tasks; lived once for each session."""
    makers = _makers(probe)
    if probe.session not in _lives:
        lives = [await _live(probe, params) for params in makers]
        _lives[probe.session] = [life for life in lives if life is not None]
    if not _lives[probe.session]:
        raise NotSeen("no task was made")
    return _lives[probe.session]


async def _make(probe: Probe, params: Json) -> Json | None:
    """A new task; questions that come before it are answered."""
    with suppress(ConductorError):
        result = await probe.session.request("tools/call", params)
        if _object(result).get("resultType") == "task" and isinstance(result.get("taskId"), str):
            return _object(result)
    return None


async def _live(probe: Probe, params: Json) -> ExtensionTaskLife | None:
    receipt = await _make(probe, params)
    if receipt is None:
        return None
    life = ExtensionTaskLife(params, receipt)
    named = {"taskId": receipt["taskId"]}
    with suppress(ConductorError):
        for _ in range(MOST_LOOKS):
            reply = await probe.ask("tasks/get", named)
            life.states.append(reply)
            state = _object(reply.result) if reply.kind == "result" else {}
            if state.get("status") not in ("working", "input_required"):
                break
            if state.get("inputRequests"):
                answers = {"inputResponses": await probe.session.input_responses(state["inputRequests"])}
                life.updates.append(await probe.ask("tasks/update", {**named, **answers}))
            await asyncio.sleep(_pause(state))
    return life


def _pause(state: Json) -> float:
    proposed = state.get("pollIntervalMs")
    if not isinstance(proposed, int) or proposed <= 0:
        return LONGEST_PAUSE
    return min(proposed / 1000, LONGEST_PAUSE)


async def _plain(probe: Probe) -> list[Message]:
    """Replies to a client that does not know the extension, of tools that become tasks."""
    makers = _makers(probe)
    async with probe.new_session(answers=probe.session.answers) as other:
        for params in makers:
            with suppress(ConductorError):
                await other.session.request("tools/call", params)
        record = other.record()
    return [each.reply for each in record.exchanges if each.request.method == "tools/call" and each.reply is not None]


@probed("taske-not-without-capability", alone=True)
async def tasks_are_for_those_who_know_them(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools that become tasks without declaring the extension: none does."""
    for reply in await _plain(probe):
        if reply.kind == "result" and _object(reply.result).get("resultType") == "task":
            yield fault("a task is made for a client that does not declare the extension", reply.raw)


@probed("taske-required-32021", alone=True)
async def tools_that_must_be_tasks_say_what_they_need(probe: Probe) -> AsyncIterator[Finding]:
    """Call tools that become tasks without declaring the extension: an error is -32021, and names the extension."""
    refusals = [reply for reply in await _plain(probe) if code_of(reply) == MISSING_CLIENT_CAPABILITY]
    if not refusals:
        raise NotSeen("every tool can be called without a task")
    for reply in refusals:
        required = _object(_object(_object(reply.error).get("data")).get("requiredCapabilities"))
        if TASKS_EXTENSION not in _object(required.get("extensions")):
            yield fault("requiredCapabilities.extensions does not name the extension", reply.raw)


@probed("taske-durable-create")
async def new_tasks_can_be_looked_at(probe: Probe) -> AsyncIterator[Finding]:
    """Look at a task at once (over HTTP, on another connection): it is there."""
    for params in _makers(probe):
        receipt = await _make(probe, params)
        if receipt is None:
            continue
        named = {"taskId": receipt["taskId"]}
        if probe.transport == "stdio":
            reply = await probe.ask("tasks/get", named)
        else:
            async with probe.new_session() as other:
                context = {f"{META}clientCapabilities": probe.session.client_capabilities(probe.dialect)}
                reply = await other.ask("tasks/get", {**named, "_meta": context})
        if reply.kind != "result":
            yield fault("tasks/get does not return the task that was just made", reply.raw)


@probed("taske-get-by-status")
async def tasks_have_what_their_status_says(probe: Probe) -> AsyncIterator[Finding]:
    """Follow tasks to their end: they have inputRequests when they need input, and a result or an error at the end."""
    for life in await _tasks(probe):
        for state in life.seen:
            wanted = {"input_required": "inputRequests", "completed": "result", "failed": "error"}
            member = wanted.get(str(state.get("status")))
            problem = extension_flaw(state)
            if problem is None and member is not None and not isinstance(state.get(member), dict):
                problem = f"is {state['status']}, but has no {member}"
            if problem is not None:
                yield fault(f"a task {problem}", state)
                break


@probed("taske-failed-only-protocol-errors")
async def errors_of_tools_are_results(probe: Probe) -> AsyncIterator[Finding]:
    """Look at tasks that have failed: they have an error of JSON-RPC, and not a tool's result that is an error."""
    ended = [state for life in await _tasks(probe) for state in life.seen if state.get("status") in TERMINAL]
    if not any(state["status"] == "failed" or _object(state.get("result")).get("isError") for state in ended):
        raise NotSeen("no task failed")
    for state in ended:
        if state["status"] == "failed" and (
            "result" in state or not is_integer(_object(state.get("error")).get("code"))
        ):
            yield fault("a failed task has no JSON-RPC error", state)


@probed("taske-input-keys-unique")
async def keys_of_questions_are_not_used_again(probe: Probe) -> AsyncIterator[Finding]:
    """Follow tasks that ask: a key is used for one question only."""
    seen = False
    for life in await _tasks(probe):
        questions: dict[str, tuple[Any, Json]] = {}
        for state in life.seen:
            for key, question in _object(state.get("inputRequests")).items():
                seen = True
                before, earlier = questions.get(key, (question, state))
                if before != question:
                    told = f"the key {key!r} is used for another question than before"
                    yield fault(told, state, beside=[earlier])
                questions[key] = question, state
    if not seen:
        raise NotSeen("no task asked anything")


@probed("taske-update-ack")
async def answers_are_acknowledged(probe: Probe) -> AsyncIterator[Finding]:
    """Answer tasks, also under keys that no question has: there is a result. The schema allows members in it."""
    for life in await _tasks(probe):
        for reply in life.updates:
            if not acknowledges(probe, "tasks/update", reply):
                yield fault("tasks/update is not answered with a result", reply.raw)
    running = await _make(probe, _makers(probe)[0])
    if running is not None:
        responses = {"conductor-unknown": {"action": "decline"}}
        reply = await probe.ask("tasks/update", {"taskId": running["taskId"], "inputResponses": responses})
        if not acknowledges(probe, "tasks/update", reply):
            yield fault("tasks/update does not ignore a key that no question has", reply.raw)


@probed("taske-cancel-ack")
async def cancellations_are_acknowledged(probe: Probe) -> AsyncIterator[Finding]:
    """Cancel a task that was just made: there is a result. The schema allows members in it."""
    for params in _makers(probe):
        receipt = await _make(probe, params)
        if receipt is not None:
            reply = await probe.ask("tasks/cancel", {"taskId": receipt["taskId"]})
            if not acknowledges(probe, "tasks/cancel", reply):
                yield fault("tasks/cancel is not answered with a result", reply.raw)
            return
    raise NotSeen("no task was made")


@probed("taske-unknown-id-get")
async def unknown_tasks_cannot_be_looked_at(probe: Probe) -> AsyncIterator[Finding]:
    """Look at a task that does not exist: the error has the code -32602."""
    _require_extension(probe)
    reply = await probe.ask("tasks/get", {"taskId": UNKNOWN_TASK})
    if code_of(reply) != INVALID_PARAMS:
        yield fault(f"an unknown task is not answered with {INVALID_PARAMS}", reply.raw)


@probed("taske-unknown-id-update-cancel")
async def unknown_tasks_cannot_be_changed(probe: Probe) -> AsyncIterator[Finding]:
    """Answer and cancel a task that does not exist: the error has the code -32602."""
    _require_extension(probe)
    for method in ("tasks/update", "tasks/cancel"):
        reply = await probe.ask(method, {"taskId": UNKNOWN_TASK, "inputResponses": {}})
        if code_of(reply) != INVALID_PARAMS:
            yield fault(f"{method} of an unknown task is not answered with {INVALID_PARAMS}", reply.raw)


@probed("taske-methods-need-capability")
async def tasks_are_refused_to_those_who_do_not_know_them(probe: Probe) -> AsyncIterator[Finding]:
    """Use a task without declaring the extension: the error has the code -32021."""
    life = (await _tasks(probe))[0]
    named = {"taskId": life.receipt["taskId"], "inputResponses": {}, **_WITHOUT}
    for method in FOLLOWING:
        reply = await probe.ask(method, named)
        if code_of(reply) != MISSING_CLIENT_CAPABILITY:
            yield fault(f"{method} is not answered with {MISSING_CLIENT_CAPABILITY}", reply.raw)


@probed("taske-legacy-removed")
async def earlier_methods_are_gone(probe: Probe) -> AsyncIterator[Finding]:
    """Send tasks/result and tasks/list, which this revision does not have: the error has the code -32601."""
    _require_extension(probe)
    for method in ("tasks/result", "tasks/list"):
        reply = await probe.ask(method, {"taskId": UNKNOWN_TASK})
        if code_of(reply) != METHOD_NOT_FOUND:
            yield fault(f"{method} is not answered with {METHOD_NOT_FOUND}", reply.raw)


@probed("taske-name-header-server")
async def headers_name_the_task(probe: Probe) -> AsyncIterator[Finding]:
    """Look at a task with a header Mcp-Name that names another: the status is 400, and the code -32020."""
    _require_extension(probe)
    context = probe.dialect.context(probe.session.client, probe.session.client_capabilities(probe.dialect))
    params = probe.dialect.stamp({"taskId": UNKNOWN_TASK}, context)
    headers = {
        "MCP-Protocol-Version": probe.dialect.version,
        "Mcp-Method": "tasks/get",
        "Mcp-Name": "conductor-another-task",
    }
    answered = await HttpProbe(probe).post(compose("tasks/get", params, identity="conductor-name"), headers)
    if answered.status != 400 or str(HEADER_MISMATCH) not in answered.text:
        yield fault(f"the status is {answered.status}, not 400 with {HEADER_MISMATCH}", answered.shown())
