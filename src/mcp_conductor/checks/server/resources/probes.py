"""Resources: the capability, what is unknown, and subscriptions."""

import re
from collections.abc import AsyncIterator

from mcp_conductor.checks.engine.check import probed
from mcp_conductor.checks.engine.exploration import NO_SUCH_URI
from mcp_conductor.checks.engine.findings import NotSeen, fault
from mcp_conductor.checks.engine.probe import Probe
from mcp_conductor.checks.engine.replies import completed, error_code
from mcp_conductor.checks.engine.shapes import (
    acknowledges,
    declared_faults,
    served_faults,
)
from mcp_conductor.errors import RequestTimeout, TransportError
from mcp_conductor.protocol.dialect import INVALID_PARAMS
from mcp_conductor.protocol.message import Message
from mcp_conductor.report.model import Finding
from mcp_conductor.text.patterns import compiled_later

MOST_SUBSCRIBED = 5  # resources that are tried: a server need not let all of them be watched
_SECRET_FILE = "/etc/passwd"
_SECRET_LINE = compiled_later(r"^root:[^:]*:0:0:", re.MULTILINE)


@probed("resources-capability-declared")
async def resources_are_declared(probe: Probe) -> AsyncIterator[Finding]:
    """Call resources/list: resources come only if the capability is declared, and the method exists if it is."""
    async for finding in declared_faults(probe, "resources/list", "resources"):
        yield finding


@probed("resources-list-served", needs="resources")
async def the_list_is_served(probe: Probe) -> AsyncIterator[Finding]:
    """Call resources/list: the reply is a result."""
    async for finding in served_faults(probe, "resources/list"):
        yield finding


# What is unknown.


@probed("resources-not-found-32002", needs="resources", follows="resources-capability-declared")
async def unknown_uris_are_not_found(probe: Probe) -> AsyncIterator[Finding]:
    """Read a URI that does not exist: the error has the code -32002, or -32602, which later revisions want."""
    reply = await _unknown(probe)
    if error_code(reply) not in (probe.dialect.resource_not_found, INVALID_PARAMS):
        yield fault(f"an unknown URI is not refused with {probe.dialect.resource_not_found}", reply.raw)


@probed("resources-not-found-32602", needs="resources", follows="resources-capability-declared")
async def unknown_uris_are_invalid_params(probe: Probe) -> AsyncIterator[Finding]:
    """Read a URI that does not exist: the error has the code -32602."""
    reply = await _unknown(probe)
    if reply.kind != "error":
        raise NotSeen("an unknown URI is not refused at all")
    if error_code(reply) != INVALID_PARAMS:
        yield fault(f"an unknown URI is not refused with {INVALID_PARAMS}", reply.raw)


@probed("resources-not-found-no-empty", needs="resources")
async def unknown_uris_are_not_empty(probe: Probe) -> AsyncIterator[Finding]:
    """Read a URI that does not exist: the reply is not a result with empty contents."""
    reply = await _unknown(probe)
    result = completed(reply)
    if result is not None and result.get("contents") == []:
        yield fault("an unknown URI is read as empty contents", reply.raw)


@probed("resources-not-found-data-uri", needs="resources")
async def the_error_repeats_the_uri(probe: Probe) -> AsyncIterator[Finding]:
    """Read a URI that does not exist: data.uri, if the error has it, is that URI."""
    reply = await _unknown(probe)
    data = reply.error.get("data") if reply.kind == "error" and isinstance(reply.error, dict) else None
    if not isinstance(data, dict) or "uri" not in data:
        raise NotSeen("the error has no data.uri")
    if data["uri"] != NO_SUCH_URI:
        yield fault("data.uri is not the URI that was asked for", reply.raw)


async def _unknown(probe: Probe) -> Message:
    """The reply about a made-up URI; NotSeen if the server has it."""
    reply = await probe.ask("resources/read", {"uri": NO_SUCH_URI})
    result = completed(reply)
    if result is not None and result.get("contents"):
        raise NotSeen("the server reads any URI")
    return reply


@probed("resources-uri-validated", needs="resources")
async def paths_do_not_climb(probe: Probe) -> AsyncIterator[Finding]:
    """Climb out of listed file:// resources by /../ and %2e%2e towards /etc/passwd: what comes is not that file."""
    files = [resource["uri"] for resource in probe.found.resources if str(resource.get("uri")).startswith("file://")]
    if not files:
        raise NotSeen("no file:// resource is listed")
    if _leaks(await probe.ask("resources/read", {"uri": f"file://{_SECRET_FILE}"})):
        raise NotSeen(f"{_SECRET_FILE} is served to every client on purpose")
    for step in ("/..", "/%2e%2e", "%2f%2e%2e"):
        uri = files[0] + step * 12 + _SECRET_FILE
        reply = await probe.ask("resources/read", {"uri": uri})
        if _leaks(reply):
            yield fault(f"reading {uri} gives {_SECRET_FILE}", reply.raw)


def _leaks(reply: Message) -> bool:
    result = completed(reply) or {}
    contents = result.get("contents")
    written = [item.get("text") for item in contents if isinstance(item, dict)] if isinstance(contents, list) else []
    return any(isinstance(each, str) and _SECRET_LINE.search(each) for each in written)


# Subscriptions.


@probed("resources-subscribe-accepted", needs="resources.subscribe")
async def subscriptions_are_taken(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe to a listed resource and end the subscription: both are answered with a result."""
    uris = [resource["uri"] for resource in probe.found.resources if isinstance(resource.get("uri"), str)]
    if not uris:
        raise NotSeen("no resource is listed")
    for uri in uris[:MOST_SUBSCRIBED]:
        reply = await probe.ask("resources/subscribe", {"uri": uri})
        if reply.kind == "result":
            break
    replies = {"subscribe": reply}
    if reply.kind == "result":
        replies["unsubscribe"] = await probe.ask("resources/unsubscribe", {"uri": uri})
    for word, each in replies.items():
        if not acknowledges(probe, f"resources/{word}", each):
            yield fault(f"resources/{word} is not answered with a result", each.raw)


@probed("resources-subscribe-needs-capability", follows="base-method-not-found-server")
async def undeclared_subscriptions_are_refused(probe: Probe) -> AsyncIterator[Finding]:
    """Subscribe, although resources.subscribe is not declared: the reply is an error."""
    if probe.declares("resources.subscribe"):
        raise NotSeen("resources.subscribe is declared")
    uris = [resource["uri"] for resource in probe.found.resources if isinstance(resource.get("uri"), str)]
    uri = uris[0] if uris else NO_SUCH_URI
    try:
        reply = await probe.ask("resources/subscribe", {"uri": uri})
    except (RequestTimeout, TransportError):
        raise NotSeen("resources/subscribe is not answered") from None
    if reply.kind == "result":
        yield fault("a subscription is taken, but resources.subscribe is not declared", reply.raw)
        await probe.ask("resources/unsubscribe", {"uri": uri})
