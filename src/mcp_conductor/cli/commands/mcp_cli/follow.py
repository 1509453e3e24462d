"""What the server says while we are connected, as one JSON object per line: `--follow` and `--events`.

`--follow` stays connected and keeps the form of the original design: the result, an empty line, then events, those that
came before the result included: {"event": "notification", "method", "params"}, and {"event", "request", "response"}
where the server asked us something. `--events` prints the events of `events.py` at once, and the result is one of them.
"""

from collections.abc import Callable, Coroutine
from typing import Any

from mcp_conductor.cli.commands.mcp_cli.events import ERROR, RESULT, event_of
from mcp_conductor.cli.commands.mcp_cli.plan import CallPlan
from mcp_conductor.cli.output.event_queue import EventQueue, alongside, reader_gone
from mcp_conductor.cli.output.terminal import Terminal
from mcp_conductor.client.session import Session
from mcp_conductor.errors import ConnectionLost, MethodError
from mcp_conductor.protocol import Json
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.dialect import META
from mcp_conductor.protocol.message import render

_EVENTS = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}
# What a server may declare as listChanged, and how a subscription of 2026-07-28 asks for it.
_LIST_CHANGES = {"tools": "toolsListChanged", "prompts": "promptsListChanged", "resources": "resourcesListChanged"}
_UPDATED = "notifications/resources/updated"


class Follow:
    """The events of one connection, printed in the order in which they came."""

    def __init__(self, plan: CallPlan, terminal: Terminal) -> None:
        self._plan = plan
        self._terminal = terminal
        self._queue = EventQueue(plan.spec.budgets.notification_bytes)
        # What is subscribed to and followed is read when it has changed.
        self._reads = plan.follow and plan.method == "resources/subscribe"
        self.take = self._queue.put

    async def run(self, work: Coroutine[Any, Any, int], session: Session, stay: Callable[[], None]) -> int:
        """The exit code of WORK, the method. With --follow, call STAY then, and go on until the server goes away,
        which is an error, or until stdout is closed by its reader.
        """
        if self._plan.events:
            return await self._while_shown(self._stay_after(work, session, stay), session)
        code = await work
        stay()
        if self._plan.method is not None or self._plan.raw is not None:
            self._terminal.write_result("\n")  # between the result and the events
        await self._listen(session)
        if self._reads:
            self._print({"event": "subscribed", "uri": (self._plan.params or {}).get("uri")})
        return await self._while_shown(_wait_until_gone(session, code), session)

    async def _stay_after(self, work: Coroutine[Any, Any, int], session: Session, stay: Callable[[], None]) -> int:
        code = await work
        if not self._plan.follow:
            return code
        stay()
        await self._listen(session)
        return await _wait_until_gone(session, code)

    def print_result(self, result: Any) -> None:
        """Print the result of the method as an event, after the events that came before it."""
        self._flush()
        self._print({"event": RESULT, "result": result})

    def print_error(self, error: Any) -> None:
        """Print that the server answered with an error, as an event."""
        self._flush()
        self._print({"event": ERROR, "error": error})

    async def _while_shown(self, work: Coroutine[Any, Any, int], session: Session) -> int:
        shown = self._queue.show_on(lambda incoming: self._show(incoming, session), session)
        try:
            return await alongside(work, shown, reader_gone(self._terminal))
        except ConnectionLost:
            self._flush()
            raise

    def _flush(self) -> None:
        """Print what waits to be printed."""
        while (incoming := self._queue.take()) is not None:
            self._print(self._event(incoming))

    def _event(self, incoming: Incoming) -> Json:
        return event_of(incoming) if self._plan.events else _followed(incoming)

    async def _show(self, incoming: Incoming, session: Session) -> None:
        event = self._event(incoming)
        if not self._reads or incoming.answer is not None or incoming.message.method != _UPDATED:
            self._print(event)
            return
        uri = incoming.message.params.get("uri")
        if self._plan.events:
            self._print({**event, **await self._read(session, uri)})
        else:
            self._print(event)
            self._print({"event": "updated", "uri": uri, **await self._read(session, uri)})

    async def _read(self, session: Session, uri: Any) -> Json:
        """The contents of the resource at URI, or the error, as members of an event."""
        try:
            result = await session.request("resources/read", {"uri": uri})
        except MethodError as error:
            return {"error": error.error}
        return {"contents": result.get("contents") if isinstance(result, dict) else result}

    async def _listen(self, session: Session) -> None:
        """In 2026-07-28 only subscribers are notified of changes: ask for all that the server offers."""
        if session.dialect.handshake or self._reads:
            return
        method, params = self._plan.method, self._plan.params or {}
        wanted = {
            member: True
            for capability, member in _LIST_CHANGES.items()
            if isinstance(offered := session.capabilities.get(capability), dict) and offered.get("listChanged")
        }
        meta = {f"{META}logLevel": params["level"]} if method == "logging/setLevel" else None
        if wanted or meta:
            await session.listen(wanted, meta)

    def _print(self, event: Json) -> None:
        self._terminal.write_result(render(event) + "\n")


def _followed(incoming: Incoming) -> Json:
    """What the server said, as the original design has it."""
    message = incoming.message
    if incoming.answer is None:
        return {"event": "notification", "method": message.method, "params": message.raw.get("params", {})}
    event = _EVENTS.get(message.method, "request")
    named = {"event": event} if event != "request" else {"event": event, "method": message.method}
    members = incoming.answer.members
    return {**named, "request": message.params, "response": members.get("result", members)}


async def _wait_until_gone(session: Session, code: int) -> int:
    """Wait without end: a server that goes away is an error."""
    await alongside(session.wait_until_gone(), _warn_of_silence(session))
    return code


async def _warn_of_silence(session: Session) -> None:
    """Say so when a server at a URL has no stream on which it could tell us anything."""
    why = await session.wait_until_unheard()
    session.note(f"{why}: only what comes together with an answer is heard")
