"""One server of a bridge, kept connected: a loss is noticed, the server is tried again, its subscriptions are renewed.

The session is used by many tasks and opened by one, which lives as long as the bridge. Every change of its state is
announced: tasks that wait for the server then look again.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from mcp_conductor.bridge.terms import BridgeEvent, Catalogue, EventKind, Health, State, Terms
from mcp_conductor.client.connect import connect
from mcp_conductor.client.session import Session
from mcp_conductor.errors import (
    ConductorError,
    ConnectionLost,
    MethodError,
    ProtocolError,
    RequestTimeout,
    ServerDown,
    TransportError,
)
from mcp_conductor.protocol.answers import Incoming
from mcp_conductor.protocol.server_spec import ServerSpec
from mcp_conductor.protocol.transcript import Transcript
from mcp_conductor.protocol.views import Listed

_MOST_SILENCE = 2  # probes without an answer in a row, before a server that does not answer is given up
_KEPT_BYTES = 1_000_000  # of a transcript that may go on for months
_MOST_REFRESHES = 3  # of a list that changes while it is read

V = TypeVar("V", bound=Listed)


class Link:
    """One server and the way to it."""

    def __init__(self, name: str, spec: ServerSpec | ConductorError, terms: Terms) -> None:
        self.name = name
        self.catalogue = Catalogue()
        self.subscriptions: set[str] = set()
        self.calls = 0  # under way
        self.tried = asyncio.Event()  # whether the first attempt has ended, well or not
        self._spec = spec if isinstance(spec, ConductorError) else replace(spec, name=name, budgets=terms.budgets)
        self._terms = terms
        self._state: State = "retrying"
        self._failures = 0
        self._last_error: ConductorError | None = None
        self._session: Session | None = None
        self._trusted = True  # False: a call has failed, and the reason is not known yet
        self._check_now = asyncio.Event()  # ping the server now, not at the next interval
        self._retry = asyncio.Event()  # a caller asks for another try now
        self._changed = asyncio.Event()
        self._stream_ended = False  # a stream of notifications has ended
        self._stale: set[str] = set()  # lists that have changed
        self._reading: set[str] = set()  # lists that are being read again
        self._refreshing: asyncio.Task[None] | None = None

    @property
    def health(self) -> Health:
        return Health(self._state, self._failures, self._last_error)

    # For those who want something of the server.

    async def available(self, seconds: float) -> Session:
        """The session, for which this waits up to SECONDS; raises ServerDown."""
        if (session := self._usable()) is not None:
            return session
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._state != "down":
                    await self._changed.wait()
                    if (session := self._usable()) is not None:
                        return session
        raise self._down_error()

    async def read_catalogue(self, seconds: float) -> Catalogue:
        """What the server has; if that is being read, this waits up to SECONDS."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while (self._stale or self._reading) and self._state == "up":
                    await self._changed.wait()
        return self.catalogue

    def on_call_failed(self, error: TransportError) -> None:
        """A call has failed: the session is not used again before the server has answered a ping."""
        self._trusted = False
        self._last_error = error
        self._check_now.set()

    def check_soon(self) -> None:
        """See soon whether the server still answers."""
        self._check_now.set()

    def retry_now(self) -> None:
        """Try again at once, and begin with the first delay."""
        self._failures = 0
        self._retry.set()

    def _usable(self) -> Session | None:
        session = self._session
        return session if session is not None and self._trusted and not session.ended else None

    def _down_error(self) -> ServerDown:
        last = self._last_error
        why = f": {last.message}" if last is not None else ""
        error = ServerDown(
            f"the server {self.name!r} is not connected{why}", hint=last.hint if last is not None else None
        )
        if last is not None:
            error.stderr = last.stderr
        error.context = {**(last.context if last is not None else {}), "server": self.name}
        return error

    # The life of the connection.

    async def run(self) -> None:
        """Keep the server connected, until we are cancelled."""
        while True:
            error = await self._connect_and_stay()
            self._last_error = error
            self._failures += 1
            hopeless = isinstance(self._spec, ConductorError)
            delay = None if hopeless else self._terms.backoff.delay(self._failures, self._terms.random)
            self._enter("down" if delay is None else "retrying")
            if delay is None:
                self.catalogue = Catalogue()
                self._tell("down", error)
            self.tried.set()
            await self._pause(delay)

    def on_run_ended(self, task: "asyncio.Task[None]") -> None:
        """The task that keeps the server connected has ended, which is a bug of ours: no caller may wait for it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._last_error = TransportError(f"internal error: {error!r}")
        self._session = None
        self._enter("down")
        self.tried.set()

    async def _connect_and_stay(self) -> ConductorError:
        """Connect, and stay connected; returns why that has ended."""
        if isinstance(self._spec, ConductorError):
            return self._spec
        try:
            async with (
                asyncio.timeout(self._terms.connect_timeout) as limit,
                connect(
                    self._spec,
                    answers=self._terms.answers(),
                    timeout=self._terms.timeout,
                    transcript=_short_transcript(self._spec),
                    on_incoming=self._on_incoming,
                    on_unsubscribed=self._on_unsubscribed,
                    on_reopened=self._on_reopened,
                ) as session,
            ):
                await self._prepare(session)
                limit.reschedule(None)
                await self._stay(session)
        except ConductorError as error:
            return error
        except TimeoutError:
            return TransportError(f"{self.name} was not connected within {self._terms.connect_timeout:g} s")
        raise AssertionError("a connection does not end by itself")

    async def _prepare(self, session: Session) -> None:
        """List what the server has, and subscribe to what was subscribed to before."""
        self._stale.clear()
        for kind in _CHANGES:
            await self._list(session, kind)
        await self._listen(session)

    async def _listen(self, session: Session) -> None:
        """Subscribe to the resources of our callers, and to changes of lists."""
        self._stream_ended = False
        for uri in sorted(self.subscriptions):
            await _unless_refused(session.subscribe(uri))
        if not session.dialect.handshake:
            wanted = [kind for kind in _CHANGES if _tells_changes(session, kind)]
            if wanted:
                await _unless_refused(session.listen({f"{kind}ListChanged": True for kind in wanted}))

    def _on_unsubscribed(self, lost: bool) -> None:
        """A stream of notifications has ended. If the server ended it, it is opened again, but not at once."""
        self._stream_ended = True
        if lost:
            self._check_now.set()

    async def _on_reopened(self, session: Session) -> None:
        """A new session over HTTP, which begins where the server has ended the old one, knows no subscriptions."""
        await self._listen(session)
        self._list_all_again()

    async def _stay(self, session: Session) -> None:
        """Offer the session to callers as long as it lasts; raises why it is lost."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._session, self._last_error = session, None
        self._trusted = True
        self._check_now.clear()
        self._enter("up")
        self._tell("connected")
        self.tried.set()
        if self._stale:
            self._refresh()
        try:
            await self._watch(session)
        except ConductorError as error:
            # Told before the process of the server is ended, which may take some seconds.
            self._last_error = error
            if loop.time() - began >= self._terms.backoff.settled:
                self._failures = 0
            self._enter("retrying")
            self._tell("lost", error)
            raise
        finally:
            self._session = None
            if self._refreshing is not None:
                self._refreshing.cancel()

    async def _watch(self, session: Session) -> None:
        """Watch whether the server answers; raises why it does not."""
        gone = asyncio.ensure_future(session.wait_until_gone())
        silence = 0
        try:
            while True:
                await self._wait_for_a_reason(gone)
                if gone.done():
                    gone.result()
                silence = silence + 1 if await self._is_silent(session) else 0
                # A server may be silent because it is busy: calls that are under way have their own deadlines.
                if silence >= _MOST_SILENCE and not self.calls:
                    raise ConnectionLost(f"{self.name} has not answered {silence} times in a row")
                self._trusted = silence == 0
                if self._trusted:
                    self._last_error = None
                    if self._stream_ended:
                        await self._listen(session)
                        self._list_all_again()
                else:
                    self._check_now.set()
                self._announce()
        finally:
            gone.cancel()

    async def _wait_for_a_reason(self, gone: "asyncio.Future[None]") -> None:
        looking = asyncio.ensure_future(self._check_now.wait())
        reasons: set[asyncio.Future[Any]] = {gone, looking}
        try:
            await asyncio.wait(reasons, timeout=self._terms.health_interval, return_when=asyncio.FIRST_COMPLETED)
        finally:
            looking.cancel()
        self._check_now.clear()

    async def _is_silent(self, session: Session) -> bool:
        """Whether the server does not answer a ping. An error is an answer."""
        try:
            await session.ping(timeout=self._terms.health_timeout)
        except RequestTimeout:
            return True
        except (MethodError, ProtocolError):
            return False
        return False

    async def _pause(self, delay: float | None) -> None:
        self._retry.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(delay):
                await self._retry.wait()

    def _enter(self, state: State) -> None:
        self._state = state
        self._announce()

    def _announce(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _tell(self, kind: EventKind, error: ConductorError | None = None, uri: str = "") -> None:
        self._terms.tell(BridgeEvent(kind, self.name, error, uri))

    # What the server has, and what it says of that.

    async def _list(self, session: Session, kind: str) -> None:
        has = kind in session.capabilities
        if kind == "tools":
            self.catalogue.tools = await self._all(session.list_tools) if has else []
        elif kind == "prompts":
            self.catalogue.prompts = await self._all(session.list_prompts) if has else []
        else:
            self.catalogue.resources = await self._all(session.list_resources) if has else []
            self.catalogue.templates = await self._all(session.list_resource_templates) if has else []

    async def _all(self, ask: Callable[[], Awaitable[list[V]]]) -> list[V]:
        found = await _unless_refused(ask()) or []
        for item in found:
            item.server = self.name
        return found

    def _on_incoming(self, incoming: Incoming) -> None:
        message = incoming.message
        match message.method.split("/"):
            case ["notifications", ("tools" | "resources" | "prompts") as kind, "list_changed"]:
                self._stale.add(kind)
                if self._session is not None:
                    self._refresh()
            case ["notifications", "resources", "updated"]:
                uri = message.params.get("uri")
                if isinstance(uri, str) and uri in self.subscriptions:
                    self._tell("resource_updated", uri=uri)

    def _list_all_again(self) -> None:
        """Lists may have changed while the server could not tell us."""
        self._stale.update(_CHANGES)
        self._refresh()

    def _refresh(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._list_again())

    async def _list_again(self) -> None:
        """Read the lists that have changed; one that changes meanwhile is read again, a limited number of times."""
        for _ in range(_MOST_REFRESHES):
            for kind in sorted(self._stale):
                session = self._session
                if session is None:
                    return
                self._stale.discard(kind)
                self._reading.add(kind)
                try:
                    await self._list(session, kind)
                except ConductorError:  # the connection is lost or slow; `_watch` finds out
                    self.check_soon()
                finally:
                    self._reading.discard(kind)
                self._tell(_CHANGES[kind])
            if not self._stale:
                break
        self._stale.clear()
        self._announce()


_CHANGES: dict[str, EventKind] = {
    "tools": "tools_changed",
    "resources": "resources_changed",
    "prompts": "prompts_changed",
}


def _short_transcript(spec: ServerSpec) -> Transcript:
    return Transcript(spec.secrets(), budgets=replace(spec.budgets, transcript_bytes=_KEPT_BYTES))


async def _unless_refused(asked: Awaitable[Any]) -> Any:
    """What was asked for; None if the server answers with an error."""
    try:
        return await asked
    except (MethodError, ProtocolError):
        return None


def _tells_changes(session: Session, kind: str) -> bool:
    declared = session.capabilities.get(kind)
    return isinstance(declared, dict) and declared.get("listChanged") is True
