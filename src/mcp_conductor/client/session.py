"""One conversation with one server: requests and their results, notifications, and the questions the server asks us.

A Session is complete when it is made, and no other module writes into it: what must change later has a method here.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from mcp_conductor.client import calls
from mcp_conductor.client.callbacks import Observers
from mcp_conductor.client.ids import Ids
from mcp_conductor.client.server_questions import ServerQuestions, as_object
from mcp_conductor.client.subscriptions import Stream, Subscriptions
from mcp_conductor.client.wire import Wire
from mcp_conductor.errors import Flooded, HttpStatusError, MethodError, ProtocolError, RequestTimeout, TransportError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.answers import Answers, Incoming
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.compose import compose, compose_in, compose_request
from mcp_conductor.protocol.dialect import META, NEWEST_HANDSHAKE, Dialect
from mcp_conductor.protocol.input_rounds import is_final, next_round
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.message import Message, build, compact, kind_of
from mcp_conductor.protocol.oddities import excerpt
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.transport import Listener, Transport

if TYPE_CHECKING:
    from mcp_conductor.protocol.questions import LogFunction, NotificationFunction

DEFAULT_TIMEOUT = 30.0
_END_SECONDS = 2.0  # for functions of the user to end, when they are cancelled at the end of a session
MOST_ROUNDS = 10  # of input_required, before we stop believing that the server will ever be content
_ROUND_PAUSES = (0.05, 0.1, 0.25)  # between retries when the server only asks for time


class SessionOptions(NamedTuple):
    """What a session is made with. All attempts to reach one server share it: their ids and times go on."""

    client: Json
    answers: Answers
    timeout: float
    transcript: Transcript
    context: Json  # what errors of this session say of their surroundings
    extensions: Json
    budgets: Budgets
    lenient: bool  # take an opening that is not as it should be, and say more than we have to
    ids: Ids
    began: float  # when times of the transcript count from
    on_incoming: "Callable[[Incoming], Awaitable[None] | None] | None" = None
    validates: bool = False  # whether results of tools must fit their output schemas
    on_log: "LogFunction | None" = None
    on_notification: "NotificationFunction | None" = None
    on_unsubscribed: Callable[[bool], None] | None = None  # told whether the subscription was lost, or ended
    on_reopened: "Callable[[Session], Awaitable[None]] | None" = None  # a new session on the same transport has begun
    on_request: "Callable[[Session, Message], None] | None" = None  # requests of the server, which ANSWERS do not get


class Session:
    """A conversation with one server, from the opening to the end: `connect()` makes it, enters it, and leaves it.

    REACH opens the transport, NEGOTIATE opens the conversation; the latter once more where the server ends a session.
    """

    def __init__(
        self,
        options: SessionOptions,
        *,
        reach: Callable[[Listener], AbstractAsyncContextManager[Transport]],
        negotiate: "Callable[[Session], Awaitable[None]]",
    ) -> None:
        self.dialect: Dialect = NEWEST_HANDSHAKE
        self.server: Json = {}  # who the server says it is
        self.capabilities: Json = {}  # what it says it can do
        self.opened: Json = {}  # the result of initialize or server/discover, as it was sent
        self.client = options.client
        self.answers = options.answers
        self.timeout = options.timeout
        self.began = options.began  # when the times of the transcript count from
        self.transcript = options.transcript
        self.redact = options.transcript.redact
        self.context = options.context
        self.lenient = options.lenient
        self.budgets = options.budgets
        self._options = options
        self._next_id = options.ids.next
        self._reach = reach
        self._negotiate = negotiate
        self.subscriptions = Subscriptions()
        self._observers = Observers(
            on_incoming=options.on_incoming,
            on_log=options.on_log,
            on_notification=options.on_notification,
            note=self.note,
            most_bytes=options.budgets.notification_bytes,
        )
        self.known_tools = calls.KnownTools()
        self.validates = options.validates
        self._log_level: str | None = None
        self._wire = Wire(
            options.transcript,
            began=options.began,
            timeout=options.timeout,
            context=options.context,
            budgets=options.budgets,
            on_request=self._on_request,
            on_notification=self._on_notification,
        )
        self._questions = ServerQuestions(
            self._wire, most_unread=options.budgets.message_bytes, tell=self._observers.incoming
        )

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            try:
                self.transport = await stack.enter_async_context(self._reach(self._wire))
            except TransportError as error:
                error.stderr = self.transcript.stderr_tail()
                raise
            self._wire.attach(self.transport)
            self._wire.when_gone(self.subscriptions.lost)
            await self._negotiate(self)
            stack.push_async_callback(self._close)
            self._exits = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._exits.__aexit__(kind, error, trace)

    # How it is opened.

    def assume(self, dialect: Dialect) -> None:
        """Speak DIALECT until another is agreed on; the transport is not told."""
        self.dialect = dialect
        self._wire.speak(dialect)

    def settle(self, dialect: Dialect, opened: Json) -> None:
        """From here on the conversation is held in DIALECT."""
        self.assume(dialect)
        self.opened = opened
        self.transport.speak(dialect)
        meta = as_object(opened.get("_meta"))
        self.server = as_object(opened.get("serverInfo") or meta.get(f"{META}serverInfo"))
        self.capabilities = as_object(opened.get("capabilities"))

    def client_capabilities(self, dialect: Dialect) -> Json:
        """Return the capabilities that we declare in a revision."""
        capabilities = self.answers.capabilities(dialect)
        if self._options.extensions and not dialect.handshake:
            capabilities["extensions"] = self._options.extensions
        return capabilities

    def declare_extension(self, name: str) -> None:
        """Say from now on that we have the extension NAME, where every request says what we have."""
        self._options.extensions[name] = {}

    def answer_with(self, answers: Answers) -> None:
        """From here on, answer the server by ANSWERS; they should declare what the server was told."""
        self.answers = answers

    async def input_responses(self, questions: Any) -> Json:
        """The answers to the inputRequests of a task that waits for input (2026-07-28): what tasks/update takes."""
        return await self._questions.responses(questions, self.answers, self.dialect)

    # Ids of our requests.

    def next_id(self) -> int:
        """Return the next id of a request, which no other request gets."""
        return self._next_id()

    def avoid_ids(self, ids: Iterable[int]) -> None:
        """Give none of IDS to a request of ours: another sends them."""
        self._options.ids.avoid(ids)

    def ids_starting_at(self, first: int) -> AbstractContextManager[None]:
        """Within this block, requests have ids of their own, so that later ones are the same with it or without it."""
        return self._options.ids.starting_at(first)

    # What we say.

    def compose(self, method: str, params: Json | None = None) -> Json:
        """A request of ours, as it would be sent: with an id of its own, and in the modern era with who we are."""
        if self.dialect.handshake:
            return compose(method, params, identity=self.next_id())
        capabilities = self.client_capabilities(self.dialect)
        if self._log_level is not None:
            meta = (params or {}).get("_meta") or {}
            params = {**(params or {}), "_meta": {f"{META}logLevel": self._log_level, **meta}}
        return compose_in(
            self.dialect, method, params, identity=self.next_id(), client=self.client, capabilities=capabilities
        )

    async def request(self, method: str, params: Json | None = None, *, timeout: float | None = None) -> Any:
        """The result of METHOD; questions that come back in place of a result are answered. Raises MethodError."""
        return (await self.reply_to(method, params, timeout)).raw["result"]

    async def reply_to(self, method: str, params: Json | None = None, timeout: float | None = None) -> Message:
        """The message that holds the result of METHOD."""
        asked, wire = params, self._wire
        for round_number in range(MOST_ROUNDS):
            message = self._build(method, asked)
            try:
                exchange = await wire.ask(message, timeout)
            except (RequestTimeout, asyncio.CancelledError) as error:
                wire.stopped_waiting(message, error)
                raise
            except HttpStatusError as error:
                exchange = await self._exchange_in_new_session(error, method, asked, timeout)
            reply = self._usable(exchange)
            if self.dialect.handshake or not isinstance(result := reply.raw["result"], dict):
                return reply
            if is_final(method, result, self.dialect):
                return reply
            if not result.get("inputRequests"):
                await asyncio.sleep(_ROUND_PAUSES[min(round_number, len(_ROUND_PAUSES) - 1)])
            asked = next_round(params or {}, result, await self.input_responses(result.get("inputRequests")))
        hint = "does the server accept the answers?"
        raise ProtocolError(f"{method} wanted more input after {MOST_ROUNDS} rounds", hint=hint)

    async def pass_on(self, method: str, params: Json | None = None, timeout: float | None = None) -> Message:
        """Send one request and return what answers it: a result, an error, or questions in place of a result."""
        try:
            exchange = await self._wire.exchange(self._build(method, params), timeout)
        except HttpStatusError as error:
            exchange = await self._exchange_in_new_session(error, method, params, timeout)
        assert exchange.reply is not None
        return exchange.reply

    def send(self, raw: Json) -> None:
        """Send exactly this, and wait for nothing: a notification, or the answer to what `on_request` was given."""
        self._wire.send(build(raw))

    async def exchange(self, raw: Json, *, timeout: float | None = None) -> Exchange:
        """Send exactly this request and wait for its reply; an error reply is a reply."""
        return await self._wire.exchange(build(raw), timeout)

    def exchange_later(self, raw: Json, *, timeout: float | None = None) -> Callable[[], Awaitable[Exchange]]:
        """Send exactly this request now; what is returned waits for its reply, whenever that is called."""
        return partial(self._wire.answer, self._wire.ask(build(raw), timeout))

    async def say(self, text: str, *, timeout: float | None = None) -> Message | None:
        """Send exactly this text, valid or not, and return what answers it; nothing answers a notification."""
        return await self._wire.say(text, timeout=timeout)

    async def notify(self, method: str, params: Json | None = None) -> None:
        """Send a notification."""
        self.send(compose(method, params))

    async def listen(self, notifications: Json, meta: Json | None = None) -> Message:
        """Open a subscription (2026-07-28) and return its acknowledgement; it lasts as long as the session."""
        return (await self.open_stream(notifications, meta)).acknowledged

    async def open_stream(self, notifications: Json, meta: Json | None = None) -> Stream:
        """Open a subscription (2026-07-28), which lasts until its end is cancelled."""
        params = {"notifications": notifications, **({"_meta": meta} if meta else {})}
        message = self._build("subscriptions/listen", params)
        ended = asyncio.ensure_future(self._wire.exchange(message, math.inf))
        acknowledged = await self.subscriptions.acknowledgement(message.id or 0, ended, self.timeout)
        if acknowledged is not None:
            ended.add_done_callback(self._subscription_ended)
            return Stream(message.id or 0, acknowledged, ended)
        if ended.done():
            self._usable(ended.result())
            raise ProtocolError("the server ended the subscription without acknowledging it")
        ended.cancel()
        raise RequestTimeout(message.method, self.timeout)

    def ask_for_log(self, level: str) -> None:
        """Every request from here on asks for log messages of LEVEL and above, in its `_meta` (2026-07-28)."""
        self._log_level = level

    # What typed calls need besides requests.

    @property
    def lacks_tools(self) -> bool:
        """Whether headers must repeat arguments that only the list of tools names, and it was not read yet."""
        return self.transport.cancels_by_closing and not self.dialect.handshake and not self.known_tools.listed

    def progress_for(self, told: Callable[[Json], object]) -> AbstractAsyncContextManager[str]:
        """A progress token; within the block, TOLD hears what the server says of it."""
        return self._observers.progress_for(f"progress-{self.next_id()}", told)

    pages = calls.pages
    everything = calls.everything
    list_tools = calls.list_tools
    list_resources = calls.list_resources
    list_resource_templates = calls.list_resource_templates
    list_prompts = calls.list_prompts
    call_tool = calls.call_tool
    read_resource = calls.read_resource
    get_prompt = calls.get_prompt
    complete = calls.complete
    subscribe = calls.subscribe
    unsubscribe = calls.unsubscribe
    set_log_level = calls.set_log_level
    ping = calls.ping

    # How it goes on, and ends.

    def note(self, text: str) -> None:
        """Add a remark on something wrong to the transcript, at this place."""
        self._wire.note(text)

    def forget(self, request_id: Id) -> None:
        """Stop waiting for this reply, without telling the server."""
        self._wire.forget(request_id)

    async def wait_until_gone(self) -> None:
        """Wait until the server goes away by itself, which is an error."""
        await self._wire.wait_until_gone()

    async def wait_until_unheard(self) -> str:
        """Wait until it is known that the server can say nothing on its own: why. Most transports never tell."""
        silent = getattr(self.transport, "silent", None)
        return await asyncio.shield(silent or asyncio.get_running_loop().create_future())

    @property
    def ended(self) -> bool:
        """Whether nothing more can be said: the server is gone, or the session was closed."""
        return self._wire.how_it_ended is not None

    @property
    def how_it_ended(self) -> str | None:
        """Why nothing more can be said: the server exited with code 1; None while it goes on."""
        return self._wire.how_it_ended

    @property
    def flood(self) -> Flooded | None:
        """How the server said far more than it was asked, so that it was not heard any more; None if it did not."""
        return self._wire.flood

    async def _close(self) -> None:
        self.subscriptions.close()
        self._wire.close()
        if work := [*self._questions.close(), *self._observers.close()]:
            await asyncio.wait(work, timeout=_END_SECONDS)

    # What we hear.

    def _on_request(self, message: Message) -> None:
        if self._options.on_request is not None and self.dialect.handshake and message.method != "ping":
            self._options.on_request(self, message)
            return
        self._questions.answer(message, self.answers, self.dialect)

    def _on_notification(self, message: Message, request: Message | None) -> None:
        if message.method == "notifications/subscriptions/acknowledged":
            self.subscriptions.heard(message)
        elif message.method == "notifications/cancelled":
            self._questions.withdrawn(message.params.get("requestId"))
        elif message.method == "notifications/tools/list_changed":
            self.known_tools.changed()
        elif message.method == "notifications/resources/updated":
            self.subscriptions.updated(message, self.note)
        self._observers.notification(message, request)

    def _subscription_ended(self, ended: "asyncio.Task[Exchange]") -> None:
        if not ended.cancelled():
            lost = ended.exception() is not None
            if not lost:
                self.note("the server has ended the subscription")
            if self._options.on_unsubscribed is not None:
                self._options.on_unsubscribed(lost)

    # How a request is carried out.

    def _build(self, method: str, params: Json | None) -> Message:
        if self.dialect.handshake:
            return compose_request(method, params, self._next_id())
        raw = self.compose(method, params)
        return Message(compact(raw), raw, "request", raw["id"])

    async def _exchange_in_new_session(
        self, over: HttpStatusError, method: str, params: Json | None, timeout: float | None
    ) -> Exchange:
        """Exchange once more in a new session, if the old one is OVER: then nothing was done in it."""
        if over.status != 404 or not over.session:
            raise over
        self.note("the server has ended the session; a new one is opened")
        await self._negotiate(self)
        if self._options.on_reopened is not None:
            await self._options.on_reopened(self)
        try:
            return await self._wire.exchange(self._build(method, params), timeout)
        except HttpStatusError as again:
            raise (MethodError(method, again.error) if again.error else again) from None

    def _usable(self, exchange: Exchange) -> Message:
        """The reply of EXCHANGE, which has a result."""
        reply = exchange.reply
        assert reply is not None
        if reply.kind == "result" and isinstance(reply.raw["result"], dict):
            return reply
        method = exchange.request.method
        if reply.kind == "error":
            raise self._wire.with_context(MethodError(method, reply.error))
        if reply.kind != "result":
            why = f"the answer to {method} cannot be used: {reply.problem}: {excerpt(reply, self.redact)}"
            raise self._wire.with_context(ProtocolError(why, heard=reply))
        self.note(f"{method}: a result must be an object, not {kind_of(reply.result)}")
        return reply
