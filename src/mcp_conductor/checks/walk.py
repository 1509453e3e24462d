"""A walk through all that a server declares: lists, resources, prompts, and the tools that may be called.

It uses a server as a careful client does, so that there is a conversation to judge. What is not declared is not used.
"""

from collections.abc import Collection
from contextlib import suppress
from typing import Any

from mcp_conductor.checks.probe import Found
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.schema import complaints, filled_in
from mcp_conductor.session import Session

MOST_ITEMS = 25  # of each kind that are used; all are listed
ALL = "all"


async def walk(session: Session, call: Collection[str] | str) -> Found:
    """Use what the server of SESSION declares. CALL: which tools beside the read-only ones may be called, or ALL."""
    found = Found()
    if "tools" in session.capabilities:
        found.tools = await _listed(session, "tools/list", "tools")
    if "resources" in session.capabilities:
        found.resources = await _listed(session, "resources/list", "resources")
        found.templates = await _listed(session, "resources/templates/list", "resourceTemplates")
    if "prompts" in session.capabilities:
        found.prompts = await _listed(session, "prompts/list", "prompts")
    for resource in found.resources[:MOST_ITEMS]:
        if isinstance(resource.get("uri"), str):
            await _tried(session, "resources/read", {"uri": resource["uri"]})
    for prompt in found.prompts[:MOST_ITEMS]:
        await _tried(session, "prompts/get", prompt_params(prompt))
    for tool in found.tools:
        if may_call(tool, call):
            params = tool_params(tool)
            if params is not None:
                await _tried(session, "tools/call", {**params, "_meta": {"progressToken": f"walk-{tool['name']}"}})
    if session.dialect.handshake:
        await _tried(session, "ping", None)
        if "logging" in session.capabilities:
            await _tried(session, "logging/setLevel", {"level": "debug"})
    return found


async def _listed(session: Session, method: str, member: str) -> list[Json]:
    try:
        whole = await session.everything(method)
    except ConductorError:
        return []
    items = whole.get(member) if isinstance(whole, dict) else None
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


async def _tried(session: Session, method: str, params: Json | None) -> None:
    with suppress(ConductorError):  # whatever came is in the transcript
        await session.request(method, params)


def may_call(tool: Json, call: Collection[str] | str) -> bool:
    """Whether a tool may be called without asking: it says that it only reads, or the user says so."""
    if not isinstance(tool.get("name"), str):
        return False
    annotations = tool.get("annotations")
    reads = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
    return reads or call == ALL or tool["name"] in call


def tool_params(tool: Json) -> Json | None:
    """The params of a call that fits the tool's schema; None when we cannot make one."""
    schema: Any = tool.get("inputSchema")
    arguments = filled_in(schema)
    if complaints(arguments, schema):
        return None
    execution = tool.get("execution")
    as_task = isinstance(execution, dict) and execution.get("taskSupport") == "required"
    return {"name": tool["name"], "arguments": arguments, **({"task": {}} if as_task else {})}


def prompt_params(prompt: Json) -> Json:
    listed = prompt.get("arguments")
    names = [each.get("name") for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    return {"name": prompt.get("name"), "arguments": {name: "x" for name in names if isinstance(name, str)}}
