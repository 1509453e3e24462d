"""What a server answers to each method: one function each, a result at once or in time."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from mcp_conductor.bounded.worker import at_once, without_blocking
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    INVALID_PARAMS,
    LOG_LEVELS,
    METHOD_NOT_FOUND,
)
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import unsupported_version
from mcp_conductor.server.definitions import Prompt, Refusal, Template, Tool, error_result
from mcp_conductor.server.state import Subscriber
from mcp_conductor.server.tasks import Task, has_extension, need_extension

Method = Callable[[Call], Any]
T = TypeVar("T")

METHODS: dict[str, Method] = {}
_MOST_COMPLETIONS = 100


def method(name: str) -> Callable[[Method], Method]:
    def register(act: Method) -> Method:
        METHODS[name] = act
        return act

    return register


# How a conversation begins.


@method("initialize")
def initialize(call: Call) -> Json:
    offered, versions = _text(call, "protocolVersion"), call.server.handshake_versions
    for member in ("capabilities", "clientInfo"):
        if not isinstance(call.params.get(member), dict):
            raise Refusal(INVALID_PARAMS, f"initialize needs {member}, an object")
    if not versions:
        raise unsupported_version(offered, call.server.modern_versions)
    call.client.dialect = DIALECTS[offered if offered in versions else versions[-1]]
    call.client.capabilities = call.params["capabilities"]
    call.client.info = call.params["clientInfo"]
    return {
        "protocolVersion": call.client.dialect.version,
        "capabilities": call.server.capabilities(call.client.dialect),
        "serverInfo": call.server.config.info,
        **_instructions(call),
    }


@method("server/discover")
def discover(call: Call) -> Json:
    return {
        "supportedVersions": list(call.server.modern_versions),
        "capabilities": call.server.capabilities(call.client.revision),
        **_instructions(call),
    }


@method("ping")
def ping(_: Call) -> Json:
    return {}


def _instructions(call: Call) -> Json:
    instructions = call.server.config.instructions
    return {} if instructions is None else {"instructions": instructions}


# Lists.


@method("tools/list")
def list_tools(call: Call) -> Json:
    tools = [tool for tool in call.server.list_entries("tools") if _is_open(call, tool.get("name", ""))]
    tools += [_second(tool) for tool in tools if tool.get("name") in call.server.config.listed_twice]
    if call.client.revision.tasks != "core":  # which is the only revision that asks a tool whether it runs as a task
        tools = [{key: value for key, value in tool.items() if key != "execution"} for tool in tools]
    return _page(call, "tools", tools)


def _second(tool: Json) -> Json:
    """TOOL once more, under the same name: no server should list it so, and clients must live with it."""
    return {**tool, "title": f"{tool.get('title', tool['name'])} (duplicate)"}


def _is_open(call: Call, name: str) -> bool:
    """Whether the client may see the tool called NAME: some are for clients that declare an extension."""
    needed = call.server.config.gates.get(name)
    declared = call.client.capabilities.get("extensions")
    return needed is None or (isinstance(declared, dict) and not needed.isdisjoint(declared))


@method("resources/list")
def list_resources(call: Call) -> Json:
    return _page(call, "resources", call.server.list_entries("resources"))


@method("resources/templates/list")
def list_templates(call: Call) -> Json:
    return _page(call, "resourceTemplates", call.server.list_entries("resourceTemplates"))


@method("prompts/list")
def list_prompts(call: Call) -> Json:
    return _page(call, "prompts", call.server.list_entries("prompts"))


@method("tasks/list")
def list_tasks(call: Call) -> Json:
    return _page(call, "tasks", call.server.tasks.list())


def _page(call: Call, member: str, items: list[Json]) -> Json:
    page, following = call.server.page(call.method, items, call.params.get("cursor"))
    return {member: page, **({} if following is None else {"nextCursor": following})}


# Using things.


@method("tools/call")
def call_tool(call: Call) -> Any:
    tool = _find_named(call, lambda name: call.server.tool(name) if _is_open(call, name) else None, "Tool")
    if "arguments" in call.params and not isinstance(call.params["arguments"], dict):
        raise Refusal(INVALID_PARAMS, f"arguments must be an object, not {kind_of(call.params['arguments'])}")
    complaints = at_once(tool.argument_complaints, call.arguments) if tool.arguments_checked else []
    return _call_if_valid_later(call, tool) if complaints is None else _call_if_valid(call, tool, complaints)


async def _call_if_valid_later(call: Call, tool: Tool) -> Json:
    return await _awaited(_call_if_valid(call, tool, await without_blocking(tool.argument_complaints, call.arguments)))


def _call_if_valid(call: Call, tool: Tool, complaints: list[str]) -> Any:
    if complaints:
        problem = f"Invalid arguments for tool {tool.name}: {'; '.join(complaints)}"
        if not call.client.revision.tool_argument_errors:
            raise Refusal(INVALID_PARAMS, problem)
        return error_result(f"Input validation error: {problem}")
    return _call_tool(call, tool)


def _call_tool(call: Call, tool: Tool) -> Any:
    if tool.task is not None or tool.before is not None or "task" in call.params:
        return _call_task_tool(call, tool)
    result = tool.run(call)
    sound = (
        result
        if not tool.promises_output
        else at_once(_checked_result, tool, result)
        if isinstance(result, dict)
        else None
    )
    return _checked_result_later(tool, result) if sound is None else sound


def _call_task_tool(call: Call, tool: Tool) -> Any:
    """Run a tool as a task, where the revision, the config, the client and the tool agree on it."""
    config, kind = call.server.config, call.client.revision.tasks
    if kind == "core" and config.tasks is not None:
        if "task" in call.params:
            if tool.task is None:
                raise Refusal(METHOD_NOT_FOUND, f"Tool {tool.name} does not run as a task")
            return _as_task(call, lambda: _in_time(call, tool))
        if tool.task == "required":
            raise Refusal(METHOD_NOT_FOUND, f"Tool {tool.name} runs as a task only: add `task` to the params")
    if kind == "extension" and config.tasks_extension and tool.task is not None:
        if tool.task == "required":
            need_extension(call.client)
        if has_extension(call.client):
            return _task_after(call, tool)
    return _in_time(call, tool)


async def _task_after(call: Call, tool: Tool) -> Json:
    """What comes before the task belongs to the request: it may still be answered with questions."""
    if tool.before is not None:
        await _awaited(tool.before(call))
    return _as_task(call, lambda: _checked_result_later(tool, tool.run(call)))


def _as_task(call: Call, run: Callable[[], Awaitable[Json]]) -> Json:
    """Make a task of CALL, whose work is what RUN begins; the result that says so."""

    def begin(task: Task) -> Awaitable[Json]:
        call.become(task)
        return run()

    return call.server.tasks.start(call.client, call.params, begin)


async def _in_time(call: Call, tool: Tool) -> Json:
    if tool.before is not None:
        await _awaited(tool.before(call))
    return await _checked_result_later(tool, tool.run(call))


async def _checked_result_later(tool: Tool, result: Any) -> Json:
    return await without_blocking(_checked_result, tool, await _awaited(result))


async def _awaited(result: Any) -> Json:
    known: Json = result if isinstance(result, dict) else await result
    return known


def _checked_result(tool: Tool, result: Json) -> Json:
    """RESULT, unless it breaks the promise of the tool's outputSchema."""
    if not tool.promises_output or result.get("isError"):
        return result
    if "structuredContent" not in result:
        return error_result(
            f"Output validation error: tool {tool.name} has an outputSchema but gave no structuredContent"
        )
    complaints = tool.output_complaints(result["structuredContent"])
    return error_result(f"Output validation error: {'; '.join(complaints)}") if complaints else result


@method("resources/read")
def read_resource(call: Call) -> Any:
    uri = _text(call, "uri")
    resource = call.server.resource(uri)
    if resource is not None:
        return resource.read(call)
    for template in call.server.templates:
        variables = None if template.pattern is None else template.pattern.match(uri)
        if variables is not None:
            call.variables = variables
            return template.read(call)
    raise _no_resource(call, uri)


def _no_resource(call: Call, uri: str) -> Refusal:
    return Refusal(call.client.revision.resource_not_found, f"Resource not found: {uri}", {"uri": uri})


@method("prompts/get")
def get_prompt(call: Call) -> Any:
    name, prompt = _text(call, "name"), _find_named(call, call.server.prompt, "Prompt")
    arguments = call.params.get("arguments", {})
    if not isinstance(arguments, dict) or not all(isinstance(value, str) for value in arguments.values()):
        raise Refusal(INVALID_PARAMS, f"Invalid arguments for prompt {name}: they must be an object of strings")
    wanted = [each["name"] for each in prompt.listed.get("arguments", ()) if each.get("required")]
    if missing := [each for each in wanted if each not in arguments]:
        raise Refusal(INVALID_PARAMS, f"Invalid arguments for prompt {name}: {', '.join(missing)} missing")
    return prompt.get(call)


@method("completion/complete")
def complete(call: Call) -> Json | Awaitable[Json]:
    argument = call.params.get("argument")
    if not isinstance(argument, dict) or not all(isinstance(argument.get(key), str) for key in ("name", "value")):
        raise Refusal(INVALID_PARAMS, "completion/complete needs argument.name and argument.value, strings")
    thing = _to_complete(call)
    if thing is not None and thing.complete is not None:
        return thing.complete(call)
    known = thing.completions.get(argument["name"], []) if thing is not None else []
    values = [value for value in known if value.lower().startswith(argument["value"].lower())]
    return {
        "completion": {
            "values": values[:_MOST_COMPLETIONS],
            "total": len(values),
            "hasMore": len(values) > _MOST_COMPLETIONS,
        }
    }


def _to_complete(call: Call) -> Prompt | Template | None:
    """What has the argument that is to be completed; None: a resource, which has no arguments."""
    match call.params.get("ref"):
        case {"type": "ref/prompt", "name": str(name)} if (prompt := call.server.prompt(name)) is not None:
            return prompt
        case {"type": "ref/resource", "uri": str(uri)}:
            for template in call.server.templates:
                if template.uri_template == uri:
                    return template
            if call.server.resource(uri) is not None:
                return None
    raise Refusal(INVALID_PARAMS, f"there is nothing to complete for {call.params.get('ref')!r}")


# Notifications on demand.


@method("logging/setLevel")
def set_level(call: Call) -> Json:
    level = call.params.get("level")
    if level not in LOG_LEVELS:
        raise Refusal(INVALID_PARAMS, f"level must be one of {', '.join(LOG_LEVELS)}, not {level!r}")
    call.client.level = LOG_LEVELS.index(level)
    return {}


@method("resources/subscribe")
def subscribe(call: Call) -> Json:
    uri = _text(call, "uri")
    known = call.server.resource(uri) is not None or any(
        template.pattern is not None and template.pattern.match(uri) is not None for template in call.server.templates
    )
    if not known:
        raise _no_resource(call, uri)
    call.client.subscriptions.add(uri)
    return {}


@method("resources/unsubscribe")
def unsubscribe(call: Call) -> Json:
    call.client.subscriptions.discard(_text(call, "uri"))
    return {}


@method("subscriptions/listen")
async def listen(call: Call) -> Json:
    wanted = call.params.get("notifications")
    if not isinstance(wanted, dict):
        raise Refusal(INVALID_PARAMS, f"notifications must be an object, not {kind_of(wanted)}")
    listener = Subscriber(call.id, call.notify, _honoured_filter(call, wanted))
    call.server.listeners.add(listener)
    try:
        listener.tell("notifications/subscriptions/acknowledged", {"notifications": listener.wants})
        await listener.until_ended()
    finally:
        call.server.listeners.discard(listener)
    return {"_meta": listener.meta}


def _honoured_filter(call: Call, wanted: Json) -> Json:
    """The part of a subscription that this server will keep."""
    config = call.server.config
    honoured: Json = {}
    for kind in ("tools", "resources", "prompts"):
        if kind in config.list_changed and wanted.get(f"{kind}ListChanged") is True:
            honoured[f"{kind}ListChanged"] = True
    uris, tasks = wanted.get("resourceSubscriptions"), wanted.get("taskIds")
    if config.subscriptions and isinstance(uris, list):
        honoured["resourceSubscriptions"] = uris
    if config.tasks_extension and has_extension(call.client) and isinstance(tasks, list):
        honoured["taskIds"] = [identity for identity in tasks if call.server.tasks.is_known(identity)]
    return honoured


# Tasks.


@method("tasks/get")
def get_task(call: Call) -> Json:
    return call.server.tasks.get(call.client, call.params)


@method("tasks/result")
def task_result(call: Call) -> Any:
    return call.server.tasks.result(call.client, call.params, call.send)


@method("tasks/cancel")
def cancel_task(call: Call) -> Json:
    return call.server.tasks.cancel(call.client, call.params)


@method("tasks/update")
def update_task(call: Call) -> Json:
    return call.server.tasks.update(call.client, call.params)


def _find_named(call: Call, find: Callable[[str], T | None], kind: str) -> T:
    """What the request names, if it is there."""
    name = _text(call, "name")
    found = find(name)
    if found is None:
        raise Refusal(INVALID_PARAMS, f"{kind} {name} not found{call.server.why_missing(name)}")
    return found


def _text(call: Call, member: str) -> str:
    value = call.params.get(member)
    if not isinstance(value, str):
        raise Refusal(INVALID_PARAMS, f"{call.method} needs {member}, a string")
    return value
