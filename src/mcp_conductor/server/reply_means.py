"""What a host can do to a reply, by its transport and era: faults that need something else do not strike there."""

from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.spoiled_reply import CONTENT_TYPE, EVENT_STREAM, SESSION, STATUS, STDOUT, Means


def means_of(transport: TransportConfig, *, handshake: bool) -> Means:
    """The means that a host on TRANSPORT has for clients with a HANDSHAKE, or without one."""
    if transport.type == "stdio":
        return frozenset({STDOUT})
    means = {STATUS}
    if transport.type == "streamable-http":
        means.add(CONTENT_TYPE)
    if transport.type == "sse" or not transport.json:
        means.add(EVENT_STREAM)
    if handshake:
        means.add(SESSION)
    return frozenset(means)
