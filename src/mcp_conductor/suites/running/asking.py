"""What a step sends, and what comes: its reply, with questions answered, cancelled or not expected; notifications."""

import asyncio
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, NamedTuple

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.client.session import MOST_ROUNDS, Session
from mcp_conductor.errors import ConductorError, MethodError, RequestTimeout, TransportError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.budgets import Budgets
from mcp_conductor.protocol.compose import compose_error, compose_result
from mcp_conductor.protocol.input_rounds import is_final, next_round
from mcp_conductor.protocol.ledger import Exchange
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.suites.language.actions import Action, Sent
from mcp_conductor.suites.language.expectations import Expect
from mcp_conductor.suites.language.steps import Step
from mcp_conductor.suites.language.variables import Variables
from mcp_conductor.transport import meanwhile


class Asked(NamedTuple):
    """What was sent, and what came of it."""

    sent: Sent | None  # None: what it is made of is not there
    reply: Json | None = None
    seconds: float = 0.0
    error: ConductorError | None = None  # why there is no reply

    def told(self) -> Sent:
        """What was sent; raises why it was not answered."""
        if self.error is not None:
            raise self.error
        assert self.sent is not None
        return self.sent


class Sending(NamedTuple):
    """A request that was sent, and has not been waited for yet."""

    step: Step
    start: int  # the frame of the transcript that it is
    sent: Sent
    began: float
    reply: Callable[[], Awaitable[Exchange]]


class Asking:
    """Sends what steps want to be sent."""

    def __init__(self, session: Session) -> None:
        self._session = session

    async def ask(self, step: Step, action: Action, expect: Expect | None, variables: Variables) -> Asked:
        """Send what ACTION says, and wait for the reply."""
        began, sent, reply = perf_counter(), None, None
        try:
            sent = action.sent(variables)
            reply = await self._reply(step, action, sent, expect)
        except ConductorError as error:
            return _unanswered(sent, began, error)
        return Asked(sent, reply, perf_counter() - began)

    def send(self, step: Step, variables: Variables) -> Sending | None:
        """Send the one request of STEP now, if it is one; `answer` waits for the reply."""
        action, start, began = step.actions[0], self._session.transcript.mark, perf_counter()
        sent = action.sent(variables)
        if sent.kind != "request" or not (action.verbatim or self._session.dialect.handshake):
            return None
        try:
            reply = self._session.exchange_later(self._request(sent, sent.params), timeout=step.timeout)
        except ConductorError:  # `ask` will be told the same
            return None
        return Sending(step, start, sent, began, reply)

    async def answer(self, sending: Sending) -> Asked:
        """Wait for the reply to what was sent."""
        try:
            reply = (await sending.reply()).reply
        except ConductorError as error:
            return _unanswered(sending.sent, sending.began, error)
        assert reply is not None
        return Asked(sending.sent, _document(reply.raw, reply.text), perf_counter() - sending.began)

    async def _reply(self, step: Step, action: Action, sent: Sent, expect: Expect | None) -> Json | None:
        limit = step.timeout
        silence = None if expect is None else expect.silence
        if silence is not None and sent.kind == "request":
            return await self._silence(step, sent, silence)
        if silence is not None:
            limit = silence
        if step.cancel_after is not None and sent.kind == "request":
            return await self._exchange_and_cancel(step, sent)
        if sent.kind == "notification":
            await self._session.notify(sent.method, sent.params)
            return None if silence is None else await self._any_reply(silence)
        if sent.kind == "raw":
            message = await self._session.say(sent.text, timeout=limit)
            return None if message is None else _document(message.raw)
        if sent.kind == "list":
            return await self._whole_list(sent, limit)
        return await self._exchange(sent, limit, rounds=not action.verbatim)

    async def _exchange(self, sent: Sent, limit: float | None, *, rounds: bool) -> Json:
        """The reply to a request; where the modern era answers with questions, these are answered by the script."""
        params = sent.params
        for _ in range(MOST_ROUNDS):
            answered = (await self._session.exchange(self._request(sent, params), timeout=limit)).reply
            assert answered is not None
            reply = _document(answered.raw, answered.text)
            if not rounds or self._session.dialect.handshake or not isinstance(result := reply.get("result"), dict):
                return reply
            if is_final(sent.method, result, self._session.dialect):
                return reply
            responses = await self._session.input_responses(result.get("inputRequests"))
            params = next_round(sent.params or {}, result, responses)
        return reply

    def _request(self, sent: Sent, params: Json | None) -> Json:
        raw = self._session.compose(sent.method, params)
        given = {} if sent.raw is None else {key: value for key, value in sent.raw.items() if key != "params"}
        params = raw.pop("params", None)  # last, as it is written
        return {**raw, **given} if params is None else {**raw, **given, "params": params}

    async def _whole_list(self, sent: Sent, limit: float | None) -> Json:
        try:
            async with asyncio.timeout(limit):
                whole = await self._session.everything(sent.method, sent.params)
        except MethodError as error:
            return compose_error(None, error.error)
        except TimeoutError:
            raise RequestTimeout(sent.method, limit or 0.0) from None
        return compose_result(None, whole)

    async def _any_reply(self, seconds: float) -> Json | None:
        """Whether anything is answered within SECONDS, although nothing was asked."""
        start = self._session.transcript.mark
        await asyncio.sleep(seconds)
        pace = Pace()
        for frame in self._session.transcript.since(start):
            for message in frame.messages() if frame.source == "server" else ():
                if message.kind in ("result", "error"):
                    return _document(message.raw, message.text)
                await pace.keep()
        return None

    async def _exchange_and_cancel(self, step: Step, sent: Sent) -> Json:
        """The reply to a request that is cancelled meanwhile; some servers answer it anyway."""
        request = self._request(sent, sent.params)
        async with meanwhile(self._session.exchange(request, timeout=step.timeout)) as asked:
            await asyncio.wait({asked}, timeout=step.cancel_after)
            if not asked.done():
                await self._session.notify("notifications/cancelled", {"requestId": request["id"]})
            reply = (await asked).reply
        assert reply is not None
        return _document(reply.raw, reply.text)

    async def _silence(self, step: Step, sent: Sent, seconds: float) -> Json | None:
        """Send, perhaps cancel, and see whether a reply comes anyway."""
        request = self._request(sent, sent.params)
        asked = asyncio.ensure_future(self._session.exchange(request, timeout=seconds + (step.cancel_after or 0) + 60))
        try:
            if step.cancel_after is not None:
                await asyncio.wait({asked}, timeout=step.cancel_after)
                if not asked.done():
                    await self._session.notify("notifications/cancelled", {"requestId": request["id"]})
            await asyncio.wait({asked}, timeout=seconds)
            if not asked.done():
                if step.cancel_after is not None:
                    self._session.forget(request["id"])  # it has been reported once
                return None
            reply = asked.result().reply
            return None if reply is None else _document(reply.raw, reply.text)
        finally:
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)


class Heard:
    """The notifications since a frame, read once, and no more of them than the budget allows."""

    def __init__(self, transcript: Transcript, start: int, budgets: Budgets) -> None:
        self._transcript = transcript
        self._next = start
        self._room = budgets.notification_bytes
        self._found: list[Json] = []
        self._left_out = 0

    async def so_far(self) -> list[Json]:
        pace = Pace()
        frames, self._next = self._transcript.since(self._next), self._transcript.mark
        for frame in frames:
            if frame.source != "server":
                continue
            self._room -= frame.size
            if self._room < 0:
                self._left_out += 1
                continue
            for message in frame.messages():
                if message.kind == "notification":
                    self._found.append(message.raw)
                await pace.keep()
        return self._found

    def left_out(self) -> list[str]:
        """The warning about notifications that were too many to keep."""
        count = self._left_out
        return [f"{count} messages were not looked at for notifications (--max-notifications-size)"] if count else []


def _unanswered(sent: Sent | None, began: float, error: ConductorError) -> Asked:
    waited = isinstance(error, RequestTimeout | TransportError)
    return Asked(sent, None, perf_counter() - began if waited else 0.0, error)


def _document(raw: Any, text: str = "") -> Json:
    """A reply as an object; a reply of another type is shown as it is."""
    return raw if isinstance(raw, dict) else {"unreadable": text if raw is None else raw}
