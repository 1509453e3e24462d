"""What `mcp-cli` does for each method once it is connected: mostly one request, with the differences of the eras."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_conductor.cli.commands.mcp_cli.method_result import MethodResult, NoteStatus
from mcp_conductor.cli.commands.mcp_cli.methods import SKILLS, is_tool_error
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan
from mcp_conductor.client.session import Session
from mcp_conductor.errors import MethodError, UsageError, nearest
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import MISSING_CLIENT_CAPABILITY, TASKS_EXTENSION
from mcp_conductor.protocol.paging import LIST_MEMBERS

_TERMINAL = ("completed", "failed", "cancelled")
_DEFAULT_INTERVAL = 1.0
_SHORTEST_INTERVAL = 0.01
# How a client comes to declare a capability.
_DECLARED_BY = {"sampling": "--handle-sampling", "elicitation": "--handle-elicitation", "roots": "--roots"}


async def perform(session: Session, plan: CallPlan, note_status: NoteStatus) -> MethodResult:
    """Carry out the plan's method."""
    try:
        return await _perform(session, plan, note_status)
    except MethodError as error:
        for capability in _missing_capabilities(error):
            if capability in _DECLARED_BY:
                flag = _DECLARED_BY[capability]
                session.note(f"the server needs a client that declares {capability}: {flag} does")
        raise


def _missing_capabilities(error: MethodError) -> Json:
    """What the server wants a client to declare, in an error that says so."""
    data = error.error.get("data") if error.code == MISSING_CLIENT_CAPABILITY else None
    required = data.get("requiredCapabilities") if isinstance(data, dict) else None
    return required if isinstance(required, dict) else {}


async def _perform(session: Session, plan: CallPlan, note_status: NoteStatus) -> MethodResult:
    method = plan.method or ""
    if method in SPECIAL:
        return await SPECIAL[method](session, plan)
    if method == "tools/call":
        return await _call_tool(session, plan, note_status)
    remark_on_revision(session, method)
    params = _with_meta(plan.params, plan.meta)
    if method in SKILLS:
        from mcp_conductor.cli.commands.mcp_cli.skill_calls import call_skills

        return await call_skills(session, plan, params)
    if method not in LIST_MEMBERS:
        return MethodResult(await session.request(method, params))
    cursor = plan.given.one("--cursor")
    if cursor is None:
        return MethodResult(await session.everything(method, params))
    return MethodResult(await session.request(method, {**(params or {}), "cursor": cursor}))


def _with_meta(params: Json | None, meta: Json) -> Json | None:
    return {**(params or {}), "_meta": meta} if meta else params


def remark_on_revision(session: Session, method: str) -> None:
    """Note that the revision does not have METHOD."""
    if method not in session.dialect.methods and method not in SKILLS:
        session.note(f"{session.dialect.version} has no {method}; it is sent anyway")


async def _show_server(session: Session, plan: CallPlan) -> MethodResult:  # noqa: ARG001  # as all operations
    facts = {**session.server, "capabilities": session.capabilities, "protocolVersion": session.dialect.version}
    instructions = session.opened.get("instructions")
    return MethodResult(facts if instructions is None else {**facts, "instructions": instructions})


async def _show_opening(session: Session, plan: CallPlan) -> MethodResult:  # noqa: ARG001  # as all operations
    if not session.dialect.handshake:
        session.note(f"{session.dialect.version} has no initialize; this is the answer to server/discover")
    return MethodResult(session.opened)


async def _ping(session: Session, plan: CallPlan) -> MethodResult:
    if session.dialect.handshake:
        return MethodResult(await session.request("ping", _with_meta(None, plan.meta)))
    session.note(f"{session.dialect.version} has no ping; server/discover is sent instead")
    return MethodResult(await session.request("server/discover", _with_meta(None, plan.meta)))


async def _subscribe(session: Session, plan: CallPlan) -> MethodResult:
    if session.dialect.handshake:
        return MethodResult(await session.request("resources/subscribe", _with_meta(plan.params, plan.meta)))
    uri = (plan.params or {}).get("uri")
    acknowledged = await session.listen({"resourceSubscriptions": [uri]}, plan.meta)
    honoured = acknowledged.params.get("notifications")
    if not isinstance(honoured, dict) or uri not in (honoured.get("resourceSubscriptions") or ()):
        session.note(f"the server did not accept the subscription to {uri}")
    return MethodResult({"notifications": honoured})


async def _set_level(session: Session, plan: CallPlan) -> MethodResult:
    if session.dialect.handshake or not plan.follow:
        remark_on_revision(session, "logging/setLevel")
        return MethodResult(await session.request("logging/setLevel", _with_meta(plan.params, plan.meta)))
    session.note(f"{session.dialect.version} has no logging/setLevel; the level is asked for in _meta")
    return MethodResult({})


SPECIAL: dict[str, Callable[[Session, CallPlan], Awaitable[MethodResult]]] = {
    "server/info": _show_server,
    "initialize": _show_opening,
    "ping": _ping,
    "resources/subscribe": _subscribe,
    "logging/setLevel": _set_level,
}


async def _call_tool(session: Session, plan: CallPlan, note_status: NoteStatus) -> MethodResult:
    given = plan.given
    texts = plan.typed_arguments
    validate = "--output-schema-validate" in given
    # Over HTTP, 2026-07-28 wants some arguments in headers too; only the list of tools says which ones.
    in_headers = plan.spec.as_http() is not None and not session.dialect.handshake
    tool: Json = {}
    if texts or validate or in_headers:
        tool = await _find_tool(session, given.need("--tool-name"))
    # Some tools can be called only as tasks, which only the list says.
    elif _runs_tasks(session) and "--run-as-task" not in given:
        tool = await _find_tool_quietly(session, given.need("--tool-name"))
    arguments = {**plan.arguments, **(_typed_arguments(texts, tool, session) if texts else {})}
    params = _with_meta({**(plan.params or {}), "arguments": arguments}, plan.meta) or {}
    if "--run-as-task" in given:
        outcome = await _run_as_task(session, params, plan, note_status, poll="--poll" in given)
        result = outcome.result.get("result") if "--poll" in given else None
    else:
        requires_task = _requires_task(tool, session)
        outcome = await _result_of_call(session, params, plan, note_status, requires_task=requires_task)
        result = outcome.result
    if validate and isinstance(result, dict) and not is_tool_error(result):
        return MethodResult(outcome.result, outcome.failed, await _breach(result, tool, session))
    return outcome


async def _result_of_call(
    session: Session, params: Json, plan: CallPlan, note_status: NoteStatus, *, requires_task: bool
) -> MethodResult:
    """The result of a tool, also of one that can be called only as a task."""
    if not requires_task:
        try:
            result = await session.request("tools/call", params)
        except MethodError as error:
            # Where the server decides which calls are tasks, it refuses those of a client that cannot have any.
            extensions = _missing_capabilities(error).get("extensions")
            if not isinstance(extensions, dict) or TASKS_EXTENSION not in extensions:
                raise
            session.declare_extension(TASKS_EXTENSION)
        else:
            return MethodResult(result, failed=is_tool_error(result))
    session.note(f"the tool {params['name']!r} requires a task; it is run as one (--run-as-task shows the task)")
    return await _result_of_task(session, params, plan, note_status)


def _runs_tasks(session: Session) -> bool:
    """Whether the server may have tools that can be called only as tasks."""
    place: Any = session.capabilities if session.dialect.tasks == "core" else None
    for member in ("tasks", "requests", "tools", "call"):
        place = place.get(member) if isinstance(place, dict) else None
    return place is not None


def _requires_task(tool: Json, session: Session) -> bool:
    execution = tool.get("execution")
    return _runs_tasks(session) and isinstance(execution, dict) and execution.get("taskSupport") == "required"


def _typed_arguments(texts: list[tuple[str, str]], tool: Json, session: Session) -> Json:
    from mcp_conductor.protocol.coercion import coerce_arguments
    from mcp_conductor.protocol.schema import unknown_members

    schema = tool.get("inputSchema")
    for unknown in unknown_members(dict(texts), schema):
        near = nearest(unknown.name, unknown.known)
        if unknown.refused:
            listed = f"its arguments are {', '.join(unknown.known)}" if unknown.known else "it takes no arguments"
            meant = f"did you mean {near!r}?" if near else f"{listed};"
            raise UsageError(
                f"the tool {tool.get('name')!r} has no argument {unknown.name!r}, and its schema allows no others",
                hint=f"{meant} --tool-args-json sends any arguments",
            )
        session.note(
            f"the schema of the tool {tool.get('name')!r} lists no argument {unknown.name!r}"
            f"{f' (but {near!r})' if near else ''}; it is sent anyway"
        )
    return coerce_arguments(texts, schema)


async def _find_tool_quietly(session: Session, name: str) -> Json:
    """The tool called NAME, if the server lists it: it is called in any case."""
    try:
        return await _find_tool(session, name, quietly=True)
    except MethodError:
        return {}


async def _find_tool(session: Session, name: str, *, quietly: bool = False) -> Json:
    """The tool called NAME, from as few pages as it takes; one that is not listed can still be called."""
    names = []
    async for page in session.pages("tools/list"):
        tools = page.get("tools") if isinstance(page, dict) else None
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and tool.get("name") == name:
                return tool
            names.append(str(tool.get("name")) if isinstance(tool, dict) else "")
    if quietly:
        return {}
    near = nearest(name, names)
    session.note(
        f"the server lists no tool {name!r}{f' (but {near!r})' if near else ''}; its arguments are sent as text"
    )
    return {}


async def _breach(result: Json, tool: Json, session: Session) -> str | None:
    """How RESULT differs from the tool's own outputSchema."""
    if "outputSchema" not in tool:
        session.note(f"the tool {tool.get('name')!r} has no outputSchema to validate against")
        return None
    if "structuredContent" not in result:
        return "the tool has an outputSchema, but its result has no structuredContent"
    from mcp_conductor.bounded.worker import without_blocking
    from mcp_conductor.protocol.schema import Undecided, complaints

    problems = await without_blocking(complaints, result["structuredContent"], tool["outputSchema"])
    if problems and isinstance(problems[0], Undecided):
        return f"the result cannot be checked against the tool's outputSchema: {problems[0]}"
    return f"the result does not fit the tool's outputSchema: {'; '.join(problems)}" if problems else None


# Tasks: in 2025-11-25 the client asks for one (`params.task`), looks with tasks/get and fetches with tasks/result. In
# 2026-07-28 the server decides, and tasks/get brings the result, or questions that are answered with tasks/update.


async def _result_of_task(session: Session, params: Json, plan: CallPlan, note_status: NoteStatus) -> MethodResult:
    """Call the tool as a task, wait for it, and give its result as if it had been called without one."""
    outcome = await _run_as_task(session, params, plan, note_status, poll=True)
    told = outcome.result
    if not isinstance(told, dict) or "taskId" not in told:
        return outcome
    if "error" in told:
        raise MethodError("tools/call", told["error"])
    return MethodResult(told["result"], outcome.failed) if "result" in told else outcome


async def _run_as_task(
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
        while task.get("status") not in (*_TERMINAL, "input_required"):
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
        if task.get("status") in _TERMINAL:
            return task
        found = await self._session.request("tasks/get", {"taskId": task["taskId"]})
        return found if isinstance(found, dict) else task

    async def extension(self, task: Json) -> MethodResult:
        """2026-07-28: everything comes with tasks/get."""
        answered: set[str] = set()
        while task.get("status") not in _TERMINAL:
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
        return _DEFAULT_INTERVAL
    return max(_SHORTEST_INTERVAL, milliseconds / 1000)


def _brief(task: Json) -> Json:
    return {key: task[key] for key in ("taskId", "status", "statusMessage") if key in task}


def _task_outcome(task: Json, *, failed: bool, **members: Any) -> MethodResult:
    return MethodResult({**_brief(task), **members}, failed=failed)
