"""`--follow`: stay connected, and print every message of the server as one JSON object per line.

Every event has the same envelope: {"event": "notification", "method", "params"} for notifications, and {"event",
"request", "response"} when the server asked us something. What came before the result was printed is printed after it.
"""

import asyncio
from typing import Any

from mcp_conductor.bounded.turns import Pace
from mcp_conductor.cli.plan import CallPlan
from mcp_conductor.cli.terminal import ReaderGone, Terminal
from mcp_conductor.client.session import Session
from mcp_conductor.errors import MethodError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.budgets import DEFAULT
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.message import render

_EVENTS = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
# What a server may declare as listChanged, and how a subscription of 2026-07-28 asks for it.
_LIST_CHANGES = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}


class Follow:
    """The events of one connection, printed in the order in which they came."""

    def __init__(self, terminal: Terminal, budget: int = DEFAULT.notification_bytes) -> None:
        self._terminal = terminal
        self._events: asyncio.Queue[Incoming] = asyncio.Queue()
        self._room = budget
        self._left_out = 0  # events that there was no room for, since one was printed

    def take(self, incoming: Incoming) -> None:
        size = len(incoming.message.text)
        if size > self._room and not self._events.empty():
            self._left_out += 1
            return
        self._room -= size
        self._events.put_nowait(incoming)

    async def run(self, session: Session, plan: CallPlan) -> None:
        """Print events until the server goes away, which is an error, or until stdout is closed by its reader."""
        method, params = plan.method, plan.params or {}
        if method is not None or plan.raw is not None:
            self._terminal.write_result_as_it_is("\n")  # between the result and the events
        if not session.dialect.handshake and method != "resources/subscribe":
            await self._listen(session, method, params)
        uri = params.get("uri") if method == "resources/subscribe" else None
        if uri is not None:
            self._print({"event": "subscribed", "uri": uri})
        ends: list[asyncio.Future[None]] = [
            asyncio.ensure_future(session.wait_until_gone()),
            asyncio.ensure_future(self._reader_gone()),
        ]
        try:
            await self._print_until(ends, session, read_updates=uri is not None)
        finally:
            for end in ends:
                end.cancel()
            await asyncio.gather(*ends, return_exceptions=True)

    async def _print_until(self, ends: "list[asyncio.Future[None]]", session: Session, *, read_updates: bool) -> None:
        while True:
            event = asyncio.ensure_future(self._events.get())
            some: list[asyncio.Future[Any]] = [event, *ends]
            await asyncio.wait(some, return_when=asyncio.FIRST_COMPLETED)
            if not event.done():
                event.cancel()
                for end in ends:
                    if end.done():
                        end.result()
                return
            await self._show(event.result(), session, read_updates=read_updates)
            pace = Pace()
            while not self._events.empty():
                await self._show(self._events.get_nowait(), session, read_updates=read_updates)
                await pace.keep()
            self._say_what_is_missing(session)

    def _say_what_is_missing(self, session: Session) -> None:
        if self._left_out:
            count, self._left_out = self._left_out, 0
            session.note(f"{count} events came too quickly and were left out (--max-notifications-size)")

    async def _show(self, incoming: Incoming, session: Session, *, read_updates: bool) -> None:
        message = incoming.message
        self._room += len(message.text)
        if incoming.answer is not None:
            event = _EVENTS.get(message.method, "request")
            named = {"event": event} if event != "request" else {"event": event, "method": message.method}
            members = incoming.answer.members
            response = members.get("result", members)
            self._print({**named, "request": message.params, "response": response})
            return
        self._print({"event": "notification", "method": message.method, "params": message.raw.get("params", {})})
        if read_updates and message.method == "notifications/resources/updated":
            await self._read(session, message.params.get("uri"))

    async def _read(self, session: Session, uri: Any) -> None:
        try:
            result = await session.request("resources/read", {"uri": uri})
        except MethodError as error:
            self._print({"event": "updated", "uri": uri, "error": error.error})
            return
        contents = result.get("contents") if isinstance(result, dict) else result
        self._print({"event": "updated", "uri": uri, "contents": contents})

    async def _listen(self, session: Session, method: str | None, params: Json) -> None:
        """In 2026-07-28 only subscribers are notified of changes: ask for all that the server offers."""
        wanted = {
            member: True
            for capability, member in _LIST_CHANGES.items()
            if isinstance(offered := session.capabilities.get(capability), dict) and offered.get("listChanged")
        }
        meta = {f"{META}logLevel": params["level"]} if method == "logging/setLevel" else None
        if wanted or meta:
            await session.listen(wanted, meta)

    async def _reader_gone(self) -> None:
        """Wait until the other end of stdout is closed: `| head -1` must not leave us waiting for the next event."""
        descriptor = self._terminal.pipe_out()
        loop = asyncio.get_running_loop()
        closed = asyncio.Event()
        if descriptor is None:
            await closed.wait()  # without end
            return
        # The writing end of a pipe becomes readable only by the error that its reader is gone.
        loop.add_reader(descriptor, closed.set)
        try:
            await closed.wait()
            raise ReaderGone
        finally:
            loop.remove_reader(descriptor)

    def _print(self, event: Json) -> None:
        self._terminal.write_result_as_it_is(render(event) + "\n")
