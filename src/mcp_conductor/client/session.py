"""One conversation with one server: requests and their replies, notifications, and the questions the server asks us.

Replies are matched by id. Whatever the server says is kept in the transcript; what breaks the rules becomes a note
there and never shifts a later reply. Every wait ends: by the reply, by the time-out, or because the server is gone.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from time import monotonic
from typing import Any

from mcp_conductor.bounded.turns import Intake
from mcp_conductor.client.answering import Answering, as_object
from mcp_conductor.client.calls import Asking
from mcp_conductor.client.deadlines import Reply, Waiting
from mcp_conductor.client.subscriptions import Subscriptions
from mcp_conductor.errors import (
    ConductorError,
    ConnectionLost,
    HttpStatusError,
    MethodError,
    ProtocolError,
    RequestTimeout,
    UsageError,
)
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.answers import Answers, Incoming
from mcp_conductor.protocol.budgets import DEFAULT, Budgets
from mcp_conductor.protocol.dialect import META, NEWEST_HANDSHAKE, Dialect
from mcp_conductor.protocol.input_rounds import is_final, next_round
from mcp_conductor.protocol.ledger import Exchange, Ledger, progress_token
from mcp_conductor.protocol.message import Message, build, compact, kind_of, members, parse
from mcp_conductor.protocol.oddities import LONGEST_NOTE, complaint, excerpt, shortened
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.transport import Transport

DEFAULT_TIMEOUT = 30.0
MOST_ROUNDS = 10  # of input_required, before we stop believing that the server will ever be content
MOST_COMPLAINTS = 1000  # about the messages of one batch
_ROUND_PAUSES = (0.05, 0.1, 0.25)  # between retries when the server asks for nothing but time


class Session(Asking, Answering):
    """A conversation that has been opened: by `connect()`, which also ends it."""

    def __init__(
        self,
        *,
        client: Json,
        answers: Answers,
        timeout: float,
        transcript: Transcript,
        extensions: Json,
        on_incoming: Callable[[Incoming], None] | None,
        budgets: Budgets = DEFAULT,
    ) -> None:
        self.dialect: Dialect = NEWEST_HANDSHAKE
        self.server: Json = {}  # who the server says it is
        self.capabilities: Json = {}  # what it says it can do
        self.opened: Json = {}  # the result of initialize or server/discover, as it was sent
        self.client = client
        self.answers = answers
        self.timeout = timeout
        self.transcript = transcript
        self.hide = transcript.hide
        self.redact = transcript.redact
        self.context: Json = {}  # what errors of this session say of their surroundings
        self.lenient = False  # take an opening that is not as it should be, and say more than we have to
        self.needs_version = True  # refuse an opening that names no version
        self.reopen: Callable[[], Awaitable[None]] | None = None  # begins a new session on the same transport
        self._extensions = extensions
        self._on_incoming = on_incoming
        self.budgets = budgets
        self._loop = asyncio.get_running_loop()
        self._began = monotonic()
        self.on_unsubscribed: Callable[[bool], object] = bool  # told whether the subscription was lost, or ended
        self.next_id = count(1).__next__
        self.on_progress: dict[Any, Callable[[Json], None]] = {}  # who wants to hear of it, by progress token
        self.reset()

    def attach(self, transport: Transport) -> None:
        self.transport = transport

    def reset(self) -> None:
        """Forget what was open on an earlier transport; the transcript goes on."""
        self._ledger = Ledger()
        self._waiting = Waiting()
        self._unread = False
        self._subscriptions = Subscriptions()
        self._stray: asyncio.Future[Message] | None = None
        self._intake = Intake(self._loop)
        self._end: asyncio.Future[str] = self._loop.create_future()

    def settle(self, dialect: Dialect, opened: Json) -> None:
        """From here on the conversation is held in DIALECT."""
        self.dialect = dialect
        self.opened = opened
        self.transport.speak(dialect)
        meta = as_object(opened.get("_meta"))
        self.server = as_object(opened.get("serverInfo") or meta.get(f"{META}serverInfo"))
        self.capabilities = as_object(opened.get("capabilities"))

    def client_capabilities(self, dialect: Dialect) -> Json:
        capabilities = self.answers.capabilities(dialect)
        if self._extensions and not dialect.handshake:
            capabilities["extensions"] = self._extensions
        return capabilities

    # What we say.

    async def request(self, method: str, params: Json | None = None, *, timeout: float | None = None) -> Any:
        """The result of METHOD; questions that come back in place of a result are answered. Raises MethodError."""
        return (await self._reply_to(method, params, timeout)).result

    async def _reply_to(self, method: str, params: Json | None, timeout: float | None) -> Message:
        asked = params
        for round_number in range(MOST_ROUNDS):
            try:
                exchange = await self._exchange(self._build(method, asked), timeout)
            except HttpStatusError as error:
                exchange = await self._anew(error, method, asked, timeout)
            result = self._result_of(exchange)
            if self.dialect.handshake or not isinstance(result, dict) or is_final(method, result, self.dialect):
                assert exchange.reply is not None
                return exchange.reply
            if not result.get("inputRequests"):
                await asyncio.sleep(_ROUND_PAUSES[min(round_number, len(_ROUND_PAUSES) - 1)])
            asked = next_round(params or {}, result, self.input_responses(result.get("inputRequests")))
        hint = "does the server take the answers?"
        raise ProtocolError(f"{method} wanted more input after {MOST_ROUNDS} rounds", hint=hint)

    async def exchange(self, raw: Json, *, timeout: float | None = None) -> Exchange:
        """Send exactly this request and wait for its reply; an error reply is a reply."""
        return await self._exchange(build(raw), timeout)

    async def say(self, text: str, *, timeout: float | None = None) -> Message | None:
        """Send exactly this text, valid or not, and return what answers it; nothing answers a notification."""
        message = parse(text)
        if message.kind == "request":
            return (await self._exchange(message, timeout)).reply
        if message.kind in ("notification", "result", "error"):
            self._send(message)
            return None
        # A batch, or something that is no message: whatever answer comes next is the answer to it.
        self._stray = self._loop.create_future()
        self._send(message)
        seconds = self.timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._stray
        except TimeoutError:
            raise RequestTimeout("the raw message", seconds) from None
        finally:
            self._stray = None

    async def notify(self, method: str, params: Json | None = None) -> None:
        self._send(build({"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})}))

    async def listen(self, notifications: Json, meta: Json | None = None) -> Message:
        """Open a subscription (2026-07-28) and return its acknowledgement; it lasts as long as the session."""
        params = {"notifications": notifications, **({"_meta": meta} if meta else {})}
        message = self._build("subscriptions/listen", params)
        ended = asyncio.ensure_future(self._exchange(message, math.inf))
        acknowledged = await self._subscriptions.acknowledged(message.id or 0, ended, self.timeout)
        if acknowledged is not None:
            ended.add_done_callback(self._subscription_ended)
            return acknowledged
        if ended.done():
            self._result_of(ended.result())
            raise ProtocolError("the server ended the subscription without acknowledging it")
        ended.cancel()
        raise RequestTimeout(message.method, self.timeout)

    async def wait_until_gone(self) -> None:
        """Wait for the server to go away of its own accord, which is an error."""
        raise self._loss(await asyncio.shield(self._end))

    def note(self, text: str) -> None:
        """Remark, at this place in the transcript, on something that should not be so."""
        if len(text) > LONGEST_NOTE:
            text = shortened(text, self.redact, LONGEST_NOTE)
        self.transcript.add(self._now(), "note", text)

    def forget(self, request_id: Id) -> None:
        """Wait no longer for this reply, without a word to the server."""
        self._ledger.lost(request_id, self._now())

    def close(self) -> None:
        """Give up what is still open: subscriptions, and requests that nobody waited for."""
        self._subscriptions.close()
        self._intake.forget()
        self._gone("the session was closed")
        self._waiting.stop()
        for request in self._ledger.open_requests():
            self._give_up(request, "the client is closing")

    @property
    def ended(self) -> bool:
        """Whether nothing more can be said: the server is gone, or the session was closed."""
        return self._end.done()

    @property
    def how_it_ended(self) -> str | None:
        """Why nothing more can be said: the server exited with code 1; None while it goes on."""
        return self._end.result() if self._end.done() else None

    # What we hear; called by the transport.

    @property
    def busy(self) -> bool:
        return self._intake.busy

    def heard(self, message: Message, answers: Id | None = None) -> None:
        now = self._now()
        self.transcript.add(now, "server", message.text)
        if answers is not None:
            message = message._replace(id=answers)
        if message.kind == "batch" or self._intake.busy:
            self._intake.take(self._steps(message, now))
        else:
            self._take(message, now)

    def _steps(self, message: Message, now: float) -> Iterator[None]:
        """What is to be done about MESSAGE, one after the other: a batch may hold so much that it takes many turns."""
        if message.kind != "batch" or self._stray is not None:
            self._take(message, now)
            return
        if message.problem is not None:
            self.note(complaint(message, self.redact))
        if not self.dialect.batches:
            self.note(f"the server sent a JSON-RPC batch, which {self.dialect.version} does not have")
        wrong = 0
        for member in members(message):
            wrong += member.problem is not None
            self._take(member, now, quiet=wrong > MOST_COMPLAINTS)
            yield
        if wrong > MOST_COMPLAINTS:
            self.note(f"{wrong - MOST_COMPLAINTS} more messages of this batch broke a rule of JSON-RPC")

    def trace(self, text: str) -> None:
        self.transcript.add(self._now(), "http", text)

    def failed(self, request_id: Id, error: ConductorError) -> None:
        self._intake.then(lambda: self._failed(request_id, error))

    def _failed(self, request_id: Id, error: ConductorError) -> None:
        if self._ledger.lost(request_id, self._now()) is not None:
            self._waiting.fail(request_id, self._here(error))

    def _take(self, message: Message, now: float, *, quiet: bool = False) -> None:
        if message.problem is not None and not quiet:
            self.note(complaint(message, self.redact))
        exchange = self._ledger.heard(message, now)
        if exchange is not None:
            self._waiting.settle(exchange)
        elif message.kind == "notification":
            self._notified(message)
        elif message.kind == "request":
            self._asked(message)
        else:
            self._unmatched(message)

    def muttered(self, line: str) -> None:
        self.transcript.add(self._now(), "stderr", line)

    def gone(self, why: str) -> None:
        self._intake.then(lambda: self._gone(why))

    def _gone(self, why: str) -> None:
        if self._end.done():
            return
        self._end.set_result(why)
        self._waiting.fail_all(lambda method: self._loss(f"{why} before it answered {method}"))
        if self._stray is not None and not self._stray.done():
            self._stray.set_exception(self._loss(f"{why} before it answered the raw message"))

    def _notified(self, message: Message) -> None:
        if message.method == "notifications/progress":
            request = self._ledger.request_of(message)
            if request is not None:
                self._waiting.extend(request)
                if (told := self.on_progress.get(progress_token(request.raw))) is not None:
                    told(message.params)
        elif message.method == "notifications/subscriptions/acknowledged":
            self._subscriptions.heard(message)
        self._tell(Incoming(message))

    def _subscription_ended(self, ended: "asyncio.Task[Exchange]") -> None:
        if not ended.cancelled():
            lost = ended.exception() is not None
            if not lost:
                self.note("the server has ended the subscription")
            self.on_unsubscribed(lost)

    def _unmatched(self, message: Message) -> None:
        if self._stray is not None and not self._stray.done():
            self._stray.set_result(message)
        elif message.kind in ("result", "error") and (oddity := self._ledger.stray(message)):
            self.note(f"the server sent {oddity}: {excerpt(message, self.redact)}")

    # How a request is carried out.

    def _build(self, method: str, params: Json | None) -> Message:
        identity = self.next_id()
        raw: Json = {"jsonrpc": "2.0", "id": identity, "method": method}
        if not self.dialect.handshake:
            context = self.dialect.context(self.client, self.client_capabilities(self.dialect))
            params = self.dialect.stamp(params, context)
        if params is not None:
            raw["params"] = params
        return Message(compact(raw), raw, "request", identity)

    async def _anew(self, over: HttpStatusError, method: str, params: Json | None, timeout: float | None) -> Exchange:
        """Exchange once more in a new session, if the old one is OVER: then nothing was done in it."""
        if over.status != 404 or not over.session or self.reopen is None:
            raise over
        self.note("the server has ended the session; a new one is begun")
        await self.reopen()
        try:
            return await self._exchange(self._build(method, params), timeout)
        except HttpStatusError as again:
            raise (MethodError(method, again.error) if again.error else again) from None

    async def _exchange(self, message: Message, timeout: float | None) -> Exchange:
        reply = self._ask(message, self.timeout if timeout is None else timeout)
        try:
            return await reply
        except RequestTimeout as error:
            unsent = self.transport.unsent()
            error.hint = f"the server does not read its stdin: {unsent} bytes wait to be read" if unsent else None
            error.stderr, error.context = self.transcript.stderr_tail(), self.context
            self._give_up(message, "timed out")
            raise
        except asyncio.CancelledError:
            self.transcript.unanswered = message.method
            self._give_up(message, "the client is stopping")
            raise

    def _ask(self, message: Message, seconds: float) -> Reply:
        """Send a request; what comes back is its reply to come."""
        if self._end.done():
            raise self._loss(self._end.result())
        if message.id is None or message.id in self._waiting:
            raise UsageError(f"a request needs an id of its own: {excerpt(message, self.redact)}")
        self._send(message)
        self._ledger.sent(message, self._now())
        return self._waiting.add(message.id, message.method, seconds)

    def _send(self, message: Message) -> None:
        # First the server gets its work, then we do our book-keeping; no reply is heard before we return to the loop.
        self.transport.send(message)
        self.transcript.add(self._now(), "client", message.text)

    def _give_up(self, request: Message, reason: str) -> None:
        if request.id is None or self._ledger.lost(request.id, self._now()) is None:
            return
        self._waiting.forget(request.id)
        self.transport.abandon(request.id)
        # basic/utilities/cancellation: initialize is never cancelled; server/discover may have met an old server.
        by_closing = self.transport.cancels_by_closing and not self.dialect.handshake
        if request.method not in ("initialize", "server/discover") and not by_closing:
            params = {"requestId": request.id, "reason": reason}
            self._send(build({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}))

    def _result_of(self, exchange: Exchange) -> Any:
        reply, method = exchange.reply, exchange.request.method
        assert reply is not None
        if reply.kind == "error":
            raise self._here(MethodError(method, reply.error))
        if reply.kind != "result":
            why = f"the answer to {method} cannot be used: {reply.problem}: {excerpt(reply, self.redact)}"
            raise self._here(ProtocolError(why, heard=reply))
        if not isinstance(reply.result, dict):
            self.note(f"{method}: a result must be an object, not {kind_of(reply.result)}")
        return reply.result

    def _loss(self, why: str) -> ConductorError:
        error = ConnectionLost(why)
        error.stderr = self.transcript.stderr_tail()
        return self._here(error)

    def _here(self, error: ConductorError) -> ConductorError:
        error.tell_with(self.context, self.redact)
        return error

    @property
    def _arguments_in_headers(self) -> bool:
        return self.transport.cancels_by_closing and not self.dialect.handshake

    def _now(self) -> float:
        return monotonic() - self._began
