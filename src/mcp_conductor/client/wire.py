"""The messages of one connection: which reply belongs to which request, until when it is waited for, and how it ends.

Replies are matched by id. All that the server says is kept in the transcript; what breaks the rules becomes a note
there and never shifts a later reply. Every wait ends: by the reply, by the time-out, or because the server is gone.
"""

import asyncio
from collections.abc import Callable, Iterator
from itertools import islice
from time import monotonic

from mcp_conductor.bounded.turns import Intake
from mcp_conductor.client.deadlines import PendingReply, Waiting
from mcp_conductor.errors import ConductorError, ConnectionLost, Flooded, RequestTimeout, UsageError
from mcp_conductor.protocol import Id, Json
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.compose import compose
from mcp_conductor.protocol.dialect import NEWEST_HANDSHAKE, Dialect
from mcp_conductor.protocol.ledger import Exchange, Ledger
from mcp_conductor.protocol.message import Message, build, members, parse
from mcp_conductor.protocol.oddities import LONGEST_NOTE, complaint, excerpt, shortened
from mcp_conductor.protocol.transcript import SIDES, Transcript
from mcp_conductor.transport import Transport

MOST_COMPLAINTS = 1000  # about the messages of one batch
_OPENINGS = ("initialize", "server/discover")
_ANSWERS = ("result", "error")
_FIRST_FRAMES = 4  # of a flood: what was asked, and some of what came instead of an answer


class Wire:
    """What is said and heard on one connection. It is the listener of the transport that it is attached to."""

    def __init__(
        self,
        transcript: Transcript,
        *,
        began: float,  # the time that frames of the transcript count from
        timeout: float,
        context: Json,  # what errors say of their surroundings
        budgets: Budgets,
        on_request: Callable[[Message], None],
        on_notification: Callable[[Message, Message | None], None],  # with the request whose progress it tells
    ) -> None:
        self.transcript = transcript
        self.hide = transcript.hide
        self.redact = transcript.redact
        self.begin_exchange = transcript.begin_exchange
        self._began = began
        self._timeout = timeout
        self._context = context
        self._on_request = on_request
        self._on_notification = on_notification
        self._dialect: Dialect = NEWEST_HANDSHAKE
        self._loop = asyncio.get_running_loop()
        self._ledger = Ledger()
        self._waiting = Waiting()
        self._stray: asyncio.Future[Message] | None = None
        self._heads: list[tuple[str, int | None]] | None = (
            None  # of HTTP requests that go out before their message is noted down
        )
        self.busy = False  # with earlier messages, see `Listener`
        self._intake = Intake(self._loop, self._set_busy)
        self._end: asyncio.Future[str] = self._loop.create_future()
        self._budgets = budgets
        self._begun = False  # the opening was answered with a result, or something else was said
        self._unasked = self._unasked_bytes = 0  # messages since the last answer to a request of ours
        self._unasked_from = 0  # the first frame after that answer
        self.flood: Flooded | None = None  # how the server said far more than it was asked, if it did

    def attach(self, transport: Transport) -> None:
        """Send by TRANSPORT, which was opened with this wire as its listener."""
        self._transport = transport
        if self.flood is not None:
            self._hear_no_more()

    def speak(self, dialect: Dialect) -> None:
        """From here on, messages are taken as DIALECT has them."""
        self._dialect = dialect

    # What we say.

    async def exchange(self, message: Message, timeout: float | None) -> Exchange:
        """Send a request and wait for its reply; an error reply is a reply."""
        return await self.answer(self.ask(message, timeout))

    async def answer(self, reply: PendingReply) -> Exchange:
        """Wait for a reply to come."""
        try:
            return await reply
        except (RequestTimeout, asyncio.CancelledError) as error:
            self.stopped_waiting(reply.request, error)
            raise

    def stopped_waiting(self, message: Message, error: RequestTimeout | asyncio.CancelledError) -> None:
        """Tell the server, where it should know, that ERROR came in place of its reply to MESSAGE."""
        if isinstance(error, RequestTimeout):
            unsent = self._transport.unsent()
            error.hint = f"the server does not read its stdin: {unsent} bytes wait to be read" if unsent else None
            error.stderr, error.context = self.transcript.stderr_tail(), self._context
            if error.hint is None:
                from mcp_conductor.client.opening_hints import opening_hint

                error.hint = opening_hint(message.method, self.transcript)
            self._give_up(message, "timed out")
        else:
            self.transcript.unanswered = message.method
            self._give_up(message, "the client is stopping")

    async def say(self, text: str, *, timeout: float | None = None) -> Message | None:
        """Send exactly this text, valid or not, and return what answers it; nothing answers a notification."""
        message = parse(text)
        if message.kind == "request":
            return (await self.exchange(message, timeout)).reply
        if message.kind in ("notification", "result", "error"):
            self.send(message)
            return None
        # A batch, or something that is not a message: the next answer is taken for the answer to it.
        self._stray = self._loop.create_future()
        self.send(message)
        seconds = self._timeout if timeout is None else timeout
        try:
            async with asyncio.timeout(seconds):
                return await self._stray
        except TimeoutError:
            raise RequestTimeout("the raw message", seconds) from None
        finally:
            self._stray = None

    def send(self, message: Message) -> float:
        """Send MESSAGE, and wait for nothing: the time of it."""
        if not self._begun and message.kind not in _ANSWERS:
            self._begun = message.kind != "request" or message.method not in _OPENINGS
        # First the server gets its work, then we do our book-keeping; no reply is heard before we return to the loop.
        heads: list[tuple[str, int | None]] = []
        self._heads = heads
        exchange = self._transport.send(message)
        self._heads = None
        now = monotonic() - self._began
        self.transcript.add(now, "client", message.text, exchange)
        for head in heads:
            self.trace(*head)
        return now

    def unsent(self) -> int:
        """How many bytes the server has not taken yet."""
        return self._transport.unsent()

    def fail_lone(self, error: Exception) -> bool:
        """If one request is open, and no other, it fails with ERROR: it is the one that ERROR is about."""
        if len(self._waiting.replies) != 1:
            return False
        self._waiting.fail_all(lambda _: error)
        return True

    def pause(self) -> None:
        """No deadline passes until `resume`: we are about to answer a question of the server, and it may take long."""
        self._waiting.pause()

    def resume(self) -> None:
        self._waiting.resume()

    def with_context(self, error: ConductorError) -> ConductorError:
        """ERROR, told with its surroundings and without secrets."""
        error.tell_with(self._context, self.redact)
        return error

    def note(self, text: str) -> None:
        """Add a remark on something wrong to the transcript, at this place."""
        if len(text) > LONGEST_NOTE:
            text = shortened(text, self.redact, LONGEST_NOTE)
        self.transcript.add(self._now(), "note", text)

    def forget(self, request_id: Id) -> None:
        """Stop waiting for this reply, without telling the server."""
        self._ledger.lost(request_id, self._now())

    async def wait_until_gone(self) -> None:
        """Wait until the server goes away by itself, which is an error."""
        raise self._loss_error(await asyncio.shield(self._end))

    def when_gone(self, tell: Callable[[ConductorError], None]) -> None:
        """TELL hears of it when nothing more can be said."""
        self._end.add_done_callback(lambda end: None if end.cancelled() else tell(self._loss_error(end.result())))

    @property
    def how_it_ended(self) -> str | None:
        """Why nothing more can be said: the server exited with code 1; None while it goes on."""
        return self._end.result() if self._end.done() else None

    def close(self) -> None:
        """Give up what is still open: requests that were not waited for."""
        self._intake.forget()
        self._end_now("the session was closed")
        self._waiting.stop()
        for request in self._ledger.open_requests():
            self._give_up(request, "the client is closing")

    # What we hear; called by the transport.

    def _set_busy(self, busy: bool) -> None:
        self.busy = busy

    def heard(self, message: Message, answers: Id | None = None, exchange: int | None = None) -> None:
        if self.flood is not None:
            return
        now = monotonic() - self._began
        self.transcript.add(now, "server", message.text, exchange)
        if answers is not None:
            message = message._replace(id=answers)
        if message.kind == "batch" or self.busy:
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
        if not self._dialect.batches:
            self.note(f"the server sent a JSON-RPC batch, which {self._dialect.version} does not have")
        wrong = 0
        for member in members(message):
            wrong += member.problem is not None
            self._take(member, now, quiet=wrong > MOST_COMPLAINTS)
            if self.flood is not None:
                return
            yield
        if wrong > MOST_COMPLAINTS:
            self.note(f"{wrong - MOST_COMPLAINTS} more messages of this batch broke a rule of JSON-RPC")

    def trace(self, text: str, exchange: int | None = None) -> None:
        if self._heads is None:
            self.transcript.add(self._now(), "http", text, exchange)
        else:
            self._heads.append((text, exchange))

    def failed(self, request_id: Id, error: ConductorError) -> None:
        self._intake.then(lambda: self._fail_now(request_id, error))

    def _fail_now(self, request_id: Id, error: ConductorError) -> None:
        if self._ledger.lost(request_id, self._now()) is None:
            return
        reply = self._waiting.replies.pop(request_id, None)
        if isinstance(error, ConnectionLost) and error.final:
            self._end_now(error.message)  # first: the task that waits for the reply continues at once
        if reply is not None:
            reply.fail(self.with_context(error))

    def _take(self, message: Message, now: float, *, quiet: bool = False) -> None:
        if message.problem is not None and not quiet:
            self.note(complaint(message, self.redact))
        if not self._begun:
            message = self._of_the_opening(message)
        exchange = self._ledger.heard(message, now)
        if exchange is not None:
            self._unasked = self._unasked_bytes = 0
            self._unasked_from = self.transcript.mark
            self._waiting.settle(exchange)
            return
        self._unasked += 1
        self._unasked_bytes += len(message.text)
        if self._unasked > self._budgets.unasked_messages or self._unasked_bytes > self._budgets.unasked_bytes:
            self._end_flood()
        elif message.kind == "notification":
            self._take_notification(message)
        elif message.kind == "request":
            self._on_request(message)
        else:
            self._take_stray(message)

    def on_stderr(self, line: str) -> None:
        self.transcript.add(self._now(), "stderr", line)

    def ended(self, how: str) -> None:
        self.transcript.add(self._now(), "process", how)

    def gone(self, why: str) -> None:
        self._intake.then(lambda: self._end_now(why))

    def _end_now(self, why: str) -> None:
        if self._end.done():
            return
        self._end.set_result(why)
        self._waiting.fail_all(lambda method: self._loss_error(f"{why} before it answered {method}"))
        if self._stray is not None and not self._stray.done():
            self._stray.set_exception(self._loss_error(f"{why} before it answered the raw message"))

    def _end_flood(self) -> None:
        """Hear nothing more of a server that says far more than it is asked."""
        from mcp_conductor.protocol.size import size_text

        size = size_text(self._unasked_bytes)
        why = f"the server sent {self._unasked} messages ({size}) that nobody asked for, and was stopped"
        self.flood = Flooded(why)
        said = (frame for frame in self.transcript.since(self._unasked_from) if frame.source in SIDES)
        self.flood.flood, self.flood.first = why, tuple(islice(said, _FIRST_FRAMES))
        self._intake.forget()
        self._end_now(why)
        self._hear_no_more()

    def _hear_no_more(self) -> None:
        """Let the transport read nothing more, where it can do that; else what it hears is dropped."""
        stop = getattr(getattr(self, "_transport", None), "hear_no_more", None)
        if stop is not None:
            stop()

    def _of_the_opening(self, message: Message) -> Message:
        """MESSAGE; an error without an id as the answer to the opening, since nothing else was said."""
        self._begun = message.kind == "result"
        waiting = self._ledger.open_requests()
        if message.kind != "error" or message.id is not None or not waiting:
            return message
        self.note(f"the answer to {waiting[0].method} has no id")
        return message._replace(id=waiting[0].id)

    def _take_notification(self, message: Message) -> None:
        request = self._ledger.request_of(message) if message.method == "notifications/progress" else None
        if request is not None:
            self._waiting.extend(request)
        self._on_notification(message, request)

    def _take_stray(self, message: Message) -> None:
        replies = message.kind in _ANSWERS
        oddity = self._ledger.stray(message) if replies else None
        if self._stray is not None and not self._stray.done():
            if oddity is not None or not replies:  # a late reply to what was given up answers nothing else
                self._stray.set_result(message)
        elif oddity is not None:
            self.note(f"the server sent {oddity}: {excerpt(message, self.redact)}")

    # How a request is carried out.

    def ask(self, message: Message, timeout: float | None) -> PendingReply:
        """Send a request: its reply to come. Who stops waiting for that says so to `stopped_waiting`."""
        if self._end.done():
            raise self._loss_error(self._end.result())
        if asyncio.get_running_loop() is not self._waiting.loop:
            raise UsageError(
                "this session was opened in another event loop",
                hint="use it there, or open one in each loop; one of connect_sync() can be used in every thread",
            )
        if message.id is None or message.id in self._waiting.replies:
            raise UsageError(f"a request needs an id that no open request has: {excerpt(message, self.redact)}")
        self._ledger.sent(message, self.send(message))
        return self._waiting.add(message, self._timeout if timeout is None else timeout)

    def _give_up(self, request: Message, reason: str) -> None:
        if request.id is None:
            return
        self._waiting.replies.pop(request.id, None)
        if self._ledger.lost(request.id, self._now()) is None:
            return
        self._transport.abandon(request.id)
        # basic/utilities/cancellation: initialize is never cancelled; server/discover may have met an old server.
        by_closing = self._transport.cancels_by_closing and not self._dialect.handshake
        if request.method not in _OPENINGS and not by_closing:
            params = {"requestId": request.id, "reason": reason}
            self.send(build(compose("notifications/cancelled", params)))

    def _loss_error(self, why: str) -> ConductorError:
        error = ConnectionLost(why)
        if self.flood is not None:
            error = Flooded(why)
            error.flood, error.first = self.flood.flood, self.flood.first
        error.stderr = self.transcript.stderr_tail()
        return self.with_context(error)

    def _now(self) -> float:
        return monotonic() - self._began
