"""Conversations that a probe holds by hand: the first words on a connection, and calls made once more."""

from collections.abc import Iterator
from typing import Any

from mcp_conductor.checks.engine.findings import NotSeen
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import DIALECTS, META
from mcp_conductor.protocol.message import Message

# What each capability is listed by: the methods that a client may call without doing anything.
LISTS = {"tools": "tools/list", "resources": "resources/list", "prompts": "prompts/list"}
VERSION = f"{META}protocolVersion"
CAPABILITIES = f"{META}clientCapabilities"
CLIENT_INFO = f"{META}clientInfo"


def error_of(reply: Message | None) -> Json:
    """The error of a reply, if it is one and an object."""
    error = reply.error if reply is not None and reply.kind == "error" else None
    return error if isinstance(error, dict) else {}


def code_of(reply: Message | None) -> Any:
    """The code of an error; None where there is none. One that is no integer is a fault of its own."""
    code = error_of(reply).get("code")
    if code is not None and type(code) is not int:
        raise NotSeen("the codes of errors are no integers: see base-error-shape-server")
    return code


def data_of(reply: Message | None) -> Json:
    data = error_of(reply).get("data")
    return data if isinstance(data, dict) else {}


def result_of(reply: Message | None) -> Json | None:
    """The result of a reply, if it is one and an object."""
    result = reply.result if reply is not None and reply.kind == "result" else None
    return result if isinstance(result, dict) else None


def declared_lists(probe: Probe) -> list[str]:
    return [method for capability, method in LISTS.items() if probe.declares(capability)]


# The first words on a connection.


async def first(fresh: Probe, method: str, params: Json | None, seconds: float) -> Message:
    """The reply to a first message. Silence is RequestTimeout."""
    raw: Json = {"jsonrpc": "2.0", "id": fresh.session.next_id(), "method": method}
    return await fresh.reply_to(raw if params is None else {**raw, "params": params}, seconds)


async def initialize(
    fresh: Probe, seconds: float, *, version: str | None = None, capabilities: Json | None = None, **extra: Any
) -> Message:
    """The reply to initialize; if the server accepts, the conversation is held in the version that it names."""
    params = {
        "protocolVersion": version or fresh.dialect.version,
        "capabilities": capabilities or {},
        "clientInfo": fresh.session.client,
        **extra,
    }
    reply = await first(fresh, "initialize", params, seconds)
    result = result_of(reply) or {}
    agreed = result.get("protocolVersion")
    if isinstance(agreed, str) and agreed in DIALECTS:
        fresh.session.settle(DIALECTS[agreed], result)
    return reply


def context(probe: Probe) -> Json:
    """The `_meta` of a request of the modern era that declares nothing."""
    return probe.dialect.context(probe.session.client, {})


async def with_meta(probe: Probe, method: str, meta: Json, params: Json | None = None) -> Message:
    """The reply to a request with exactly this `_meta`."""
    raw = {
        "jsonrpc": "2.0",
        "id": probe.session.next_id(),
        "method": method,
        "params": {**(params or {}), "_meta": meta},
    }
    return await probe.reply_to(raw, probe.timeout)


# What the walk did.


def walked_calls(probe: Probe) -> Iterator[tuple[Json, Json | None]]:
    """The params of the tool calls of the walk, without `_meta`, and their results: calls that may be made again."""
    left = list(probe.found.called)
    for exchange in probe.record().exchanges:
        params = exchange.request.params if exchange.request.method == "tools/call" else {}
        own = {key: value for key, value in params.items() if key != "_meta"}
        if own in left:
            left.remove(own)
            yield own, result_of(exchange.reply)
