"""Calls of tools that a check may make again: the ones that were allowed and answered when the check began."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.bounded.worker import without_blocking
from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.record import MOST_BYTES
from mcp_conductor.checks.engine.replies import completed, result_of
from mcp_conductor.errors import ConductorError, RequestTimeout
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message, is_cut_off
from mcp_conductor.protocol.schema import flaw

MOST_CALLS = 40  # tools that are called again


# Values that no conversion makes fit: a text that is not a number, an object where a text should be.
WRONG_VALUES: dict[str, Any] = {
    "integer": "not a number",
    "number": "not a number",
    "boolean": "neither true nor false",
    "string": {"not": "a string"},
}


def calls(probe: Probe) -> list[tuple[Json, Exchange]]:
    """The calls of the exploration that were answered: params that may be sent again."""
    found: dict[str, tuple[Json, Exchange]] = {}
    exchanges = [each for each in probe.record().exchanges if not is_large(each)]
    silent = {_tool(each) for each in exchanges if each.reply is None and _own(each) in probe.found.called}
    for exchange in exchanges:
        own = _own(exchange)
        if own in probe.found.called and _tool(exchange) not in (None, *silent):
            found.setdefault(str(own["name"]), (own, exchange))
    return list(found.values())


def _own(exchange: Exchange) -> Json:
    params = exchange.request.params
    return {key: params[key] for key in ("name", "arguments", "task") if key in params}


def is_large(exchange: Exchange) -> bool:
    """Whether the answer is so large that it is not asked for again and again."""
    return exchange.reply is not None and (len(exchange.reply.text) > MOST_BYTES or is_cut_off(exchange.reply.text))


def _tool(exchange: Exchange) -> Any:
    return exchange.request.params.get("name") if exchange.request.method == "tools/call" else None


def callable_again(probe: Probe) -> list[Json]:
    """The params of calls that the exploration was allowed to make."""
    found = [params for params, _ in calls(probe)][:MOST_CALLS]
    if not found:
        raise NotSeen("no tool may be called (--call-tools names those that do more than read)")
    return found


async def call_tool(probe: Probe, params: Json) -> Message | None:
    """The reply to a call; None from a tool that is slow, which is not a fault."""
    try:
        return await probe.ask("tools/call", params)
    except RequestTimeout:
        return None


async def carry_out(probe: Probe, params: Json) -> None:
    """Make a call to its end; an error is an end too. Without an answer, what was to be seen meanwhile is unknown."""
    try:
        await probe.session.request("tools/call", params)
    except RequestTimeout as error:
        probe.trail.missed.append(error)
    except ConductorError:
        pass


def succeeded(reply: Message | None) -> bool:
    result = None if reply is None else completed(reply)
    return result is not None and result.get("isError") is not True


async def callable_tools(probe: Probe) -> list[Json]:
    """The tools that gave the exploration a result, and may be called again. Those that only run as tasks are not."""
    results = [exchange for exchange, _ in probe.record().results("tools/call") if not is_large(exchange)]
    answered = [exchange.request.params.get("name") for exchange in results]
    allowed = [params["name"] for params in probe.found.called if params["name"] in answered]
    tools = [tool for tool in probe.found.tools if tool.get("name") in allowed]
    return [tool for tool in tools if await without_blocking(_plain, tool)]


def _plain(tool: Json) -> bool:
    execution = tool.get("execution")
    as_task = isinstance(execution, dict) and execution.get("taskSupport") == "required"
    return isinstance(tool.get("inputSchema"), dict) and not flaw(tool["inputSchema"]) and not as_task


def explored_calls(probe: Probe) -> Iterator[tuple[Json, Json | None]]:
    """The params of the calls of the exploration, without `_meta`, and their results: they may be made again."""
    left = list(probe.found.called)
    for exchange in (each for each in probe.record().exchanges if not is_large(each)):
        params = exchange.request.params if exchange.request.method == "tools/call" else {}
        own = {key: value for key, value in params.items() if key != "_meta"}
        if own in left:
            left.remove(own)
            yield own, result_of(exchange.reply)
