"""Servers in our own process: an ASGI application, or what is at the other end of a pair of streams.

Apart from `server_spec`, because our programs never need them.
"""

from collections.abc import AsyncIterable, Awaitable, Callable, MutableMapping
from typing import Any, Protocol

from mcp_conductor.protocol.server_spec import HttpSpec, ServerSpec
from mcp_conductor.values import dataclass

_Event = MutableMapping[str, Any]
AsgiApp = Callable[[_Event, Callable[[], Awaitable[_Event]], Callable[[_Event], Awaitable[None]]], Awaitable[None]]
# The methods by which servers of others make an application of themselves.
APPLICATION_MAKERS = ("http_app", "streamable_http_app")


class FastServer(Protocol):
    """A server of FastMCP."""

    def http_app(self) -> AsgiApp: ...


class SdkServer(Protocol):
    """A server of the official SDK: MCPServer, or what was FastMCP there."""

    def streamable_http_app(self) -> AsgiApp: ...


ServerObject = FastServer | SdkServer


@dataclass(frozen=True, slots=True, kw_only=True)
class AsgiSpec(HttpSpec):
    """A server that is an ASGI application, called without a socket; its lifespan is that of the connections to it.

    A server of FastMCP or of the official SDK makes a new application for every connection.
    """

    app: AsgiApp | ServerObject
    url: str = "http://127.0.0.1:8000/mcp"
    lifespan: bool = True  # whether to tell the application that it starts and ends

    @property
    def label(self) -> str:
        made_here = any(hasattr(self.app, maker) for maker in APPLICATION_MAKERS)
        return f"the {'server' if made_here else 'application'} {type(self.app).__name__}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsSpec(ServerSpec):
    """A server at the other end of two streams of messages.

    READ is iterated over; WRITE has `send`, as the streams of anyio, or `write`, as those of asyncio. ENCODE makes what
    is written from a line of JSON, DECODE makes a line of JSON from what is read.
    """

    read: AsyncIterable[Any]
    write: object
    encode: Callable[[str], Any] = lambda line: line.encode(errors="surrogateescape") + b"\n"
    decode: Callable[[Any], Any] = lambda item: item

    module = "mcp_conductor.transport.stream_pair"
    kind = "streams"
    label = "the server at the other end of the streams"
