"""Tools that a person names because they change something: what is called, and with which arguments."""

from collections.abc import Iterable

from mcp_conductor.checks.engine.exploration import tool_params
from mcp_conductor.checks.engine.judging import Trigger
from mcp_conductor.checks.engine.probe import Found
from mcp_conductor.errors import UsageError, nearest
from mcp_conductor.protocol import Json


def calls_of(triggers: Iterable[Trigger], found: Found) -> list[Json]:
    """The params of the calls. Raises UsageError for a tool that the server does not have, or that we cannot call.

    Where it is not known which tools the server has, that is told, and the others are called.
    """
    known = {str(tool.get("name")) for tool in found.tools}
    called, told = [], []
    for trigger in triggers:
        if found.unread_tools is None or trigger.tool in known:
            called.append(_call_of(trigger, found.tools))
        else:
            told.append(f"--trigger: the tool {trigger.tool!r} was not called: {found.unread_tools}")
    found.remarks += told  # last: this may be begun twice
    return called


def _call_of(trigger: Trigger, tools: list[Json]) -> Json:
    listed = {str(tool.get("name")): tool for tool in tools}
    tool = listed.get(trigger.tool)
    if tool is None:
        near = nearest(trigger.tool, list(listed))
        names = ", ".join(sorted(listed)[:10])
        hint = f"did you mean {near!r}?" if near else f"it lists {names}" if names else "it lists no tools"
        raise UsageError(f"--trigger: the server has no tool {trigger.tool!r}", hint=hint)
    made = tool_params(tool)
    if trigger.arguments is not None:
        return {**(made or {}), "name": trigger.tool, "arguments": trigger.arguments}
    if made is None:
        hint = f"give them: --trigger '{trigger.tool}={{…}}'"
        raise UsageError(f"--trigger: no arguments for {trigger.tool!r} could be made from its schema", hint=hint)
    return made
