"""A transport of our own (provisional): messages as lines over TCP, to a server at `tcp://HOST:PORT`."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from mcp_conductor import Message, ServerSpec, TransportError, opens
from mcp_conductor.protocol.message import decode


@dataclass(frozen=True, slots=True, kw_only=True)
class TcpSpec(ServerSpec):
    """A server that listens at HOST and PORT."""

    host: str
    port: int

    kind = "tcp"

    @property
    def label(self) -> str:
        return f"tcp://{self.host}:{self.port}"


def at(url: str) -> TcpSpec:
    parts = urlsplit(url)
    return TcpSpec(host=parts.hostname or "127.0.0.1", port=parts.port or 3000)


@opens("tcp", tcp=at)
@asynccontextmanager
async def connect(spec: TcpSpec, listener: Any, _: Any = None) -> AsyncIterator["Lines"]:
    try:
        reader, writer = await asyncio.open_connection(spec.host, spec.port, limit=spec.budgets.message_bytes)
    except OSError as error:
        raise TransportError(f"cannot connect to {spec.label}: {error.strerror}") from error

    async def listen() -> None:
        async for line in reader:
            listener.heard(decode(line.strip(), spec.budgets))
        listener.gone("the server closed the connection")

    listening = asyncio.create_task(listen())
    try:
        yield Lines(writer)
    finally:
        listening.cancel()
        writer.close()


class Lines:
    """What a session sends its messages with."""

    cancels_by_closing = False

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer

    def send(self, message: Message) -> None:
        self.writer.write(message.text.encode() + b"\n")

    def speak(self, dialect: Any) -> None:
        """Which revision was agreed on; this transport does not need it."""

    def abandon(self, request_id: Any) -> None:
        """A request is not waited for any longer."""

    def unsent(self) -> int:
        return 0
