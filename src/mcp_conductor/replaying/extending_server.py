"""A replay that asks the real server for what the recording does not have, and adds that to the recording."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from mcp_conductor.errors import ConductorError, HttpStatusError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose_error
from mcp_conductor.protocol.dialect import INTERNAL_ERROR
from mcp_conductor.protocol.message import Message
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.recording.continuing import GrowingRecording
from mcp_conductor.recording.dialogue import shown_request
from mcp_conductor.recording.format import server_of
from mcp_conductor.replaying.matching import Pool
from mcp_conductor.replaying.nearest import MISSING
from mcp_conductor.replaying.playing import Talk
from mcp_conductor.replaying.recorded_calls import LISTEN, RecordedCall
from mcp_conductor.replaying.replay_server import ReplayServer, Request, end_of_subscription
from mcp_conductor.replaying.upstream import UpstreamSession, why_unasked
from mcp_conductor.server.client import Client
from mcp_conductor.server.config import TransportConfig
from mcp_conductor.server.state import Subscriber
from mcp_conductor.text.redaction import Redactor
from mcp_conductor.transport import finish


class ExtendingServer(ReplayServer):
    """A recording that grows. What was not in it when it was opened is asked of the server each time."""

    def __init__(
        self,
        pool: Pool,
        transport: TransportConfig,
        *,
        spec: ServerSpec,
        recording: GrowingRecording,
        redactor: Redactor,
        **options: Any,
    ) -> None:
        super().__init__(pool, transport, **options)
        self._spec = spec
        self._recording = recording
        self._redactor = redactor
        self._sessions: dict[Talk, UpstreamSession] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def recorded(self, request: Request) -> RecordedCall | None:
        call = super().recorded(request)
        return None if call is None or call.unanswered else call  # the server may have the answer

    def take_missing(self, request: Request) -> None:
        if request.message.method == "ping" or self._is_of_other_era(request.message):
            super().take_missing(request)
        else:
            self.run(self._ask(request), request)

    def _is_of_other_era(self, message: Message) -> bool:
        """Whether MESSAGE would begin a conversation that the recording has nothing for."""
        if message.method == "server/discover":
            return self.pool.handshake and not self.pool.modern
        return message.method == "initialize" and self.pool.modern and not self.pool.handshake

    async def _ask(self, request: Request) -> None:
        message, talk = request.message, request.talk
        if talk not in self._sessions:
            self._sessions[talk] = UpstreamSession(
                self._spec, request.client, self._redactor, self._record, self.pool.listed_tools
            )
        try:
            reply = await self._reply_of(self._sessions[talk], request)
        except ConductorError as error:
            why = f"{MISSING}: {shown_request(message.method, message.params)}; {why_unasked(error)}"
            self.count_miss(why)
            reply = compose_error(message.id, {"code": INTERNAL_ERROR, "message": why})
        self.deliver(request, reply)

    async def _reply_of(self, session: UpstreamSession, request: Request) -> Json:
        asking = session.ask(request.message, request.send, request.talk.opened_by)
        try:
            listens = request.message.method == LISTEN
            reply: Json = await (self._until_stopped(asking, request.id) if listens else asking)
        except HttpStatusError as error:
            if error.error is None:
                raise
            reply = compose_error(request.id, error.error)
        if self._recording.broken:
            self.not_added += 1
        else:
            self.added += 1
        return reply

    async def _until_stopped(self, asking: Coroutine[Any, Any, Json], identity: Id) -> Json:
        """What ASKING gives, a subscription; when we stop, or the client has said all, it is cancelled."""
        task = asyncio.ensure_future(asking)
        subscriber = Subscriber(identity, lambda *_: None, {})
        stopped = asyncio.ensure_future(subscriber.until_ended())
        self.listeners.add(subscriber)
        try:
            await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
            return task.result() if task.done() else end_of_subscription(identity)
        finally:
            self.listeners.discard(subscriber)
            stopped.cancel()
            task.cancel()

    def _record(self) -> Callable[[Any], None]:
        """Begin another conversation of the recording."""
        return self._recording.session(server_of(self._spec)).take

    def hear(self, message: Message, client: Client) -> None:
        super().hear(message, client)
        if message.kind == "notification" and message.method != "notifications/cancelled":
            session = self._sessions.get(self.talk(client, message))
            if session is not None:
                session.hear(message)

    def end_talk(self, talk: Talk) -> None:
        super().end_talk(talk)
        session = self._sessions.pop(talk, None)
        if session is not None:
            self._close_soon(session)

    def _close_soon(self, session: UpstreamSession) -> None:
        task = asyncio.create_task(session.close())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """End all sessions with the server."""
        for session in self._sessions.values():
            self._close_soon(session)
        self._sessions.clear()
        if self._closing:
            await finish(_all_of(self._closing))


async def _all_of(tasks: "set[asyncio.Task[None]]") -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
