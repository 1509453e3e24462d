"""What a bridge does for each method of its clients: the server that is meant gets the request, in its own names."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from mcp_conductor.bridge.offers import KINDS, Offered
from mcp_conductor.bridge.relay import Relay
from mcp_conductor.client import calls
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_PARAMS, LOG_LEVELS, METHOD_NOT_FOUND
from mcp_conductor.protocol.message import kind_of
from mcp_conductor.server.call import Call
from mcp_conductor.server.definitions import Refusal
from mcp_conductor.server.state import Subscriber

Act = Callable[[Relay, Call], Awaitable[Json]]
ACTS: dict[str, Act] = {}
_LIST_SECONDS = 30.0  # for lists that are being read again


def act(method: str) -> Callable[[Act], Act]:
    def register(function: Act) -> Act:
        ACTS[method] = function
        return function

    return register


# Lists.


async def _listed(relay: Relay, member: str) -> list[Json]:
    stale = [link.lists.up_to_date(_LIST_SECONDS) for link in relay.links.values() if link.lists.stale]
    if stale:
        await asyncio.gather(*stale)
        relay.refresh()
    return relay.offers.listed[member]


@act("tools/list")
async def list_tools(relay: Relay, call: Call) -> Json:
    tools = await _listed(relay, "tools")
    if call.client.revision.tasks != "core":  # which is the only revision that asks a tool whether it runs as a task
        tools = [{key: value for key, value in tool.items() if key != "execution"} for tool in tools]
    return {"tools": tools}


@act("resources/list")
async def list_resources(relay: Relay, _: Call) -> Json:
    return {"resources": await _listed(relay, "resources")}


@act("resources/templates/list")
async def list_templates(relay: Relay, _: Call) -> Json:
    return {"resourceTemplates": await _listed(relay, "resourceTemplates")}


@act("prompts/list")
async def list_prompts(relay: Relay, _: Call) -> Json:
    return {"prompts": await _listed(relay, "prompts")}


@act("tasks/list")
async def list_tasks(relay: Relay, _: Call) -> Json:
    async def of(server: str) -> list[Json]:
        asked = relay.links[server].ask(
            lambda session: calls.everything(session, "tasks/list"), patience=relay.plan.options.patience
        )
        with suppress(ConductorError):
            found = await asked
            return [task for task in found.get("tasks", ()) if isinstance(task, dict)]
        return []

    able = [name for name, link in relay.links.items() if "list" in ((link.capabilities or {}).get("tasks") or {})]
    return {"tasks": [task for found in await asyncio.gather(*map(of, able)) for task in found]}


# Using things.


@act("tools/call")
async def call_tool(relay: Relay, call: Call) -> Json:
    tool = _offered(relay, call, relay.offers.tools, "Tool")
    return await relay.exchanges.pass_on(
        call, tool.server, {**call.params, "name": tool.name}, repeatable=tool.repeatable
    )


@act("prompts/get")
async def get_prompt(relay: Relay, call: Call) -> Json:
    prompt = _offered(relay, call, relay.offers.prompts, "Prompt")
    return await relay.exchanges.pass_on(call, prompt.server, {**call.params, "name": prompt.name})


def _offered(relay: Relay, call: Call, known: dict[str, Offered], kind: str) -> Offered:
    name = _text(call, "name")
    found = known.get(name)
    if found is None:
        raise Refusal(INVALID_PARAMS, f"{kind} {name} not found{relay.offers.why_missing(name)}")
    return found


@act("resources/read")
async def read_resource(relay: Relay, call: Call) -> Json:
    server, uri = _resource(relay, call, _text(call, "uri"))
    return await relay.exchanges.pass_on(call, server, {**call.params, "uri": uri})


def _resource(relay: Relay, call: Call, uri: str) -> tuple[str, str]:
    """The server that has URI, and what it is called there."""
    found = relay.plan.uris.find(uri)
    if found is not None:
        return found
    server = relay.offers.resource_server()
    if server is None:
        raise Refusal(call.client.revision.resource_not_found, f"Resource not found: {uri}", {"uri": uri})
    return server, uri


@act("completion/complete")
async def complete(relay: Relay, call: Call) -> Json:
    server, ref = _to_complete(relay, call)
    if not relay.links[server].has("completions") and relay.links[server].capabilities is not None:
        return {"completion": {"values": []}}  # not every server of a bridge completes arguments
    try:
        return await relay.exchanges.pass_on(call, server, {**call.params, "ref": ref})
    except Refusal as refusal:
        if refusal.code != METHOD_NOT_FOUND:
            raise
        return {"completion": {"values": []}}


def _to_complete(relay: Relay, call: Call) -> tuple[str, Json]:
    ref: Any = call.params.get("ref")
    match ref:
        case {"type": "ref/prompt", "name": str(name)} if name in relay.offers.prompts:
            prompt = relay.offers.prompts[name]
            return prompt.server, {**ref, "name": prompt.name}
        case {"type": "ref/resource", "uri": str(uri)}:
            found = relay.plan.uris.own_template(uri)
            if found is not None:
                return found[0], {**ref, "uri": found[1]}
    raise Refusal(INVALID_PARAMS, f"there is nothing to complete for {ref!r}")


# Notifications on demand.


@act("logging/setLevel")
async def set_level(relay: Relay, call: Call) -> Json:
    level = call.params.get("level")
    if level not in LOG_LEVELS:
        raise Refusal(INVALID_PARAMS, f"level must be one of {', '.join(LOG_LEVELS)}, not {level!r}")
    await relay.set_level(call.client, level)
    return {}


@act("resources/subscribe")
async def subscribe(relay: Relay, call: Call) -> Json:
    uri = _text(call, "uri")
    return await relay.subscribe(_resource(relay, call, uri), call.client, uri)


@act("resources/unsubscribe")
async def unsubscribe(relay: Relay, call: Call) -> Json:
    return await relay.unsubscribe(_resource(relay, call, _text(call, "uri")), call.client)


@act("subscriptions/listen")
async def listen(relay: Relay, call: Call) -> Json:
    wanted = call.params.get("notifications")
    if not isinstance(wanted, dict):
        raise Refusal(INVALID_PARAMS, f"notifications must be an object, not {kind_of(wanted)}")
    listener = Subscriber(call.id, call.notify, {})
    try:
        listener.wants = await _honoured(relay, call, wanted, listener)
        relay.listeners.add(listener)
        call.server.listeners.add(listener)
        listener.tell("notifications/subscriptions/acknowledged", {"notifications": listener.wants})
        await listener.until_ended()
    finally:
        relay.listeners.discard(listener)
        call.server.listeners.discard(listener)
        relay.forget_listener(listener)
    return {"_meta": listener.meta}


async def _honoured(relay: Relay, call: Call, wanted: Json, listener: Subscriber) -> Json:
    """The part of a subscription that the servers will keep."""
    honoured: Json = {f"{kind}ListChanged": True for kind in KINDS if wanted.get(f"{kind}ListChanged") is True}
    uris, tasks = wanted.get("resourceSubscriptions"), wanted.get("taskIds")
    if isinstance(uris, list):
        honoured["resourceSubscriptions"] = []
        for uri in uris:
            with suppress(Refusal):
                if isinstance(uri, str):
                    await relay.subscribe(_resource(relay, call, uri), listener, uri)
                    honoured["resourceSubscriptions"].append(uri)
    if isinstance(tasks, list):
        honoured["taskIds"] = [task for task in tasks if await relay.listen_to_task(task)]
    return honoured


# Tasks.


async def _at_server_of_task(relay: Relay, call: Call) -> Json:
    server = relay.exchanges.server_of_task(call.params.get("taskId"))
    if server is None:
        raise Refusal(INVALID_PARAMS, f"Unknown taskId: {call.params.get('taskId')}")
    return await relay.exchanges.pass_on(
        call, server, call.params, repeatable=call.method in ("tasks/get", "tasks/result")
    )


for _method in ("tasks/get", "tasks/result", "tasks/cancel", "tasks/update"):
    ACTS[_method] = _at_server_of_task


def _text(call: Call, member: str) -> Any:
    value = call.params.get(member)
    if not isinstance(value, str):
        raise Refusal(INVALID_PARAMS, f"{call.method} needs {member}, a string")
    return value
