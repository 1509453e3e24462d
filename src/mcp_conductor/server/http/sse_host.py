"""HTTP+SSE, the transport of 2024-11-05: all messages to the client go through one GET stream, all others are POSTs."""

import asyncio
from urllib.parse import parse_qs

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.dialect import INVALID_REQUEST
from mcp_conductor.protocol.message import decode
from mcp_conductor.server.client import Client
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.definitions import unreadable
from mcp_conductor.server.http.exchange import EVENT_TYPE, HttpExchange
from mcp_conductor.server.http.streams import Stream, pump, speak
from mcp_conductor.server.identity import new_token
from mcp_conductor.server.reply_means import means_of
from mcp_conductor.server.server import Deliver, Server
from mcp_conductor.server.spoiled_reply import SpoiledReply


class SseHost:
    """A server whose sessions last as long as their GET streams."""

    def __init__(self, server: Server, transport: TransportConfig) -> None:
        self._server = server
        self._path = transport.path
        self._means = means_of(transport, handshake=True)
        self._sessions: dict[str, tuple[Client, Stream]] = {}

    def stop(self) -> None:
        for _, stream in self._sessions.values():
            stream.end()

    async def serve(self, exchange: HttpExchange) -> None:
        if exchange.method == "GET":
            await self._get(exchange)
        elif exchange.method == "POST":
            await self._post(exchange)
        else:
            await exchange.refuse(405, INVALID_REQUEST, f"{exchange.method} is not used here", [("Allow", "GET, POST")])

    async def _get(self, exchange: HttpExchange) -> None:
        if not exchange.accepts(EVENT_TYPE):
            await exchange.refuse(406, INVALID_REQUEST, f"the Accept header must list {EVENT_TYPE}")
            return
        identity, stream = new_token(), Stream(None)
        stream.add(f"{self._path}?sessionId={identity}".encode(), event="endpoint")
        client = Client(stream.send)
        self._sessions[identity] = (client, stream)
        exchange.belongs_to(identity)
        try:
            await pump(exchange, stream)
        finally:
            self._sessions.pop(identity, None)
            self._server.forget(client)

    async def _post(self, exchange: HttpExchange) -> None:
        identity = parse_qs(exchange.query.decode("latin-1")).get("sessionId", [""])[0]
        if identity not in self._sessions:
            await exchange.refuse(404 if identity else 400, INVALID_REQUEST, "there is no such session")
            return
        exchange.belongs_to(identity)
        message = decode(await exchange.body())
        if message.kind in ("invalid", "batch"):
            refusal = unreadable(message, "this transport has no batches")
            await exchange.refuse(400, refusal.code, refusal.message)
            return
        if identity not in self._sessions:  # it ended while we read
            await exchange.refuse(404, INVALID_REQUEST, "there is no such session")
            return
        client, stream = self._sessions[identity]
        spoiled = self._server.spoiled_reply(message, self._means) if message.kind == "request" else None
        if spoiled is not None and spoiled.expire_session:
            del self._sessions[identity]
            stream.end()
            await exchange.refuse(404, INVALID_REQUEST, "there is no such session")
            return
        if spoiled is not None and spoiled.status is not None:
            await asyncio.sleep(spoiled.delay)
            await exchange.reply(spoiled.status, headers=spoiled.headers)
            return
        await exchange.reply(202)
        if message.kind == "request":
            self._server.take(message, client, stream.send, _deliverer(stream, spoiled), spoiled)
        else:
            self._server.hear(message, client)


def _deliverer(stream: Stream, spoiled: SpoiledReply | None) -> Deliver:
    def deliver(reply: Json | None) -> None:
        if reply is None or (spoiled is not None and spoiled.silent):
            return
        if spoiled is None or spoiled.cut_stream != 0:
            speak(stream, reply, spoiled)
        if spoiled is not None and spoiled.cut_stream is not None:  # what the stream has said before does not count
            stream.ending = HttpExchange.cut
        if stream.ending is not None:
            stream.end()

    return deliver
