"""A transport to a recording in this process: each message is handed over in a turn of the loop of its own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose_error
from mcp_conductor.protocol.dialect import Dialect
from mcp_conductor.protocol.message import Message, build, members
from mcp_conductor.replaying.matching import is_modern
from mcp_conductor.replaying.replay_server import ReplayServer
from mcp_conductor.replaying.replay_spec import ReplaySpec
from mcp_conductor.server.client import Client, modern_client
from mcp_conductor.server.definitions import Refusal, unreadable
from mcp_conductor.transport import Authorize, Listener, finish, opens


@opens("replay")
@asynccontextmanager
async def open_replay(
    spec: ReplaySpec, listener: Listener, _: Authorize | None = None
) -> AsyncIterator["ReplayTransport"]:
    """Be a client of the recording until the block is left."""
    server = spec.make()
    transport = ReplayTransport(server, listener)
    try:
        yield transport
    finally:
        transport.end()
        await finish(server.close())


class ReplayTransport:
    """Messages to and from a recording."""

    cancels_by_closing = False

    def __init__(self, server: ReplayServer, listener: Listener) -> None:
        self._server = server
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._client = Client(self._say)
        self._ended = False

    def speak(self, dialect: Dialect) -> None:
        """Nothing here depends on the revision."""

    def send(self, message: Message) -> None:
        # No reply may be heard before the sender knows that it has sent.
        self._loop.call_soon(self._take, message)

    def abandon(self, request_id: Id) -> None:
        """There is no stream to close."""

    def unsent(self) -> int:
        return 0

    def end(self) -> None:
        self._ended = True
        self._server.forget(self._client)
        self._server.stop()

    def _take(self, message: Message) -> None:
        if self._ended:
            return
        if message.kind == "request":
            self._request(message)
        elif message.kind == "batch":
            for each in members(message):
                self._take(each)
        elif message.kind == "invalid":
            refusal = unreadable(message, "this is no message")
            self._say(compose_error(message.id, refusal.error()))
        else:
            self._server.hear(message, self._client)

    def _request(self, message: Message) -> None:
        client = self._client
        if is_modern(message.params) and message.method != "initialize":
            try:
                client = modern_client(message.params, self._say, self._server.modern_versions)
            except Refusal as refusal:
                self._say(compose_error(message.id, refusal.error()))
                return
            client.running = self._client.running  # a cancellation names no client
        self._server.take(message, client, self._say, self._deliver)

    def _deliver(self, reply: Json | None) -> None:
        if reply is not None:
            self._say(reply)

    def _say(self, raw: Json) -> None:
        if not self._ended:
            self._listener.heard(build(raw))
