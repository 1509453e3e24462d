"""A proxy at a local address with faults: replies that a fault is for pass spoiled, all else as it came.

What a fault does is what the hosts of `conductor serve` do. A session expires here alone: the server is not told.
A reply of a client is a request of HTTP; one that is late or never comes is answered with 202 at once, so that the
client can go on.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from mcp_conductor.bounded.direct import in_task
from mcp_conductor.errors import ConductorError
from mcp_conductor.protocol.dialect import INVALID_REQUEST
from mcp_conductor.protocol.event_stream import EventSplitter
from mcp_conductor.protocol.message import Message, compact, decode
from mcp_conductor.proxy.fault_file import OVER_HTTP
from mcp_conductor.proxy.faulty_events import FaultyEvents, event_in
from mcp_conductor.proxy.http_proxy import HttpProxy, Passage, answered, begin_stream, is_stream, observe_answer
from mcp_conductor.proxy.spoiling import PlannedFault, Scope, Spoiling, parts_of, spoiled_text
from mcp_conductor.server.http.exchange import JSON_TYPE
from mcp_conductor.server.http.streams import ending
from mcp_conductor.server.spoiled_reply import CONTENT_TYPE, EVENT_STREAM, SESSION, Means, SpoiledReply
from mcp_conductor.transport.http_client import Response

_MOST_REMEMBERED = 10_000  # sessions that have expired, and streams that cannot be resumed
_MOST_LATE = 1000  # messages that are held back; more of them wait with their connections
_SESSION_HEADER = "mcp-session-id"


class FaultyHttpProxy(HttpProxy):
    """What stands between clients and a server, and lets things go wrong."""

    def __init__(self, *given: Any, spoiling: Spoiling, **more: Any) -> None:
        super().__init__(*given, **more)
        self._spoiling = spoiling
        self._plans: dict[Passage, list[PlannedFault]] = {}  # of the requests that are under way
        self._expired: dict[Scope, None] = {}
        self._forgotten: dict[tuple[Scope, str], None] = {}  # events that no stream can be resumed from
        self._streams: dict[Scope, set[asyncio.Task[Any]]] = {}
        self._ending: set[asyncio.Task[Any]] = set()  # of them, because their session has expired
        self._late: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        super().stop()
        for each in self._late:
            each.cancel()

    async def forward(self, passage: Passage) -> None:
        await in_task()  # by which the stream of its answer can be ended
        scope = self._scope(passage)
        if scope in self._expired:
            await self._refuse(passage, 404, "Session not found")
            return
        last = passage.exchange.header("last-event-id")
        if last is not None and (scope, last) in self._forgotten:
            await self._refuse(passage, 400, f"there is no event {last!r} from which the stream could be resumed")
            return
        if passage.exchange.method == "POST" and passage.body and passage.takes_messages:
            await self._forward_message(passage, decode(passage.body), scope)
        else:
            await super().forward(passage)

    def _scope(self, passage: Passage) -> Scope:
        """The conversation that PASSAGE belongs to; None if it has no name."""
        if passage.endpoint is not None or self.is_endpoint(passage.target):
            return passage.endpoint or passage.target
        return passage.exchange.header(_SESSION_HEADER)

    async def _refuse(self, passage: Passage, status: int, problem: str) -> None:
        if passage.body:
            passage.recorded.observe("client", passage.body.decode(errors="surrogateescape"))
        passage.recorded.observe("http", f"HTTP {status}")
        await passage.exchange.refuse(status, INVALID_REQUEST, problem)

    # What a client sends.

    async def _forward_message(self, passage: Passage, message: Message, scope: Scope) -> None:
        parts = list(parts_of(message))
        affected = [
            (part, plan) for part in parts if (plan := self._spoiling.replied(part, "client", scope)) is not None
        ]
        if affected:
            await self._forward_replies(passage, message, affected)
            return
        means = self._means(passage)
        replies = passage if scope is None else scope
        asked = [self._spoiling.asked(part, "client", means, replies) for part in parts if part.kind == "request"]
        plans = self._plans[passage] = [plan for plan in asked if plan is not None]
        try:
            if not await self._is_answered(passage, plans, scope):
                await super().forward(passage)
        finally:
            del self._plans[passage]
            for plan in plans if scope is None else []:
                self._spoiling.forget(plan)

    def _means(self, passage: Passage) -> Means:
        if self.is_endpoint(passage.target):
            return OVER_HTTP - {CONTENT_TYPE}
        return OVER_HTTP if passage.exchange.header(_SESSION_HEADER) is not None else OVER_HTTP - {SESSION}

    async def _is_answered(self, passage: Passage, plans: list[PlannedFault], scope: Scope) -> bool:
        """Whether a fault has answered the request already, or will pass it on later."""
        for plan in plans:
            if plan.spoiled.expire_session:
                self._strike(passage, plan)
                self._spoiling.forget(plan)
                self._expire(scope)
                await self._refuse(passage, 404, "Session not found")
                return True
            if plan.spoiled.status is not None:
                self._spoiling.forget(plan)
                await self._answer_with_status(passage, plan)
                return True
        late = [plan for plan in plans if plan.spoiled.delay]
        for plan in late:
            self._strike(passage, plan)
        seconds = max((plan.spoiled.delay for plan in late), default=0.0)
        if not seconds:
            return False
        if self.is_endpoint(passage.target) and await self._is_accepted(passage):
            self._do_later(seconds, self._send(passage))
            return True
        await asyncio.sleep(seconds)
        return False

    async def _answer_with_status(self, passage: Passage, plan: PlannedFault) -> None:
        spoiled = self._strike(passage, plan)
        passage.recorded.observe("client", passage.body.decode(errors="surrogateescape"))
        await asyncio.sleep(spoiled.delay)
        head = [f"HTTP {spoiled.status}", *map(": ".join, spoiled.headers)]
        passage.recorded.observe("http", "\n".join(head))
        await passage.exchange.reply(spoiled.status or 500, headers=spoiled.headers)

    def _expire(self, scope: Scope) -> None:
        """From now on, there is no such session; its streams end."""
        _remember(self._expired, scope)
        for stream in self._streams.pop(scope, set()):
            self._ending.add(stream)
            stream.cancel()

    async def _forward_replies(
        self, passage: Passage, message: Message, affected: list[tuple[Message, PlannedFault]]
    ) -> None:
        """Pass on replies of a client to questions of the server, of which some are AFFECTED."""
        if message.kind != "batch":
            await self._forward_reply(passage, *affected[0])
            return
        spoilt = {id(part.raw) for part, _ in affected}
        for part, plan in affected:
            alone = replace(passage, body=compact(part.raw).encode())
            spoiled = self._prepare(alone, part, plan)
            self._do_later(spoiled.delay, self._send_all(alone, spoiled))
        if others := [raw for raw in message.raw if id(raw) not in spoilt]:
            passage.body = compact(others).encode()
            await super().forward(passage)
        else:
            await self._is_accepted(passage)

    async def _forward_reply(self, passage: Passage, reply: Message, plan: PlannedFault) -> None:
        spoiled = self._prepare(passage, reply, plan)
        if spoiled.silent:
            await self._is_accepted(passage)
        elif spoiled.delay and await self._is_accepted(passage):
            self._do_later(spoiled.delay, self._send_all(passage, spoiled))
        else:
            await asyncio.sleep(spoiled.delay)
            if passage.body:
                await self._send_copies(passage, spoiled.copies - 1)
                await super().forward(passage)
            self._end(passage, spoiled)

    def _prepare(self, passage: Passage, reply: Message, plan: PlannedFault) -> SpoiledReply:
        """Let PASSAGE carry what is sent in place of REPLY."""
        spoiled = self._strike(passage, plan)
        passage.body = spoiled_text(spoiled, reply.raw, passage.body)
        if spoiled.content_type is not None:
            others = ((name, value) for name, value in passage.sent if name != "content-type")
            passage.sent = (*others, ("content-type", spoiled.content_type))
        return spoiled

    async def _is_accepted(self, passage: Passage) -> bool:
        """Answer with 202, if what came can be passed on later; whether it can."""
        if len(self._late) >= _MOST_LATE:
            return False
        passage.recorded.observe("http", "HTTP 202")
        await passage.exchange.reply(202)
        return True

    def _do_later(self, seconds: float, work: Coroutine[Any, Any, None]) -> None:
        async def wait_and_work() -> None:
            try:
                await asyncio.sleep(seconds)
            except asyncio.CancelledError:
                work.close()
                raise
            try:
                await work
            except Exception as error:  # noqa: BLE001  # nothing waits for this task: it is said, and the proxy goes on
                self._complain(f"passing on a message later failed: {error!r}")

        task = asyncio.create_task(wait_and_work())
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _send_all(self, passage: Passage, spoiled: SpoiledReply) -> None:
        """Pass on a reply for which the client does not wait."""
        if passage.body and not spoiled.silent:
            await self._send_copies(passage, spoiled.copies)
        self._end(passage, spoiled)

    async def _send_copies(self, passage: Passage, count: int) -> None:
        for _ in range(count):
            await self._send(passage)

    async def _send(self, passage: Passage) -> None:
        """Pass on a message; what the server answers, the client does not see."""
        passage.recorded.observe("client", passage.body.decode(errors="surrogateescape"))
        try:
            response = await self.answer(passage)
            try:
                await response.read()
            finally:
                await response.aclose()
            if response.status >= 400:
                passage.recorded.observe("note", f"the server answered with HTTP {response.status}")
        except ConductorError as error:
            passage.recorded.observe("note", f"the server did not answer: {error.message}")

    def _end(self, passage: Passage, spoiled: SpoiledReply) -> None:
        """What follows a reply of a client: nothing, or the end of the connections, or of everything."""
        if spoiled.exit_code is not None:
            spoiled.leave(spoiled.exit_code)
        elif spoiled.close:
            for stream in self._streams.pop(self._scope(passage), set()):
                stream.cancel()
            if not passage.exchange.begun:
                passage.exchange.cut()

    # What the server answers.

    async def pass_back(self, passage: Passage, response: Response) -> None:
        if is_stream(response):
            await self._pass_events(passage, response)
        elif self._plans.get(passage) and response.media_type == JSON_TYPE:
            await self._pass_json(passage, response)
        else:
            await super().pass_back(passage, response)

    async def _pass_json(self, passage: Passage, response: Response) -> None:
        body = await response.read()
        message, scope = decode(body), self._scope(passage)
        parts = list(parts_of(message))
        plans = [self._spoiling.replied(part, "server", passage if scope is None else scope) for part in parts]
        first: SpoiledReply | None = None
        said = []
        for part, plan in zip(parts, plans, strict=True):
            if plan is None:
                said.append(part.raw)
                continue
            self._spoiling.without(plan, OVER_HTTP - {EVENT_STREAM})
            spoiled = self._strike(passage, plan)
            first = first or spoiled
            if not spoiled.silent:
                said.append(spoiled.changed(part.raw) if message.kind == "batch" else part.raw)
        if first is None:
            observe_answer(passage, response)
            await self.pass_body(passage, response, body)
        elif not said:
            await asyncio.wait({passage.exchange.gone})  # there is no answer
        elif message.kind == "batch":
            await self._answer(passage, response, first.garbled(compact(said).encode()), first)
        else:
            await self._answer(passage, response, spoiled_text(first, message.raw, body), first)

    async def _answer(self, passage: Passage, response: Response, text: bytes, spoiled: SpoiledReply) -> None:
        """Answer with TEXT and the other faults of SPOILED."""
        exchange, whole, end = passage.exchange, text * spoiled.copies, ending(spoiled)
        if whole or end is None:
            observe_answer(passage, response, spoiled.content_type)
        if end is None:
            await self.pass_body(passage, response, whole, spoiled.content_type)
            return
        if whole:
            headers = answered(response, without=frozenset({"content-type"}))
            exchange.begin(headers, spoiled.content_type or JSON_TYPE)
            passage.recorded.observe("server", whole.decode(errors="surrogateescape"))
            await exchange.write(whole, more=True)
        end(exchange)

    async def _pass_events(self, passage: Passage, response: Response) -> None:
        task, plans = asyncio.current_task(), self._plans.get(passage, [])
        assert task is not None
        kind: str | None = None
        for plan in plans:
            if plan.spoiled.content_type is not None:
                kind = self._strike(passage, plan).content_type
        observe_answer(passage, response, kind)
        begin_stream(passage.exchange, response, kind)
        faulty = FaultyEvents(self._spoiling, plans, lambda text: passage.recorded.observe("note", text))
        try:
            await self._pump(passage, response, faulty, task)
        except asyncio.CancelledError:
            if task not in self._ending:
                raise
            task.uncancel()
            await passage.exchange.write(b"", more=False)
        finally:
            self._ending.discard(task)
            for scope in [scope for scope, tasks in self._streams.items() if task in tasks]:
                self._streams[scope].discard(task)
                if not self._streams[scope]:
                    del self._streams[scope]

    async def _pump(
        self, passage: Passage, response: Response, faulty: FaultyEvents, task: "asyncio.Task[Any]"
    ) -> None:
        exchange, pieces = passage.exchange, EventSplitter()
        self._streams.setdefault(self._scope(passage), set()).add(task)
        async for chunk in response.chunks():
            for piece in pieces.feed(chunk):
                event = event_in(piece)
                if event is not None and event.kind == "endpoint" and passage.recorded.is_open:
                    piece = self.take_endpoint(passage, event.data, piece)  # noqa: PLW2901  # it is what is passed on
                scope = self._scope(passage)
                self._streams.setdefault(scope, set()).add(task)
                sent = faulty.take(piece, event, passage if scope is None else scope, scope)
                for text in sent.said:
                    passage.recorded.observe("server", text)
                await exchange.write(sent.data, more=True)
                if faulty.is_forgotten and faulty.last_id is not None:
                    _remember(self._forgotten, (scope, faulty.last_id))
                if sent.end is not None:
                    sent.end(exchange)
                    return
            response.insist_on_size("an event", pieces.waiting())
        if rest := pieces.rest():
            await exchange.write(rest, more=True)
        if faulty.is_silent and exchange.method == "POST":
            await asyncio.wait({exchange.gone})  # the reply never comes
        await exchange.write(b"", more=False)

    def _strike(self, passage: Passage, plan: PlannedFault) -> SpoiledReply:
        return self._spoiling.strike(plan, lambda text: passage.recorded.observe("note", text))


def _remember(known: dict[Any, None], new: object) -> None:
    known[new] = None
    if len(known) > _MOST_REMEMBERED:
        del known[next(iter(known))]
