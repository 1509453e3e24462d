"""The server that a recording is: each client of it meets what the recorded client met."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple

from mcp_conductor import __version__
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.compose import compose_error, compose_result
from mcp_conductor.protocol.dialect import (
    DIALECTS,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    META,
    METHOD_NOT_FOUND,
    NEWEST_HANDSHAKE,
    Dialect,
)
from mcp_conductor.protocol.ledger import SUBSCRIPTION
from mcp_conductor.protocol.message import Message, compact
from mcp_conductor.replaying.discovery import discovered
from mcp_conductor.replaying.matching import Pool
from mcp_conductor.replaying.nearest import why_missing
from mcp_conductor.replaying.playing import Listening, Playing, Talk
from mcp_conductor.replaying.recorded_calls import LISTEN, RecordedCall
from mcp_conductor.server.call import Call
from mcp_conductor.server.client import Client, Send
from mcp_conductor.server.config import ServerConfig, TransportConfig
from mcp_conductor.server.server import Deliver, Server
from mcp_conductor.server.spoiled_reply import SpoiledReply
from mcp_conductor.server.state import Subscriber

_MOST_TOLD = 20  # lines about requests that are not in the recording, and about questions that are not asked
_MOST_DESCRIBED = 1000  # clients of the modern era, which leave without a word
_NOT_A_CAUSE = ("notifications/cancelled", "notifications/progress")


class Request(NamedTuple):
    """A request of a client, and the ways to it."""

    message: Message
    client: Client
    talk: Talk
    send: Send  # for what belongs to this request
    deliver: Deliver

    @property
    def id(self) -> Id:
        identity: Id = self.message.id  # type: ignore[assignment]  # a request has one
        return identity


class ReplayServer(Server):
    """A recording between its hosts and its clients."""

    def __init__(
        self,
        pool: Pool,
        transport: TransportConfig,
        *,
        real_time: bool = False,
        lead: float = 0.0,  # seconds by which progress comes before the reply
        complain: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.pool = pool
        self.misses: list[str] = []  # the first of them
        self.missed = 0
        self.added = 0  # requests that are in the recording only since now
        self.not_added = 0  # and those that should be, but could not be written
        self._real_time = real_time
        self._lead = lead
        self._told = 0
        self._talks: dict[Client, Talk] = {}
        self._described: OrderedDict[str, Talk] = OrderedDict()  # with clients of the modern era
        super().__init__(ServerConfig(info={"name": "conductor-replay", "version": __version__}, transport=transport))
        self.complain = complain

    def offered_methods(self, dialect: Dialect) -> dict[str, Callable[[Call], Any]]:  # noqa: ARG002  # in all of them
        """All is in the recording."""
        return {}

    # What a client asks.

    def take(
        self,
        message: Message,
        client: Client,
        send: Send,
        deliver: Deliver,
        spoiled: SpoiledReply | None = None,  # noqa: ARG002  # a recording has no faults but its own
    ) -> None:
        if message.problem is not None:
            deliver(compose_error(message.id, {"code": INVALID_REQUEST, "message": message.problem}))
            return
        request = Request(message, client, self.talk(client, message), send, deliver)
        call = self.recorded(request)
        if call is None:
            self.take_missing(request)
            return
        playing = self._playing(call, client, request.talk, message)
        if playing.at_once:
            self._finish(request, playing.reply_at_once(send), playing)
        elif call.method == LISTEN and not call.replied:
            self.run(self._listen(request, call, playing), request)
        else:
            self.run(self._reply(request, playing), request)

    def recorded(self, request: Request) -> RecordedCall | None:
        """What the recording has for a request."""
        return request.talk.conversation.next(request.message.method, request.message.params)

    def take_missing(self, request: Request) -> None:
        """Answer a request that the recording does not have."""
        message = request.message
        if message.method == "ping":  # which clients send whenever they like, and which has one answer
            request.deliver(compose_result(message.id, {}))
            return
        if message.method == "server/discover" and self.pool.modern:
            self._tell("server/discover is not in the recording, and is answered by what the recording has")
            request.deliver(compose_result(message.id, discovered(self.pool)))
            return
        why = why_missing(self.pool, message.method, message.params)
        if message.method != "server/discover" or not self.pool.handshake:  # by which clients find out the era
            self.count_miss(why)
        code = INVALID_PARAMS if message.method in self.pool.about else METHOD_NOT_FOUND
        request.deliver(compose_error(message.id, {"code": code, "message": why}))

    def count_miss(self, why: str) -> None:
        """Remember that a client was not answered, and tell WHY."""
        self.missed += 1
        if len(self.misses) < _MOST_TOLD:
            self.misses.append(why)
        self._tell(why)

    def run(self, work: Coroutine[Any, Any, None], request: Request) -> None:
        """Answer a request in time, unless the client cancels it."""
        running, deliver, message = request.client.running, request.deliver, request.message

        async def run() -> None:
            try:
                await work
            except asyncio.CancelledError:
                deliver(None)
                raise
            except Exception as error:  # noqa: BLE001  # a client must not wait for what failed here
                self.complain(f"{message.method} failed: {error!r}")
                problem = f"Internal error: {type(error).__name__}"
                deliver(compose_error(message.id, {"code": INTERNAL_ERROR, "message": problem}))
            finally:
                if running.get(request.id) is asyncio.current_task():
                    del running[request.id]

        running[request.id] = asyncio.create_task(run())

    async def _reply(self, request: Request, playing: Playing) -> None:
        self._finish(request, await playing.reply(request.send), playing)

    def _finish(self, request: Request, reply: Json, playing: Playing) -> None:
        self.deliver(request, reply)
        if playing.goes_on:
            request.talk.later(playing.afterwards())

    def deliver(self, request: Request, reply: Json) -> None:
        """Give a client its reply; with that to initialize, it is in a conversation."""
        result = reply.get("result")
        if request.message.method == "initialize" and isinstance(result, dict):
            request.talk.opened_by = request.message
            dialect = DIALECTS.get(str(result.get("protocolVersion")))
            request.client.dialect = dialect if dialect is not None and dialect.handshake else NEWEST_HANDSHAKE
            capabilities = request.message.params.get("capabilities")
            request.client.capabilities = capabilities if isinstance(capabilities, dict) else {}
        request.deliver(reply)

    async def _listen(self, request: Request, call: RecordedCall, playing: Playing) -> None:
        """Keep a subscription open: what it tells is played with the calls that it followed."""
        subscriber = Subscriber(request.id, lambda *_: None, {})
        subscriptions = request.talk.listening
        listening = subscriptions[call] = Listening(request.id, request.send, subscriber, [])
        self.listeners.add(subscriber)
        try:
            await playing.everything(request.send)
            await subscriber.until_ended()
        finally:
            self.listeners.discard(subscriber)
            if subscriptions.get(call) is listening:
                del subscriptions[call]
        request.deliver(listening.ended[0] if listening.ended else end_of_subscription(request.id))

    # What else it says.

    def hear(self, message: Message, client: Client) -> None:
        super().hear(message, client)
        if message.kind != "notification" or message.method in _NOT_A_CAUSE:
            return
        talk = self.talk(client, message)
        call = talk.conversation.next(message.method, message.params)
        if call is not None and call.steps:
            self._playing(call, client, talk, message).reaction()

    def forget(self, client: Client) -> None:
        super().forget(client)
        talk = self._talks.pop(client, None)
        if talk is not None:
            self.end_talk(talk)

    def end_talk(self, talk: Talk) -> None:
        """A client has gone, or begins again."""
        talk.end()

    def stop(self) -> None:
        super().stop()
        for talk in (*self._talks.values(), *self._described.values()):
            talk.end()

    async def close(self) -> None:
        """Nothing is served any more."""

    # Who it is.

    def talk(self, client: Client, message: Message) -> Talk:
        """What is known of CLIENT. In the modern era, clients that describe themselves alike are one."""
        if client.lasting:
            if client not in self._talks:
                self._talks[client] = Talk(self.pool)
            return self._talks[client]
        key = self._description(client, message)
        if self._many and message.method == "server/discover":
            self._end_described(key)
        if key not in self._described:
            self._described[key] = Talk(self.pool)
            if len(self._described) > _MOST_DESCRIBED:
                self._end_described(next(iter(self._described)))
        self._described.move_to_end(key)
        return self._described[key]

    def _end_described(self, key: str) -> None:
        talk = self._described.pop(key, None)
        if talk is not None:
            self.end_talk(talk)

    @property
    def _many(self) -> bool:
        """Whether several clients may come, one after another, without a word of their end."""
        return self.config.transport.type != "stdio"

    def _description(self, client: Client, message: Message) -> str:
        meta = message.params.get("_meta")
        info = meta.get(f"{META}clientInfo") if isinstance(meta, dict) else None
        return compact([client.capabilities, info]) if self._many else ""

    def _playing(self, call: RecordedCall, client: Client, talk: Talk, message: Message) -> Playing:
        return Playing(call, client, talk, message, real_time=self._real_time, lead=self._lead, complain=self._tell)

    def _tell(self, line: str) -> None:
        self._told += 1
        if self._told <= _MOST_TOLD:
            self.complain(line)
        elif self._told == _MOST_TOLD + 1:
            self.complain("more of this is not told here")


def end_of_subscription(identity: Id) -> Json:
    """The reply to the request that opened a subscription, which is over."""
    return compose_result(identity, {"resultType": "complete", "_meta": {SUBSCRIPTION: identity}})
