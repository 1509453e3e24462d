"""The real server behind a recording: one client's session with it, in which all is passed on as it is, and recorded.

Ids are our own, so that clients that share a session cannot meet; progress tokens are those of the client.
"""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from mcp_conductor.client.connect import connect
from mcp_conductor.client.held_context import HeldContext
from mcp_conductor.client.negotiation import NONE
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConductorError, TransportError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose, compose_reply
from mcp_conductor.protocol.dialect import DIALECTS, INTERNAL_ERROR, METHOD_NOT_FOUND, NEWEST_MODERN, named_in
from mcp_conductor.protocol.ledger import SUBSCRIPTION, progress_token
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Frame, Transcript
from mcp_conductor.replaying.matching import is_modern
from mcp_conductor.replaying.playing import renamed
from mcp_conductor.replaying.recorded_calls import LISTEN
from mcp_conductor.server.client import Client, Send
from mcp_conductor.server.definitions import AskFailed
from mcp_conductor.text.redaction import Redactor

T = TypeVar("T")

ANSWER_SECONDS = 600.0  # a client may be more patient than that, but we are not
_PROGRESS = "notifications/progress"
_CANCELLED = "notifications/cancelled"


class UpstreamSession:
    """What one client has with the real server; it begins with the first request that is passed on."""

    def __init__(
        self,
        spec: ServerSpec,
        client: Client,
        redactor: Redactor,
        record: Callable[[], Callable[[Frame], None]],
        tools: Callable[[], Iterable[Any]] = tuple,
    ) -> None:
        self._spec = spec
        self._client = client
        self._redactor = redactor
        self._record = record  # begins another conversation of the recording
        self._tools = tools  # those that the client knows from the recording
        self._opening: asyncio.Task[Session] | None = None
        self._held: HeldContext[Session] | None = None
        self._sends: dict[Id, Send] = {}  # of requests that are open
        self._by_token: dict[Id, Send] = {}
        self._listening: dict[Id, tuple[Id, Send]] = {}
        self._asked: dict[Id, asyncio.Task[None]] = {}  # questions of the server that are open

    async def ask(self, message: Message, send: Send, opened_by: Message | None) -> Json:
        """The server's reply to MESSAGE of a client that OPENED its conversation so. Raises ConductorError."""
        session = await self._session(message, opened_by)
        identity, token = session.next_id(), progress_token(message.raw)
        listens = message.method == LISTEN
        self._sends[identity] = send
        if token is not None:
            self._by_token[token] = send
        if listens:
            self._listening[identity] = message.id or 0, send
        try:
            seconds = math.inf if listens else ANSWER_SECONDS
            reply = (await session.exchange({**message.raw, "id": identity}, timeout=seconds)).reply
        finally:
            del self._sends[identity]
            if token is not None:
                self._by_token.pop(token, None)
            self._listening.pop(identity, None)
        if reply is None or not isinstance(reply.raw, dict):
            raise TransportError(f"the answer to {message.method} is no message")
        if message.method == "initialize":
            _settle(session, reply)
        answer = {**reply.raw, "id": message.id}
        return renamed(answer, "result", message.id or 0) if listens else answer

    def hear(self, message: Message) -> None:
        """Pass a notification of the client on, if the server is there."""
        if self._opening is not None and self._opening.done() and not self._opening.cancelled():
            session = None if self._opening.exception() else self._opening.result()
            if session is not None and not session.ended:
                session.send(message.raw)

    async def close(self) -> None:
        for task in (*self._asked.values(), *([self._opening] if self._opening else ())):
            task.cancel()
        if self._held is not None:
            await self._held.close()

    # How it begins.

    async def _session(self, first: Message, opened_by: Message | None) -> Session:
        known = self._opening
        over = known is not None and known.done() and (known.cancelled() or known.exception() or known.result().ended)
        if known is None or over:
            # At once: several requests may find that the session is over.
            earlier, self._held = self._held, None
            self._opening = known = asyncio.create_task(self._open(first, opened_by, earlier))
        return await asyncio.shield(known)

    async def _open(self, first: Message, opened_by: Message | None, earlier: HeldContext[Session] | None) -> Session:
        if earlier is not None:
            await earlier.close()
        record = self._record()

        def observe(frame: Frame) -> None:
            record(frame)
            if frame.source == "server":
                for message in frame.messages():
                    if message.kind == "notification":
                        self._pass(message)

        transcript = Transcript(self._spec.secrets(), listener=observe, redactor=self._redactor)
        opening = connect(
            self._spec, protocol=NONE, timeout=ANSWER_SECONDS, transcript=transcript, on_request=self._question
        )
        held = HeldContext(opening)
        session = await held.open()
        self._held = held
        if is_modern(first.params):
            session.settle(named_in(first.params) or NEWEST_MODERN, {})
            # Over HTTP, arguments of some tools are sent as headers too. Other transports need not know the tools.
            if (learn := getattr(session.transport, "learn_tools", None)) is not None:
                learn(self._tools())
        elif opened_by is not None and first.method != "initialize":
            await self._initialize(session, opened_by)
        return session

    async def _initialize(self, session: Session, opened_by: Message) -> None:
        """Open the conversation as the client did, who has had its answer from the recording."""
        reply = (await session.exchange({**opened_by.raw, "id": session.next_id()}, timeout=ANSWER_SECONDS)).reply
        if reply is None or not _settle(session, reply):
            raise TransportError("the server refused initialize")
        session.send(compose("notifications/initialized"))

    # What the server says by itself.

    def _pass(self, message: Message) -> None:
        """Pass a notification on, to where the client expects it."""
        meta = message.params.get("_meta")
        listening = _of(self._listening, meta.get(SUBSCRIPTION)) if isinstance(meta, dict) else None
        if listening is not None:
            identity, send = listening
            send(renamed(message.raw, "params", identity))
        elif message.method == _PROGRESS:
            (_of(self._by_token, message.params.get("progressToken")) or self._client.send)(message.raw)
        elif message.method == _CANCELLED:
            asked = _of(self._asked, message.params.get("requestId"))
            if asked is not None:
                asked.cancel()
        else:
            self._newest()(message.raw)

    def _newest(self) -> Send:
        return next(reversed(self._sends.values()), self._client.send)

    def _question(self, session: Session, message: Message) -> None:
        task = asyncio.create_task(self._answer(session, message))
        identity = message.id or 0
        self._asked[identity] = task
        task.add_done_callback(lambda _: self._asked.pop(identity, None))

    async def _answer(self, session: Session, message: Message) -> None:
        reply: dict[str, Any]
        if self._client.dialect is None or message.problem is not None or not self._client.declares(message.raw):
            reply = {"error": {"code": METHOD_NOT_FOUND, "message": f"the client does not answer {message.method}"}}
        else:
            try:
                reply = {"result": await self._client.ask(message.raw, self._newest())}
            except AskFailed as failure:
                reply = {"error": failure.error or {"code": INTERNAL_ERROR, "message": str(failure)}}
        if not session.ended:
            session.send(compose_reply(message.id, reply))


def _of(known: Mapping[Id, T], identity: object) -> T | None:
    """What is KNOWN under IDENTITY, which may be anything."""
    return known.get(identity) if isinstance(identity, (str, int, float)) else None


def _settle(session: Session, reply: Message) -> bool:
    """Hold the conversation as the server's answer to initialize says; whether it says so."""
    result = reply.result if reply.kind == "result" and isinstance(reply.result, dict) else {}
    dialect = DIALECTS.get(str(result.get("protocolVersion")))
    if dialect is not None:
        session.settle(dialect, result)
    return dialect is not None


def why_unasked(error: ConductorError) -> str:
    """Why the server could not be asked, on one line."""
    return f"the server could not be asked: {error.message}"
