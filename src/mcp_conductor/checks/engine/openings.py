"""The first messages on a connection, and requests whose `_meta` a probe writes itself."""

from typing import TYPE_CHECKING, Any

from mcp_conductor.checks.engine.replies import result_of
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import DIALECTS, META
from mcp_conductor.protocol.message import Message

if TYPE_CHECKING:
    from mcp_conductor.checks.engine.probe import Probe

# What each capability is listed by: the methods that a client may call without doing anything.
LISTS = {"tools": "tools/list", "resources": "resources/list", "prompts": "prompts/list"}
VERSION = f"{META}protocolVersion"
CAPABILITIES = f"{META}clientCapabilities"
CLIENT_INFO = f"{META}clientInfo"


def declared_lists(probe: "Probe") -> list[str]:
    return [method for capability, method in LISTS.items() if probe.declares(capability)]


async def first(fresh: "Probe", method: str, params: Json | None, seconds: float) -> Message:
    """The reply to a first message. Silence is RequestTimeout."""
    return await fresh.reply_to(compose(method, params, identity=fresh.session.next_id()), seconds)


async def initialize(
    fresh: "Probe", seconds: float, *, version: str | None = None, capabilities: Json | None = None, **extra: Any
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


def context(probe: "Probe") -> Json:
    """The `_meta` of a request of the modern era that declares nothing."""
    return probe.dialect.context(probe.session.client, {})


async def with_meta(probe: "Probe", method: str, meta: Json, params: Json | None = None) -> Message:
    """The reply to a request with exactly this `_meta`."""
    raw = compose(method, {**(params or {}), "_meta": meta}, identity=probe.session.next_id())
    return await probe.reply_to(raw, probe.timeout)


# What the exploration did.
