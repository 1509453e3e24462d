"""The HTTP endpoint: who may come in, which era a request belongs to, and the modern era's answers.

Requests to another host, or from the pages of another site, are refused before anything is read (basic/transports,
security warning): a wrong Origin with 403, a wrong Host with 421.
"""

import asyncio

from mcp_conductor.protocol import Json
from mcp_conductor.protocol.compose import compose_error
from mcp_conductor.protocol.dialect import (
    HANDSHAKE,
    HEADER_MISMATCH,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MODERN,
    MODERN_CODES,
    PARSE_ERROR,
)
from mcp_conductor.protocol.http_headers import mismatch
from mcp_conductor.protocol.message import Message, compact, decode
from mcp_conductor.server.client import Client, introduction, modern_client, unsupported_version, version_in
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.definitions import Refusal, unreadable
from mcp_conductor.server.http.admission import Admission
from mcp_conductor.server.http.cors import allow_reading, answer_preflight, is_preflight
from mcp_conductor.server.http.exchange import EVENT_TYPE, JSON_TYPE, HttpExchange, HttpRefused
from mcp_conductor.server.http.limits import LIMITS, Limits
from mcp_conductor.server.http.sessions import HttpSessions
from mcp_conductor.server.http.sse_host import SseHost
from mcp_conductor.server.http.streams import PostSender, Stream, answer, first_word, pump, speak
from mcp_conductor.server.reply_means import means_of
from mcp_conductor.server.server import Server
from mcp_conductor.server.spoiled_reply import SpoiledReply


class HttpHost:
    """A server behind HTTP."""

    def __init__(
        self, server: Server, transport: TransportConfig, admission: Admission, limits: Limits = LIMITS
    ) -> None:
        self._server = server
        self._transport = transport
        self._sessions = HttpSessions(server, transport, limits)
        self._sse = SseHost(server, transport) if transport.type == "sse" else None
        self._live: set[Client] = set()  # clients of the modern era that wait for an answer
        self._admission = admission
        self._means = means_of(transport, handshake=False)
        alone = transport.stateless or not server.handshake_versions  # whether each POST stands for itself
        self._allowed = "GET, POST" if self._sse is not None else "POST" if alone else "GET, POST, DELETE"

    async def serve(self, exchange: HttpExchange) -> None:
        if self._server.observe_exchange is not None:
            exchange.observe_with(self._server.observe_exchange())
        try:
            await self._route(exchange)
        except HttpRefused as refused:
            await exchange.refuse(refused.status, INVALID_REQUEST, refused.problem, refused.headers or [])
        except Exception as error:  # noqa: BLE001  # one request that fails must not go unseen, nor end the server
            self._server.complain(f"{exchange.method} {exchange.path} failed: {error!r}")
            exchange.cut()

    def stop(self) -> None:
        """End all streams, so that connections can close."""
        self._server.stop()
        self._sessions.stop()
        for client in list(self._live):
            self._server.forget(client)
        if self._sse is not None:
            self._sse.stop()

    async def _route(self, exchange: HttpExchange) -> None:
        self._admission.check(exchange.headers)
        allow_reading(exchange)
        if is_preflight(exchange):
            await answer_preflight(exchange, self._allowed)
            return
        self._admission.check_token(exchange.headers)
        if exchange.path != self._transport.path:
            await exchange.refuse(404, INVALID_REQUEST, f"there is nothing at {exchange.path}")
        elif self._sse is not None:
            await self._sse.serve(exchange)
        elif exchange.method == "POST":
            await self._post(exchange)
        elif exchange.method in ("GET", "DELETE") and not self._is_modern(exchange):
            await self._sessions.serve(exchange)
        else:
            problem = f"{exchange.method} is not used here"
            await exchange.refuse(405, INVALID_REQUEST, problem, [("Allow", self._allowed)])

    def _is_modern(self, exchange: HttpExchange) -> bool:
        version = exchange.header("mcp-protocol-version")
        if not self._server.handshake_versions:
            return True
        if version is None:
            return False
        # Only the handshake era has sessions: an unknown version is then a wrong header.
        has_session = exchange.header("mcp-session-id") is not None
        return version.strip() in MODERN if has_session else version.strip() not in HANDSHAKE

    async def _post(self, exchange: HttpExchange) -> None:
        if not exchange.accepts(JSON_TYPE, *(() if self._transport.json else (EVENT_TYPE,))):
            await exchange.refuse(406, INVALID_REQUEST, f"the Accept header must list {JSON_TYPE} and {EVENT_TYPE}")
            return
        if (exchange.header("content-type") or "").split(";")[0].strip().lower() != JSON_TYPE:
            await exchange.refuse(415, INVALID_REQUEST, f"the body must be {JSON_TYPE}")
            return
        message = decode(await exchange.body())
        if message.kind == "invalid" and (refusal := unreadable(message, "")).code == PARSE_ERROR:
            await exchange.refuse(400, refusal.code, refusal.message)
        elif self._is_modern(exchange) or (
            # A modern body under the header of another era has a wrong header, not another era.
            version_in(message.raw) is not None
            and message.raw.get("method") != "initialize"
            and exchange.header("mcp-session-id") is None
            and self._server.modern_versions
        ):
            await self._modern(exchange, message)
        else:
            await self._sessions.post(exchange, message)

    # 2026-07-28: every POST is complete by itself.

    async def _modern(self, exchange: HttpExchange, message: Message) -> None:
        if message.kind == "notification":
            await exchange.reply(202)
            return
        if message.kind != "request":
            await exchange.refuse(400, INVALID_REQUEST, message.problem or "only requests can be sent here")
            return
        spoiled = self._server.spoiled_reply(message, self._means)
        if spoiled is not None and spoiled.status is not None:
            await asyncio.sleep(spoiled.delay)
            await exchange.reply(spoiled.status, headers=spoiled.headers)
            return
        stream = Stream(None)
        try:
            client = self._described_client(exchange, message, stream)
        except Refusal as refusal:
            await exchange.reply(400, compact(compose_error(message.id, refusal.error())).encode())
            return
        self._live.add(client)
        try:
            await self._answer(exchange, message, client, stream, spoiled)
        finally:
            self._live.discard(client)

    def _described_client(self, exchange: HttpExchange, message: Message, stream: Stream) -> Client:
        """The client that the request describes, if its headers and its body agree."""
        if not self._server.handshake_versions:
            self._refuse_handshake(exchange, message)
        introduction(message.params)
        if not self._server.modern_versions:
            raise Refusal(INVALID_REQUEST, f"this server speaks {', '.join(self._server.handshake_versions)}")
        tool = self._server.tools.get(str(message.params.get("name"))) if message.method == "tools/call" else None
        problem = mismatch(message.raw, exchange.headers, {} if tool is None else tool.annotations)
        if problem is not None:
            raise Refusal(HEADER_MISMATCH, problem)
        return modern_client(message.params, stream.send, self._server.modern_versions)

    def _refuse_handshake(self, exchange: HttpExchange, message: Message) -> None:
        """Tell a client of the other era which versions are served; it names its own in the header, or not at all."""
        version = (exchange.header("mcp-protocol-version") or "").strip()
        if version_in(message.raw) is None and (not version or version in HANDSHAKE):
            named = message.params.get("protocolVersion") if message.method == "initialize" else None
            raise unsupported_version(named or version or None, self._server.modern_versions)

    async def _answer(
        self, exchange: HttpExchange, message: Message, client: Client, stream: Stream, spoiled: SpoiledReply | None
    ) -> None:
        """JSON, unless something has to be said before the answer: then an event stream."""
        alone: list[Json] = []
        cuts = spoiled is not None and spoiled.cut_stream is not None and not self._transport.json

        def deliver(reply: Json | None) -> None:
            if spoiled is not None and spoiled.silent:
                return
            if reply is not None and stream.is_empty and not cuts:
                alone.append(reply)
            elif reply is not None:
                speak(stream, reply, spoiled)
            stream.end()

        quiet = self._transport.json and message.method != "subscriptions/listen"
        self._server.take(message, client, PostSender(stream, _drop if quiet else None), deliver, spoiled)
        if not cuts and not stream.ended and stream.is_empty and not await first_word(exchange, stream):
            _abandon(client)
        elif alone:
            await answer(exchange, alone[0], status=_status(alone[0]), spoiled=spoiled)
        elif stream.is_empty and not cuts:
            await exchange.reply(202)  # cancelled: there is no answer
        elif not await pump(exchange, stream, spoiled=spoiled):
            _abandon(client)


def _abandon(client: Client) -> None:
    """In the modern era, a client that closes the stream has cancelled its request."""
    for running in client.running.values():
        running.cancel()


def _drop(_: Json) -> None:
    """What cannot be said in a JSON response is not said."""


def _status(reply: Json) -> int:
    """The HTTP status that goes with a reply of the modern era."""
    code = reply.get("error", {}).get("code")
    return 404 if code == METHOD_NOT_FOUND else 400 if code in (*MODERN_CODES, INVALID_REQUEST) else 200
